#!/usr/bin/env python3
"""How long a call takes in fnz's engine and interpreter, eager PyTorch, Inductor, ONNX Runtime and IREE.

    bench/engine/programs.py FOLDER
    bench/engine/engine.py --fnz build/fnz FOLDER [--threads N] [--keep-memory] [--with inductor,ort,iree] [NAME ...]

Needs torch, and what --with names; fnz itself needs none of it. Ways take turns, three rounds; of each the least
time counts. Eager is the faster of the module itself and of the loaded export. With --keep-memory malloc gives nothing
back to the system, for all ways: otherwise eager gets new, zeroed pages for each large result. Prints a Markdown table of ratios, fnz's
time divided by the other's, below 1 where fnz is faster, geometric means, and why a way has no time. Values are not
compared here: tests and scripts/check_with_torch.py do that.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import torch
from safetensors.torch import load_file

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import programs  # noqa: E402

warnings.filterwarnings("ignore")
ROUNDS, SECONDS = 3, 0.15
MOST_ROUNDS = 100000  # of the engine in that time
FNZ = None  # the command
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)}
GROUPS = [("micro 1e3", lambda n: n.rsplit("_", 1)[0] in programs.SMALL and n.endswith("1e3")),
          ("micro 1e5", lambda n: n.rsplit("_", 1)[0] in programs.SMALL and n.endswith("1e5")),
          ("micro 1e7", lambda n: n.rsplit("_", 1)[0] in programs.SMALL and n.endswith("1e7")),
          ("models", lambda n: n.split("_")[0] in ("resnet18", "mobilenet", "vit", "bert", "llama", "lstm")),
          ("state in place", lambda n: n.split("_")[0] in ("inplace1", "kv", "adam50", "adam50item", "batchnorm", "cache")),
          ("products, convolutions, attention", lambda n: n.split("_")[0] in ("matmul", "conv3x3", "sdpa"))]


def least(call):
    """Microseconds of the fastest of as many calls as fit into SECONDS, at least three."""
    best, end, count = math.inf, time.perf_counter() + SECONDS, 0
    while count < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best, count = min(best, time.perf_counter() - start), count + 1
    return best * 1e6


class Eager:
    def __init__(self, path, model, inputs):
        loaded = torch.export.load(os.path.join(path, "program.pt2")).module()
        self.calls = [lambda: model(**inputs), lambda: loaded(**inputs)]

    def measure(self):
        return min(least(call) for call in self.calls)


class Inductor:
    def __init__(self, path, model, inputs):
        torch._dynamo.reset()
        compiled = torch.compile(model)
        self.call = lambda: compiled(**inputs)
        self.call()

    def measure(self):
        return least(self.call)


class Ort:
    def __init__(self, path, model, inputs):
        import onnxruntime as ort
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.onnx")
            torch.onnx.export(model, (), file, kwargs=inputs, dynamo=True, verbose=False)
            options = ort.SessionOptions()
            options.intra_op_num_threads = torch.get_num_threads()
            session = ort.InferenceSession(file, options)
        feed = {i.name: inputs[i.name].numpy() for i in session.get_inputs()}
        self.call = lambda: session.run(None, feed)

    def measure(self):
        return least(self.call)


class Iree:
    """The text of `fnz convert --to mlir`, compiled by iree-compile for the host's CPU; its runtime has one thread."""

    def __init__(self, path, model, inputs):
        import check_with_iree as iree
        self.folder = tempfile.TemporaryDirectory()
        mlir, module = (pathlib.Path(self.folder.name) / name for name in ("case.mlir", "case.vmfb"))
        for words in ([FNZ, "convert", os.path.join(path, "program.pt2"), "-o", mlir],
                      ["iree-compile", *iree.FLAGS, mlir, "-o", module]):
            status, said = iree.command(words, 300)
            if status != 0:
                raise RuntimeError(iree.told(said))
        weights = mlir.with_suffix(".safetensors")
        compiled = iree.Program(module, weights if weights.exists() else None)
        arrays = iree.load(os.path.join(path, "inputs.safetensors")) | (iree.load(weights) if weights.exists() else {})
        arguments = [compiled.buffer(arrays[name]) for what, _, name in iree.signature(mlir.read_text())
                     if what == "argument"]
        self.call = lambda: compiled.call(arguments)
        self.call()

    def measure(self):
        return least(self.call)


