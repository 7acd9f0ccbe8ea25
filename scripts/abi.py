#!/usr/bin/env python3
"""The binary interface that public headers declare, for scripts/abi.sh.

    abi.py --stubs HEADER ...    C text with an empty body for each function: its debug information is the interface
    abi.py --prototypes HEADER   a line for each function: its name and a digest of its prototype"""
import hashlib
import re
import sys

DECLARATION = re.compile(r"\bFNZ_API\s+([^;{}]*?\))\s*;", re.S)


def declared(header):
    text = re.sub(r"/\*.*?\*/", "", open(header, encoding="utf-8").read(), flags=re.S)
    return [" ".join(found.split()) for found in DECLARATION.findall(text)]


def stubs(headers):
    includes = [f"#include <fnz/{header.rsplit('/', 1)[-1]}>" for header in headers]
    return includes + [function + " { __builtin_trap(); }" for header in headers for function in declared(header)]


def prototypes(headers):
    return sorted(f"{re.search(r'(fnz_[a-z0-9_]+)[(]', function, re.I).group(1)} "
                  f"{hashlib.sha256(function.encode()).hexdigest()[:16]}" for function in declared(headers[0]))


if __name__ == "__main__":
    print("\n".join({"--stubs": stubs, "--prototypes": prototypes}[sys.argv[1]](sys.argv[2:])))
