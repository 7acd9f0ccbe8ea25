#!/usr/bin/env python3
"""Compares random calls of single operators with PyTorch itself: eager, against fnz_call(). For developers: needs torch 2.15.

    calls_against_torch.py --seed S --count N [--first K] [--kind functional|inplace|out] [--op NAME ...] [--jobs J]
                           [--lib build/libfnz.so] [--fnz build/fnz] [--out build-calls] [--show I]

Draws the calls S:K to S:K+N-1 (scripts/call_draws.py) of the operators that the CPU computes, in turn, and compares
element types, sizes, strides and elements of the results and all memory behind the arguments. Calls that eager refuses
must be refused, and calls that only fnz refuses must be refused by name. Results of functions and sums may be apart by
roundings; by how much is counted. Prints each kind of difference once, with the number of its calls and the first of
them, and how many operators have computed something in how many of the element types. --show I prints one call and all
about it. FNZ_LEDGER=1 adds a line to tests/ledger.tsv, whose findings are kinds of differences."""
import argparse
import collections
import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import torch

import call_draws
import libfnz
from call_draws import Tensor
from call_sides import FnzSide, Library, Memory, TorchSide

TARGETS = {"functional": "calls against PyTorch", "inplace": "calls against PyTorch (in place)", "out": "calls against PyTorch (out=)"}
STRETCH = 2000
SECONDS = 20  # that a call may take
FLOATS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53, torch.complex64: 24, torch.complex128: 53, torch.complex32: 11}
RANDOM = ("nondeterministic_seeded",)
UNDEFINED = ("empty", "new_empty", "resize", "_efficientzerotensor")
QUIET = ("same", "near", "both refuse", "eager has no kernel", "by name", "eager: crash", "eager: takes long")


# --- comparing --------------------------------------------------------------------------------------------------------------
def apart(have, want):
    """None, ("near", ulps) or ("value", how)."""
    if want.dtype not in FLOATS:
        return None if bool((have == want).all()) else ("value", first(have, want, have != want))
    if want.dtype.is_complex:
        have, want = torch.view_as_real(have.resolve_conj()), torch.view_as_real(want.resolve_conj())
    digits = FLOATS[want.dtype]
    same = (have == want) | (have.isnan() & want.isnan())
    if bool(same.all()):
        signs = (want == 0) & (torch.signbit(have) != torch.signbit(want))
        return ("zero", first(have, want, signs)) if bool(signs.any()) else None
    wrong = ~same & (~have.isfinite() | ~want.isfinite())
    if bool(wrong.any()):
        return "value", first(have, want, wrong)
    a, b = have.double(), want.double()
    difference = torch.where(same, 0.0, (a - b).abs())
    lowest = torch.finfo(want.dtype).smallest_normal
    own = float((difference / b.abs().clamp(min=lowest)).max()) * 2**digits
    if own <= 16:
        return "near", math.ceil(own / 2)
    finite = b[b.isfinite()]
    largest = float(difference.max()) / max(float(finite.abs().max()) if finite.numel() else 0.0, lowest) * 2**digits
    if largest <= 64:
        return "near", 100 + math.ceil(largest / 2)
    return "value", first(have, want, difference / b.abs().clamp(min=lowest) * 2**digits > 16)


def first(have, want, where):
    at = int(where.reshape(-1).nonzero()[0])
    return f"element {at} is {have.reshape(-1)[at].item()!r}, want {want.reshape(-1)[at].item()!r}"


def one_result(have, want, undefined):
    if have is None:
        return "value", "no tensor"
    dtype, sizes, strides, elements = have
    if dtype != want.dtype:
        return "dtype", f"{dtype}, want {want.dtype}"
    if sizes != list(want.shape):
        return "sizes", f"{sizes}, want {list(want.shape)}"
    how = None if undefined else apart(elements, want.detach().resolve_conj().resolve_neg())
    if strides != list(want.stride()) and want.numel() > 1 and not (how and how[0] == "value"):
        if [s for s, n in zip(strides, sizes) if n > 1] != [s for s, n in zip(want.stride(), sizes) if n > 1]:
            return "strides", f"{strides}, want {list(want.stride())} of {sizes}"
        return "strides of ones", f"{strides}, want {list(want.stride())} of {sizes}"
    return how


ORDER = ["value", "dtype", "sizes", "strides", "zero", "strides of ones", "near"]


def compared(have, want, undefined):
    if len(have) != len(want):
        return "value", f"{len(have)} results, want {len(want)}"
    found = []
    for h, w in zip(have, want):
        if isinstance(w, torch.Tensor) or isinstance(w, (list, tuple)) and w and isinstance(w[0], torch.Tensor):
            wants = [w] if isinstance(w, torch.Tensor) else list(w)
            h = h if isinstance(h, list) else [None]
            if len(h) != len(wants):
                return "value", f"{len(h)} tensors, want {len(wants)}"
            found += [one_result(a, b, undefined) for a, b in zip(h, wants)]
        elif w != h and not (w is None or isinstance(w, (list, tuple))) and not (w != w and h != h):
            found.append(("value", f"{h!r}, want {w!r}"))
    found = [f for f in found if f]
    return min(found, key=lambda f: ORDER.index(f[0])) if found else None


