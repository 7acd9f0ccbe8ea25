#!/usr/bin/env python3
"""How long each functional operator takes on the CPU beside eager PyTorch, on one thread, in turns.

    FNZ_LIBRARY=build/libfnz.so.0.1 PYTHONPATH=python bench/sweep.py [--out bench/results/sweep.md] [NAME ...]

Needs torch and numpy; fnz itself needs none of it. Arguments come from bench/sweep_rows.py, else from
scripts/variant_rows.py with more elements: a thousand and, as far as eager takes less than 40 ms, a million. With a
million, operators on single elements and the TYPED ones of sweep_rows.py are also called in other element types, on
tensors with gaps and on transposed ones.

fnz is called as from C: fnz_executable_run() of a program of one node, through ctypes with a structure that is filled
once, results in memory of the caller. Eager is called as the overload's packet in inference_mode. Both are timed in
processor time of the thread, in turns; of each the least counts. malloc gives nothing back to the system, for both.
Values are not compared here.

--refuse RATIO   exit status 1 if an operator is slower than that many times eager, and not in bench/sweep_known.txt
                 with at least three quarters of that ratio. The list may only shrink; it has what took more than 1.3
                 times as long, so that a busy machine does not fail. --write-known 1.3 writes it anew
"""
import argparse
import ctypes
import math
import os
import pathlib
import sys
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
KNOWN = HERE / "sweep_known.txt"
KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)}

import torch  # noqa: E402

sys.path[:0] = [str(HERE.parent / "python"), str(HERE.parent / "scripts")]
import fnz  # noqa: E402
import make_variant_fixtures as variants  # noqa: E402
import sweep_rows  # noqa: E402
import variant_rows as rows  # noqa: E402
from fnz import _structures as s  # noqa: E402
from fnz._library import lib  # noqa: E402
from fnz.errors import check  # noqa: E402
from fnz.handles import Context  # noqa: E402
from fnz.operators import ops  # noqa: E402
from fnz.tensors import Look  # noqa: E402
from variant_rows import DEFAULT, Device, Dtype, Format, Tensor  # noqa: E402

warnings.filterwarnings("ignore")
ROUNDS, SECONDS, MOST_SECONDS, MOST_ELEMENTS = 5, 0.002, 0.04, 1 << 25
DTYPES = ("f64", "bf16", "f16", "i64", "i32", "u8", "bool")
# Names begin with these: they compute nothing, or need more than one process.
NOT_MEASURED = ("empty", "new_empty", "sym_", "_assert", "_functional_assert", "_functional_sym", "_test_", "_c10d",
                "alias")


# --- Arguments -----------------------------------------------------------------------------------
def walk(value, change):
    if isinstance(value, list):
        return [walk(one, change) for one in value]
    return change(value) if isinstance(value, Tensor) else value


def tensors_of(value):
    found = []
    walk(value, found.append)
    return found


def scaled(args, count):
    """The tensors with more elements; equal sizes stay equal, 1 stays 1."""
    rank = max((sum(size > 1 for size in one.sizes) for one in tensors_of(args)), default=0)
    side = max(round(count ** (1 / rank)), 2) if rank else 1

    def more(spec):
        kind = spec.kind
        if kind and kind.startswith("index") and kind[5:].isdigit():
            factors = 2 if int(kind[5:]) == 6 else 1  # of a matrix of 2 by 3
            kind = f"index{side ** factors}"
        return spec._replace(sizes=tuple(side if size > 1 else 1 for size in spec.sizes), kind=kind)

    return walk(args, more), side


def with_lists(args, old, side):
    """Lists of integers that are sizes of a tensor become its new sizes."""
    sizes = {tuple(one.sizes[k:]) for one in tensors_of(old) for k in range(len(one.sizes))}
    return [[side if size > 1 else 1 for size in one] if isinstance(one, list) and tuple(one) in sizes and one
            and all(isinstance(size, int) for size in one) else one for one in args]


def typed(args, dtype):
    """The f32 tensors, or i64 ones that are no indices, in another type."""
    return walk(args, lambda one: one._replace(dtype=dtype) if one.dtype in ("f32", "i64") and not (
        one.kind or "").startswith(("index", "every")) else one)


def laid_out(args, layout):
    return walk(args, lambda one: one._replace(layout=layout) if len(one.sizes) > 1 and one.layout == "plain" else one)


plain_contents = variants.contents


def contents(dtype, kind, slot, count):
    """With one more kind: where bags of so many begin."""
    if kind and kind.startswith("every"):
        return torch.arange(count, dtype=variants.TORCH[dtype]) * int(kind[5:])
    return plain_contents(dtype, kind, slot, count)


