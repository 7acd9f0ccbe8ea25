#!/usr/bin/env python3
"""Compares schema/facts/aliases.def with an installed PyTorch. For developers only.

    check_aliases.py [--calls 300]

An alias and its canonical operator are called with the same random arguments, in their functional, in-place and out=
forms: results must be equal bit by bit, in dtype, sizes and strides, both must refuse the same arguments, and PyTorch
must dispatch the same operators for both. Then composites without a row are called: a composite that dispatches one
operator with just its arguments looks like an alias. Prints a line for each difference; exit 1 if there is one."""
import argparse
import random
import re
import sys
import warnings
from pathlib import Path

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ROOT = Path(__file__).resolve().parent.parent
DTYPES = [torch.float32, torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64, torch.float16,
          torch.bfloat16, torch.uint8, torch.int32]
SHAPES = [(3, 3), (3, 3), (2, 3, 3), (3,), (), (0, 3), (2, 3), (1, 3)]
# Looks like an alias, and is none: the parameter that it leaves out does not matter for the arguments that are drawn
# here.
LOOKS_LIKE = {"_embedding_bag_sparse_backward": "sparse", "adaptive_avg_pool2d": "another one for a size of 1",
              "special_ndtr": "a formula", "_cast_Float": "a copy only where it casts"}


class Trace(TorchDispatchMode):
    """The dispatched calls: the operator, and its arguments with a number for each tensor."""
    def __init__(self, tensors):
        super().__init__()
        self.numbers, self.calls, self.keep = {id(t): i for i, t in enumerate(tensors)}, [], list(tensors)

    def name(self, value):
        if isinstance(value, torch.Tensor):
            self.keep.append(value)
            return f"%{self.numbers.setdefault(id(value), len(self.numbers))}"
        return tuple(map(self.name, value)) if isinstance(value, (list, tuple)) else value

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.calls.append((str(func), self.name(args), tuple((k, self.name(v)) for k, v in sorted(kwargs.items()))))
        result = func(*args, **kwargs)
        self.name(result)
        return result


def operator(name):
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def table():
    """Kind, class, whether it is a view and the functional twin, by name."""
    ops = {}
    for line in (ROOT / "schema/aten.tsv").read_text().splitlines()[1:]:
        name, kind, view, composite, _, functional = line.split("\t")[:6]
        ops[name.removeprefix("aten::")] = (kind, composite, view != "-", functional)
    return ops


def pairs(ops):
    """Alias and canonical operator, of all kinds."""
    found = {}
    for name, other in re.findall(r'^ALIAS\("([^"]+)", "([^"]+)"\)$', (ROOT / "schema/facts/aliases.def").read_text(), re.M):
        is_one = "." in name or "." in other
        for op, (kind, *_) in ops.items():
            if kind == "functional" and (op == name if is_one else op.split(".")[0] == name):
                found[op] = other if is_one else other + op[len(name):]
    for op, (kind, _, _, functional) in ops.items():
        if functional in found:
            for like, (other_kind, _, _, twin) in ops.items():
                if other_kind == kind and twin == found[functional] and op not in found:
                    found[op] = like
    return found


def tensor(rng, shape, dtype):
    t = torch.randn(shape, dtype=torch.float64) * 2
    if rng.random() < 0.2 and t.numel():
        t.view(-1)[rng.randrange(t.numel())] = rng.choice([float("nan"), float("inf"), 0.0])
    if dtype.is_complex:
        return torch.complex(t, t.flip(0) if t.dim() else t).to(dtype)
    t = t.to(dtype) if dtype.is_floating_point else t.nan_to_num(0, 3, -3).to(dtype)
    return t.t() if t.dim() == 2 and shape[0] == shape[1] and rng.random() < 0.2 else t


def draw(rng, arg, first):
    kind = str(arg.type)
    if arg.has_default_value() and rng.random() < 0.4:
        return arg.default_value
    if "Optional" in kind and rng.random() < 0.2:
        return None
    if "List[Tensor]" in kind:
        return [draw_tensor(rng, first) for _ in range(rng.randint(1, 3))]
    if "Tensor" in kind:
        return draw_tensor(rng, first)
    if "List[int]" in kind:
        return [rng.choice([-1, 0, 1, 2]) for _ in range(rng.randint(1, 2))]
    if kind == "Optional[int]" and arg.name == "dtype":
        return rng.choice([torch.float32, torch.float64, torch.int64])
    if "number" in kind:
        return rng.choice([2, 0, -1, 0.5, 1e-3, True, 300, 1 + 2j])
    for word, choices in (("bool", [True, False]), ("int", [-1, 0, 1, 2, 3]), ("float", [0.5, 0.1, 1e-6, -0.1]),
                          ("str", ["floor", "trunc", "other"])):
        if word in kind:
            return rng.choice(choices)
    return None


