#!/usr/bin/env python3
"""Writes fixtures/reference/: what eager PyTorch gives for every functional operator that the CPU
computes, in every element type and for the values at which types differ. For developers; needs
PyTorch. The files have the format of fixtures/variants, and a list of what must agree bit by bit.

    scripts/make_reference_fixture.py build/fnz fixtures/reference

Arguments come from variant_rows.py and make_made_fixtures.py. Their tensors get each element type in turn: once with
common values, once with NaN of several payloads, infinities, both zeros, subnormal numbers and the ends of the
integers. Everything is seeded: the same PyTorch on the same processor gives the same files."""

import json
import sys
import warnings

import torch

import make_made_fixtures as made
import make_variant_fixtures as variants
import variant_rows as rows
from variant_rows import DEFAULT, Dtype, T, Tensor

torch.set_num_threads(1)
DTYPES = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128")
MIXED = (("f16", "f32"), ("f32", "i64"), ("i64", "f32"), ("i8", "u8"), ("bf16", "f16"), ("f64", "c64"), ("bool", "i32"))

# Operators that move or choose elements: results agree bit by bit, payloads of NaN and all. Operators that compare
# elements, change a sign or round once: bit by bit, but every NaN is like another. Names without their overload; all
# that end in _copy are among the former.
EXACT = set("""
where masked_fill masked_scatter masked_select index index_put _unsafe_index _unsafe_index_put
_unsafe_masked_index index_select index_copy index_fill gather scatter take take_along_dim put embedding
cat concat concatenate stack hstack vstack dstack column_stack row_stack block_diag repeat tile
repeat_interleave flip fliplr flipud roll rot90 tril triu constant_pad_nd pad reflection_pad1d
reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d _pad_circular _pad_enum
copy clone contiguous alias detach expand permute select slice split squeeze t transpose unbind unfold
unsqueeze view view_as_real view_as_complex select_scatter slice_scatter diagonal_scatter as_strided_scatter
slice_inverse fill full full_like new_full zeros ones zeros_like ones_like new_zeros new_ones eye scalar_tensor
relu relu6 clamp clip clamp_min clamp_max hardtanh maximum minimum max min threshold threshold_backward
hardtanh_backward hardshrink copysign nan_to_num positive heaviside sort argsort topk kthvalue msort median
nanmedian mode amax amin aminmax cummax cummin max_pool1d max_pool2d max_pool3d max_pool1d_with_indices
max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle unique_consecutive unique_dim _unique2 _unique
resolve_conj diag diag_embed im2col max_unpool2d max_unpool3d upsample_nearest1d upsample_nearest2d
upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d resize
combinations cartesian_prod meshgrid
""".split())
EQUAL = set("""
fmax fmin neg negative abs absolute sign signbit isnan isinf isfinite isneginf isposinf isreal eq ne lt le gt
ge equal isclose not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not
bitwise_and bitwise_or bitwise_xor bitwise_not floor ceil round trunc fix argmax argmin all any nonzero
count_nonzero searchsorted bucketize conj_physical isin one_hot tril_indices triu_indices add sub rsub subtract
reciprocal div true_divide divide _to_copy _neg_view_copy diff
""".split())

