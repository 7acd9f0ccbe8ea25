#!/usr/bin/env python3
"""Functions have at most 6 parameters and 40 lines; a list of longer or wider functions may only shrink.
A static function has a name that no other file of its folder gives one.

    functions.py ALLOWED ROOT FOLDER ...     compares
    functions.py --write ALLOWED ROOT FOLDER ...

A function, which a macro may open, begins in the first column and ends with a brace there, as clang-format leaves it. Its lines are those from its
name to that brace. ALLOWED has a line for each function with more: FILE FUNCTION PARAMETERS LINES."""
import collections
import os
import re
import sys

MOST_PARAMETERS, MOST_LINES = 6, 40
HEAD = re.compile(r"^(?!typedef|struct|enum|union|#|//|/\*)[A-Za-z_][^;={}]*?\b(\w+)\((.*)\) \{$", re.S)
MACRO = re.compile(r"^[A-Z_]+\((\w+)\) \{$")  # one that writes the head, such as DECOMP(fft)
ALONE = re.compile(r"[A-Z_]+\(.*\)$")  # a macro that writes the whole function


def parameters(text):
    depth, count = 0, 1
    for c in text:
        depth += (c in "([{<") - (c in ")]}>")
        count += c == "," and depth == 0
    return 0 if text.strip() in ("", "void") else count


def functions(path):
    """Name, number of parameters, lines, whether it is static."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    at = 0
    while at < len(lines):
        first = at
        if not re.match(r"[A-Za-z_]", lines[at]):
            at += 1
            continue
        while at < len(lines) and not re.search(r"[;{}]$", lines[at]) and not ALONE.match(lines[at]):
            at += 1
        text = "\n".join(lines[first : at + 1])
        macro = MACRO.match(text)
        head = macro or HEAD.match(text)
        if head and head.group(1) not in ("if", "for", "while", "switch"):
            while at < len(lines) and lines[at] != "}":
                at += 1
            yield head.group(1), 0 if macro else parameters(head.group(2)), at - first + 1, text.startswith("static")
        at += 1


def found(root, folders):
    """Functions with more, and for each folder and name the files with a static function of that name."""
    more, files = {}, collections.defaultdict(list)
    for folder in folders:
        for where, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if not name.endswith((".c", ".h", ".cc", ".cu", ".cuh")):
                    continue
                path = os.path.relpath(os.path.join(where, name), root)
                for function, count, lines, is_static in functions(os.path.join(root, path)):
                    if count > MOST_PARAMETERS or lines > MOST_LINES:
                        more[path, function] = count, lines
                    if is_static and name.endswith(".c") and path not in files[where, function]:
                        files[where, function].append(path)
    return more, files


def main():
    arguments = sys.argv[1:]
    write = arguments[:1] == ["--write"]
    allowed, root, *folders = arguments[write:]
    now, files = found(root, folders)
    if write:
        with open(allowed, encoding="utf-8") as file:
            comments = [line for line in file if line.startswith("#")]
        with open(allowed, "w", encoding="utf-8") as file:
            file.writelines(comments)
            for (path, function), (count, lines) in sorted(now.items()):
                file.write(f"{path} {function} {count} {lines}\n")
        return 0
    with open(allowed, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    known = {(path, function): (int(count), int(lines)) for path, function, count, lines in rows}
    wrong = []
    for (path, function), (count, lines) in now.items():
        was = known.get((path, function), (MOST_PARAMETERS, MOST_LINES))
        if count > max(was[0], MOST_PARAMETERS):
            wrong.append(f"{path}: {function}() has {count} parameters, more than {max(was[0], MOST_PARAMETERS)}")
        if lines > max(was[1], MOST_LINES):
            wrong.append(f"{path}: {function}() has {lines} lines, more than {max(was[1], MOST_LINES)}")
    for (path, function), was in known.items():
        if (path, function) not in now:
            wrong.append(f"{path}: {function}() is no longer too long; lower the list by functions.py --write")
    for (_, function), paths in files.items():
        if len(paths) > 1:
            wrong.append(f"{' and '.join(paths)} have a static {function}() each; begin it with the file's noun")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
