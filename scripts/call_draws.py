"""Random calls of one operator: what scripts/calls_against_torch.py compares.

A call begins as one that the fixtures have (fixtures/variants, fixtures/made), so that its arguments fit together, and is
then changed: other element types, sizes, layouts, contents and numbers. Everything follows from the seed and the call's
index: its operator is the index modulo their number, and the element type of most of its tensors goes round as well, so
that all of them meet."""
import json
import math
import random

import torch

import libfnz
from make_variant_fixtures import TORCH
from torch_draws import specials, signed, BITS

REAL = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]
ALL = [*REAL, "c64"]
LAYOUTS = ["transposed", "slice", "step", "expanded", "shifted", "negative", "conjugated", "channels_last"]
NAN, INF = float("nan"), float("inf")
NUMBERS = [0, 1, -1, 2, 3, -2, 0.5, -0.5, 1.5, -0.0, 2.75, True, False, 127, 128, 255, 256, 300, -129, 32768, 65504.0, 65520.0, 70000, -70000,
           2**31 - 1, 2**31, -2**31 - 1, 2**53 + 1, 2**63 - 1, -2**63, NAN, INF, -INF, 1e-42, 1e39, -1e39, 1e300, 3.4e38, 1e-300]
WORDS = ["none", "tanh", "trunc", "floor", "sum", "prod", "mean", "amax", "amin", "add", "multiply", "constant", "reflect", "replicate", "circular",
         "valid", "same", "left", "right", "linear", "nearest", "U", "L", "nuc", "fro", "bilinear", "reduced", "ij", "xy", "other"]
MOST_ELEMENTS = 3000


class Tensor:
    """A tensor that is to be made: its elements, row-major, and how they lie in memory. `again`: it is that tensor of
    the call once more; `at`: it lies in the memory of that tensor, some elements further on."""

    def __init__(self, values, layout="plain", again=None, at=None):
        self.values, self.layout, self.again, self.at = values, layout, again, at

    def __repr__(self):
        if self.again is not None:
            return f"tensor {self.again} again"
        text = f"{str(self.values.dtype)[6:]}{list(self.values.shape)}"
        if self.at is not None:
            return f"{text} in tensor {self.at[0]} from {self.at[1]} on"
        return text + (f" {self.layout}" if self.layout != "plain" else "") + f" {self.values.tolist() if self.values.numel() <= 16 else '...'}"


class Call:
    def __init__(self, op, args, named, index):
        self.op, self.args, self.named, self.index = op, args, named, index

    def text(self):
        return f"{self.op}({', '.join([repr(a) for a in self.args] + [f'{k}={v!r}' for k, v in self.named.items()])})"

    def tensors(self):
        """In the order of the call."""
        return [t for a in [*self.args, *self.named.values()] for t in tensors_in(a)]


def tensors_in(arg):
    if isinstance(arg, Tensor):
        return [arg]
    return [t for a in arg for t in tensors_in(a)] if isinstance(arg, list) else []


def mapped(arg, change):
    """The argument with other tensors in it."""
    if isinstance(arg, Tensor):
        return change(arg)
    return [mapped(a, change) for a in arg] if isinstance(arg, list) else arg


# --- what the fixtures have -------------------------------------------------------------------------------------------------
class Samples:
    """{operator: calls} of a folder of fixtures."""

    def __init__(self, folder):
        from safetensors.torch import load_file
        document = json.loads((folder / "calls.json").read_text())
        self.blocks, self.geometries, self.inputs, self.calls = (document[k] for k in ("blocks", "geometries", "inputs", "calls"))
        self.pool = load_file(folder / "storages.safetensors")

    def of(self, op):
        """The calls that eager accepts; without their out= arguments."""
        for record in self.calls.get(op, []):
            if not (len(record) > 2 and "raised" in record[2]):
                yield self.arguments(self.inputs[record[0]])

    def arguments(self, entry):
        storages = [self.pool[d][first:first + count] for d, first, count in (self.blocks[b] for b in entry["storages"])]
        flat = []
        return [self.value(a, storages, flat) for a in entry["args"]]

    def value(self, said, storages, flat):
        if isinstance(said, list):
            return [self.value(s, storages, flat) for s in said]
        if not isinstance(said, dict):
            return said
        if "t" in said:
            at, (dtype, sizes, strides, offset, *_) = said["t"][0], self.geometries[said["t"][1]]
            t = Tensor(storages[at].as_strided(sizes, strides, offset).clone(memory_format=torch.contiguous_format))
            flat.append(t)
            return t
        if "again" in said:
            return Tensor(flat[said["again"]].values.clone())
        if "complex" in said:
            return complex(*said["complex"])
        if "dtype" in said:
            return TORCH[said["dtype"]]
        if "memory_format" in said:
            return {1: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d, 4: torch.preserve_format}[said["memory_format"]]
        return torch.device(said["device"]) if "device" in said else DEFAULT


