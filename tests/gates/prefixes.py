#!/usr/bin/env python3
"""Internal names begin with the prefix of their module, which a table of a document has.

    prefixes.py DOCUMENT OBJECT ...

Rows of the table are | `FOLDER/` | `PREFIX` | ... |. Each external symbol of an object of FOLDER begins with PREFIX, or is
a public function: fnz_*."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import arrows  # noqa: E402

ROW = re.compile(r"^\| `([\w/]+)/` \| `(fnzi_\w+_)` \|", re.M)


def main():
    document, *objects = sys.argv[1:]
    prefixes = dict(ROW.findall(open(document).read()))
    wrong, seen = [], {folder: 0 for folder in prefixes}
    for path, symbol in arrows.defined(objects):
        folder = os.path.dirname(path)
        if folder not in prefixes or symbol.startswith("fnz_"):
            continue
        seen[folder] += 1
        if not symbol.startswith(prefixes[folder]):
            wrong.append(f"{path} defines {symbol}: names of {folder}/ begin with {prefixes[folder]}, see {document}")
    wrong += [f"{document}: no name of {folder}/ was found" for folder in seen if not seen[folder]]
    if not prefixes:
        wrong.append(f"{document} has no table of prefixes")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
