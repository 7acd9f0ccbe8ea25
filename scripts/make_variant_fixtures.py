#!/usr/bin/env python3
"""Writes fixtures/variants/: what eager PyTorch does in every variant of the operators fnz has a kernel for. For
developers; needs PyTorch. fixtures/variants/README.md describes the files.

    scripts/make_variant_fixtures.py build/fnz fixtures/variants

Each operator is called with the arguments of variant_rows.py, or with ones made from its schema, and
then with other layouts, element types, targets and overlaps. Everything is seeded: the same PyTorch
on the same processor gives the same files."""

import ctypes
import json
import math
import subprocess
import sys
import warnings
import zlib
from collections import namedtuple

import numpy
import torch

import variant_rows as rows
from variant_rows import DEFAULT, Device, Dtype, Format, T, Tensor

TORCH = {"bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
         "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
         "f64": torch.float64, "c64": torch.complex64}
NAMES = {value: key for key, value in TORCH.items()}
SAFETENSORS = {"bool": "BOOL", "u8": "U8", "i8": "I8", "i16": "I16", "i32": "I32", "i64": "I64",
               "f16": "F16", "bf16": "BF16", "f32": "F32", "f64": "F64", "c64": "C64"}


def name_of(dtype):
    """Raises KeyError for the types no fixture is made for."""
    return NAMES[dtype]


# --- What is in the tensors ----------------------------------------------------------------------


def reals(kind, slot, count):
    random = numpy.random.RandomState(zlib.crc32(f"{kind} {slot}".encode()))
    low, high = {"unit": (-0.95, 0.95), "positive": (0.1, 3), "above1": (1, 4), "prob": (0.05, 0.95),
                 "small": (0, 5)}.get(kind, (-3, 3))
    return random.uniform(low, high, count)


def integers(kind, slot, count):
    """Not 0 in any but the first tensor, since those divide."""
    random = numpy.random.RandomState(zlib.crc32(f"i {kind} {slot}".encode()))
    if kind in ("small", "positive", "above1"):
        return random.randint(1, 6, count)
    values = random.randint(-4, 6, count)
    return values if slot == 0 else numpy.where(values == 0, 3, values)


def contents(dtype, kind, slot, count):
    if kind and kind.startswith("index"):
        values = numpy.random.RandomState(slot + 7).permutation(max(count, 1) * 8) % int(kind[5:])
        return torch.tensor(values[:count], dtype=TORCH[dtype])
    if dtype == "bool":
        return torch.tensor(reals(None, slot, count) > 0)
    if dtype == "c64":
        both = reals(kind, slot, 2 * count)
        return torch.tensor(both[:count] + 1j * both[count:], dtype=torch.complex64)
    if dtype in ("f16", "bf16", "f32", "f64"):
        return torch.tensor(reals(kind, slot, count), dtype=torch.float64).to(TORCH[dtype])
    values = integers(kind, slot, count)
    return torch.tensor(abs(values) if dtype == "u8" else values, dtype=TORCH[dtype])


