#!/usr/bin/env python3
"""Numbers of operators in documents equal the numbers that `fnz ops` gives.

    counts.py FNZ ROOT"""
import json
import os
import re
import subprocess
import sys


def main():
    fnz, root = sys.argv[1:]
    out = subprocess.run([fnz, "ops", "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    ops = json.loads(out)["operators"]
    on_cpu = [op for op in ops if op["cpu_kernel"]]
    functional = [op for op in on_cpu if op["kind"] == "functional"]
    not_on_gpu = [op for op in functional if op["kernels"]["cuda"]["way"] == "by the CPU"]
    refused = [op for op in ops if op["rule"]["action"] == "refused"]
    wanted = [  # document, its words around the number, the number
        ("README.md", r"takes all ([\d,]+) of ATen", len(ops)),
        ("README.md", r"of ATen except (\d+)", len(refused)),
        ("README.md", r"the CPU computes ([\d,]+)\.", len(on_cpu)),
        ("docs/operators.md", r"each of the ([\d,]+) ATen operators", len(ops)),
        ("docs/what-works.md", r"all ([\d,]+) of the ATen table", len(ops)),
        ("docs/what-works.md", r"CPU: ([\d,]+) functional operators", len(functional)),
        ("docs/what-works.md", r"with their variants ([\d,]+) of the table", len(on_cpu)),
        ("docs/what-works.md", r"of the ([\d,]+) functional operators all except", len(functional)),
        ("docs/what-works.md", r"functional operators all except (\d+)", len(not_on_gpu)),
        ("docs/what-works.md", r"([\d,]+) operators of the table, with a remedy", len(refused)),
        ("docs/what-works.md", r"every view operator of the table but (\d+)", sum(op["view"] for op in refused)),
        ("docs/what-works.md", r"every writing operator of the table but (\d+)", sum(op["writes"] for op in refused)),
    ]
    wrong = []
    for document, around, number in wanted:
        with open(os.path.join(root, document), encoding="utf-8") as file:
            said = re.findall(around, re.sub(r"\s+", " ", file.read()))
        if len(said) != 1:
            wrong.append(f'{document} has "{around}" {len(said)} times, not once')
        elif said[0] != f"{number:,}":
            wrong.append(f'{document} says {said[0]} in "{around}"; fnz ops gives {number:,}')
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