class Fnz:
    """The engine, timed by `fnz bench` in a process of its own, for as long as the others."""

    def __init__(self, path, threads):
        self.command = [FNZ, "bench", os.path.join(path, "program.pt2"), "--inputs",
                        os.path.join(path, "inputs.safetensors"), "--threads", str(threads), "--json"]

    def least_of(self, rounds):
        out = subprocess.run([*self.command, "--rounds", str(rounds)], capture_output=True, text=True)
        if out.returncode:
            raise RuntimeError(out.stderr.strip())
        return json.loads(out.stdout)["engine"]["least_us"]

    def measure(self):
        first = self.least_of(3)
        return min(first, self.least_of(max(3, min(MOST_ROUNDS, int(SECONDS * 1e6 / first)))))


WAYS = {"inductor": Inductor, "ort": Ort, "iree": Iree}  # that --with names


def ways(args, path, name):
    """The ways that take part, by name; one that cannot is a text that says why."""
    model, inputs = programs.make(name)
    inputs = load_file(os.path.join(path, "inputs.safetensors"))
    makers = {"fnz": lambda: Fnz(path, args.threads), "eager": lambda: Eager(path, model, inputs)}
    makers |= {w: lambda c=WAYS[w]: c(path, model, inputs) for w in args.ways}
    found = {}
    for way, make in makers.items():
        try:
            found[way] = make()
        except Exception as e:
            found[way] = f"{type(e).__name__}: {str(e).strip().splitlines()[0][:100] if str(e).strip() else ''}"
    return found


def measure(args, name):
    """Microseconds by way; a text where a way failed."""
    found = ways(args, os.path.join(args.folder, name), name)
    times = {way: how if isinstance(how, str) else math.inf for way, how in found.items()}
    for _ in range(ROUNDS):
        for way, how in found.items():
            if isinstance(times[way], str):
                continue
            try:
                times[way] = min(times[way], how.measure())
            except Exception as e:
                times[way] = f"{type(e).__name__}: {str(e)[:100]}"
    return times


def ratio(times, way):
    ours, theirs = times.get("fnz"), times.get(way)
    return ours / theirs if isinstance(ours, float) and isinstance(theirs, float) else None


def mean(ratios):
    ratios = [r for r in ratios if r]
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f} ({len(ratios)})" if ratios else "-"


def print_table(args, results):
    others = ["eager", *args.ways]
    print("| program | fnz us | " + " | ".join(others) + " |\n|---" + "|---" * (len(others) + 1) + "|")
    for name, times in results.items():
        cells = [f"{r:.2f}" if r else "-" for r in (ratio(times, w) for w in others)]
        ours = times["fnz"]
        print(f"| {name} | {ours:.1f} | " if isinstance(ours, float) else f"| {name} | - | ", end="")
        print(" | ".join(cells) + " |")
    print("\n| geometric mean | " + " | ".join(others) + " |\n|---" + "|---" * len(others) + "|")
    for group, has in [("all", lambda n: True), *GROUPS]:
        rows = [t for n, t in results.items() if has(n)]
        print(f"| {group} | " + " | ".join(mean([ratio(t, w) for t in rows]) for w in others) + " |")
    for name, times in results.items():
        for way, time_ in times.items():
            if isinstance(time_, str):
                print(f"\n{name}, {way}: {time_}")


def listed(text):
    """The ways in a list with commas."""
    names = [w for w in text.split(",") if w]
    for name in names:
        if name not in WAYS:
            raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(WAYS)}")
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fnz", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep-memory", action="store_true")
    parser.add_argument("--with", dest="ways", default="", type=listed)
    parser.add_argument("--save", help="a JSON file of all times, from which a broken-off run goes on")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.keep_memory and not KEPT.items() <= os.environ.items():  # malloc reads it when a process begins
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | KEPT)
    global FNZ
    FNZ = os.path.abspath(args.fnz)
    torch.set_num_threads(args.threads)
    results = json.load(open(args.save)) if args.save and os.path.exists(args.save) else {}
    with torch.inference_mode():
        for name in args.names or sorted(os.listdir(args.folder)):
            if name in results:
                continue
            results[name] = measure(args, name)
            print(name, results[name], file=sys.stderr, flush=True)
            if args.save:
                json.dump(results, open(args.save, "w"), indent=1)
    print_table(args, results)


if __name__ == "__main__":
    main()
