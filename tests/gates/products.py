#!/usr/bin/env python3
"""No product of sizes outside the checked arithmetic of base/base.h.

    products.py LIST FILE...

A product (`a * b`, `a *= b`) fails unless it is

  - of constants, or of constants and a rank, which is at most 64;
  - a number of bytes, `n * sizeof x`, in a call of memcpy, memmove, memset, memcmp or fnzi_free: the things are there
    already, so their bytes fit;
  - in LIST: lines `FILE: PRODUCT` under a comment that says why it fits. A line there that is in no file any more
    fails too. Products that wrap on purpose, of hashes, are there as well.

Sources are formatted (`T *p` declares, `a * b` multiplies), so that tokens are enough."""
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)+\'|[A-Za-z_0-9]+|->|\+\+|--|[<>=!*/+&|^-]=|&&|\|\||<<|>>|\S')
COPIES = {"memcpy", "memmove", "memset", "memcmp", "fnzi_free"}
CONSTANT = re.compile(r"(\([a-z_0-9]+\))?\(?([A-Z0-9_]+|\d\w*)\)?")
RANK = re.compile(r"(\([a-z_0-9]+\))?(.*(->|\.))?\*?rank")
PAIRS = {")": "(", "]": "["}
OPENERS = {v: k for k, v in PAIRS.items()}


class Source:
    def __init__(self, path):
        text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), open(path).read())
        found = [m for m in TOKEN.finditer(text)]
        self.tokens = [m.group(0) for m in found]
        self.lines, line, last = [], 1, 0
        for m in found:
            line += text.count("\n", last, m.start())
            last = m.start()
            self.lines.append(line)
        self.spaced = [text[m.start() - 1].isspace() and text[m.end():m.end() + 1].isspace() for m in found]

    def products(self):
        for i, token in enumerate(self.tokens):
            if token == "*=" or (token == "*" and self.spaced[i] and i and re.match(r"[\w)\]]", self.tokens[i - 1])):
                yield i

    def skip(self, i, step):
        """From a bracket to its partner."""
        depth = 0
        while True:
            depth += (self.tokens[i] in "([") - (self.tokens[i] in ")]")
            if depth == 0:
                return i
            i += step

    def left(self, i):
        end = i = i - 1
        while True:
            if self.tokens[i] in PAIRS:
                i = self.skip(i, -1)
                if not re.match(r"[\w\]]", self.tokens[i - 1]):
                    break
                i -= 1
            elif self.tokens[i - 1] in ("->", "."):
                i -= 2
            else:
                break
        return "".join(self.tokens[i:end + 1])

    def right(self, i):
        i += 1
        start = i
        while self.tokens[i] in ("-", "*", "!", "&") or self.tokens[i] == "(":
            if self.tokens[i] == "(":
                i = self.skip(i, 1) + 1
                if not re.match(r"[\w(]", self.tokens[i]):
                    return "".join(self.tokens[start:i])
            else:
                i += 1
        if self.tokens[i] == "sizeof":
            while self.tokens[i] not in (",", ")", ";", "?", ":", "+"):
                i = self.skip(i, 1) + 1 if self.tokens[i] == "(" else i + 1
            return "".join(self.tokens[start:i])
        while True:
            following = self.tokens[i + 1]
            if following in OPENERS:
                i = self.skip(i + 1, 1)
            elif following in ("->", "."):
                i += 2
            else:
                return "".join(self.tokens[start:i + 1])

    def callees(self, i):
        """Functions whose argument it is."""
        depth = 0
        while i > 0 and self.tokens[i] not in (";", "{", "}"):
            depth += (self.tokens[i] == ")") - (self.tokens[i] == "(")
            if depth < 0:
                yield self.tokens[i - 1]
                depth = 0
            i -= 1


def is_small(factor):
    return bool(CONSTANT.fullmatch(factor) or RANK.fullmatch(factor) or factor.startswith("sizeof"))


def fits(source, i, left, right):
    if is_small(left) and is_small(right):
        return True
    return "sizeof" in right and bool(COPIES & set(source.callees(i - 1)))


def listed(path):
    lines = enumerate(open(path), 1)
    return {line.strip(): n for n, line in lines if line.strip() and not line.startswith("#")}


def judge(list_path, allowed, used, wrong):
    """The exit code: 1 when something is wrong, or a line of the list is in no source any more."""
    for entry in sorted(set(allowed) - used):
        wrong.append(f"{list_path}:{allowed[entry]}: not needed any more: {entry}")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


def main():
    allowed, used, wrong, seen = listed(sys.argv[1]), set(), [], 0
    for path in sys.argv[2:]:
        source = Source(path)
        for i in source.products():
            seen += 1
            left, right = source.left(i), source.right(i)
            entry = f"{path}: {left} {source.tokens[i]} {right}"
            if entry in allowed:
                used.add(entry)
            elif not fits(source, i, left, right):
                wrong.append(f"{path}:{source.lines[i]}: {left} {source.tokens[i]} {right}: use fnzi_mul_size(), "
                             f"fnzi_mul_i64() or FNZI_NEW(), or say in {sys.argv[1]} why it fits")
    print(f"{seen} products in {len(sys.argv) - 2} files, {len(used)} of them listed")
    return judge(sys.argv[1], allowed, used, wrong) if seen else 1


if __name__ == "__main__":
    sys.exit(main())
