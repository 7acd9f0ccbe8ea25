#!/usr/bin/env python3
"""No table has a row of an alias: facts about an operator are under its canonical name.

    aliases.py ALIASES TABLE FILE...

ALIASES is schema/facts/aliases.def, TABLE schema/aten.tsv, which says what overloads a base name has. Other files that
end in .def are tables: the first argument of a row that is no word in capitals must be no alias, nor a base name all
of whose functional overloads are aliases. In C no list may name one, nor may FNZI_ATEN_ before its name."""
import re
import sys

ALIAS = re.compile(r'^ALIAS\("([^"]+)", "([^"]+)"\)$', re.M)
ROW = re.compile(r'^[A-Z_0-9]+\((?:[A-Z]+, *)*"?([A-Za-z_][\w.:]*)"?', re.M)
PLACE = re.compile(r"FNZI_ATEN_(\w+)")
ITEM = re.compile(r'[{,]\s*"([^"\n]+)"\s*(?=[,}])')
COMMENT = re.compile(r"/\*.*?\*/", re.S)
WORDS = ("kernels/reductions.def",)  # its names are words that an argument may be


def functional(path):
    """Functional operators by base name."""
    ops = {}
    for line in open(path):
        if not line.startswith("#"):
            name, kind = line.split("\t")[:2]
            name = name.removeprefix("aten::")
            if kind == "functional":
                ops.setdefault(name.split(".")[0], set()).add(name)
    return ops


def aliases(path, ops):
    """The canonical name by all names and spellings of an alias."""
    whole, found = open(path).read(), {}
    for name, other in ALIAS.findall(whole):
        is_one = "." in name or "." in other
        for op in {name} if is_one else ops.get(name, set()):
            found[op] = other if is_one else other + op[len(name):]
    for base, members in ops.items():
        if base not in found and members <= set(found):
            found[base] = found[min(members)].split(".")[0]
    return found | {op.replace(".", "__", 1): other for op, other in found.items()}


def named(path):
    """The names in a file, with their places."""
    text = COMMENT.sub(lambda m: "\n" * m.group(0).count("\n"), open(path).read())
    for pattern in (ROW,) if path.endswith(".def") else (PLACE, ITEM):
        for m in pattern.finditer(text):
            yield m.group(1), text.count("\n", 0, m.start(1)) + 1


def main():
    ops = functional(sys.argv[2])
    known, names, wrong = aliases(sys.argv[1], ops), 0, 0
    for path in sys.argv[3:]:
        for name, line in () if path in WORDS or path == sys.argv[1] else named(path):
            names += 1
            if name in known:
                wrong += 1
                print(f"{path}:{line}: {name} is another name of {known[name]}, of which alone tables speak: "
                      "ask for fnzi_op_canonical(), and give the row to that one")
    print(f"{names} names in {len(sys.argv) - 3} files, {len(known)} names of aliases")
    return 1 if wrong or not known or not names else 0


if __name__ == "__main__":
    sys.exit(main())
