#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py: does each one-line mutant make a test fail?

        run.py [--dir DIR] [--list FILE] [NUMBER | FIRST-LAST]...

Each mutant of FILE (tests/mutate/list) is applied to a copy of the tree in
DIR, alone, the library is built, and the tests that it names are run until
one fails. A line a mutant: "killed N TEST", "SURVIVED N", "BROKEN N" where it
does not apply or does not compile. Without numbers all. Exit 1 if one
survived or was broken. It takes some ten seconds a mutant.

A test is SUITE/NAME as tests/run.sh has it, or one scenario of the explorer or
of the crash points, whose name has underscores for blanks: explore:SCENARIO,
crash:SCENARIO.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PRODUCT = "shim/libipclift.so", "shim/tool/ipclift"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_list(path):
    mutants, m = [], None
    for line in open(path, encoding="utf-8"):
        kind, text = line[:2], line[2:].rstrip("\n")
        if kind == "= ":
            m = {"tests": text.split()}
        elif kind == "@ ":
            m["file"], *nth = text.split()
            m["nth"] = int(nth[0]) if nth else None
        elif kind == "- ":
            m["old"] = text
        elif kind == "+ ":
            m["new"] = text
            mutants.append(m)
    return mutants


def mutate(text, m):
    """The mutated text, or None if the line is not there as it should be."""
    lines = text.split("\n")
    found = [i for i, l in enumerate(lines) if l.strip() == m["old"].strip()]
    if len(found) != 1 and not m["nth"] or len(found) < (m["nth"] or 1):
        return None
    at = found[(m["nth"] or 1) - 1]
    old = lines[at]
    lines[at] = old[: len(old) - len(old.lstrip())] + m["new"]
    return "\n".join(lines)


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)


def copy_tree(where):
    names = run("git", "-C", ROOT, "ls-files", "-z").stdout.decode()
    for name in filter(None, names.split("\0")):
        if not (ROOT / name).exists():
            continue
        to = where / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to)


def build(where, *targets):
    return run("ninja", "-C", where / "build", *targets).returncode == 0


SCENARIO = {
    "explore": ("tests/explore/explore", "--seconds", "20", "--scenario"),
    "crash": ("tests/crash/crash", "-q"),
}


def programs(where, tests):
    """What the tests need beside the library and the command."""
    for test in tests:
        if ":" in test:
            yield SCENARIO[test.split(":")[0]][0]
            continue
        suite, name = test.split("/")
        if suite == "model":
            for source in (where / "tests/model").glob("*.c"):
                yield f"tests/model/{source.stem}"
        elif suite != "scenario":
            yield f"tests/{suite}/{name}"


def prepare(where, mutants):
    """A copy that is built, once; the next run goes on with it."""
    copy_tree(where)
    if not (where / "build").exists():
        if run("meson", "setup", where / "build", where).returncode:
            sys.exit("run.py: meson setup failed")
    names = {n for m in mutants for n in programs(where, m["tests"])}
    if not build(where, *PRODUCT, *sorted(names)):
        sys.exit("run.py: the tree does not build")
    for test in sorted({t for m in mutants for t in m["tests"]}):
        if not passes(where, test):
            sys.exit(f"run.py: {test} fails without a mutant")


def scenario_passes(where, test):
    suite, name = test.split(":")
    program, *options = SCENARIO[suite]
    with tempfile.TemporaryDirectory(prefix="mutate.", dir="/dev/shm") as d:
        env = dict(os.environ, IPCLIFT_REGISTRY=d + "/registry")
        status = run("timeout", "150", where / "build" / program, *options,
                     name.replace("_", " "), env=env).returncode
    if status == 77:
        sys.exit(f"run.py: {test} cannot be run")
    return status == 0


def passes(where, test):
    if ":" in test:
        return scenario_passes(where, test)
    env = dict(os.environ, PAIR_LIMIT="20", FULL="0")
    env.pop("RUN_SH_INSIDE", None)
    status = run(where / "tests/run.sh", "--no-install", test,
                 env=env).returncode
    if status not in (0, 1):
        sys.exit(f"run.py: {test} cannot be run")
    return status == 0


def try_one(where, m):
    """What became of it, and the test that failed."""
    path = where / m["file"]
    text = path.read_text(encoding="utf-8")
    mutant = mutate(text, m)
    if mutant is None:
        return "BROKEN", "no such line, or more than one"
    try:
        path.write_text(mutant, encoding="utf-8")
        # Some of them have the library's objects inside.
        if not build(where, *PRODUCT, *sorted(programs(where, m["tests"]))):
            return "BROKEN", "it does not compile"
        for test in m["tests"]:
            if not passes(where, test):
                return "killed", test
        return "SURVIVED", " ".join(m["tests"])
    finally:
        path.write_text(text, encoding="utf-8")


def numbers(words, n):
    for word in words:
        first, _, last = word.partition("-")
        yield from range(int(first), int(last or first) + 1)
    if not words:
        yield from range(1, n + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dir")
    parser.add_argument("--list", default=str(ROOT / "tests/mutate/list"))
    parser.add_argument("numbers", nargs="*")
    args = parser.parse_args()
    mutants = read_list(args.list)
    chosen = list(numbers(args.numbers, len(mutants)))
    # Not in /dev/shm: run.sh mounts one of its own.
    where = pathlib.Path(
        args.dir or tempfile.mkdtemp(prefix="mutate.", dir="/var/tmp"))
    where.mkdir(exist_ok=True)
    bad = 0
    try:
        prepare(where, [mutants[i - 1] for i in chosen])
        for i in chosen:
            m = mutants[i - 1]
            end, why = try_one(where, m)
            bad += end != "killed"
            print(f"{end} {i} {why}", flush=True)
            if end != "killed":
                print(f"    {m['file']}: {m['old'].strip()} -> {m['new']}")
    finally:
        if not args.dir:
            shutil.rmtree(where, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
