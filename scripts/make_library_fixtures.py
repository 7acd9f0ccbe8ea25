#!/usr/bin/env python3
"""Writes fixtures/library/: results of torchvision's operators on boxes and of operators of quantized programs on
random arguments. For developers; needs PyTorch, torchvision and torchao. The files have the format of fixtures/made.

    scripts/make_library_fixtures.py fixtures/library

Everything is seeded: the same PyTorch on the same processor gives the same files."""

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
import torchao.quantization.quant_primitives  # defines torchao
import torchvision  # defines torchvision

import make_made_fixtures as made
import make_variant_fixtures as variants
from make_made_fixtures import N, U, bf16, chance, f16, f32, f64, many, some

I8 = (-128, 127, torch.int8)


def boxes(count, d, size=30.0):
    corners = torch.rand(count, 2) * size
    return torch.cat([corners, corners + torch.rand(count, 2) * size / 2 + 1], 1).to(d)


def suppressed():
    d, n = some([f32, f64]), many(0, 12)
    yield "torchvision::nms", boxes(n, d), torch.rand(n).to(d), some([0.0, 0.3, 0.5, 1.0])
    yield "torchvision::nms", boxes(n, d, 6.0).t().contiguous().t(), torch.randint(0, 3, (n,)).to(d), 0.2
    yield "torchvision::nms", boxes(n, f32), torch.rand(n + 1), 0.5
    yield "torchvision::nms", boxes(n, some([f16, bf16])), torch.rand(n), 0.5
    yield "torchvision::nms", boxes(n + 1, d).flatten(), torch.rand(n), 0.5
    yield "torchvision::nms", torch.full((3, 4), float("nan")), torch.tensor([1.0, float("nan"), 2.0]), 0.5


def regions(count, d, images, size=40.0):
    return torch.cat([torch.randint(0, images, (count, 1)).to(d), boxes(count, d, size) - some([0, 8])], 1)


def pooled():
    d, b, n = some([f32, f64]), many(1, 2), many(0, 3)
    x, rois = N(b, many(1, 3), many(1, 9), many(1, 9), d=d), regions(n, d, b)
    yield "torchvision::roi_align", x, rois, some([0.25, 1.0]), many(1, 3), many(1, 3), some([-1, 0, 2]), chance()
    yield "torchvision::roi_align", x, rois[:, :4], 0.25, 2, 2, 2, True
    yield "torchvision::roi_align", x, rois.to(f64 if d == f32 else f32), 0.25, 2, 2, 2, False
    yield "torchvision::roi_pool", x, rois, some([0.25, 0.5]), many(1, 3), many(1, 3)
    yield "torchvision::roi_pool", x.contiguous(), regions(1, d, b, 5.0), 1.0, 3, 2