def dense_strides(sizes):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def layout_of(tensor):
    """Strides, offset and how many elements its memory has."""
    sizes, strides = tensor.sizes, dense_strides(tensor.sizes)
    count = math.prod(sizes)
    if tensor.layout == "transposed" and len(sizes) > 1:
        return list(reversed(dense_strides(list(reversed(sizes))))), 0, count
    if tensor.layout == "slice":
        wide = (*sizes[:-1], sizes[-1] + 2) if sizes else (3,)
        return dense_strides(wide)[:len(sizes)], 1, math.prod(wide)
    if tensor.layout in ("step", "transposed"):
        return [2 * s for s in strides], 0, 2 * count
    if tensor.layout == "roomy":
        return strides, 0, count + 1
    if tensor.layout == "expanded":
        return [0, *strides[1:]], 0, max(count // max(sizes[0], 1), 1)
    return strides, 0, count


# --- The tables that calls refer to --------------------------------------------------------------


class Table:
    """Numbers equal things equally."""

    def __init__(self):
        self.items, self.index = [], {}

    def add(self, item):
        key = json.dumps(item, sort_keys=True)
        if key not in self.index:
            self.index[key] = len(self.items)
            self.items.append(item)
        return self.index[key]


class Pool:
    """Bytes per element type; equal runs of elements are kept once."""

    def __init__(self):
        self.bytes, self.blocks = {}, Table()

    def add(self, tensor):
        """A dense one-dimensional tensor."""
        dtype = name_of(tensor.dtype)
        size, tensor = tensor.element_size(), tensor.contiguous()
        data = ctypes.string_at(tensor.data_ptr(), size * tensor.numel()) if tensor.numel() else b""
        pool = self.bytes.setdefault(dtype, bytearray())
        at = pool.find(data)
        while at >= 0 and at % size:
            at = pool.find(data, at + 1)
        if at < 0:
            at = len(pool)
            pool += data
        return self.blocks.add([dtype, at // size, len(data) // size])

    def safetensors(self):
        header, at = {}, 0
        for dtype, data in sorted(self.bytes.items()):
            size = 1 if SAFETENSORS[dtype] == "U8" else TORCH[dtype].itemsize
            header[dtype] = {"data_offsets": [at, at + len(data)], "dtype": SAFETENSORS[dtype],
                             "shape": [len(data) // size]}
            at += len(data)
        text = json.dumps(header, separators=(",", ":"), sort_keys=True)
        text += " " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text.encode() + b"".join(
            bytes(data) for _, data in sorted(self.bytes.items()))


pool, geometries, inputs = Pool(), Table(), Table()


def geometry(tensor):
    row = [name_of(tensor.dtype), list(tensor.size()), list(tensor.stride()), tensor.storage_offset()]
    bits = int(tensor.is_conj()) + 2 * int(tensor.is_neg())
    return geometries.add(row + [bits] if bits else row)


def dense(tensor):
    """The elements in row-major order, lazy bits applied."""
    return torch.clone(tensor.resolve_conj().resolve_neg(), memory_format=torch.contiguous_format).reshape(-1)


def storage_id(tensor):
    return tensor.untyped_storage()._cdata


# --- Making arguments ----------------------------------------------------------------------------


class Frame:
    """The memory and the tensors of one call."""

    def __init__(self, domain):
        self.domain, self.bases, self.flat, self.slots = domain, [], [], 0

    def base(self, spec, count):
        kind = spec.kind or self.domain
        base = contents(spec.dtype, kind, self.slots, count)
        self.slots += 1
        self.bases.append(base)
        return len(self.bases) - 1

    def tensor(self, spec):
        """Returns the tensor and its text in the fixture."""
        strides, offset, count = layout_of(spec)
        if spec.share is None:
            at = self.base(spec, count)
        else:
            other, shift = spec.share
            if shift == "itself":
                self.flat.append(self.flat[other])
                return self.flat[other][0], {"again": other}
            at = self.flat[other][1]
            t = self.flat[other][0]
            strides, offset = list(t.stride()), t.storage_offset() + shift
        made = torch.empty(0, dtype=self.bases[at].dtype)
        made.set_(self.bases[at].untyped_storage(), offset, spec.sizes, strides)
        self.flat.append((made, at))
        return made, {"t": [at, geometry(made)]}

    def value(self, spec):
        if isinstance(spec, Tensor):
            return self.tensor(spec)
        if isinstance(spec, Dtype):
            return TORCH[spec.name], {"dtype": spec.name}
        if isinstance(spec, Format):
            formats = {1: torch.contiguous_format, 2: torch.channels_last}
            return formats[spec.number], {"memory_format": spec.number}
        if isinstance(spec, Device):
            return spec.name, {"device": spec.name}
        if isinstance(spec, complex):
            return spec, {"complex": [spec.real, spec.imag]}
        if isinstance(spec, (list, tuple)):
            both = [self.value(item) for item in spec]
            return [a for a, _ in both], [b for _, b in both]
        return spec, spec


def overload(name):
    base, _, tail = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), tail or "default")


def parameters(name):
    return overload(name)._schema.arguments


def is_written(parameter):
    return parameter.alias_info is not None and parameter.alias_info.is_write


# --- One call ------------------------------------------------------------------------------------

Call = namedtuple("Call", "name args outs")  # outs: specs of the out arguments


def arguments(frame, call):
    """The arguments for PyTorch, and their texts in the fixture."""
    positional, named, said, said_named = [], {}, [], []
    given = list(call.args)
    outs = list(call.outs)
    for parameter in parameters(call.name):
        is_out = is_written(parameter) and parameter.kwarg_only
        if is_out:
            value, text = frame.value(outs.pop(0))
            named[parameter.name] = value
            said_named.append([parameter.name, text])
            continue
        spec = given.pop(0) if given else DEFAULT
        if isinstance(spec, str) and spec == DEFAULT:
            said.append({"default": True})
            if not parameter.has_default_value():
                raise ValueError(f"{call.name}: no value for {parameter.name}")
            if not parameter.kwarg_only and given:
                positional.append(parameter.default_value)
            continue
        value, text = frame.value(spec)
        said.append(text)
        if parameter.kwarg_only:
            named[parameter.name] = value
        else:
            positional.append(value)
    while said and said[-1] == {"default": True}:
        said.pop()
    return positional, named, said, said_named


def seen(tensor, undefined):
    return [geometry(tensor)] + ([] if undefined else [pool.add(dense(tensor))])


def result(frame, value, undefined):
    """How the fixture says a result."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [result(frame, item, undefined) for item in value]
    for i, (t, _) in enumerate(frame.flat):
        if t is value:
            return {"same": i}
    for i, base in enumerate(frame.bases):
        if storage_id(base) == storage_id(value):
            return {"alias": [i, geometry(value)]}
    return {"new": seen(value, undefined)}


def warned(caught):
    return any("non-writable" not in str(w.message) for w in caught)


def perform(call, domain, undefined):
    """Calls and returns [input, ...] as the fixture has it, and the results."""
    frame = Frame(domain)
    positional, named, said, said_named = arguments(frame, call)
    blocks = [pool.add(base) for base in frame.bases]
    before = [geometry(t) for t, _ in frame.flat]
    entry = {"args": said, "storages": blocks}
    if said_named:
        entry["named"] = said_named
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        try:
            outcome, error = overload(call.name)(*positional, **named), None
        except Exception as problem:  # every refusal is of interest, whatever its class
            outcome, error = None, problem
    notes = {}
    after = blocks if undefined else [pool.add(base) for base in frame.bases]
    changed = {i: b for i, (a, b) in enumerate(zip(blocks, after)) if a != b}
    if changed:
        notes["storages"] = changed
    moved = {}
    for i, (t, _) in enumerate(frame.flat):
        if geometry(t) != before[i]:
            moved[i] = seen(t, undefined)
    if moved:
        notes["moved"] = moved
    if warned(caught):
        notes["warned"] = True
    if error is not None:
        notes["raised"] = type(error).__name__
        record = [inputs.add(entry), []]
    else:
        several = isinstance(outcome, tuple)
        results = list(outcome) if several else [] if outcome is None else [outcome]
        record = [inputs.add(entry), [result(frame, r, undefined) for r in results]]
    if undefined:
        notes["undefined"] = True
    return record + ([notes] if notes else []), outcome, error


# --- Which calls an operator gets ----------------------------------------------------------------

FLOATS = ("bool", "u8", "i64", "f16", "bf16", "f64", "c64")
PAIRS = (("f32", "i64"), ("i64", "f32"), ("bool", "u8"), ("f16", "bf16"), ("u8", "i64"), ("f32", "f64"),
         ("i64", "c64"), ("bool", "bool"), ("bf16", "f32"))


def bare(name):
    """The name without what its other names add."""
    base = name.partition(".")[0]
    for prefix in ("special_", "_foreach_"):
        base = base.removeprefix(prefix)
    return base


def generic(name):
    """Arguments from the schema."""
    args = []
    dtype = "i64" if name.startswith(rows.INTEGRAL) else "f32"
    for parameter in parameters(name):
        kind = str(parameter.type)
        if is_written(parameter) and parameter.kwarg_only:
            continue
        if kind == "Tensor":
            args.append(T(2, 3, dt=dtype))
        elif kind == "List[Tensor]":
            args.append([T(2, 3, dt=dtype), T(4, dt=dtype)])
        elif parameter.has_default_value():
            args.append(DEFAULT)
        elif parameter.name in rows.NUMBERS:
            args.append(rows.NUMBERS[parameter.name])
        elif "number" in kind or "Scalar" in kind or kind == "float":
            args.append(3 if dtype == "i64" else 1.5)
        elif kind == "List[number]":
            args.append([1.5, 2])
        else:
            args.append(1)
    while args and isinstance(args[-1], str) and args[-1] == DEFAULT:
        args.pop()
    return args


def tensors_at(args):
    return [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]


def with_arg(args, i, spec):
    return [*args[:i], spec, *args[i + 1:]]


def with_dtypes(args, dtypes):
    """The tensors' element types in turn, the last one for all further ones."""
    args = list(args)
    for k, i in enumerate(tensors_at(args)):
        args[i] = args[i]._replace(dtype=dtypes[min(k, len(dtypes) - 1)])
    return args


def with_sizes(args, *sizes):
    args = list(args)
    for i in tensors_at(args):
        args[i] = args[i]._replace(sizes=sizes)
    return args


def first_tensor(args):
    at = tensors_at(args)
    return at[0] if at else None


def layouts(base, names):
    args, at = base.samples[0], first_tensor(base.samples[0])
    if at is None or args[at].layout != "plain" or base.name in rows.DENSE:
        return []
    return [with_arg(args, at, args[at]._replace(layout=name)) for name in names]


def mixed_lists(args):
    """Another layout, another element type and no elements among the tensors of the first list."""
    at = [i for i, arg in enumerate(args) if isinstance(arg, list) and arg and isinstance(arg[0], Tensor)]
    if not at or len(args[at[0]]) < 2 or args[at[0]][1] is None:
        return
    first, second = args[at[0]][:2]
    yield with_arg(args, at[0], [first._replace(layout="transposed"), second._replace(layout="step")])
    yield with_arg(args, at[0], [first, second._replace(dtype="i64")])
    yield [[t._replace(sizes=(0,)) for t in arg] if i in at else arg for i, arg in enumerate(args)]


def functional_calls(base, few):
    """Beyond the row's own: other layouts, sizes and element types."""
    shapeless = base.shapeless
    args = base.samples[0]
    yield from base.samples
    yield from mixed_lists(args)
    yield from layouts(base, ("transposed",) if few else ("transposed", "slice"))
    if few or first_tensor(args) is None:
        return
    at = first_tensor(args)
    if args[at].dtype in ("f32", "i64") and args[at].kind is None:
        for dtype in FLOATS:
            yield with_dtypes(args, (dtype,)) if shapeless else with_arg(args, at, args[at]._replace(dtype=dtype))
    if not shapeless:
        return
    yield with_sizes(args)
    yield with_sizes(args, 0, 3)
    at = tensors_at(args)
    if len(at) < 2:
        return
    for pair in PAIRS:
        yield with_dtypes(args, pair)
    yield with_arg(args, at[1], args[at[1]]._replace(sizes=(3,)))
    yield with_arg(args, at[0], args[at[0]]._replace(sizes=(2, 1)))
    yield with_arg(args, at[1], args[at[1]]._replace(sizes=(), dtype="f64"))
    yield with_arg(with_arg(args, at[0], args[at[0]]._replace(dtype="i64")), at[1],
                   args[at[1]]._replace(sizes=(), dtype="f32"))
    yield with_arg(args, at[1], args[at[1]]._replace(sizes=(4,)))


def inplace_calls(base, few):
    args = base.samples[0]
    yield from base.samples
    yield from mixed_lists(args)
    at = tensors_at(args)
    if not at:
        return
    yield from layouts(base, ("transposed", "slice") if few else ("transposed", "slice", "step", "expanded"))
    if few:
        return
    self = args[at[0]]
    if self.dtype in ("f32", "i64") and self.kind is None:
        for dtype in FLOATS[:3] + FLOATS[4:]:
            yield with_arg(args, at[0], self._replace(dtype=dtype))
    if len(at) > 1 and args[at[1]].sizes == self.sizes and args[at[1]].dtype == self.dtype:
        other = args[at[1]]
        yield with_arg(args, at[1], other._replace(share=(0, "itself")))
        yield with_arg(args, at[1], other._replace(share=(0, 0)))
        if base.shapeless:
            roomy = with_arg(args, at[0], self._replace(layout="roomy"))
            yield with_arg(roomy, at[1], self._replace(share=(0, 1)))
    if not base.shapeless:
        return
    yield with_sizes(args)
    yield with_sizes(args, 0, 3)
    if len(at) < 2:
        return
    for pair in (("i64", "f32"), ("f32", "c64"), ("u8", "i64"), ("f16", "f64"), ("bool", "u8")):
        yield with_dtypes(args, pair)
    yield with_arg(args, at[1], args[at[1]]._replace(sizes=(3,)))
    yield with_arg(args, at[1], args[at[1]]._replace(sizes=(2, 2, 3)))
    yield with_arg(args, at[1], args[at[1]]._replace(sizes=(4,)))
    yield with_arg(args, at[0], self._replace(sizes=(2, 1)))


OTHER_DTYPE = {"f32": ("f64", "i64", "f16"), "i64": ("f32", "u8", "bool"), "bool": ("f32", "u8"),
               "u8": ("i64",), "c64": ("f32",), "f16": ("f32", "i64"), "f64": ("f32",)}


def outs_like(results, change):
    """One target per result; `change` makes a spec of one of the right size."""
    made = []
    for r in results:
        if isinstance(r, (list, tuple)):
            made.append([change(T(*item.size(), dt=name_of(item.dtype))) for item in r])
        else:
            made.append(change(T(*r.size(), dt=name_of(r.dtype))))
    return made


def out_calls(args, results, few):
    """Arguments and targets."""
    yield args, outs_like(results, lambda t: t)
    yield args, outs_like(results, lambda t: t._replace(sizes=(*t.sizes[:-1], t.sizes[-1] + 1) if t.sizes else (2,)))
    yield args, outs_like(results, lambda t: t._replace(layout="slice"))
    if few:
        return
    yield args, outs_like(results, lambda t: t._replace(sizes=(0,)))
    yield args, outs_like(results, lambda t: t._replace(layout="transposed"))
    yield args, outs_like(results, lambda t: t._replace(sizes=(1,), layout="slice"))
    first = results[0]
    if isinstance(first, (list, tuple)):
        return
    for dtype in OTHER_DTYPE.get(name_of(first.dtype), ()):
        yield args, outs_like(results, lambda t: t._replace(dtype=dtype))
    if first.dim() and first.size(0) > 1:
        yield args, outs_like(results, lambda t: t._replace(layout="expanded") if t.sizes and t.sizes[0] > 1 else t)
    at = first_tensor(args)
    if at is None or len(results) > 1:
        return
    self = args[at]
    if self.sizes == tuple(first.size()) and self.dtype == name_of(first.dtype):
        yield args, [self._replace(share=(0, 0))]
        yield args, [self._replace(share=(0, "itself"))]
        yield with_arg(args, at, self._replace(layout="roomy")), [self._replace(share=(0, 1))]


class Base:
    """A functional operator, its samples, and whether any sizes will do."""

    def __init__(self, name):
        self.name = name
        self.domain = rows.DOMAIN.get(bare(name))
        self.shapeless = name not in rows.ROWS or name in rows.ANY_SIZES
        self.samples = rows.ROWS.get(name) or [generic(name)]


class Writer:
    def __init__(self):
        self.calls, self.refused, self.dropped = {}, [], 0

    def call(self, name, args, outs, base):
        """Returns the result, None when PyTorch refuses."""
        undefined = base.name.startswith(rows.UNDEFINED)
        try:
            record, outcome, error = perform(Call(name, args, outs), base.domain, undefined)
        except (KeyError, ValueError, RuntimeError) as problem:
            self.dropped += 1
            print(f"dropped {name}: {type(problem).__name__} {problem}", file=sys.stderr)
            return None
        kept = self.calls.setdefault(name, [])
        if record[0] not in (k[0] for k in kept):
            kept.append(record)
        return outcome if error is None else None

    def functional(self, base, few):
        fine = 0
        for args in functional_calls(base, few):
            fine += self.call(base.name, args, [], base) is not None
        if not fine:
            self.refused.append(base.name)

    def out(self, base, name, few):
        wanted = [p for p in parameters(name) if is_written(p) and p.kwarg_only]
        for k, args in enumerate(base.samples):
            try:
                with torch.no_grad(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    positional, named, _, _ = arguments(Frame(base.domain), Call(base.name, args, []))
                    results = overload(base.name)(*positional, **named)
            except Exception:
                continue
            listed = wanted and str(wanted[0].type) == "List[Tensor]"
            results = [results] if listed or isinstance(results, torch.Tensor) else list(results)
            results = results[:len(wanted)]
            for given, outs in out_calls(args, results, few or k > 0):
                self.call(name, given, outs, base)


def table(fnz):
    text = subprocess.run([fnz, "ops", "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(text)["operators"]


def known(name):
    try:
        return overload(name) is not None
    except AttributeError:
        return False


def write_all(ops):
    writer = Writer()
    conditional = [n for n in rows.ROWS if n not in {op["name"] for op in ops if op["cpu_kernel"]}]
    functional = sorted({op["name"] for op in ops if op["cpu_kernel"] and op["kind"] == "functional"} |
                        set(conditional))
    functional = [n for n in functional if known(n) and not any(n == op["name"] and op["kind"] != "functional"
                                                                for op in ops)]
    variants = {}
    for op in ops:
        if op["kind"] in ("inplace", "out", "mutable") and op.get("functional"):
            variants.setdefault(op["functional"], []).append(op)
    for name in functional:
        base, few = Base(name), name.startswith(rows.OTHER_NAMES)
        writer.functional(base, few)
        for op in sorted(variants.get(name, []), key=lambda op: op["name"]):
            if not known(op["name"]):
                continue
            if op["kind"] == "out":
                writer.out(base, op["name"], few)
            else:
                for args in inplace_calls(base, few):
                    writer.call(op["name"], args, [], base)
    for name, of in rows.VIEWS_IN_PLACE.items():
        for args in Base(of).samples:
            writer.call(name, args, [], Base(of))
    return writer


def main():
    fnz, folder = sys.argv[1:3]
    torch.set_num_threads(1)
    torch.set_warn_always(True)
    writer = write_all(table(fnz))
    document = {"blocks": pool.blocks.items, "calls": writer.calls, "geometries": geometries.items,
                "inputs": inputs.items, "torch": torch.__version__.partition("+")[0]}
    with open(f"{folder}/calls.json", "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"), sort_keys=True, allow_nan=False)
        file.write("\n")
    with open(f"{folder}/storages.safetensors", "wb") as file:
        file.write(pool.safetensors())
    count = sum(len(calls) for calls in writer.calls.values())
    print(f"{len(writer.calls)} operators, {count} calls, {writer.dropped} dropped")
    print("no call succeeds:", " ".join(writer.refused))


if __name__ == "__main__":
    main()