variants.contents = contents
plain_layout = variants.layout_of


def layout_of(tensor):
    """With one more layout: an element for each row, as an index that `expand` made."""
    if tensor.layout == "columns":
        sizes = tensor.sizes[:-1]
        return [*variants.dense_strides(sizes), 0], 0, math.prod(sizes)
    return plain_layout(tensor)


variants.layout_of = layout_of


def is_pointwise(op):
    return "pointwise" in op.tags


# --- One case ------------------------------------------------------------------------------------
class Case:
    def __init__(self, name, args, words):
        self.name, self.args, self.words = name, args, words

    def __str__(self):
        return f"{self.name} {self.words}"


def words_of(args, note=""):
    def say(one):
        if isinstance(one, Tensor):
            kind = "" if one.layout == "plain" else " " + one.layout
            return f"{one.dtype}[{','.join(map(str, one.sizes))}]{kind}"
        if isinstance(one, list):
            return "[" + ", ".join(map(say, one[:4])) + (", ..." if len(one) > 4 else "") + "]"
        if isinstance(one, Dtype):
            return one.name
        return "-" if one == DEFAULT or one is None else "channels" if isinstance(one, Format) else str(one)
    return " ".join(map(say, args)) + note


class Refused(Exception):
    pass


def spelled(value, names):
    """An argument as the text form has it."""
    if isinstance(value, torch.Tensor):
        return names[id(value)]
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, complex):
        return f"complex({value.real}, {value.imag})"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, torch.dtype):
        return variants.NAMES[value]
    if isinstance(value, torch.memory_format):
        return str(value).split(".")[1]
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(spelled(one, names) for one in value) + "]"
    raise Refused(f"no text for {type(value).__name__}")


def type_of(tensor):
    if tensor.layout != torch.strided or tensor.dtype not in variants.NAMES:
        raise Refused(f"no text for {tensor.dtype}")
    sizes, strides = ",".join(map(str, tensor.shape)), ",".join(map(str, tensor.stride()))
    return f"{variants.NAMES[tensor.dtype]}[{sizes}]" + (f" stride({strides})" if tensor.dim() else "")


def text_of(name, tensors, positional, named, results):
    names = {id(one): f"%x{k}" for k, one in enumerate(tensors)}
    inputs = ", ".join(f"%x{k}: {type_of(one)}" for k, one in enumerate(tensors))
    given = [spelled(one, names) for one in positional] + [f"{key}={spelled(one, names)}" for key, one in named.items()]
    said, back, count = [], [], 0
    for one in results:
        parts = list(one) if isinstance(one, (list, tuple)) else [one]
        if not all(isinstance(part, torch.Tensor) for part in parts):
            raise Refused("a result is no tensor")
        texts = [f"%y{count + k}: {type_of(part)}" for k, part in enumerate(parts)]
        back += [f"%y{count + k}" for k in range(len(parts))]
        count += len(parts)
        said.append(f"[{', '.join(texts)}]" if isinstance(one, (list, tuple)) else texts[0])
    return f"fnz 1\nprogram({inputs})\n{{\n  {', '.join(said)} = {name}({', '.join(given)})\n  return {', '.join(back)}\n}}\n"


class Ours:
    """fnz_executable_run() of a program of one node, by ctypes."""

    def __init__(self, text, tensors, results):
        program = fnz.load(text.encode(), format="text")
        self.executable = program.compile(threads=1)
        self.context, self.tensors, self.results = Context(), tensors, results
        self.looks = [Look() for _ in range(len(tensors) + len(results))]
        given, asked = (s.Memory * max(len(tensors), 1))(), (s.Memory * max(len(results), 1))()
        at = ctypes.c_void_p(self.context.address)
        for look, tensor, memory in zip(self.looks, tensors + results, [*given[:len(tensors)], *asked[:len(results)]]):
            look.at(at, tensor, "x")
            memory.data, memory.geometry = look.memory.data, ctypes.pointer(look.view.geometry)
        self.memories = given, asked
        self.workspace = self.executable._new_workspace()
        self.execution = s.Execution(size=ctypes.sizeof(s.Execution), inputs=ctypes.addressof(given),
                                     outputs=ctypes.addressof(asked), workspace=self.workspace.address)
        run, compiled, execution = lib.fnz_executable_run, self.executable._compiled_at, ctypes.byref(self.execution)
        self.call = lambda: run(at, compiled, execution)
        check(self.context.address, self.call())


