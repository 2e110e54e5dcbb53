#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""citations.py - every invariant of inspect/check.h is named in the head of a file
that keeps it and reported by a check; every struct of registry/layout*.h has a
comment in front that says under which lock, or how, it is written; every row of
doc/sandboxes.md names tests that there are, and quotes words that the sources have.
A line a fault, exit status 1 if any."""
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent
SHIM = TESTS.parent / "shim"
# Parts of others, which say it for them.
PARTS = {"ref", "short_ref", "lone_lock", "users"}
RULE = re.compile(r"written|journaled|stores?\b|locks?\b|see index/",
                  re.I)


def comments(text):
    return " ".join(re.findall(r"/\*.*?\*/|//[^\n]*", text, re.S))


def invariants():
    known = set(re.findall(r"^\s+(INV_\w+)\s*=",
                           (SHIM / "inspect/check.h").read_text(), re.M))
    kept, checked = set(), set()
    for path in SHIM.rglob("*.[ch]"):
        text = path.read_text()
        if path.parent.name == "inspect" or path.parent.name == "tool":
            if path.suffix == ".c":
                checked |= set(re.findall(r"\bINV_\w+", text))
        else:
            kept |= set(re.findall(r"\bINV_\w+", comments(text)))
    for inv in sorted(known - kept):
        yield f"{inv}: no file below inspect/ says that it keeps it"
    for inv in sorted(kept - known):
        yield f"{inv}: cited, but not in inspect/check.h"
    for inv in sorted(known - checked):
        yield f"{inv}: no check reports it"


def structs():
    for path in sorted((SHIM / "registry").glob("layout*.h")):
        before = ""
        # Between a struct's comment and itself there may be #defines and enums.
        for part in re.split(r"(?m)(?=^struct \w+ \{)", path.read_text()):
            found = re.match(r"struct (\w+) \{", part)
            if found and found[1] not in PARTS and \
                    not RULE.search(comments(before)[-4000:]):
                yield f"{path.name}: struct {found[1]}: who writes it, and how?"
            before = part.split("\n}", 1)[-1]


def environments():
    # A string of the sources may stand on several lines, each with a \\ in a macro.
    said = " ".join(re.sub(r'"\s*\\?\s*"', "", path.read_text())
                    for path in sorted(SHIM.rglob("*.[ch]")))
    said = re.sub(r"(\\n)? +", " ", said)
    names = {path.stem for path in (TESTS / "preload").iterdir()}
    text = (TESTS.parent / "doc/sandboxes.md").read_text()
    for table in re.findall(r"(?m)(?:^\|.*\n)+", text):
        head, _, *rows = table.splitlines()
        if not head.endswith("| Test |"):
            continue
        for row in rows:
            tests = re.findall(r"`([^`]+)`", row.split("|")[-2])
            if not tests:
                yield f"doc/sandboxes.md: no test: {row}"
            for test in tests:
                if test not in names and \
                        not list(TESTS.glob(test + ".*")):
                    yield f"doc/sandboxes.md: there is no test {test}"
            for words in re.findall(r'"([^"]+)"', row):
                if words not in said:
                    yield f"doc/sandboxes.md: nothing says '{words}'"


faults = list(invariants()) + list(structs()) + list(environments())
print(*faults, sep="\n", end="\n" if faults else "")
sys.exit(bool(faults))
