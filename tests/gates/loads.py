#!/usr/bin/env python3
"""Code is loaded by one file of the library, and no other.

    loads.py FILE OBJECT ...

FILE alone may use dlopen and dlsym; among OBJECTs it must be there, and use them."""
import os
import re
import subprocess
import sys


def main():
    allowed, objects = sys.argv[1], sys.argv[2:]
    text = subprocess.run(["nm", "-A", "-u", "--format=posix", *objects], check=True, stdout=subprocess.PIPE, text=True).stdout
    loaders = set()
    for line in text.splitlines():
        name, rest = line.split(": ", 1)
        if rest.split()[0] in ("dlopen", "dlsym", "dlmopen"):
            loaders.add(os.path.normpath(re.sub(r"^.*CMakeFiles/[^/]*\.dir/|\.o$", "", name)))
    wrong = [f"{name} loads code, which only {allowed} may" for name in sorted(loaders - {allowed})]
    if allowed not in loaders:
        wrong.append(f"{allowed} loads nothing: nothing was checked")
    for w in wrong:
        print(w, file=sys.stderr)
    print(f"{len(objects)} objects, {len(loaders)} of them load code")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
