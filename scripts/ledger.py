#!/usr/bin/env python3
"""The ledger of random tests: lines of tests/ledger.tsv, and their sum in docs/trust.md.

    ledger.py add TARGET SANITIZER SEEDS EXECUTIONS SECONDS FINDINGS
    ledger.py next TARGET           seed and index of the first random program that no run has tried
    ledger.py sum                   what was tried, by target
    ledger.py check | write [FILE]  docs/trust.md, or FILE, has this sum: between `<!-- ledger -->` and `<!-- end -->`

A line: day, commit (with + when files were changed), target, sanitizer or -, seeds, executions, seconds, findings.
Seeds are -, a number, or the random programs SEED:FIRST-END. A run is added to the line of the same commit, target,
sanitizer and seeds, where there is one; ranges of programs that follow each other become one. Figures in docs/trust.md
are never typed: they are this sum."""
import collections
import datetime
import fcntl
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEDGER, TRUST = os.path.join(ROOT, "tests/ledger.tsv"), os.path.join(ROOT, "docs/trust.md")
BEGIN, END = "<!-- ledger -->\n", "<!-- end -->\n"
FIRST_SEED, MOST_PROGRAMS = 20001, 1_900_000_000  # `fnz fuzz` takes indices below two billion
COLUMNS = ["day", "commit", "target", "sanitizer", "seeds", "executions", "seconds", "findings"]


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def commit():
    """The ledger itself is no change of the program."""
    changed = git("status", "--porcelain", "-uno", "--", ".", ":!tests/ledger.tsv", ":!docs/trust.md")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def programs(seeds):
    """(seed, first, end), or None."""
    match = re.fullmatch(r"(\d+):(\d+)-(\d+)", seeds)
    return tuple(map(int, match.groups())) if match else None


def joined(before, seeds):
    """The seeds of both runs as the seeds of one, or None."""
    if programs(before) and programs(seeds):
        (seed, first, end), (other, begin, to) = programs(before), programs(seeds)
        return f"{seed}:{first}-{to}" if (seed, end) == (other, begin) else None
    return seeds if before == seeds else None


def add(target, sanitizer, seeds, executions, seconds, findings):
    run = [datetime.date.today().isoformat(), commit(), target, sanitizer, seeds]
    numbers = [int(n) for n in (executions, seconds, findings)]
    with open(LEDGER, "r+") as f:  # two fuzzers may end at once
        fcntl.flock(f, fcntl.LOCK_EX)
        rows = [line.split("\t") for line in f.read().splitlines()]
        for row in rows[1:]:
            together = joined(row[4], seeds) if row[1:4] == run[1:4] else None
            if together:
                row[:] = [run[0], *row[1:4], together, *(str(int(x) + n) for x, n in zip(row[5:], numbers))]
                break
        else:
            rows.append([*run, *map(str, numbers)])
        f.seek(0)
        f.truncate()
        f.write("".join("\t".join(row) + "\n" for row in rows))


def following(target):
    """The last seed, and the index after all its programs that were tried at any commit."""
    tried = [programs(row[4]) for row in read() if row[2] == target]
    seed, end = max(((seed, end) for seed, _, end in filter(None, tried)), default=(FIRST_SEED, 0))
    return (seed, end) if end < MOST_PROGRAMS else (seed + 1, 0)


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
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for row in read():
        total = sums[row[2], row[3]]
        for k in range(3):
            total[k] += int(row[5 + k])
    lines = ["| what | sanitizer | tried | minutes | findings |", "|---|---|---|---|---|"]
    for (target, sanitizer), (tried, seconds, findings) in sorted(sums.items()):
        lines.append(f"| {target} | {sanitizer} | {tried:,} | {seconds / 60:,.0f} | {findings} |")
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
    elif word == "next" and len(rest) == 1:
        print(*following(rest[0]))
    elif word == "sum" and not rest:
        print(table(), end="")
    elif word == "check" and len(rest) <= 1:
        path = (rest or [TRUST])[0]
        if parts(path)[1] != table():
            sys.exit(f"{path}: its figures are not the sum of {LEDGER}: run scripts/ledger.py write")
    elif word == "write" and len(rest) <= 1:
        path = (rest or [TRUST])[0]
        before, _, after = parts(path)
        open(path, "w").write(before + table() + END + after)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
