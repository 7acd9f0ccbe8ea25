"""Holds docs/for-compilers.md against the command.

    for_compilers.py FNZ ROOT

Every piece of code in a cell of the table "How it is said" must be in the program of fixtures/compilers in that
format; functions that are named must be in the headers; the table of operators must equal the output of
scripts/count_core.py.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def reader(root):
    """examples/run_cbor.py without numpy: reading items needs none."""
    sys.dont_write_bytecode = True
    sys.modules.setdefault("numpy", sys)
    spec = importlib.util.spec_from_file_location("run_cbor", root / "examples/run_cbor.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def diagnostic(value, undefined):
    if isinstance(value, list):
        return "[%s]" % ", ".join(diagnostic(v, undefined) for v in value)
    return "undefined" if value is undefined else "h'%s'" % value.hex() if isinstance(value, bytes) else json.dumps(value)


def forms(fnz, root):
    """The text of each column, which must have its cells."""
    program, run_cbor = root / "fixtures/compilers/small.pt2", reader(root)

    def convert(*arguments):
        return subprocess.run([fnz, "convert", program, *arguments], capture_output=True, text=True, check=True).stdout

    with tempfile.TemporaryDirectory() as where:
        convert("-o", pathlib.Path(where) / "small.cbor")
        convert("-o", pathlib.Path(where) / "small.mlir")
        with open(pathlib.Path(where) / "small.cbor", "rb") as file:
            fields = run_cbor.item(file)[2]
        mlir = (pathlib.Path(where) / "small.mlir").read_text()
    cbor = "\n".join("%d: %s" % (key, diagnostic(value, run_cbor.UNDEFINED)) for key, value in fields.items())
    return [json.dumps(json.loads(convert("--to", "json"))), cbor, convert("--to", "text"), mlir]


def cells(page):
    """(row, column, code) of each piece of code in the table."""
    table = page[page.index("| what | `.pt2`"):].split("\n\n")[0].splitlines()[2:]
    for line in table:
        what, *row = [cell.strip() for cell in line.strip("|").split(" | ")]
        for column, cell in enumerate(row):
            for code in re.findall(r"`([^`]*)`", cell):
                yield what, column, code

# Nodes without results, of lists and of one result count alike.
SAMPLE = """  _assert_scalar(%e, "n = 3 (at least)")
  [%a: f32[2], %b: f32[2]] = split_copy.Tensor(%x, 2)
  %y: f32[2] = relu(%a)
"""


def main(fnz, root):
    root = pathlib.Path(root)
    page = (root / "docs/for-compilers.md").read_text()
    texts, seen, failures = forms(fnz, root), 0, []
    for what, column, code in cells(page):
        seen += 1
        if code not in texts[column]:
            failures.append(f"{what}: `{code}` is not in form {column}")
    headers = "".join(path.read_text() for path in (root / "include/fnz").glob("*.h"))
    for name in set(re.findall(r"`(fnz_\w+)\(\)`", page)):
        if name + "(" not in headers:
            failures.append(f"{name}() is in no header")
    sys.path.insert(0, str(root / "scripts"))
    from check_decompose import targets
    if targets(SAMPLE) != ["_assert_scalar", "split_copy.Tensor", "relu"]:
        failures.append(f"of {SAMPLE!r} are counted {targets(SAMPLE)}")
    folders = [root / "fixtures" / name for name in ("pt2", "state", "decode", "vmap", "symbolic", "torch", "compilers")]
    counted = subprocess.run([sys.executable, root / "scripts/count_core.py", "--fnz", fnz, "--check", "--page",
                              root / "docs/for-compilers.md", "--counts", root / "fixtures/decompose/core_counts.tsv",
                              "--fixtures", *folders], capture_output=True, text=True)
    if counted.returncode:
        failures.append(counted.stderr)
    print("\n".join([*failures, f"{seen} pieces of code, {len(failures)} failures"]))
    return 1 if failures or seen < 40 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