def deformed():
    d, b, g, parts = some([f32, f64]), many(1, 2), many(1, 2), many(1, 2)
    h, w, kh, kw = many(4, 6), many(4, 6), many(1, 3), many(1, 3)
    stride, pad, dilation = [many(1, 2), many(1, 2)], [many(0, 1), many(0, 2)], [1, many(1, 2)]
    out = [(s + 2 * p - (e * (k - 1) + 1)) // t + 1 for s, p, e, k, t in zip((h, w), pad, dilation, (kh, kw), stride)]
    if min(out) < 1:
        return
    x, weight = N(b, 2 * g * parts, h, w, d=d), N(3 * g, 2 * parts, kh, kw, d=d)
    offset, mask = 2 * N(b, 2 * parts * kh * kw, *out, d=d), U(b, parts * kh * kw, *out, d=d)
    rest = [*stride, *pad, *dilation, g, parts]
    yield "torchvision::deform_conv2d", x, weight, offset, mask, N(3 * g, d=d), *rest, True
    yield "torchvision::deform_conv2d", x, weight, offset, torch.zeros(b, 0, dtype=d), N(3 * g, d=d), *rest, False
    yield "torchvision::deform_conv2d", x, weight, offset[:, 1:], mask, N(3 * g, d=d), *rest, True


def op(name):
    return "quantized_decomposed::" + name


def quantized():
    s, zero, dtype = [many(1, 4) for _ in range(many(1, 3))], many(-3, 9), some([torch.int8, torch.uint8, torch.int16, torch.int32])
    low, high = some([(torch.iinfo(dtype).min, torch.iinfo(dtype).max), (0, 15)])
    x, q = 5 * N(*s, d=some([f32, f32, bf16, f16])), torch.randint(low, min(high, 1000), s).to(dtype)
    yield op("quantize_per_tensor"), x, 0.037, zero, low, high, dtype
    yield op("quantize_per_tensor"), x.double(), 0.037, zero, low, high, dtype
    yield op("dequantize_per_tensor"), q, 0.037, zero, low, high, dtype
    yield op("dequantize_per_tensor"), q, 0.037, zero, low, high, dtype, {"out_dtype": some([f16, bf16, f64])}
    yield op("dequantize_per_tensor"), q, 0.037, zero, -128, 127, torch.int8
    scale, place = torch.tensor(some([[0.0371], 0.0371]), dtype=some([f32, f64])), torch.tensor([zero], dtype=some([torch.int64, torch.int32]))
    yield op("quantize_per_tensor.tensor"), x, scale, place, low, high, dtype
    yield op("dequantize_per_tensor.tensor"), q, scale, place, low, high, dtype, {"out_dtype": some([None, f16])}
    ends = torch.tensor(low), torch.tensor([high])
    yield op("quantize_per_tensor.tensor2"), x, scale, place, *ends, dtype
    yield op("dequantize_per_tensor.tensor2"), q, scale, place, *ends, dtype
    yield op("quantize_per_tensor.tensor"), x, torch.rand(2), place, low, high, dtype


def channels():
    s = [many(1, 4), many(1, 4), many(2, 4)]
    axis, d = many(0, 2), some([f32, f64])
    scales, zeros = U(s[axis], d=d) / 9, torch.randint(-4, 5, (s[axis],), dtype=some([torch.int64, torch.int32]))
    x, q = 5 * N(*s, d=some([f32, bf16])), torch.randint(-128, 128, s, dtype=torch.int8)
    yield op("quantize_per_channel"), x, scales, zeros, axis, *I8
    yield op("dequantize_per_channel"), q, scales, some([zeros, None]), axis, *I8
    yield op("dequantize_per_channel"), q, scales, zeros, axis, *I8, {"out_dtype": some([f16, f64])}
    yield op("quantize_per_channel"), x, torch.rand(s[axis] + 1), zeros, axis, *I8
    yield op("choose_qparams_per_token_asymmetric"), x, torch.int8
    scale, zero = torch.ops.quantized_decomposed.choose_qparams_per_token_asymmetric(x, torch.int8)
    yield op("quantize_per_token"), x, scale, zero, *I8
    yield op("dequantize_per_token"), q, scale, zero, *I8, some([f32, f16])
    rows, groups = many(1, 3), many(1, 3)
    scales, zeros = U(rows, groups, d=some([f32, bf16])) / 9, torch.randint(-2, 3, (rows, groups), dtype=torch.int32)
    yield op("quantize_per_channel_group"), N(rows, 4 * groups), scales, zeros, -8, 7, torch.int8, 4
    q = torch.randint(-8, 8, (rows, 4 * groups), dtype=torch.int8)
    yield op("dequantize_per_channel_group"), q, scales, some([zeros, None]), -8, 7, torch.int8, 4, some([f32, bf16])
    yield op("dequantize_per_channel_group"), q, scales, zeros, -8, 7, torch.int8, 3, f32


def chosen():
    x = N(many(1, 4), many(1, 4), d=some([f32, f16, bf16])) + some([0, 3, -3])
    yield op("choose_qparams.tensor"), x, *some([(-128, 127), (0, 255)]), 1e-6, torch.int8
    yield op("choose_qparams_symmetric.tensor"), x, -127, 127, 1e-6, some([torch.int8, torch.uint8])
    yield op("convert_element_type.no_fuse"), x, some([torch.int32, f16, f64])


def ao(name):
    return "torchao::" + name


def blocked():
    blocks, counts = [many(1, 3) for _ in range(many(1, 2))], [many(1, 3), many(1, 2)]
    counts = counts[:len(blocks)]
    s, d, t = [b * c for b, c in zip(blocks, counts)], some([f32, bf16, f16]), some([torch.int8, torch.uint8, torch.int16, torch.int32])
    ends = some([[], [], [0, 15], [0, 7.5], [0, 300]])
    x, q = 4 * N(*s, d=d) + some([0, 3]), torch.randint(0, 16, s).to(t)
    scale, zero = (U(*counts) + 0.1).to(some([f32, d])), torch.randint(0, 5, counts).to(some([torch.int8, torch.int64, f32]))
    yield ao("quantize_affine"), x, blocks, scale, zero, t, *ends
    yield ao("quantize_affine"), x.double(), blocks, scale, zero, t
    yield ao("quantize_affine"), x, blocks, scale, None, t
    yield ao("quantize_affine"), x, [*blocks, 1], scale, zero, t
    yield ao("dequantize_affine"), q, blocks, scale, some([zero, None]), t, *(ends or [None, None]), some([f32, f16, bf16])
    yield ao("dequantize_affine"), q, [b + 1 for b in blocks], scale, zero, t
    yield ao("dequantize_affine"), q, blocks, scale, zero, torch.int64
    rest = some([None, 1e-5, 0.3]), some([None, f32]), some([None, torch.int8, torch.int64]), chance()
    for how in ("SYMMETRIC", "ASYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "NONE"):
        yield ao("choose_qparams_affine"), x, how, blocks, t, *(ends or [None, None]), *rest
    small = some([torch.float8_e4m3fn, torch.float8_e5m2])
    yield ao("choose_scale_float8"), x, blocks, small, some([f32, torch.float8_e8m0fnu, f16]), some([None, 0.5]), some([None, 3.0])
    yield ao("quantize_affine_float8_non_decomposed"), 99 * x, some([scale, U(1), U(*counts, 2)]), small
    yield ao("dequantize_affine_float8_non_decomposed"), x.to(small), some([scale, U(1), U(*counts, 2)]), some([f32, bf16])


GROUPS = {suppressed: 6, pooled: 12, deformed: 12, quantized: 10, channels: 10, chosen: 6, blocked: 8}


def overload(name):
    namespace, name = name.split("::")
    base, _, rest = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), rest or "default")


FLOAT8 = {"f8e4m3fn": (torch.float8_e4m3fn, "F8_E4M3"), "f8e5m2": (torch.float8_e5m2, "F8_E5M2"),
          "f8e8m0fnu": (torch.float8_e8m0fnu, "F8_E8M0")}


if __name__ == "__main__":
    for name, (dtype, said) in FLOAT8.items():
        variants.TORCH[name], variants.NAMES[dtype], variants.SAFETENSORS[name] = dtype, name, said
    made.overload = overload
    made.GROUPS = GROUPS
    made.main()
