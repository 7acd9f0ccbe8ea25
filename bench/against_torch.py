#!/usr/bin/env python3
"""How long PyTorch's own pass takes on a program, and how long fnz takes, in one run.

    bench/against_torch.py --fnz build/fnz PROGRAM.pt2 ...

Needs torch 2.9 or newer, which fnz itself never does. For each program: ExportedProgram
.run_decompositions({}) (functionalization without decompositions), and the functionalize_ms that
`fnz stats --json` reports. Both are the best of several tries, each without reading the file.
"""
import argparse
import json
import os
import subprocess
import time
import warnings

import torch

warnings.filterwarnings("ignore")


def best(tries, measure):
    return min(measure() for _ in range(tries))


def torch_ms(path):
    program = torch.export.load(path)
    start = time.perf_counter()
    program.run_decompositions({})
    return (time.perf_counter() - start) * 1e3


def fnz_ms(fnz, path):
    out = subprocess.run([fnz, "stats", "--json", path], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fnz", required=True)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("programs", nargs="+")
    args = parser.parse_args()
    print(f"{'program':28} {'nodes':>6} {'torch ms':>10} {'fnz ms':>8} {'ratio':>7}")
    for path in args.programs:
        theirs = best(args.tries, lambda: torch_ms(path))
        stats = fnz_ms(args.fnz, path)
        ours = best(args.tries, lambda: fnz_ms(args.fnz, path)["functionalize_ms"])
        name = os.path.basename(os.path.dirname(os.path.abspath(path)))
        print(f"{name:28} {stats['nodes_in']:6} {theirs:10.1f} {ours:8.3f} {theirs / ours:7.0f}")


if __name__ == "__main__":
    main()
