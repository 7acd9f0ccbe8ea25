#!/usr/bin/env python3
"""How many instructions fnz_compile() takes, by callgrind: repeatable, whatever else the machine does.

    bench/engine/compile.py build/bench/bench_compile [--profile N] [--at 1000,10000] [SHAPE or FILE ...]

Prints millions of instructions per 1,000 values for each shape of compile.c and each file; with --profile the N
functions that take most of them. Instructions of oneDNN and libc within fnz_compile() are counted as well.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

SHAPES = ["pointwise", "layers", "adam", "cache"]


def count(bench, arguments, profile):
    """Values of the program, and instructions of one fnz_compile()."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        run = subprocess.run(["valgrind", "--tool=callgrind", "--toggle-collect=fnz_compile", f"--callgrind-out-file={out}",
                              bench, *arguments], capture_output=True, text=True, check=True)
        values = int(re.search(r"(\d+) values", run.stdout).group(1))
        rounds = int(re.search(r"(\d+) rounds", run.stdout).group(1))
        if profile:
            told = subprocess.run(["callgrind_annotate", out], capture_output=True, text=True, check=True).stdout
            print("\n".join(line[:110] for line in told.splitlines() if " (" in line)[:110 * profile])
        total = int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M).group(1))
    return values, total / rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--at", default="1000,10000")
    parser.add_argument("--profile", type=int, default=0)
    parser.add_argument("what", nargs="*", default=SHAPES)
    args = parser.parse_intermixed_args()
    for what in args.what:
        runs = [[n, what] for n in args.at.split(",")] if what in SHAPES else [[what]]
        for run in runs:
            values, total = count(args.bench, run, args.profile)
            print(f"{what:40} {values:8} values  {total / values / 1e3:7.2f} M instructions per 1,000", flush=True)


main()
