"""Takes the programs of fixtures apart, as far as core operators go, and compares the results with the original, and
with PyTorch's own decomposition.

    decompose.py FNZ EVERY FIXTURES

For every program, or every so many one: only core operators are left, and rows of functionalize/decompose/left.def,
for which `fnz convert` gives the reason. A program that only moves elements is verified over hashes, for all values;
one that computes is run before and after on the same numbers, and equal within 1e-5 of the largest magnitude (of 16
bits: 1e-2), whole numbers exactly. Programs that compute what no kernel does are listed, and are no more than NOT_RUN.

fixtures/decompose/pytorch.tsv, written by scripts/record_decompositions.py, says how many nodes PyTorch leaves of each
.pt2 file: there are no more here, or than the functional form has, unless PyTorch leaves other operators;
fixtures/decompose/more.tsv lists those programs, with the operators.
"""

import concurrent.futures
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_decompose as check  # noqa: E402

NOT_RUN = 8
SEARCHED = {"vmap/more"}  # in rows that must be sorted
SIZES = {"f64": ("F64", "d"), "f32": ("F32", "f"), "f16": ("F16", "e"), "bf16": ("BF16", None), "i64": ("I64", "q"),
         "i32": ("I32", "i"), "i16": ("I16", "h"), "i8": ("I8", "b"), "u8": ("U8", "B"), "bool": ("BOOL", "?"),
         "c64": ("C64", "f"), "c128": ("C128", "d")}


def numbers(dtype, count, seed):
    """So many numbers, as bytes."""
    name, code = SIZES[dtype]
    count *= 2 if name in ("C64", "C128") else 1
    if name[0] in "FC":
        return struct.pack(f"<{count}{code}", *(2 * math.sin(i * 1.7 + seed) for i in range(count)))
    if name == "BF16":
        return b"".join(struct.pack("<f", 2 * math.sin(i * 1.7 + seed))[2:] for i in range(count))
    if name == "BOOL":
        return bytes((i * 5 + seed) % 3 != 0 for i in range(count))
    return struct.pack(f"<{count}{code}", *((i + seed) % 3 for i in range(count)))


def inputs_of(text, has_weights, ascends):
    """Numbers for all inputs of a program's text that are tensors: a safetensors file."""
    known = dict(re.findall(r'^symbol "?([^"\n=]+?)"? = (-?\d+)', text, flags=re.M))
    body = re.search(r"^program\((.*?)\)\n\{", text, flags=re.M | re.S).group(1)
    header, data = {}, b""
    rows = re.findall(r'^  %"?(\w+|[^"]+)"?: (\w+)\[(.*?)\](.*)$', body, flags=re.M)
    for k, (name, dtype, sizes, rest) in enumerate(rows):
        if (has_weights and re.search(r" (parameter|buffer|constant)", rest)) or dtype not in SIZES:
            continue
        shape = [int(known[s.strip("{}")] if s.startswith("{") else s) for s in sizes.split(",") if s]
        count = math.prod(shape)
        raw = struct.pack(f"<{count}f", *range(count)) if ascends and dtype == "f32" else numbers(dtype, count, k)
        header[name] = {"dtype": SIZES[dtype][0], "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


class Test:
    def __init__(self, fnz, fixtures):
        self.command, self.fixtures = fnz, pathlib.Path(fixtures)
        self.kept, self.known = check.kept_operators(fnz)
        self.excused = check.excused_operators(fnz)
        self.counts = check.counted(self.fixtures / "decompose/pytorch.tsv")
        self.more = check.counted(self.fixtures / "decompose/more.tsv").keys() & self.counts.keys()
        self.seen_more = set()

    def fnz(self, *words):
        return subprocess.run([self.command, *map(str, words)], capture_output=True, text=True, errors="replace")

    def on_numbers(self, before, after, given, ops, folder):
        """An error, or ("not run", why)."""
        arrays = []
        (folder / "in.safetensors").write_bytes(given)
        for program in (before, after):
            out = folder / "out.safetensors"
            ran = self.fnz("run", program, "--inputs", folder / "in.safetensors", "--outputs", out, *ops)
            if ran.returncode:
                return ("not run", ran.stderr.strip()) if program == before else f"run: {ran.stderr.strip()}"
            arrays.append(check.load(out))
        if set(arrays[0]) != set(arrays[1]):
            return f"results differ: {sorted(set(arrays[0]) ^ set(arrays[1]))}"
        errors = ((n, check.difference(arrays[1][n], arrays[0][n], 1e-5)) for n in arrays[0])
        return next((f"{name}: {error}" for name, error in errors if error), None)

    def count(self, name, operators, functional):
        row = self.counts.get(name)
        if not row or row[1] == "-" or len(operators) <= max(int(row[1]), len(functional)):
            return None
        self.seen_more.add(name)
        if name not in self.more or not check.leaves_others(row, self.known, self.kept):
            return f"{len(operators)} nodes, PyTorch leaves {row[1]}"
        return None

    def one(self, path):
        """The kind of the comparison, and an error or None."""
        name = str(path.relative_to(self.fixtures)).removesuffix(".pt2").removesuffix("/program")
        ops = ["--ops", path.with_suffix(".ops")] if path.with_suffix(".ops").exists() else []
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            before, after = folder / "before.cbor", folder / "after.cbor"
            if self.fnz("convert", path, "-o", before, *ops).returncode:
                return "refused", None  # which is no finding here
            made = self.fnz("convert", path, "--decompose", "core", "-o", after, *ops)
            if made.returncode:
                return "failed", made.stderr.strip()
            text = self.fnz("show", before, *ops).stdout
            shown = self.fnz("show", after, *ops).stdout
            functional, operators = check.targets(text), check.targets(shown)
            foreign = {op for op in operators if op in self.known and op not in self.kept}
            if foreign - set(self.excused) and "wrap_with_autocast" not in shown:
                return "left", f"left: {', '.join(sorted(foreign - set(self.excused)))}"
            silent = {op for op in foreign if f": {op}, in " not in made.stderr}
            if silent:
                return "left", f"nothing is said of {', '.join(sorted(silent))}"
            error = self.count(name, operators, functional)
            if error:
                return "count", error
            if self.fnz("diff", before, after, *ops).returncode == 0:
                return "the same", None
            if self.fnz("verify", before, after, *ops).returncode == 0:
                return "over hashes", None
            given = inputs_of(text, path.suffix == ".pt2", name in SEARCHED)
            error = self.on_numbers(before, after, given, ops, folder)
            return error if isinstance(error, tuple) else ("on numbers", error)


def main(fnz, every, fixtures):
    every = int(every)
    test = Test(fnz, fixtures)
    paths = sorted([*test.fixtures.rglob("*.pt2"), *test.fixtures.rglob("*.fnz")])[::every]
    kinds, failures = {}, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (kind, error) in zip(paths, pool.map(test.one, paths)):
            kinds.setdefault(kind, []).append(path)
            if kind == "not run":
                print(f"{path}: not run: {error}")
            elif error:
                failures.append(f"{path}: {error}")
    failures += [f"more.tsv lists {name}, which has no more nodes" for name in test.more - test.seen_more if every == 1]
    if len(kinds.get("not run", [])) > NOT_RUN:
        failures.append(f"more than {NOT_RUN} programs are not run")
    print("\n".join(failures))
    print(", ".join(f"{len(paths)} {kind}" for kind, paths in kinds.items()), f"- {len(failures)} failures")
    enough = len(kinds.get("over hashes", [])) * every >= 60 and len(kinds.get("on numbers", [])) * every >= 50
    return 1 if failures or not enough else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
