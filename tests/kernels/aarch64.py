#!/usr/bin/env python3
"""Holds what two processors compute against each other, as tests/kernels/point_digest.c prints it.

    aarch64.py WANT HAVE EXCUSED

Rows that differ must be in EXCUSED, with a reason, and rows in it must differ."""
import sys


def rows(path):
    with open(path) as file:
        return dict(line.rsplit(" ", 1) for line in file.read().splitlines())


def excused(path):
    with open(path) as file:
        return {" ".join(line.split()[:2]) for line in file if line.strip() and not line.startswith("#")}


def main(want, have, excuses):
    want, have, allowed = rows(want), rows(have), excused(excuses)
    differ = {row for row in want.keys() | have.keys() if want.get(row) != have.get(row)}
    for row in sorted(differ - allowed):
        print(f"{row}: other bits than on x86-64")
    for row in sorted(allowed - differ):
        print(f"{row}: {excuses} excuses it, and it has the same bits")
    print(f"{len(want)} rows, {len(want.keys() - differ)} with the same bits")
    return 1 if differ != allowed or len(want) < 300 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
