#!/usr/bin/env python3
"""Objects that are compiled for one instruction set give only what is named by it.

    isa.py OBJECT ...

A symbol that others may take (global, weak or common) must be data and end in _v3 or _v4. Symbols that an object takes
from others do not matter: they are compiled for all processors."""
import re
import subprocess
import sys


def main():
    text = subprocess.run(["nm", "-A", "--defined-only", "--extern-only", "--format=posix", *sys.argv[1:]], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    given = [line.rsplit(": ", 1)[1].split()[:2] for line in text.splitlines()]
    wrong = [f"{name} is given ({kind})" for name, kind in given
             if kind not in "BDR" or not re.search(r"_v[34]$", name)]
    if len(given) < len(sys.argv) - 1 or not given:
        wrong.append("there are objects that give nothing: nothing was checked")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