class Compare:
    def __init__(self, library, say):
        self.library, self.say = library, say

    def refused(self, call, error, want, message):
        if error.kind == "INTERNAL":
            return "internal", error.message
        if want is None:
            return "both refuse", ""
        return ("by name" if error.kind == "UNSUPPORTED" else "refused"), f"{error.kind}: {error.message}"

    def judged(self, call):
        """(verdict, what)."""
        memory = Memory(call)
        self.say("eager")
        mine, want, message = TorchSide(memory), None, None
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                want = mine.call(call, memory)
        except Exception as error:  # whatever eager says
            message = str(error).split("\n")[0]
        self.say("fnz")
        side = FnzSide(self.library, memory)
        try:
            have = side.call(call, memory)
        except libfnz.Refused as error:
            return self.refused(call, error, want, message)
        finally:
            side.end()
        if want is None:
            if re.search("not implemented for|not supported|unsupported|only supports|could not (create|execute)|No backend", message):
                return "eager has no kernel", message
            return "accepted", message
        undefined = call.op.startswith(UNDEFINED)
        how = compared(have, want, undefined)
        if (not how or how[0] not in ("value", "dtype", "sizes")) and not undefined:
            for key, base in mine.bases.items():
                other = apart(side.bases[key][0], base)
                if other and other[0] != "near":
                    return "memory" if other[0] == "value" else other[0], "memory: " + other[1]
        return how or ("same", "")


def with_outs(call, op):
    """The call with targets for its results, or None where eager refuses."""
    memory = Memory(call)
    try:
        got = TorchSide(memory).call(call, memory)
    except Exception:
        return None
    rng = random.Random(f"out {call.index}")
    names = [p["name"] for p in op["parameters"] if p["write"] and p["keyword_only"]]
    if len(names) == 1 and len(got) == 1 and isinstance(got[0], (list, tuple)) and op["parameters"][-1]["list"]:
        return call_draws.Call(op["name"], call.args, {names[0]: [target(rng, t, call) for t in got[0]]}, call.index)
    if len(names) > len(got) or any(not isinstance(g, torch.Tensor) for g in got):
        return None
    return call_draws.Call(op["name"], call.args, {n: target(rng, t, call) for n, t in zip(names, got)}, call.index)


def target(rng, t, call):
    dtype, shape = t.dtype, list(t.shape)
    if rng.random() < 0.35:
        dtype = call_draws.TORCH[rng.choice(call_draws.ALL)]
    kind = rng.random()
    if kind < 0.1:
        shape = rng.choice([[0], [1], [*shape, 2], shape[1:], [7]])
    values = call_draws.contents(rng, dtype, math.prod(shape)).reshape(shape)
    if kind > 0.9:  # the target is an operand, too
        mine = [k for k, a in enumerate(call.tensors()) if list(a.values.shape) == shape and a.layout == "plain"]
        if mine:
            at = rng.choice(mine)
            return Tensor(call.tensors()[at].values, again=at)
    return Tensor(values, rng.choice(["plain", "plain", "transposed", "slice", "step", "shifted"]))


