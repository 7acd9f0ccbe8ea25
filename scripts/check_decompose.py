#!/usr/bin/env python3
"""Checks that programs taken apart compute the same results as before, and as PyTorch.

    check_decompose.py --fnz build/fnz [--set core] [--views copy] [--bound 1e-5] [--counts FILE.tsv] [--list] FOLDER...

A case is a folder with program.pt2, case.json, inputs.safetensors and expected.safetensors.
`fnz convert --decompose SET` writes its program, which must have only operators of the set (and the rows of
functionalize/decompose/left.def), and is run. Results have the names of the outputs before, and are equal to the
expected ones within --bound of the largest magnitude (of 16 bits: 1e-2), bit for bit where nothing rounds: bool and
integers. With --counts, written by record_decompositions.py, a program has no more nodes than PyTorch leaves, except
for the rows of fixtures/decompose/more.tsv, where PyTorch leaves operators that are not in the set. Prints a line per
failure, then a summary; exit 1 if any failed. Standard library only.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

FORMATS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "?",
           "C64": "f", "C128": "d"}
EXACT = {"I64", "I32", "I16", "I8", "U8", "BOOL"}
ROOT = pathlib.Path(__file__).resolve().parent.parent


def load(path):
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    body = data[8 + size:]
    return {k: (v["dtype"], v["shape"], body[slice(*v["data_offsets"])]) for k, v in header.items() if k != "__metadata__"}


def values(dtype, raw):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
    code = FORMATS[dtype]
    return struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw)


def difference(got, want, bound):
    if got[:2] != want[:2]:
        return f"is {got[0]}{got[1]}, want {want[0]}{want[1]}"
    if got[2] == want[2]:
        return None
    x, y = values(got[0], got[2]), values(want[0], want[2])
    bound = 0 if got[0] in EXACT else max(bound, 1e-2) if got[0] in ("F16", "BF16") else bound
    most = max([1.0] + [abs(v) for v in y if v == v and abs(v) != float("inf")])
    for i, (p, q) in enumerate(zip(x, y)):
        if not (p == q or (p != p and q != q) or abs(p - q) <= bound * most):
            return f"element {i} is {p!r}, want {q!r}"
    return None


def targets(text):
    """The operators of a program's text, also operators without results or with lists."""
    text = re.sub(r"^source .*$", "", text, flags=re.M)
    return re.findall(r"^ +(?:[%\[].*? = )?([\w:.]+)\(", text, flags=re.M)


def kept_operators(fnz):
    """Names of core operators and of the copies of core views."""
    rows = json.loads(subprocess.run([fnz, "ops", "--json"], capture_output=True, text=True, check=True).stdout)["operators"]
    core = {r["name"] for r in rows if "core" in (r.get("tags") or [])}
    views = {r["name"] for r in rows if r["view"] and r["name"] in core}
    copies = {re.sub(r"^(\w+)", r"\1_copy", name) for name in views}
    return core | copies, {r["name"] for r in rows}


def excused_operators(fnz):
    """The operators that a set leaves: random ones, and rows of left.def."""
    rows = json.loads(subprocess.run([fnz, "ops", "--json"], capture_output=True, text=True, check=True).stdout)["operators"]
    random = {r["name"] for r in rows if "nondeterministic_seeded" in (r.get("tags") or [])}
    rows = re.findall(r'^LEFT\((\w+), +"(.+)"\)$', (ROOT / "functionalize/decompose/left.def").read_text(), flags=re.M)
    return random | {re.sub(r"(?<=\w)__(?=[^_])", ".", name, count=1) for name, _ in rows}


def leaves_others(row, known, kept):
    """PyTorch leaves operators that are no core ones."""
    theirs = [o.rsplit(":", 1)[0].removeprefix("aten.").removesuffix(".default") for o in row[2].split()]
    return any(op in known and op not in kept for op in theirs)


