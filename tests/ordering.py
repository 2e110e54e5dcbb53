#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ordering.py - every acquire load of shim/ is in a row of doc/ordering.md, which
names the releases that it pairs with; and those are there.

A row is: fields, files that load them (*: all others), functions that store them
(where by another name, that in brackets), what the load finds. Run from anywhere; a
line a fault, exit status 1 if any.

    ordering.py --list    what it finds: field, file, functions that release it
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOAD = r"\batom_load_acquire(?=\()|\b__atomic_load_n(?=\()"
STORE = (r"\b(?:atom_(?:store_release|cas16|cas|xchg|add|or)|"
         r"journal_(?:set64|set32|set16|publish)|"
         r"__atomic_(?:store_n|compare_exchange_n|exchange_n|fetch_add|add_fetch"
         r"|sub_fetch|fetch_sub))(?=\()")
FUNCTION = re.compile(r"^(?:[\w\s\*]|__attribute__\(\(\w+\)\))*?"
                      r"\b(?!__attribute__)(\w+)\([^;{}]*?\)\s*\n\{", re.M)


def arguments(text, at):
    """The text between the brackets that open at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return text[at + 1:i]
    return ""


def split(args):
    parts, depth, last = [], 0, 0
    for i, c in enumerate(args):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(args[last:i])
            last = i + 1
    return parts + [args[last:]]


def field_of(arg):
    """&c->shm.tried[i] is `tried`."""
    arg = re.sub(r"\s+|\[[^\]]*\]", "", arg)
    found = re.search(r"(\w+)\)*$", arg)
    return found[1] if found else arg


def read_all():
    loads, stores = collections.defaultdict(set), collections.defaultdict(set)
    for path in sorted((ROOT / "shim").rglob("*.[ch]")):
        if path.name == "atom.h" or "tool" in path.parts:
            continue
        text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]),
                      path.read_text(), flags=re.S)
        for m in re.finditer(LOAD, text):
            args = split(arguments(text, m.end()))
            if m[0].startswith("__") and "ACQUIRE" not in args[-1]:
                continue
            loads[field_of(args[0])].add(path.name)
        starts = [(m.start(), m[1]) for m in FUNCTION.finditer(text)]
        for m in re.finditer(STORE, text):
            args = split(arguments(text, m.end()))
            at = args[1] if m[0].startswith("journal") else args[0]
            inside = [name for start, name in starts if start < m.start()]
            if inside:
                stores[inside[-1]].add(field_of(at))
    return loads, stores


def rows():
    for line in (ROOT / "doc/ordering.md").read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            yield [re.findall(r"`([^`]*)`", c) if i != 1 else c.split(", ")
                   for i, c in enumerate(cells[:3])]


def main():
    loads, stores = read_all()
    if sys.argv[1:] == ["--list"]:
        for field, files in sorted(loads.items()):
            by = sorted(f for f, stored in stores.items() if field in stored)
            print(field, *sorted(files), "<-", *by)
        return 0
    faults, named = [], collections.defaultdict(set)
    table = list(rows())
    for fields, files, by in table:
        for field in fields:
            if files != ["*"]:
                named[field] |= set(files)
                faults += [f"{field} is not loaded in {f}" for f in files
                           if f not in loads[field]]
            elif field not in loads:
                faults.append(f"{field} is not loaded by an acquire")
        for word in by:
            function, _, other = word.rstrip(")").partition("(")
            if not stores[function] & ({other} if other else set(fields)):
                faults.append(f"{function} does not store {other or fields[0]}")
    others = {f for fields, files, _ in table if files == ["*"] for f in fields}
    for field, files in sorted(loads.items()):
        faults += [f"{f}: no row for the acquire of {field}"
                   for f in sorted(files - named[field]) if field not in others]
    print(*faults, sep="\n", end="\n" if faults else "")
    return bool(faults)


sys.exit(main())