# --- stretches, each in a process of its own ----------------------------------------------------------------------------------
class Work:
    def __init__(self, options):
        self.options = options
        ops = json.loads(subprocess.run([str(options.fnz), "ops", "--json"], check=True, capture_output=True, text=True).stdout)["operators"]
        self.rows, self.without = rows_of(ops, options)

    def drawn(self, index):
        op, samples, twin = self.rows[index % len(self.rows)]
        call = call_draws.Draw([(r[2] or r[0], r[1]) for r in self.rows], self.options.seed, index).call(index)
        if twin and op["kind"] == "out":
            call = with_outs(call, op)
        elif twin:
            call.op = op["name"]
        if call:
            call.dtype = self.dtype(index)
        return call

    def dtype(self, index):
        """The element type of most of its tensors."""
        return call_draws.ALL[(index // len(self.rows)) % len(call_draws.ALL)]

    def stretch(self, first, end, path):
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
        torch.set_num_threads(1)
        library = Library(self.options.lib)
        with open(path, "w") as f, open(str(path) + ".at", "w") as at:
            def say(what, index=[first]):
                if isinstance(what, int):
                    index[0] = what
                at.seek(0)
                at.write(f"{index[0]} {what}      ")
                at.flush()
            compare = Compare(library, say)
            for index in range(first, end):
                say(index)
                signal.alarm(SECONDS)
                call = self.drawn(index)
                if call is None:
                    continue
                verdict, what = compare.judged(call)
                print(json.dumps([index, call.op, call.dtype, verdict, str(what)[:300]]), file=f, flush=verdict not in QUIET)


def rows_of(ops, options):
    """[(operator, samples, its functional twin or None)]."""
    by_name = {o["name"]: o for o in ops}
    def is_wanted(o):
        fits = not options.op or o["name"] in options.op or o.get("functional") in options.op
        return fits and not any(t in o["tags"] for t in RANDOM) and call_draws.is_known(o["name"])
    functional = [o for o in ops if o["kind"] == "functional" and o["cpu_kernel"] and is_wanted(o)]
    rows, without = call_draws.table(functional)
    if options.kind == "functional":
        return [(o, s, None) for o, s in rows], without
    samples = {o["name"]: s for o, s in rows}
    others = [o for o in ops if o["kind"] == options.kind and o.get("functional") in samples and is_wanted(o)]
    return [(o, samples[o["functional"]], by_name[o["functional"]]) for o in others], without


def run(options, work):
    first, end = options.first, options.first + options.count
    todo = [(k, min(k + STRETCH, end)) for k in range(first, end, STRETCH)]
    running, rows = {}, []
    while todo or running:
        while todo and len(running) < options.jobs:
            a, b = todo.pop(0)
            path = options.out / f"{options.kind}-{options.seed}-{a}"
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    work.stretch(a, b, path)
                    status = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(status)
            running[pid] = a, b, path
        pid, status = os.wait()
        a, b, path = running.pop(pid)
        text = path.read_text()
        rows += [json.loads(line) for line in text.split("\n")[:-1]]
        at = (Path(str(path) + ".at")).read_text().split()
        path.unlink()
        Path(str(path) + ".at").unlink()
        if status:
            index = int(at[0])
            name, dtype = work.rows[index % len(work.rows)][0]["name"], work.dtype(index)
            what = "takes long" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else "crash"
            rows.append([index, name, dtype, what if at[1] == "fnz" else "eager: " + what, f"status {status}"])
            if index + 1 < b:
                todo.insert(0, (index + 1, b))
        print(f"{len(rows)} calls", file=sys.stderr)
    return rows


def plain(message):
    message = re.sub(r"%\w+|`[^`]*`|\"[^\"]*\"", "_", message)
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "N", re.sub(r"\[[\d, x_-]*\]", "[]", message))[:110]


def summary(rows, options):
    counts = collections.Counter(r[3] for r in rows)
    print(dict(counts.most_common()))
    cells = {(r[1], r[2]) for r in rows if r[3] in ("same", "near", "zero")}
    print(f"{len(rows)} calls of {len({r[1] for r in rows})} operators; computed alike: {len(cells)} pairs of operator and element type")
    groups = collections.defaultdict(list)
    for r in rows:
        if r[3] not in QUIET or options.quiet and r[3] not in ("same", "both refuse"):
            groups[r[3], r[1], plain(r[4]) if r[3] not in ("value", "zero", "memory", "near") else ""].append(r)
    findings = sum(key[0] not in QUIET for key in groups)
    for (verdict, op, what), members in sorted(groups.items()):
        dtypes = sorted({m[2] for m in members}, key=call_draws.ALL.index)
        print(f"{verdict:10} {op} x{len(members)} [{' '.join(dtypes)}] {','.join(str(m[0]) for m in members[:4])}: {members[0][4][:200]}")
    return findings


def ledger(options, calls, seconds, findings):
    line = ["add", TARGETS[options.kind], "-", f"{options.seed}:{options.first}-{options.first + options.count}", calls, int(seconds), findings]
    print("ledger:", *line)
    if os.environ.get("FNZ_LEDGER") == "1":
        subprocess.run([sys.executable, str(libfnz.ROOT / "scripts/ledger.py"), *map(str, line)], check=True)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=STRETCH)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kind", default="functional", choices=["functional", "inplace", "out"])
    parser.add_argument("--op", action="append", help="only these functional operators, or their other forms")
    parser.add_argument("--lib", default=libfnz.ROOT / "build/libfnz.so", type=Path)
    parser.add_argument("--fnz", default=libfnz.ROOT / "build/fnz", type=Path)
    parser.add_argument("--out", default=libfnz.ROOT / "build-calls", type=Path)
    parser.add_argument("--show", type=int)
    parser.add_argument("--quiet", action="store_true", help="also what is no finding")
    return parser.parse_args()


def main():
    options = parsed()
    options.out.mkdir(parents=True, exist_ok=True)
    work = Work(options)
    if options.show is not None:
        call = work.drawn(options.show)
        print(call.text())
        print(*Compare(Library(options.lib), lambda _: None).judged(call), sep=": ")
        return 0
    if not work.rows:
        sys.exit("no operator is left to draw; --op takes functional ones")
    print("without a sample:", *work.without)
    began = time.time()
    rows = run(options, work)
    findings = summary(rows, options)
    ledger(options, len(rows), time.time() - began, findings)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