def flat(results):
    return [part for one in results for part in (one if isinstance(one, (list, tuple)) else [one])]


class Pair:
    """A case for both."""

    def __init__(self, case):
        frame = variants.Frame(rows.DOMAIN.get(variants.bare(case.name)))
        positional, named, _, _ = variants.arguments(frame, variants.Call(case.name, case.args, []))
        packet = variants.overload(case.name)
        self.theirs = lambda: packet(*positional, **named)
        start = time.thread_time()
        outcome = self.theirs()
        self.first = time.thread_time() - start
        results = list(outcome) if isinstance(outcome, tuple) else [outcome]
        tensors = [tensor for tensor, _ in frame.flat]
        text = text_of(case.name, tensors, positional, named, results)
        self.elements = max((one.numel() for one in tensors + flat(results)), default=0)
        ends = [one.untyped_storage().data_ptr() for one in tensors]
        if any(one.untyped_storage().data_ptr() in ends for one in flat(results)):
            raise Refused("eager returns a view")
        places = [torch.empty_strided(one.shape, one.stride(), dtype=one.dtype) for one in flat(results)]
        self.made = Ours(text, tensors, places)
        self.ours = self.made.call


def seconds(call, most):
    count, spent = 1, 0.0
    while True:
        start = time.thread_time()
        for _ in range(count):
            call()
        spent = time.thread_time() - start
        if spent >= most or count >= 1 << 16:
            return spent / count
        count = count * 2 if spent < most / 8 else int(count * most / spent * 1.1) + 1


def measured(pair, rounds=ROUNDS):
    ours, theirs = math.inf, math.inf
    with torch.inference_mode():
        for _ in range(rounds):
            ours, theirs = min(ours, seconds(pair.ours, SECONDS)), min(theirs, seconds(pair.theirs, SECONDS))
    return ours, theirs


# --- All cases -----------------------------------------------------------------------------------
def operators(names):
    """Functional ones with a kernel on the CPU, each by one of its names."""
    for op in ops():
        other = op.name.startswith(tuple(one for one in rows.OTHER_NAMES if one != "__"))
        if op.kind == "functional" and op.has_cpu_kernel and not op.is_view and not op.is_mutating and (
                op.name in names if names else not other and not op.name.startswith(("__", *NOT_MEASURED))):
            yield op


def grown(base, args, count):
    more, side = scaled(args, count)
    yield more
    yield with_lists(more, args, side)


def cases_of(op, report):
    """Cases, made as long as eager is quick enough; `report` takes a case and its pair."""
    base = variants.Base(op.name)
    small = next((case for args in base.samples[:1] for case in pairs(op, grown(base, args, 1000))), None)
    if small:
        report(*small, "1e3")
    large = [[one] for one in sweep_rows.ROWS.get(op.name, ())]
    if not large and op.name not in sweep_rows.ROWS and small:
        large = [largest(op, base, small[1])]
    reached = False
    for choices in large:
        for case, pair in pairs(op, choices):
            reached = True
            report(case, pair, "1e6")
            if choices is large[0] and (is_pointwise(op) or op.name in sweep_rows.TYPED):
                others(op, case, report)
            break
    return small is not None or reached


def others(op, case, report):
    """In other element types, and laid out otherwise."""
    if op.name == "_to_copy":
        return
    choices = [typed(case.args, dtype) for dtype in DTYPES]
    choices += [laid_out(case.args, layout) for layout in ("slice", "transposed")]
    for args in choices:
        if args != case.args:
            for another, pair in pairs(op, [args]):
                report(another, pair, "1e6")


def pairs(op, choices):
    """The first of the choices that both take."""
    for args in choices:
        case = Case(op.name, args, words_of(args))
        try:
            with torch.inference_mode():
                pair = Pair(case)
        except Exception as problem:  # whichever of the two refuses, and however
            pairs.why = f"{type(problem).__name__}: {str(problem).partition(chr(10))[0]}"[:110]
            continue
        yield case, pair
        return


def largest(op, base, pair):
    """Choices of arguments for a million elements, or of as many as eager is quick for."""
    count, spent, elements = 1000, pair.first, pair.elements
    while count < 1000000:
        if elements * 10 > MOST_ELEMENTS or elements >= 1000000 or spent * 20 > MOST_SECONDS:
            break
        found = next(pairs(op, grown(base, base.samples[0], count * 10)), None)
        if found is None:
            break
        count, spent, elements = count * 10, found[1].first, found[1].elements
    return list(grown(base, base.samples[0], count)) if count > 1000 else []


