# SPDX-License-Identifier: MIT
"""The two worlds in which a benchmark is run: the kernel, in an IPC namespace of
its own, and a shim, with a registry of its own that is removed afterwards (the
namespace is the shim's too: nothing that it might pass on to the kernel reaches
the real one). Both meet the same other load if they are run in turn.
"""
import os
import shutil
import signal
import subprocess
import tempfile

class Failed(Exception):
    """A run that ended wrongly, or not at all."""


def run(command, shim=None, timeout=120):
    """What command wrote to standard output, on the kernel or under shim.

    Failed: the status is not 0, or there is no end within timeout seconds; all
    its processes are ended then.
    """
    whole = ["unshare", "--ipc", "--mount", "--"]
    home = None
    if shim:
        home = tempfile.mkdtemp(prefix="ipclift-bench-", dir="/dev/shm")
        whole += ["env", "LD_PRELOAD=" + os.path.abspath(shim),
                  f"IPCLIFT_REGISTRY={home}/registry"]
    proc = subprocess.Popen(whole + list(command), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            start_new_session=True)
    try:
        out, err = proc.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)
        proc.communicate()
        raise Failed(f"no end in {timeout:g} s") from None
    finally:
        if home:
            shutil.rmtree(home, ignore_errors=True)
    if proc.returncode:
        raise Failed(f"status {proc.returncode}: {err.strip()}")
    return out


def load_line(rounds):
    """The first line of a table: the machine, and whether it is busy."""
    load = os.getloadavg()[0]
    return (f"# {os.cpu_count()} CPUs, load average {load:.1f},"
            f" {rounds} rounds in turn"
            + (", a busy machine" if load > 1 else ""))
