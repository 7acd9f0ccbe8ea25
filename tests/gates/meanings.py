#!/usr/bin/env python3
"""An operator is written in as few places as possible.

    meanings.py CORE DECOMP KERNELS

CORE is functionalize/decompose/core.def, DECOMP kernels/decomp/decomp.def, KERNELS kernels/kernels.def. An operator of
DECOMP has its steps there, for running and for rewriting, so CORE must have no row of it, nor KERNELS. An operator of
CORE that has a row in KERNELS is written twice: the name of its row there says why, BITS or SPEED, and is WAY where
there is no kernel; RECORDED if it has steps in DECOMP that go by elements."""
import re
import sys

ROW = re.compile(r"^([A-Z]+)\( *(\w+) *[,)]", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
DEFINE = re.compile(r"^#define.*$", re.M)


def rows(path, kinds):
    """The operators of rows, with the name of the row, and its line."""
    text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), open(path).read())
    text = DEFINE.sub("", text)
    return {op: (kind, text.count("\n", 0, m.start()) + 1)
            for m in ROW.finditer(text) for kind, op in [m.groups()] if kind in kinds}


def faults(core, decomp, kernels):
    """Faults with their places; counts of rows."""
    steps = rows(decomp, ("STEPS", "FOUND"))
    computed = rows(kernels, ("KERNEL", "MODE", "POINT"))
    ways = rows(core, ("WAY", "BITS", "SPEED", "RECORDED"))
    found = [f"{kernels}:{computed[op][1]}: {op} has its steps in decomp.def; delete this row"
             for op in steps if op in computed]
    for op, (kind, line) in ways.items():
        place = f"{core}:{line}: {op} has"
        if op in steps and kind != "RECORDED":
            found.append(f"{place} its steps in decomp.def; delete this row")
        elif kind == "RECORDED" and op not in steps:
            found.append(f"{place} no steps in decomp.def; its row is not RECORDED")
        elif kind == "WAY" and op in computed:
            found.append(f"{place} a kernel, too; say why, by BITS or SPEED, or move its steps to decomp.def")
        elif kind in ("BITS", "SPEED") and op not in computed:
            found.append(f"{place} no kernel; its row is a WAY")
    return found, (len(ways), len(steps), len(computed))


def main():
    found, counts = faults(*sys.argv[1:4])
    print("\n".join(found) or "%d ways beside %d decompositions and %d kernels" % counts)
    return 1 if found or 0 in counts else 0


if __name__ == "__main__":
    sys.exit(main())