def draw_tensor(rng, first):
    if not first or rng.random() < 0.3:
        first[:] = [rng.choice(SHAPES), rng.choice(DTYPES)]
    return tensor(rng, *first)


def cells(t):
    return t.resolve_conj().resolve_neg().contiguous().view(-1).view(torch.uint8).numpy(force=True).tobytes()


def call(name, drawn):
    """The result, or the kind of the failure, and the dispatched calls."""
    op, tensors = operator(name), []

    def copy(value):
        if isinstance(value, torch.Tensor):
            tensors.append(value.clone(memory_format=torch.preserve_format))
            return tensors[-1]
        return [copy(v) for v in value] if isinstance(value, list) else value

    args, kwargs = [], {}
    for arg, value in zip(op._schema.arguments, [copy(v) for v in drawn]):
        if arg.kwarg_only:
            kwargs[arg.name] = value
        else:
            args.append(value)
    trace = Trace(tensors)
    try:
        with trace:
            result = op(*args, **kwargs)
    except Exception as e:  # pylint: disable=broad-except
        return type(e).__name__, trace.calls
    results = [r for r in (result if isinstance(result, (tuple, list)) else [result])]
    return [(r.dtype, tuple(r.shape), r.stride(), cells(r)) for r in results + tensors], trace.calls


def compare(name, other, calls):
    rng, worked = random.Random(name), 0
    for _ in range(calls):
        first = []
        drawn = [draw(rng, arg, first) for arg in operator(name)._schema.arguments]
        (got, left), (want, right) = call(name, drawn), call(other, drawn)
        worked += not isinstance(got, str)
        if got != want or (not isinstance(got, str) and left != right):
            print(f"{name} is not {other}: of {drawn} it gives {str(got)[:200]} by {left}, not {str(want)[:200]} by {right}")
            return False
    if not worked:
        print(f"{name}: PyTorch refuses all calls that were drawn")
    return worked > 0


def looks_like(name, calls):
    """The one operator that PyTorch makes of each call with just its arguments, by its trace."""
    rng, seen = random.Random(name), []
    for _ in range(calls):
        first = []
        drawn = [draw(rng, arg, first) for arg in operator(name)._schema.arguments]
        got, trace = call(name, drawn)
        if isinstance(got, str):
            continue
        if len(trace) != 1 or str(trace[0][0]) == f"aten.{name}":
            return None
        given = [v for v in trace[0][1]] + [v for _, v in trace[0][2]]
        count = iter(range(99))
        want = [f"%{next(count)}" if isinstance(v, torch.Tensor) else
                tuple(f"%{next(count)}" for _ in v) if isinstance(v, list) and v and isinstance(v[0], torch.Tensor) else
                tuple(v) if isinstance(v, list) else v for v in drawn]
        if given != want[:len(given)]:
            return None
        seen.append(trace[0][0])
    return seen[0] if len(seen) > 3 and len(set(seen)) == 1 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=300)
    calls, ops = parser.parse_args().calls, table()
    torch.manual_seed(0)
    warnings.filterwarnings("ignore")
    known = pairs(ops)
    good = sum([compare(name, other, calls) for name, other in sorted(known.items())])
    others = 0
    for name, (kind, composite, is_view, _) in sorted(ops.items()):
        if kind != "functional" or composite != "implicit" or is_view or name in known or name in LOOKS_LIKE:
            continue
        try:
            like = looks_like(name, calls // 4)
        except Exception:  # pylint: disable=broad-except
            continue  # it is not in this build of PyTorch, or gives something else than tensors
        if like:
            others += 1
            print(f"{name} looks like another name of {like}")
    print(f"{good} of {len(known)} aliases are, {others} others look like it")
    return 0 if good == len(known) else 1


if __name__ == "__main__":
    sys.exit(main())
