#!/usr/bin/env python3
"""An operator is written in as few places as possible.

    meanings.py CORE DECOMP KERNELS FILE...

CORE is functionalize/decompose/core.def, DECOMP kernels/decomp/decomp.def, KERNELS kernels/kernels.def. An operator of
DECOMP has its steps there, for running and for rewriting, so CORE must have no row of it, nor KERNELS. An operator of
CORE that has a row in KERNELS is written twice: the name of its row there says why, BITS or SPEED, and is WAY where
there is no kernel. FILEs are further parts of CORE."""
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


def wrong(path, core, steps, kernels):
    for op, (kind, line) in core.items():
        if op in steps:
            yield f"{path}:{line}: {op} has its steps in decomp.def; delete this row"
        elif kind == "WAY" and op in kernels:
            yield f"{path}:{line}: {op} has a kernel, too; say why, by BITS or SPEED, or move its steps to decomp.def"
        elif kind in ("BITS", "SPEED") and op not in kernels:
            yield f"{path}:{line}: {op} has no kernel; its row is a WAY"


def main():
    core, decomp, kernels = sys.argv[1:4]
    steps = rows(decomp, ("STEPS", "FOUND"))
    computed = rows(kernels, ("KERNEL", "MODE", "POINT"))
    found = [f"{kernels}:{computed[op][1]}: {op} has its steps in decomp.def; delete this row"
             for op in steps if op in computed]
    count = 0
    for path in [core] + sys.argv[4:]:
        ways = rows(path, ("WAY", "BITS", "SPEED"))
        count += len(ways)
        found += wrong(path, ways, steps, computed)
    print("\n".join(found) or f"{count} ways beside {len(steps)} decompositions and {len(computed)} kernels")
    return 1 if found or not steps or not computed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