# --- What is said --------------------------------------------------------------------------------
class Table:
    def __init__(self, out):
        self.rows, self.missing, self.out = [], [], out

    def report(self, case, pair, size):
        ours, theirs = measured(pair)
        if ours > 1.15 * theirs:
            again = measured(pair, 3)
            ours, theirs = min(ours, again[0]), min(theirs, again[1])
        self.rows.append((str(case), size, ours * 1e6, theirs * 1e6))
        print(f"{ours / theirs:7.2f} {ours * 1e6:10.1f} {theirs * 1e6:10.1f} {size} {case}", flush=True)

    def write(self):
        def mean(ratios):
            return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else "-"

        about = __doc__.partition("none of it. ")[2].partition("\n\n--refuse")[0]
        lines = ["# Each functional operator beside eager PyTorch", "",
                 f"By `bench/sweep.py --out bench/results/sweep.md`. {about}", "",
                 f"PyTorch {torch.__version__}, one thread, {processor()}. Ratios are fnz's time by eager's: below 1 fnz is "
                 "faster.", "", "| | calls | geometric mean | above 1.2 | above 1.5 | above 2 |", "|---|---|---|---|---|---|"]
        for size in ("1e3", "1e6"):
            ratios = [ours / theirs for _, one, ours, theirs in self.rows if one == size]
            above = " | ".join(str(sum(ratio > most for ratio in ratios)) for most in (1.2, 1.5, 2))
            lines.append(f"| {'a thousand elements' if size == '1e3' else 'about a million'} | {len(ratios)} | "
                         f"{mean(ratios)} | {above} |")
        for size, title in (("1e6", "About a million elements"), ("1e3", "A thousand elements")):
            lines += ["", f"## {title}", "", "Microseconds.", "", "| call | fnz | eager | ratio |", "|---|---|---|---|"]
            chosen = sorted((row for row in self.rows if row[1] == size), key=lambda row: -row[2] / row[3])
            lines += [f"| {name.replace('|', '/')} | {ours:,.1f} | {theirs:,.1f} | {ours / theirs:.2f} |"
                      for name, _, ours, theirs in chosen]
        lines += ["", "## Not measured", "", f"{len(self.missing)} operators, with what refused the arguments that were made:",
                  ""] + [f"- {name}: {why}"[:125] for name, why in self.missing]
        pathlib.Path(self.out).write_text("\n".join(lines) + "\n")

    def slow(self, most):
        return {name: ours / theirs for name, size, ours, theirs in self.rows if size == "1e6" and ours > most * theirs}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "an unknown processor"


def known():
    found = {}
    for line in KNOWN.read_text().splitlines() if KNOWN.exists() else []:
        if line and not line.startswith("#"):
            ratio, _, name = line.partition(" ")
            found[name] = float(ratio)
    return found


def refuse(table, most):
    """The exit status."""
    listed, slow, measured_now = known(), table.slow(most), {name for name, *_ in table.rows}
    new = {name: ratio for name, ratio in slow.items() if ratio * 0.75 > listed.get(name, most * 0.75)}
    for name, ratio in sorted(new.items(), key=lambda one: -one[1]):
        print(f"slower than {most} of eager: {ratio:.2f} {name}" + (f", listed with {listed[name]}" if name in listed else ""))
    for name in listed:
        if name in measured_now and name not in table.slow(1.2):
            print(f"no longer slow, take it off {KNOWN.name}: {name}")
    return 1 if new else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", help="where the table is written")
    parser.add_argument("--refuse", type=float, help="the greatest ratio that passes")
    parser.add_argument("--write-known", type=float, help="lists what is slower than that")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if any(os.environ.get(key) != value for key, value in KEPT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | KEPT)
    torch.set_num_threads(1)
    table = Table(args.out)
    for op in operators(set(args.names)):
        pairs.why = "no arguments"
        try:
            if not cases_of(op, table.report):
                table.missing.append((op.name, pairs.why))
        except Exception as problem:
            table.missing.append((op.name, f"{type(problem).__name__}: {problem}"[:110]))
    if args.out:
        table.write()
    if args.write_known:
        slow = table.slow(args.write_known)
        KNOWN.write_text("# Calls of bench/sweep.py that take longer than eager, with their ratios: may only shrink.\n" + "".join(
            f"{ratio:.1f} {name}\n" for name, ratio in sorted(slow.items(), key=lambda one: -one[1])))
    return refuse(table, args.refuse) if args.refuse else 0


if __name__ == "__main__":
    sys.exit(main())
