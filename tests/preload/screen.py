#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""screen.py WIDTH HEIGHT COMMAND... - run a command on a terminal of its own.

Standard input has steps, a line each:
    wait TEXT     until the screen has it (15 s at most)
    gone TEXT     until it has it no more
    keys TEXT     type it (Python's escapes)
    size W H      another size, and SIGWINCH
    show          print the screen
    run COMMAND   beside it, by a shell
    red TEXT      a line that has TEXT is red
    exit STATUS   until the command ends, with that status
A step that fails prints the screen and ends all with status 1.
"""
import codecs, fcntl, os, pty, select, signal, struct, subprocess, sys, termios, time
import pyte

width, height = int(sys.argv[1]), int(sys.argv[2])
screen = pyte.Screen(width, height)
stream = pyte.ByteStream(screen)
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "linux" # what pyte is
    os.environ.pop("NO_COLOR", None)
    # The size is set before the command asks.
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", height, width, 0, 0))
    os.execvp(sys.argv[3], sys.argv[3:])
over = False


def read(seconds):
    global over
    if over or not select.select([fd], [], [], seconds)[0]:
        return
    try:
        data = os.read(fd, 65536)
    except OSError:
        data = b""
    over = not data
    stream.feed(data)


def text():
    return "\n".join(line.rstrip() for line in screen.display)


def until(what, done):
    end = time.monotonic() + 15
    while not done():
        if time.monotonic() > end or over:
            read(0)
            if done():
                return
            print("FAIL", what, "on a screen of", width, "columns:")
            print(text())
            os.kill(pid, signal.SIGKILL)
            sys.exit(1)
        read(0.1)


def is_red(word):
    for y, line in enumerate(screen.display):
        if word in line:
            return screen.buffer[y][line.index(word)].fg == "red"
    return False


for step in sys.stdin:
    verb, _, arg = step.rstrip("\n").partition(" ")
    if verb == "wait":
        until(step, lambda: arg in text())
    elif verb == "gone":
        until(step, lambda: arg not in text())
    elif verb == "keys":
        os.write(fd, codecs.decode(arg, "unicode_escape").encode())
    elif verb == "size":
        width, height = map(int, arg.split())
        screen.resize(height, width)
        screen.erase_in_display(2)
        fcntl.ioctl(fd, termios.TIOCSWINSZ,
                    struct.pack("4H", height, width, 0, 0))
    elif verb == "show":
        while not over and select.select([fd], [], [], 0.2)[0]:
            read(0)
        print(text())
    elif verb == "run":
        subprocess.run(arg, shell=True, check=True)
    elif verb == "red":
        until(step, lambda: is_red(arg))
    elif verb == "exit":
        end = time.monotonic() + 15
        while not over and time.monotonic() < end:
            read(0.1)
        if not over:
            os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status != int(arg):
            print("FAIL exit status", status, "instead of", arg)
            print(text())
            sys.exit(1)
