#!/usr/bin/env python3
"""Comments of headers are as they were written: no tool has filled them anew.

    comments.py HEADER ...

A parameter, "name  what it is", begins a line, and its further lines are indented below the description. Lines have 100
characters at most, and no words stand twice, one after the other."""
import re
import sys

MOST = 100
COMMENT = re.compile(r"/\*.*?\*/", re.S)
LINE = re.compile(r"^ *(?:/?\*\*?)?(.*)$")
PARAMETER = re.compile(r"^ [a-z_]+(?:, [a-z_]+)*  +\S")
IN_PROSE = re.compile(r"[.;:,)] (?:[a-z_]+, )*[a-z_]+  +[a-z]")
TWICE = re.compile(r"(?<![\w*`])([A-Za-z]+(?: [A-Za-z]+){0,3}) \1(?![\w*`])")


def wrong_in(comment, first):
    in_parameter = False
    for number, line in enumerate(comment.split("\n"), first):
        words = LINE.match(line).group(1)
        begins = PARAMETER.match(words)
        if in_parameter and words.strip(" /") and not begins and not words.startswith("  "):
            in_parameter = False
            if not words.lstrip()[0].isupper():
                yield number, "goes on with a parameter, and does not stand below it"
        in_parameter = bool(begins) or in_parameter and bool(words.strip(" /"))
        if IN_PROSE.search(words) and not begins:
            yield number, "has a parameter within it"
        if TWICE.search(words):
            yield number, f'has "{TWICE.search(words).group()}"'


def main():
    wrong, seen = [], 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found = [(number, f"has {len(line)} characters, more than {MOST}")
                 for number, line in enumerate(text.split("\n"), 1) if len(line) > MOST]
        for comment in COMMENT.finditer(text):
            seen += 1
            found += wrong_in(comment.group(), text.count("\n", 0, comment.start()) + 1)
        wrong += [f"{path}:{number}: the line {what}" for number, what in sorted(found)]
    if not seen:
        wrong.append("no comment was read")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
