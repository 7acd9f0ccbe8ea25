#!/usr/bin/env python3
"""What the shared library gives and takes: exactly the functions of the interface, and nothing that a library has no
business with.

    symbols.py WANT FORBIDDEN LIBRARY

WANT has one name per line: what the library exports, without the typed functions that are generated from the table
of operators (fnz_aten_...). A new or a lost name is a change of the interface: FNZ_BLESS=1 in the environment accepts
it, and the diff is reviewed. FORBIDDEN has patterns of names that it must not use, under the reason."""
import os
import re
import subprocess
import sys


def names(library, which):
    text = subprocess.run(["nm", "-D", which, library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return sorted({line.split()[-1].split("@")[0] for line in text.splitlines() if line})


def exported(library, want_path):
    given = [n for n in names(library, "--defined-only") if not n.startswith("fnz_aten_")]
    if os.environ.get("FNZ_BLESS"):
        open(want_path, "w").write("".join(n + "\n" for n in given))
    want = open(want_path).read().split()
    for name in sorted(set(given) - set(want)):
        yield f"{name} is exported and not in {want_path}"
    for name in sorted(set(want) - set(given)):
        yield f"{name} is in {want_path} and not exported"
    for name in given:
        if not name.startswith("fnz_"):
            yield f"{name} is exported and is no name of ours"


def taken(library, forbidden_path):
    lines = [line.strip() for line in open(forbidden_path)]
    forbidden = re.compile("|".join(line for line in lines if line and line[0] != "#"))
    used = names(library, "--undefined-only")
    if "memcpy" not in used:
        yield "not even memcpy is used: nothing was checked"
    for name in used:
        if forbidden.fullmatch(name):
            yield f"{name} is used, which {forbidden_path} forbids"


def main():
    want_path, forbidden_path, library = sys.argv[1:]
    wrong = list(exported(library, want_path)) + list(taken(library, forbidden_path))
    for w in wrong:
        print(f"{library}: {w}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