def counted(path):
    lines = pathlib.Path(path).read_text().splitlines()
    return {f[0]: f for f in (line.split("\t") for line in lines if not line.startswith("#"))}


class Check:
    def __init__(self, options):
        self.o = options
        self.kept, self.known = kept_operators(options.fnz)
        self.excused = excused_operators(options.fnz)
        self.counts = counted(options.counts) if options.counts else {}
        self.listed = counted(ROOT / "fixtures/decompose/more.tsv")
        self.nodes = self.torch_nodes = 0
        self.more = []

    def fnz(self, *arguments):
        return subprocess.run([self.o.fnz, *map(str, arguments)], capture_output=True, text=True, timeout=self.o.timeout)

    def foreign(self, operators):
        return sorted({op for op in operators if op in self.known and op not in self.kept and op not in self.excused})

    def compare(self, case, plain, made):
        want = load(case / "expected.safetensors")
        if set(plain) != set(made):
            return f"names differ: {sorted(set(plain) ^ set(made))}"
        for name, array in made.items():
            e = difference(array, want[name], self.o.bound) if name in want else None
            e = e or difference(array, plain[name], self.o.bound)
            if e:
                return f"{name}: {e}"
        return None

    def count(self, name, operators):
        row = self.counts.get(name)
        if not row or row[1] == "-":
            return None
        self.nodes += len(operators)
        self.torch_nodes += int(row[1])
        if len(operators) <= int(row[1]):
            return None
        if name in self.listed:
            self.more.append(f"{name}: {len(operators)} nodes, PyTorch has {row[1]} and leaves {self.listed[name][1]}")
            return None
        return f"{len(operators)} nodes, PyTorch has {row[1]}"

    def one(self, case, name):
        if json.loads((case / "case.json").read_text()).get("error"):
            return "refused"
        ops = ["--ops", case / "ops.txt"] if (case / "ops.txt").exists() else []
        with tempfile.TemporaryDirectory() as folder:
            made, before, after = (os.path.join(folder, f) for f in ("made.cbor", "before.safetensors", "after.safetensors"))
            steps = (("convert", case / "program.pt2", "--decompose", self.o.set, "--views", self.o.views, "-o", made),
                     ("run", case / "program.pt2", "--inputs", case / "inputs.safetensors", "--outputs", before),
                     ("run", made, "--inputs", case / "inputs.safetensors", "--outputs", after), ("show", made))
            for step in steps:
                result = self.fnz(*step, *ops)
                if result.returncode:
                    return f"{step[0]}: exit {result.returncode}: {result.stderr.strip()[:160]}"
            operators = targets(result.stdout)
            foreign = self.foreign(operators) if self.o.set in ("core", "prims") and self.o.views == "copy" else None
            if foreign:
                return f"left: {', '.join(foreign)}"
            return self.compare(case, load(before), load(after)) or self.count(name, operators)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fnz", required=True, type=os.path.abspath)
    parser.add_argument("--set", default="core")
    parser.add_argument("--views", default="copy")
    parser.add_argument("--bound", type=float, default=1e-5)
    parser.add_argument("--counts")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    check = Check(options)
    cases = [(p.parent, str(p.parent.relative_to(f))) for f in options.folders for p in sorted(f.rglob("case.json"))]
    good = bad = refused = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (_, name), error in zip(cases, pool.map(lambda c: check.one(*c), cases)):
            refused += error == "refused"
            good += error is None
            bad += error not in (None, "refused")
            if error not in (None, "refused"):
                print("FAIL", name, error)
            elif options.list:
                print("ok" if error is None else error, name)
    print(f"{good} passed, {bad} failed, {refused} are refused by PyTorch too")
    if check.counts:
        print("\n".join(sorted(check.more)))
        print(f"{check.nodes} nodes, PyTorch {check.torch_nodes}; {len(check.more)} programs have more, listed in more.tsv")
    sys.exit(1 if bad or not good else 0)


if __name__ == "__main__":
    main()
