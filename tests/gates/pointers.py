#!/usr/bin/env python3
"""Which calls go through pointers: those are calls that no graph of calls shows.

    pointers.py LIST FILE...

Finds in C sources the members that are called (`backend->apply(...)`), elements of arrays of functions, and parameters
and variables that are pointers to functions. Each must be in LIST, `.apply`, `rows[]` or `visit`, under the reason why
the called functions do not come back to the caller for each level of the input. A line of LIST that nothing needs
fails too."""
import re
import sys

from products import Source, judge, listed

NAME = re.compile(r"[A-Za-z_]\w*")
FUNCTION_TYPE = re.compile(r"\btypedef\s[^;{}()]*?\b(\w+)\(")


def function_types(paths):
    return {name for path in paths for name in FUNCTION_TYPE.findall(open(path).read())}


def declared(tokens, types):
    """Names of pointers to functions: `(*name)(`, or `type *name` of a type of functions."""
    for i in range(len(tokens) - 4):
        if tokens[i] == "(" and tokens[i + 1] == "*" and tokens[i + 3:i + 5] == [")", "("]:
            yield tokens[i + 2]
        if tokens[i] in types:
            at = i + 1
            while tokens[at] in ("*", "const"):
                at += 1
            if NAME.fullmatch(tokens[at]) and tokens[at + 1] in (",", ")", ";", "="):
                yield tokens[at]


def array_before(tokens, i):
    """The name of the indexed array, its last `]` being at i."""
    depth = 0
    while True:
        depth += (tokens[i] == "]") - (tokens[i] == "[")
        if depth == 0 and tokens[i - 1] != "]":
            return tokens[i - 1]
        i -= 1


def calls(tokens, types):
    pointers = set(declared(tokens, types))
    for i in range(1, len(tokens) - 1):
        if tokens[i + 1] != "(":
            continue
        if tokens[i] == "]":
            yield i, array_before(tokens, i) + "[]"
        elif NAME.fullmatch(tokens[i]) and tokens[i - 1] in ("->", "."):
            yield i, "." + tokens[i]
        elif tokens[i] in pointers and (tokens[i - 1] == "return" or not re.fullmatch(r"\w+|\*", tokens[i - 1])):
            yield i, tokens[i]


def main():
    allowed, used, wrong = listed(sys.argv[1]), set(), []
    types = function_types(sys.argv[2:])
    for path in sys.argv[2:]:
        source = Source(path)
        for i, name in calls(source.tokens, types):
            used.add(name)
            if name not in allowed:
                wrong.append(f"{path}:{source.lines[i]}: `{name}` is called through a pointer, and {sys.argv[1]} "
                             "does not say what that may be")
    print(f"{len(used)} pointers to functions are called in {len(sys.argv) - 2} files")
    return judge(sys.argv[1], allowed, used, wrong) if used else 1


if __name__ == "__main__":
    sys.exit(main())
