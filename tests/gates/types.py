#!/usr/bin/env python3
"""Every type of ours has one meaning in the whole tree.

    types.py LIST FILE...

Finds in C sources what is defined as a type: `typedef`, `struct x {`, `enum x {`, `union x {`. A name that begins with
fnz_ or fnzi_ must not be defined otherwise in another file, nor name a function: no file could use both, and a search
for one finds the other. `typedef struct x x;` defines nothing. LIST has the names that still have two meanings; it may
only shrink, so a line of it that nothing needs fails too."""
import re
import sys

from products import COMMENT, TOKEN, judge, listed

CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n.*?^#endif", re.M | re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
NAME = re.compile(r"[A-Za-z_]\w*")
OURS = re.compile(r"fnzi?_[a-z]")
KINDS = ("struct", "union", "enum")


def before_body(statement):
    return statement[:statement.index("{")] if "{" in statement else statement


def statements(path):
    """Declarations and definitions of a file, as lists of tokens, and the lines that they begin in."""
    text = open(path).read()
    for pattern in (COMMENT, CPLUSPLUS, DIRECTIVE):
        text = pattern.sub(lambda m: "\n" * m.group(0).count("\n"), text)
    statement, depth, first = [], 0, 0
    for m in TOKEN.finditer(text):
        token = m.group(0)
        statement, first = (statement, first) if statement else ([], m.start())
        statement.append(token)
        depth = max(depth + (token == "{") - (token == "}"), 0)
        is_body = token == "}" and statement[0] != "typedef" and ")" in before_body(statement)
        if depth == 0 and (token == ";" or is_body):
            yield text.count("\n", 0, first) + 1, statement
            statement = []


def type_names(s):
    """The types that a statement defines."""
    if s[0] == "static" or s[0] == "extern":
        return set()
    if "{" in s:
        at = s.index("{")
        tag = {s[at - 1]} if at > 1 and s[at - 2] in KINDS else set()
        return tag | ({s[-2]} if s[0] == "typedef" and NAME.fullmatch(s[-2]) else set())
    if s[0] != "typedef" or s[1] in KINDS and s[2:4] in ([s[3], s[3]], [s[2], s[2]]):
        return set()
    if "(" in s:
        at = s.index("(")
        return {s[at + 2] if s[at + 1] == "*" else s[at - 1]}
    return {s[-2]}


def function_name(s):
    head = before_body(s)
    if s[0] == "typedef" or "(" not in head or "=" in head[:head.index("(")]:
        return None
    for i, token in enumerate(head[:-2]):
        if OURS.match(token) and head[i + 1] == "(" and head[i + 2] != "*":
            return token
    return None


def main():
    allowed, used, wrong, types, functions = listed(sys.argv[1]), set(), [], {}, {}
    for path in sys.argv[2:]:
        for line, s in statements(path):
            for name in type_names(s):
                types.setdefault(name, {}).setdefault(path, (line, " ".join(s)))
            functions.setdefault(function_name(s), (path, line))
    for name, places in sorted(types.items()):
        if not OURS.match(name):
            continue
        seen = [f"{path}:{line}" for path, (line, _) in sorted(places.items())]
        is_double = len({meaning for _, meaning in places.values()}) > 1
        if not is_double and name not in functions:
            continue
        used.add(name)
        seen += ["%s:%d, as a function" % functions[name]] if name in functions else []
        if name not in allowed:
            wrong.append(f"type {name} has several meanings: {'; '.join(seen)}: give it the name of its module")
    print(f"{sum(map(bool, map(OURS.match, types)))} types in {len(sys.argv) - 2} files, {len(used)} of them with several meanings")
    return judge(sys.argv[1], allowed, used, wrong) if types else 1


if __name__ == "__main__":
    sys.exit(main())
