#!/usr/bin/env python3
"""Files and functions that documents name are there.

    paths.py ROOT DOCUMENT ...

In a DOCUMENT each word between backticks, or in an indented block, that is a path of two parts or more is a file or a
folder below ROOT (fixtures/..., base/error.c); `*` stands for any name. A word that is the
name of a source alone (error.c) is that of some file; NAME stands for any. Each `fnz..._...()` is a function that a source
file has. Lines have 130 characters at most, except in tables."""
import glob
import os
import re
import subprocess
import sys

MOST = 130
QUOTED = re.compile(r"`([^`\n]+)`|^ {4}(.*)$", re.M)
PATH = re.compile(r"(?<![\w./<$-])((?:[\w.*-]+/)+[\w.*-]*)(?![\w>])")
SOURCE = re.compile(r"(?!\w*NAME)\w+\.(?:c|h|cc|cu|def)")
FUNCTION = re.compile(r"\b(fnzi?_\w+)\(")


def named(text):
    for match in QUOTED.finditer(text):
        yield match.group(1) or match.group(2)


def functions(root, folders):
    found = set()
    for folder in folders:
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith((".c", ".h", ".cc")):
                    found.update(FUNCTION.findall(open(os.path.join(path, name), encoding="utf-8").read()))
    return found


def main():
    root, *documents = sys.argv[1:]
    listed = subprocess.run(["git", "-C", root, "ls-files"], stdout=subprocess.PIPE, text=True).stdout.split()
    folders = {path.split("/")[0] for path in listed if "/" in path}
    folders = folders or {name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))}
    have = functions(root, folders - {"tests", "fixtures", "build"})
    names = {os.path.basename(path) for path in listed}
    wrong, seen = [], 0
    for document in documents:
        text = open(document, encoding="utf-8").read()
        wrong += [f"{document}:{number}: the line has {len(line)} characters, more than {MOST}"
                  for number, line in enumerate(text.split("\n"), 1) if len(line) > MOST and not line.startswith("|")]
        for words in named(text):
            for path in PATH.findall(words):
                if path.split("/")[0] in folders:
                    seen += 1
                    if not glob.glob(os.path.join(root, path)):
                        wrong.append(f"{document}: there is no {path}")
            if names and SOURCE.fullmatch(words) and words not in names:
                wrong.append(f"{document}: there is no file {words}")
            for name in FUNCTION.findall(words):
                seen += 1
                if name not in have:
                    wrong.append(f"{document}: there is no {name}()")
    if not seen:
        wrong.append("no path was found: nothing was checked")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