class Default:
    def __repr__(self):
        return "default"


DEFAULT = Default()


# --- drawing ----------------------------------------------------------------------------------------------------------------
def contents(rng, dtype, count):
    """Odd values of an element type."""
    if dtype.is_complex:
        return torch.view_as_complex(contents(rng, torch.float32, 2 * count).reshape(count, 2))
    if dtype == torch.bool:
        return torch.tensor([rng.random() < 0.5 for _ in range(count)], dtype=dtype)
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        odd = [limits.min, limits.max, limits.min + 1, limits.max - 1, limits.max // 2]
        return torch.tensor([rng.choice(odd) if rng.random() < 0.3 else rng.randint(0 if limits.min == 0 else -9, 12) for _ in range(count)], dtype=dtype)
    plain = torch.tensor([rng.choice([rng.randint(-8, 8) * 0.5, rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 30)]) for _ in range(count)], dtype=dtype)
    bits, patterns, width = plain.view(BITS[dtype]), specials(dtype), 8 * dtype.itemsize
    for k in range(count):
        if rng.random() < 0.25:
            bits[k] = signed(rng.choice(patterns), width)
    return plain


class Draw:
    def __init__(self, table, seed, index):
        """table: [(schema of `fnz ops --json`, samples)]."""
        self.op, samples = table[index % len(table)]
        self.turn = index // len(table)
        self.rng = random.Random(f"{seed}:{index}")
        self.parameters = [p for p in self.op["parameters"] if not (p["write"] and p["keyword_only"])]
        sample = samples[(self.turn // 11) % len(samples)] if self.turn % 3 else self.rng.choice(samples)
        self.args = [mapped(a, lambda t: Tensor(t.values)) for a in sample]
        self.dtype = TORCH[ALL[self.turn % len(ALL)]]

    def chance(self, p):
        return self.rng.random() < p

    def call(self, index):
        if self.chance(0.85):
            self.one_dtype()
        if self.chance(0.4):
            self.other_sizes()
        if self.chance(0.35):
            self.odd_contents()
        for k in range(len(self.args)):
            self.args[k] = self.argument(k, self.args[k])
        self.more_arguments()
        if self.chance(0.15):
            self.each(lambda t: Tensor(t.values.to(TORCH[self.rng.choice(ALL)])) if self.chance(0.5) else t)
        if self.chance(0.4):
            self.each(self.other_layout)
        return Call(self.op["name"], self.args, {}, index)

    def each(self, change):
        self.args = [mapped(a, change) for a in self.args]

    def tensors(self):
        return [t for a in self.args for t in tensors_in(a)]

    def one_dtype(self):
        """Tensors with the element type of the first one get the call's type."""
        found = self.tensors()
        if found:
            first = found[0].values.dtype
            keep_indices = first != torch.int64 or len(found) == 1 or self.chance(0.5)
            self.each(lambda t: Tensor(t.values.to(self.dtype)) if t.values.dtype == first and (keep_indices or t is found[0]) else t)

    def other_sizes(self):
        """Equal sizes become equal others. Elementwise operators get any that broadcast."""
        if "pointwise" in self.op["tags"] and self.chance(0.8):
            wide = [self.rng.choice([0, 1, 1, 2, 3, 5, 17, 40]) for _ in range(self.rng.choice([0, 0, 1, 1, 2, 2, 3]))]
            return self.each(lambda t: self.resized(t, self.broadcast(wide)))
        sizes = sorted({n for t in self.tensors() for n in t.values.shape})
        chosen = self.rng.sample(sizes, 1) if sizes and self.chance(0.7) else sizes
        into = {n: self.rng.choice([0, 1, 1, 2, 3, 4, 5, 8, 17, 33]) for n in chosen}
        self.each(lambda t: self.resized(t, [into.get(n, n) for n in t.values.shape]))
        if self.chance(0.1) and self.tensors():
            at = self.rng.choice(self.tensors())
            self.each(lambda t: self.resized(t, self.other_rank(t.values.shape)) if t is at else t)

    def other_rank(self, shape):
        return self.rng.choice([[], list(shape)[1:], [1, *shape], [2, *shape], list(shape)[:-1]])

    def broadcast(self, wide):
        shape = [1 if self.chance(0.12) else n for n in wide]
        return shape[self.rng.randrange(len(shape) + 1):] if self.chance(0.2) else shape

    def resized(self, t, shape):
        """Another shape with the same elements, over and over."""
        count, old = math.prod(shape), t.values.reshape(-1)
        if count > MOST_ELEMENTS or (count and not old.numel()):
            return t
        times = -(-count // max(old.numel(), 1))
        return Tensor(old.repeat(times)[:count].reshape(shape).clone())

    def odd_contents(self):
        """Indices stay what they are, mostly."""
        first = self.tensors()[0].values.dtype if self.tensors() else None
        self.each(lambda t: Tensor(contents(self.rng, t.values.dtype, t.values.numel()).reshape(t.values.shape))
                  if t.values.dtype == first or self.chance(0.1) else t)

    def other_layout(self, t):
        layout = self.rng.choice(["plain", "plain", *LAYOUTS])
        if layout == "conjugated" and not t.values.is_complex() or layout == "negative" and t.values.dtype == torch.bool:
            return t
        if layout == "channels_last" and t.values.dim() != 4 or layout == "expanded" and not (t.values.dim() and t.values.shape[0] > 1):
            return t
        values = t.values[:1].expand(t.values.shape).contiguous() if layout == "expanded" else t.values
        return Tensor(values, layout)

    # --- numbers ---
    def argument(self, k, value):
        """Mostly what it was."""
        if isinstance(value, Tensor) or k >= len(self.parameters):
            return value
        p = self.parameters[k]
        if isinstance(value, list):
            return self.list(p, value)
        if self.chance(0.35):
            return self.drawn(p, value)
        return value

    def list(self, p, value):
        if any(isinstance(v, (Tensor, list)) for v in value):
            if self.chance(0.05):
                return value[:-1]
            return [None if p["item_optional"] and self.chance(0.03) else v for v in value]
        if self.chance(0.8):
            return value
        out = [self.drawn(p | {"optional": False}, v) if self.chance(0.5) else v for v in value]
        return out[:-1] if out and self.chance(0.15) else out + out[-1:] if self.chance(0.1) else out

    def drawn(self, p, value):
        kind, rng = p["type"], self.rng
        if p["optional"] and self.chance(0.2):
            return None
        if kind == "Scalar":
            return complex(rng.choice([0, 1, -1.5, INF, NAN]), rng.choice([0.0, 2.0, NAN])) if self.chance(0.04) else rng.choice(NUMBERS)
        if kind in ("int", "SymInt"):
            return rng.choice([-3, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5, 7])
        if kind == "float":
            return float(rng.choice([0, 1, -1, 2, 0.5, -0.0, 1e-5, NAN, INF, -INF, 1e-42, 1e39, 3, 65520.0]))
        if kind == "bool":
            return self.chance(0.5)
        if kind == "str":
            return rng.choice(WORDS) if self.chance(0.7) else value
        if kind == "ScalarType":
            return TORCH[rng.choice(ALL)]
        if kind == "MemoryFormat":
            return rng.choice([torch.contiguous_format, torch.channels_last, torch.preserve_format])
        return value

    def more_arguments(self):
        """Arguments that the fixture left to their defaults."""
        for p in self.parameters[len(self.args):]:
            if p["type"] in ("Tensor", "Generator", "Layout", "Device", "Stream", "Storage", "Dimname") or p["name"] == "pin_memory" or self.chance(0.7):
                self.args.append(DEFAULT)
            elif p["list"]:
                size = p["list_size"] or self.rng.choice([1, 1, 2])
                self.args.append([self.drawn(p | {"optional": False}, 1) for _ in range(size)])
            else:
                self.args.append(self.drawn(p, DEFAULT))
        while self.args and self.args[-1] is DEFAULT:
            self.args.pop()


def table(operators):
    """[(row of `fnz ops --json`, its samples)], and the names of operators without samples."""
    folders = [Samples(libfnz.ROOT / "fixtures" / f) for f in ("variants", "made")]
    rows, without = [], []
    for op in operators:
        samples = [args for f in folders for args in f.of(op["name"])]
        if samples:
            rows.append((op, samples))
        else:
            without.append(op["name"])
    return rows, without


def is_known(name):
    """This PyTorch has it."""
    base, _, tail = name.partition(".")
    return hasattr(getattr(torch.ops.aten, base, None), tail or "default")
