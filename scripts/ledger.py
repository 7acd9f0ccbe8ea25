#!/usr/bin/env python3
"""The ledger of what was tried: one line per run in tests/ledger.tsv, and their sum in README.md.

    ledger.py add TARGET SANITIZER SEEDS EXECUTIONS SECONDS FINDINGS
    ledger.py sum                   what was tried, by target
    ledger.py check | write [FILE]  README.md, or FILE, has this sum: between `<!-- ledger -->` and `<!-- end -->`

A line: day, commit (with + when files were changed), target, sanitizer or -, seeds or -, executions, seconds,
findings. Figures in README.md are never typed: they are this sum."""
import collections
import datetime
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEDGER, README = os.path.join(ROOT, "tests/ledger.tsv"), os.path.join(ROOT, "README.md")
BEGIN, END = "<!-- ledger -->\n", "<!-- end -->\n"
COLUMNS = ["day", "commit", "target", "sanitizer", "seeds", "executions", "seconds", "findings"]


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def add(target, sanitizer, seeds, executions, seconds, findings):
    commit = git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")
    numbers = [str(int(n)) for n in (executions, seconds, findings)]
    with open(LEDGER, "a") as f:
        f.write("\t".join([datetime.date.today().isoformat(), commit, target, sanitizer, seeds, *numbers]) + "\n")


def read():
    lines = open(LEDGER).read().splitlines()
    if lines[0].split("\t") != COLUMNS:
        sys.exit(f"{LEDGER}:1: the columns must be {' '.join(COLUMNS)}")
    for n, line in enumerate(lines[1:], 2):
        row = line.split("\t")
        if len(row) != len(COLUMNS) or not all(x.isdigit() for x in row[5:]):
            sys.exit(f"{LEDGER}:{n}: not a run: {line}")
        yield row


def table():
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in read():
        total = sums[row[2], row[3]]
        total[0] += 1
        for k in range(3):
            total[1 + k] += int(row[5 + k])
    lines = ["| what | sanitizer | runs | tried | minutes | findings |", "|---|---|---|---|---|---|"]
    for (target, sanitizer), (runs, tried, seconds, findings) in sorted(sums.items()):
        lines.append(f"| {target} | {sanitizer} | {runs} | {tried:,} | {seconds / 60:,.0f} | {findings} |")
    return "\n".join(lines) + "\n"


def parts(path):
    text = open(path).read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path}: there must be one {BEGIN.strip()} and one {END.strip()}")
    before, rest = text.split(BEGIN)
    return before + BEGIN, *rest.split(END)


def main():
    word, *rest = sys.argv[1:] or ["sum"]
    if word == "add" and len(rest) == 6:
        add(*rest)
    elif word == "sum" and not rest:
        print(table(), end="")
    elif word == "check" and len(rest) <= 1:
        path = (rest or [README])[0]
        if parts(path)[1] != table():
            sys.exit(f"{path}: its figures are not the sum of {LEDGER}: run scripts/ledger.py write")
    elif word == "write" and len(rest) <= 1:
        path = (rest or [README])[0]
        before, _, after = parts(path)
        open(path, "w").write(before + table() + END + after)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
