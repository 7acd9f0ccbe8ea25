#!/usr/bin/env python3
"""The symbols that a shared library exports and imports: exactly the functions that its public headers declare, and
nothing that a library has no business with.

    symbols.py [--shared-with OTHER] [--symbol NAME] FORBIDDEN LIBRARY HEADER ...

It may also export NAME, and internal functions, fnzi_*, that the library OTHER imports: exactly those. A HEADER is a path, such as include/fnz/core.h, and means its declarations; a header without any, such as core.h, means
its includes. FORBIDDEN has patterns of names that the library must not use, under the reason."""
import argparse
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r"^#include <(fnz/\w+[.]h)>", re.M)
DECLARED = re.compile(r"\bFNZ_API\b[^;{}()]*?\b(\w+)\(")


def names(library, which):
    text = subprocess.run(["nm", "-D", which, library], check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [line.split() for line in text.splitlines() if line]
    return {row[-1].split("@")[0] for row in rows if row[-2] != "A"}  # of the version itself


def declared(headers):
    """{function: header}."""
    found, left = {}, list(headers)
    while left:
        header = left.pop()
        text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
        here = DECLARED.findall(text)
        if not here:
            left += [os.path.join(os.path.dirname(header), "..", name) for name in INCLUDE.findall(text)]
        found.update(dict.fromkeys(here, os.path.basename(header)))
    return found


def shared(library, other):
    """Internal names are exported for another library, and no more of them than that uses."""
    have = {name for name in names(library, "--defined-only") if name.startswith("fnzi_")}
    used = {name for name in names(other, "--undefined-only") if name.startswith("fnzi_")}
    for name in sorted(have - used):
        yield f"{name} is exported for {os.path.basename(other)}, which does not use it"
    for name in sorted(used - have):
        yield f"{name} is not exported for {os.path.basename(other)}, which uses it"


def given(library, headers, others):
    want, have = declared(headers), names(library, "--defined-only") - others
    for name in sorted(have - set(want)):
        yield f"{name} is exported and in none of its headers"
    for name in sorted(set(want) - have):
        yield f"{name} is in <fnz/{want[name]}> and not exported"
    for name in sorted(have):
        if not name.startswith("fnz_"):
            yield f"{name} is exported and is no name of ours"


def taken(library, forbidden_path):
    lines = [line.strip() for line in open(forbidden_path)]
    forbidden = re.compile("|".join(line for line in lines if line and line[0] != "#"))
    used = names(library, "--undefined-only")
    if "memcpy" not in used:
        yield "not even memcpy is used: nothing was checked"
    for name in sorted(used):
        if forbidden.fullmatch(name):
            yield f"{name} is used, which {forbidden_path} forbids"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shared-with")
    parser.add_argument("--symbol")
    parser.add_argument("forbidden")
    parser.add_argument("library")
    parser.add_argument("headers", nargs="*")
    o = parser.parse_args()
    others, wrong = {o.symbol} - {None}, []
    if o.symbol and o.symbol not in names(o.library, "--defined-only"):
        wrong.append(f"{o.symbol} is not exported")
    if o.shared_with:
        wrong += shared(o.library, o.shared_with)
        others |= {name for name in names(o.library, "--defined-only") if name.startswith("fnzi_")}
    wrong += list(given(o.library, o.headers, others)) + list(taken(o.library, o.forbidden))
    for w in wrong:
        print(f"{o.library}: {w}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