# Rows of the operators that neither of the other two scripts calls.
MORE = {
    "combinations": [[T(3)], [T(3), 2, True]], "tile": [[T(2, 3), [2]]],
    "empty_permuted": [[[2, 3], [1, 0]]], "range": [[0, 3]], "range.step": [[0, 3], [0, 3, 2]],
    "logspace": [[0, 1, 3], [0, 2, 3, 2.0]], "meshgrid": [[[T(2), T(3)]]],
    "meshgrid.indexing": [[[T(2), T(3)], "xy"]],
    "where": [[T(2, 3)]], "nonzero_numpy": [[T(2, 3)]],
    "special_gammainc": [[T(2, 3, kind="positive"), T(2, 3, kind="positive")]],
    "special_gammaincc": [[T(2, 3, kind="positive"), T(2, 3, kind="positive")]],
    "_is_all_true": [[T(2, 3, dt="bool")]], "_is_any_true": [[T(2, 3, dt="bool")]],
    "hamming_window.periodic_alpha": [[5, True, 0.5]],
    "upsample_nearest2d_backward": [[T(1, 2, 4, 4), [4, 4], [1, 2, 2, 2]]],
    "_upsample_nearest_exact2d_backward": [[T(1, 2, 4, 4), [4, 4], [1, 2, 2, 2]]],
    "_upsample_nearest_exact1d.vec": [[T(1, 2, 3), None, [2.0]]],
    "_upsample_nearest_exact3d.vec": [[T(1, 1, 2, 2, 2), None, [2.0, 2.0, 1.0]]],
    "_upsample_bicubic2d_aa.vec": [[T(1, 1, 3, 3), None, False, [0.7, 1.5]]],
    "_upsample_lanczos2d_aa.vec": [[T(1, 1, 3, 3), None, False, [0.7, 1.5]]],
    "reflection_pad2d_backward": [[T(1, 2, 4, 4), T(1, 2, 3, 3), [1, 0, 0, 1]]],
    "replication_pad2d_backward": [[T(1, 2, 4, 4), T(1, 2, 3, 3), [1, 0, 0, 1]]],
    "unfold_backward": [[T(2, 3), [6], 0, 3, 3]], "where.self": [[rows.M(2, 3), T(2, 3), T(2, 3)]],
    "avg_pool3d_backward": [[T(1, 1, 2, 2, 2), T(1, 1, 4, 4, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None]],
    "_adaptive_avg_pool3d_backward": [[T(1, 1, 2, 2, 2), T(1, 1, 4, 4, 4)]],
}


# --- What is in the tensors ----------------------------------------------------------------------

BITS = {"f16": (torch.int16, 0x7C00, 10), "bf16": (torch.int16, 0x7F80, 7), "f32": (torch.int32, 0x7F800000, 23),
        "f64": (torch.int64, 0x7FF0000000000000, 52)}
PLAIN = (1.0, 0.0, -1.5, 0.5, -0.0, 3.0, -2.0, 0.25)


def float_specials(dtype):
    kind, infinity, fraction = BITS[dtype]
    sign, quiet = infinity.bit_length(), 1 << (fraction - 1)
    negative = -(1 << sign)
    patterns = [infinity | quiet, negative | infinity | (1 << fraction) - 1, infinity | 1, infinity | quiet | 5 << fraction - 6,
                infinity, negative | infinity, 1, negative | 3, infinity - 1]
    special = torch.tensor(patterns, dtype=kind).view(variants.TORCH[dtype])
    plain = torch.tensor(PLAIN, dtype=torch.float64).to(variants.TORCH[dtype])
    return torch.cat([special, plain])


def int_specials(dtype):
    info = torch.iinfo(variants.TORCH[dtype])
    values = [0, 1, info.max, info.min, 2, 3, info.max - 1, 7, 5, info.min + 1, 6]
    return torch.tensor(values, dtype=variants.TORCH[dtype])


def specials(dtype, slot, count, start=0):
    """Slots step through the values at other strides, so that pairs differ."""
    at = torch.arange(start, start + count)
    if dtype == "bool":
        return (at * (slot + 1) % 3 > 0)
    if dtype in ("c64", "c128"):
        part = float_specials("f32" if dtype == "c64" else "f64")
        real, imaginary = part[(at * (2 * slot + 1) + slot) % len(part)], part[(at * (2 * slot + 3) + 9) % len(part)]
        return torch.view_as_complex(torch.stack([real, imaginary], -1)) if count else torch.empty(0, dtype=variants.TORCH[dtype])
    values = float_specials(dtype) if dtype in BITS else int_specials(dtype)
    return values[(at * (2 * slot + 1) + slot // 2) % len(values)].clone()


common_contents = variants.contents


def contents(dtype, kind, slot, count):
    if kind and kind.startswith("special"):
        return specials(dtype, slot, count, int(kind[7:]))
    if dtype == "c128":
        both = variants.reals(kind, slot, 2 * count)
        return torch.tensor(both[:count] + 1j * both[count:], dtype=torch.complex128)
    return common_contents(dtype, kind, slot, count)


variants.contents = contents
variants.TORCH["c128"] = torch.complex128
variants.NAMES[torch.complex128] = "c128"
variants.TORCH["c32"] = torch.complex32
variants.NAMES[torch.complex32] = "c32"
variants.SAFETENSORS["c128"] = variants.SAFETENSORS["c32"] = "U8"  # safetensors has no name for these


# --- Calls from rows -----------------------------------------------------------------------------

# PyTorch ends the process when these divide the least integer by -1, or by 0.
TRAPS = ("div", "floor_divide", "true_divide", "divide", "remainder", "fmod", "lcm", "gcd", "smooth_l1_loss_backward")
TYPED = ("f32", "i64", "c64", "f64")


def is_typed(spec):
    return isinstance(spec, Tensor) and spec.dtype in TYPED and not (spec.kind or "").startswith("index")


def typed(value, dtypes, kind):
    """The arguments with their tensors in these types, the last one for all further ones."""
    seen = [0]

    def walk(spec):
        if isinstance(spec, list):
            return [walk(item) for item in spec]
        if not is_typed(spec):
            return spec
        dtype = dtypes[min(seen[0], len(dtypes) - 1)]
        seen[0] += 1
        return spec._replace(dtype=dtype, kind=kind or spec.kind)

    return walk(value), seen[0]


def calls_of(base):
    samples = base.samples
    for args in samples:
        changed, count = typed(args, ("f32",), None)
        if not count:
            yield args
            continue
        for dtype in DTYPES:
            yield typed(args, (dtype,), None)[0]
    args = samples[0]
    for dtype in DTYPES:
        trapped = variants.bare(base.name).startswith(TRAPS) and dtype not in BITS
        for start in range(0, 24 if base.shapeless else 6, 6):
            changed, count = typed(args, (dtype,), f"special{start}")
            if count and not trapped:
                yield changed
    if base.name == "_to_copy":
        for dtype in DTYPES:
            yield from ([T(17, dt=dtype, kind="special0"), Dtype(to)] for to in DTYPES)
    for pair in MIXED:
        changed, count = typed(args, pair, None)
        if count > 1:
            yield changed


def add_row_calls(name, calls):
    base = variants.Base(name)
    if name in MORE:
        base.samples, base.shapeless = MORE[name], False
    undefined = name.startswith(rows.UNDEFINED)
    for args in calls_of(base):
        try:
            record, _, _ = variants.perform(variants.Call(name, args, []), base.domain, undefined)
        except (KeyError, ValueError, RuntimeError, TypeError, NotImplementedError) as problem:
            print(f"dropped {name}: {type(problem).__name__} {problem}"[:150], file=sys.stderr)
            continue
        kept = calls.setdefault(name, [])
        if record[0] not in (k[0] for k in kept):
            kept.append(record)


# --- Calls of made operators ---------------------------------------------------------------------


def draws():
    """Per operator the arguments of its first two calls that PyTorch takes."""
    found = {}
    for group, times in made.GROUPS.items():
        for _ in range(times):
            for name, *args in group():
                if len(found.setdefault(name, [])) >= 2:
                    continue
                with warnings.catch_warnings(), torch.no_grad():
                    warnings.simplefilter("ignore")
                    if len(made.record(name, *args)) == 2:
                        found[name].append(args)
    return found


def recast(value, dtype, slots, kind):
    if isinstance(value, (list, tuple)):
        return [recast(item, dtype, slots, kind) for item in value]
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return value
    slots[0] += 1
    wanted = variants.TORCH[dtype]
    if kind == "special":
        changed = specials(dtype, slots[0] - 1, value.numel()).reshape(value.shape)
    else:
        changed = (value if wanted.is_complex else value.real if value.is_complex() else value).to(wanted)
    return torch.empty_strided(value.size(), value.stride(), dtype=wanted).copy_(changed) if value._is_view() is False and \
        value.numel() == value.untyped_storage().nbytes() // value.element_size() else changed.contiguous()


def add_made_calls(name, samples, calls):
    kept = calls.setdefault(name, [])
    for number, args in enumerate(samples):
        tensors = [0]
        recast([a for a in args if not isinstance(a, dict)], "f32", tensors, None)
        wanted = [(d, None) for d in DTYPES] + ([(d, "special") for d in DTYPES] if number == 0 else [])
        for dtype, kind in wanted if tensors[0] else [("f32", None)]:
            if name.startswith(TRAPS) and dtype not in BITS:
                continue
            slots = [0]
            given = [a if isinstance(a, dict) else recast(a, dtype, slots, kind) for a in args]
            try:
                record = made.record(name, *given)
            except (KeyError, ValueError, RuntimeError, TypeError) as problem:
                print(f"dropped {name}: {type(problem).__name__} {problem}"[:150], file=sys.stderr)
                continue
            if record[0] not in (k[0] for k in kept):
                kept.append(record)


# --- Writing -------------------------------------------------------------------------------------


def strictness(name):
    base = name.partition(".")[0]
    if base in EQUAL:
        return "equal"
    return "exact" if base in EXACT or base.endswith("_copy") else "close"


def main():
    fnz, folder = sys.argv[1:3]
    torch.manual_seed(2)
    functional = sorted(op["name"] for op in variants.table(fnz) if op["cpu_kernel"] and op["kind"] == "functional")
    drawn, calls, missing = draws(), {}, []
    variants.pool.__init__()
    variants.geometries.__init__()
    variants.inputs.__init__()
    for name in functional:
        if not variants.known(name):
            missing.append(name)
            continue
        if drawn.get(name):
            add_made_calls(name, drawn[name], calls)
        if name not in drawn or name in MORE:
            add_row_calls(name, calls)
    never = [n for n in calls if all(len(c) > 2 and "raised" in c[2] for c in calls[n])]
    document = {"blocks": variants.pool.blocks.items, "calls": calls, **{k: sorted(n for n in calls if strictness(n) == k) for k in ("equal", "exact")},
                "geometries": variants.geometries.items, "inputs": variants.inputs.items,
                "torch": torch.__version__.partition("+")[0]}
    with open(f"{folder}/calls.json", "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"), sort_keys=True, allow_nan=False)
        file.write("\n")
    with open(f"{folder}/storages.safetensors", "wb") as file:
        file.write(variants.pool.safetensors())
    print(f"{len(calls)} of {len(functional)} operators, {sum(map(len, calls.values()))} calls")
    print("not in this PyTorch:", *missing)
    print("no call:", *(n for n in functional if n not in calls and n not in missing))
    print("no call succeeds:", *never)


if __name__ == "__main__":
    main()
