#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fields.py - every field of every struct of the registry has a row in
tests/fuzz/fields.h, by which mutate.c damages it; or stands in LEFT_OUT with the
reason.

The structs are those of shim/registry/layout*.h. A row FIELD(type, a.b[0].c, kind) is one
of field c of the struct that a.b has. A field that is a struct needs a row that
goes through it, or a table of that struct's own. Run from anywhere; a line a
fault, exit status 1 if any.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = sorted((ROOT / "shim/registry").glob("layout*.h"))
ROWS = ROOT / "tests/fuzz/fields.h"
# A number each.
NUMBERS = ("ref", "short_ref")

ROBUST = "a link of a thread's robust list, which only it and the kernel follow " \
    "while it is on it: an address, not part of the format"
STATISTICS = "sums that are only shown, of a profile that is a hole by default"
# struct.field, or struct.*: the reason.
LEFT_OUT = {
    "lock.robust_prev": ROBUST, "lock.robust_next": ROBUST,
    "task.life_prev": ROBUST, "task.life_next": ROBUST,
    "task.exec_prev": ROBUST, "task.exec_next": ROBUST,
    "waiter.guard_prev": ROBUST, "waiter.guard_next": ROBUST,
    "waiter.alive_prev": ROBUST, "waiter.alive_next": ROBUST,
    "lock_profile.*": STATISTICS,
    "msg.text": "the application's bytes",
}
PADS = re.compile(r"(\w*_)?pad(_?\w*)?$")


def bare(text):
    """Without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)


def closing(text, at):
    """Where the brace that opens at `at` is closed."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    raise ValueError("no end of a struct")


def members(body):
    """(name, struct or None) of each; those of unnamed structs are the outer's."""
    found = []
    while body.strip():
        head = re.match(r"\s*(?:struct|union)\s*(\w*)\s*\{", body)
        if head:
            end = closing(body, head.end() - 1)
            name = re.match(r"\s*(\w*)[^;]*;", body[end + 1:])
            if name.group(1):
                raise ValueError(f"a struct within a struct: {name.group(1)}")
            found += members(body[head.end():end])
            body = body[end + 1 + name.end():]
            continue
        line, _, body = body.partition(";")
        line = line.strip()
        kind = re.match(r"(?:struct\s+(\w+)|enum\s+\w+|(?:unsigned\s+)?\w+)\s+", line)
        for name in line[kind.end():].split(","):
            found.append((re.match(r"\s*(\w+)", name).group(1), kind.group(1)))
    return found


def structs():
    found = {}
    for path in HEADERS:
        text = bare(path.read_text())
        for at in re.finditer(r"\bstruct\s+(\w+)\s*\{", text):
            end = closing(text, at.end() - 1)
            found[at.group(1)] = members(text[at.end():end])
    return {n: dict(m) for n, m in found.items() if n not in NUMBERS}


def rows(layout):
    """The (struct, field) that rows end at or lead through, structs of tables."""
    met, own, bad = set(), set(), []
    text = bare(ROWS.read_text())
    paths = re.findall(r"\bFIELD\(\s*(\w+),\s*([^,]+),\s*K_\w+\s*\)", text)
    for name, at in re.findall(r"\bLOCK_FIELDS\(\s*(\w+),\s*([^)]+)\)", text):
        paths += [(name, f"{at}.word"), (name, f"{at}.journal")]
    for name, path in paths:
        if name == "type":
            continue
        own.add(name)
        for part in re.sub(r"\[[^\]]*\]|\s", "", path).split("."):
            if name is None or part not in layout.get(name, {}):
                bad.append(f"{ROWS.name}: {name}.{part} is no field")
                break
            met.add((name, part))
            name = layout[name][part]
    return met, own, bad


def main():
    layout = structs()
    met, own, bad = rows(layout)
    used = set()
    for name, fields in layout.items():
        for field, kind in fields.items():
            if (name, field) in met or PADS.match(field):
                continue
            if kind in layout and (kind in own or f"{kind}.*" in LEFT_OUT):
                continue
            out = {f"{name}.{field}", f"{name}.*"} & LEFT_OUT.keys()
            used |= out
            if not out:
                bad.append(f"{ROWS.name}: no row for {name}.{field}")
    bad += [f"{pathlib.Path(__file__).name}: {n} needs not be left out"
            for n in sorted(LEFT_OUT.keys() - used)]
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
