#!/usr/bin/env python3
"""Writes fixtures/made/: what eager PyTorch gives for the operators that fnz computes by others, on
random arguments. For developers; needs PyTorch. The files have the format of fixtures/variants.

    scripts/make_made_fixtures.py fixtures/made

Everything is seeded: the same PyTorch on the same processor gives the same files."""

import json
import random
import sys
import warnings

import torch

from make_variant_fixtures import dense, geometries, geometry, inputs, name_of, overload, pool

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
c64, i64, u8, boolean = torch.complex64, torch.int64, torch.uint8, torch.bool
draw = random.Random(2)
some = draw.choice


def N(*sizes, d=f32, dense=False):
    """Normally distributed; often with its dimensions in another order."""
    wide = torch.randn(sizes, dtype=torch.complex128 if d.is_complex else f64)
    t = wide.to(d) if d.is_floating_point or d.is_complex else (3 * wide).to(d)
    if dense or len(sizes) < 2 or draw.random() < 0.7:
        return t
    order = list(range(len(sizes)))
    draw.shuffle(order)
    return t.permute(order).contiguous().permute([order.index(i) for i in range(len(order))])


def U(*sizes, d=f32):
    """From 0 to 1."""
    return torch.rand(sizes, dtype=f64).to(d)


def index(most, *sizes):
    return torch.randint(0, most, sizes)


def chance(p=0.5):
    return draw.random() < p


def many(low, high):
    return draw.randint(low, high)


def sizes(most=3):
    return [many(1, 4) for _ in range(many(1, most))]


# --- Recurrent networks --------------------------------------------------------------------------


def weights(gates, width, hidden, layers, ways, biased, projected, d):
    out = []
    for layer in range(layers):
        for _ in range(ways):
            came = width if layer == 0 else (projected or hidden) * ways
            out += [0.4 * N(gates * hidden, came, d=d), 0.4 * N(gates * hidden, projected or hidden, d=d)]
            out += [N(gates * hidden, d=d), N(gates * hidden, d=d)] if biased else []
            out += [0.4 * N(projected, hidden, d=d)] if projected else []
    return out


def recurrent():
    kind, d = some(["lstm", "gru", "rnn_tanh", "rnn_relu"]), some([f32, f64, bf16])
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    width, hidden, layers, ways, steps, batch = many(1, 4), many(2, 3), many(1, 2), many(1, 2), many(1, 4), many(1, 3)
    biased, projected = chance(), hidden - 1 if kind == "lstm" and chance(0.3) else 0
    params = weights(gates, width, hidden, layers, ways, biased, projected, d)
    h, c = N(layers * ways, batch, projected or hidden, d=d), N(layers * ways, batch, hidden, d=d)
    state, rest = [h, c] if kind == "lstm" else h, [params, biased, layers, 0.5, False, ways == 2]
    first = chance()
    x = N(batch, steps, width, d=d) if first else N(steps, batch, width, d=d)
    yield kind + ".input", x, state, *rest, first
    lengths = sorted((many(1, steps) for _ in range(batch)), reverse=True)
    per_step = torch.tensor([sum(n > t for n in lengths) for t in range(lengths[0])])
    yield kind + ".data", N(sum(lengths), width, d=d), per_step, state, *rest
    state = [N(batch, hidden, d=d), N(batch, hidden, d=d)] if kind == "lstm" else N(batch, hidden, d=d)
    yield kind + "_cell", N(batch, width, d=d), state, *weights(gates, width, hidden, 1, 1, biased, 0, d)
    yield kind + ".input", N(0, batch, width, d=d), [h, c] if kind == "lstm" else h, *rest, False
    yield kind + ".input", x, [h, c] if kind == "lstm" else h, params[1:], *rest[1:], first


# --- Losses and distances ------------------------------------------------------------------------


def losses():
    d, s, how = some([f32, f64]), sizes(), many(0, 2)
    x, sign = N(*s, d=d), torch.where(torch.rand(s) < 0.5, -1, 1).to(d)
    yield "binary_cross_entropy", U(*s, d=d), U(*s, d=d), some([None, U(*s, d=d)]), how
    yield "binary_cross_entropy", 3 + U(*s, d=d), U(*s, d=d), None, how
    yield "binary_cross_entropy_with_logits", x, U(*s, d=d), some([None, U(s[-1], d=d)]), some([None, U(s[-1], d=d)]), how
    yield "kl_div", x, U(*s, d=d), how, {"log_target": chance()}
    yield "soft_margin_loss", x, sign, how
    yield "hinge_embedding_loss", x, sign, some([1.0, 0.5]), how
    yield "margin_ranking_loss", x, N(*s, d=d), sign, some([0.0, 0.5]), how
    yield "poisson_nll_loss", U(*s, d=d), 4 * U(*s, d=d), chance(), chance(), 1e-8, how
    n, c = many(1, 4), many(1, 5)
    a, b = N(n, c, d=d), N(n, c, d=d)
    yield "cosine_embedding_loss", a, b, torch.where(torch.rand(n) < 0.5, -1, 1), some([0.0, 0.3]), how
    yield "triplet_margin_loss", a, b, N(n, c, d=d), 1.0, some([2.0, 1.0, 3.0]), 1e-6, chance(), how
    yield "pairwise_distance", a, b, some([2.0, 1.0, 3.0]), 1e-6, chance()
    yield "cosine_similarity", x, N(*s, d=some([d, f32])), many(-len(s), len(s) - 1), 1e-8
    yield "dist", x, N(*s, d=d), some([2, 1, 3.5, 0])
    yield "pdist", a.contiguous(), some([2.0, 1.0])
    yield "multi_margin_loss", a, index(c, n), many(1, 2), some([1, 0.5]), some([None, U(c, d=d)]), how
    yield "multi_margin_loss", a[0], index(c), 1, 1, None, how
    yield "nll_loss2d_forward", N(2, 3, 2, 2, d=d), index(3, 2, 2, 2), None, how, -100
    yield "log_sigmoid_forward", N(*s, d=f64)


# --- Layers --------------------------------------------------------------------------------------


def layers():
    d, real, s = some([f32, f64, f16, bf16]), some([f32, f64]), sizes(4)
    dim = some([0, len(s) - 1, len(s) // 2])
    v, g = N(*s, d=real), U(*[n if k == dim else 1 for k, n in enumerate(s)], d=real)
    yield "norm_except_dim", v, 2, some([dim, -1])
    yield "_weight_norm", v, g, dim
    yield "_weight_norm_interface", v, g, dim
    yield "prelu", N(*s, d=d), N(some([1, s[1] if len(s) > 1 else 1]), d=d)
    yield "prelu", N(2, 3, d=d), N(2, d=d)
    yield "_prelu_kernel", N(*s, d=d), N(*s, d=d)
    yield "rrelu", N(*s, d=d), 0.1, 0.3
    a, b, c, lead = many(1, 4), many(1, 4), many(1, 3), sizes(2)
    yield "bilinear", N(*lead, a, d=real), N(*lead, b, d=real), N(c, a, b, d=real), some([None, N(c, d=real)])
    n, rows, columns = many(1, 2), many(2, 5), many(2, 5)
    yield "affine_grid_generator", N(n, 2, 3, d=real), [n, 2, rows, columns], chance()
    yield "affine_grid_generator", N(n, 3, 4, d=real), [n, 2, 2, rows, columns], chance()
    image, size = N(n, 2, rows, columns, d=real), [many(2, 8), many(2, 8)]
    for filter in ("bilinear", "bicubic", "lanczos"):
        yield f"_upsample_{filter}2d_aa", image, size, False
    yield "_upsample_bilinear2d_aa.vec", image, None, chance(), [some([0.5, 2.0, 1.3]), some([1.0, 2.0, 0.7])]
    yield "_upsample_nearest_exact2d", image, size
    yield "_upsample_nearest_exact2d.vec", image, None, [some([1.5, 2.0]), some([1.0, 1.7])]
    yield "_upsample_nearest_exact1d", N(n, 2, columns), [many(1, 8)]
    yield "_upsample_nearest_exact3d", N(n, 2, 2, rows, columns), [3, *size]
    for name in ("grid_sampler_3d", "grid_sampler"):
        yield name, N(n, 2, 2, rows, columns, d=real), 0.7 * N(n, 2, 2, 3, 3, d=real), many(0, 1), many(0, 2), chance()
    yield "adaptive_max_pool1d", N(n, 2, columns, d=d), [many(1, 4)]
    yield "adaptive_max_pool2d", image.to(d), [many(1, 4), many(1, 4)]
    yield "adaptive_max_pool3d", N(n, 2, 3, rows, columns, d=d), [2, many(1, 4), many(1, 4)]
    pooled, places = torch.ops.aten.max_pool2d_with_indices(image, [2, 2])
    yield "max_unpool2d", pooled, places, [rows, columns]


def bags():
    d, rows, count = some([f32, f64, f16, bf16]), many(2, 6), many(1, 8)
    starts = [0] + sorted(many(0, count) for _ in range(many(0, 3)))
    ends, mode = chance(0.4), many(0, 2)
    offsets = torch.tensor(starts + [count] if ends else starts)
    scale = U(count, d=d) if mode == 0 and chance() else None
    args = [N(rows, many(1, 4), d=d, dense=True), index(rows, count), offsets, False, mode, False, scale, ends]
    yield "_embedding_bag", *args, some([-1, 0, 1])
    yield "_embedding_bag_forward_only", *args, some([-1, 0, 1])
    yield "embedding_bag.padding_idx", *args, some([None, -1, 0])
    yield "embedding_bag", *args
    yield "embedding_bag", args[0], args[1] + rows, *args[2:]


# --- Put together, and picked --------------------------------------------------------------------


def layout():
    d, s = some([f32, f64, i64, boolean, c64, bf16]), sizes()
    for name in ("hstack", "vstack", "row_stack", "dstack", "column_stack"):
        yield name, [N(*s, d=d) for _ in range(many(1, 3))]
        yield name, [N(3, d=d), N(3)]
        yield name, [N(), N()]
    yield "block_diag", [N(*sizes(2), d=some([f32, i64, f64])) for _ in range(many(1, 3))] + [N()]
    yield "pad_sequence", [N(many(1, 4), 2) for _ in range(3)], chance(), some([0.0, 1.5]), some(["left", "right"])
    number = some([f32, i64, c64])
    yield "kron", N(*sizes(), d=number), N(*sizes(), d=number)
    yield "inner", N(2, 3, d=number), N(*some([[], [3], [2, 3], [2, 2, 3]]), d=number)
    yield "chain_matmul", [N(2, 3), N(3, 4), N(4, 2)]
    yield "diag", N(*some([[3], [2, 3], [4, 2]]), d=d), many(-3, 3)
    yield "diagflat", N(*s, d=d), many(-2, 2)
    yield "diag_embed", N(*s, d=d), many(-2, 2), *some([(-2, -1), (0, 1), (0, -1), (1, 0), (0, 0)])
    yield "fliplr", N(2, *s, d=d)
    yield "flipud", N(*s, d=d)
    yield "sum_to_size", N(2, 3, 4, d=some([f32, i64])), some([[3, 1], [1, 1, 4], [4], [1], [2, 1, 1], [2]])
    yield "complex", N(2, 3), N(some([1, 3]))
    yield "polar", U(2, 3), N(2, 3)
    yield "native_channel_shuffle", N(1, 4, 2, 2), 2


def picks():
    d, s = some([f32, f64, i64, u8, bf16, boolean, c64]), sizes()
    x, dim, count = N(*s, d=d), many(0, len(s) - 1), many(1, 5)
    from_size = [count if k == dim else n for k, n in enumerate(s)]
    yield "masked_select", x, torch.rand(s) < 0.5
    yield "masked_select", x, torch.rand(s[-1]) < 0.5
    yield "argwhere", x
    yield "nonzero_static", x, {"size": many(0, 9)}
    at = torch.randint(-2, 6, (3,))
    inside = ((at >= 0) & (at < s[0])).view(3, *[1] * (len(s) - 1))
    yield "_unsafe_masked_index", N(*s), inside, [at], 1.5
    yield "_unsafe_masked_index_put_accumulate", N(*s), inside, [at], N(3, *s[1:])
    number = some([f32, f64, i64, u8, bf16, torch.int8])
    for how in ("prod", "mean", "amax", "amin"):
        whole = {"include_self": chance()}
        yield "index_reduce", N(*s, d=number), dim, index(s[dim], count), N(*from_size, d=number), how, whole
        yield "scatter_reduce.two", N(*s, d=number), dim, index(s[dim], *from_size), N(*from_size, d=number), how, whole
    yield "take_along_dim", x, index(s[dim], *from_size), dim
    yield "take_along_dim", x, index(x.numel(), 4), None
    whole = N(*s, d=some([f32, i64])).round()
    yield "isin.Tensor_Tensor", whole, N(many(0, 5), d=some([f32, i64])).round(), {"invert": chance()}
    yield "isin.Tensor_Scalar", whole, 1
    yield "isin.Scalar_Tensor", 1, whole
    yield "repeat_interleave.Tensor", index(4, s[dim])
    yield "repeat_interleave.self_Tensor", x, index(4, s[dim]), dim
    yield "repeat_interleave.self_Tensor", x, torch.tensor([2]), some([None, dim])
    near = N(*s, d=some([f32, f64, c64]))
    yield "isclose", near, near + 1e-5 * N(*s, d=near.dtype), 1e-5, 1e-6, chance()
    yield "isclose", N(*s, d=i64), N(*s, d=i64), 0.1, 1, False
    yield "isreal", near
    yield "linspace.Tensor_Tensor", torch.tensor(1.5), torch.tensor(4.0), 5
    yield "linspace.Tensor_Scalar", torch.tensor(1.5), 3, many(0, 6)
    yield "linspace.Scalar_Tensor", 1, torch.tensor(1.5), 3
    again = N(*s, d=some([f32, i64, boolean, u8, f64]))
    again = again.round() if again.is_floating_point() else again
    inverse, counts = chance(), chance()
    yield "_unique", again, chance(), True
    yield "_unique2", again, True, inverse, counts
    yield "unique_dim", again, dim, True, inverse, counts
    yield "unique_consecutive", again, inverse, counts, some([None, dim])
    yield "unique_dim_consecutive", again, dim, inverse, counts
    yield "histc", N(*s, d=some([f32, f64])), many(1, 7), *some([(0, 0), (-1, 2), (-0.5, 0.5), (2, 1)])
    small = torch.randint(0, 5, (many(0, 7),), dtype=some([i64, torch.int32, u8]))
    yield "bincount", small, some([None, N(small.numel()), N(small.numel(), d=f64)]), some([0, 8])
    yield "bincount", small.long() - 3, None, 0
    yield "frexp.Tensor", 10 * N(*s, d=some([f32, f64, f16, bf16]))
    for side in ("tril_indices", "triu_indices"):
        yield side, many(0, 4), many(0, 4), many(-3, 3)


# --- Backward ------------------------------------------------------------------------------------


def convolution():
    d, n, groups, spatial, turned = some([f32, f64]), many(1, 3), many(1, 2), many(1, 3), chance(0.4)
    came, went = some([2, 4]), some([2, 4])
    kernel, stride, padding, dilation = ([many(*r) for _ in range(spatial)] for r in ((1, 3), (1, 2), (0, 1), (1, 2)))
    extra = [many(0, k - 1) if turned else 0 for k in stride]
    x = N(n, came, *[many(4, 5) for _ in range(spatial)], d=d)
    w = N(*((came, went // groups) if turned else (went, came // groups)), *kernel, d=d)
    try:
        y = torch.ops.aten.convolution(x, w, None, stride, padding, dilation, turned, extra, groups)
    except RuntimeError:
        return
    yield ("convolution_backward", N(*y.shape, d=d), x, w, [went], stride, padding, dilation, turned, extra, groups,
           [True, True, chance()])
    image, w = N(1, 4, 5, 5), N(2, 4, 3, 3)
    yield "_convolution", image, w, N(2), [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True
    yield "_convolution_mode", image, w, N(2), [1, 1], "same", [1, 1], 1


def backward():
    s = sizes() + [many(2, 4)]
    own = s[-many(1, len(s)):]
    x, n = N(*s, d=f64), many(2, 3)
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, own, None, None, 1e-5)
    yield "native_layer_norm_backward", N(*s, d=f64), x, own, mean, rstd, U(*own, d=f64), U(*own, d=f64), [True, True, chance()]
    x, groups = N(n, 4, 3, 2, d=f64, dense=True), some([1, 2, 4])
    _, mean, rstd = torch.ops.aten.native_group_norm(x, None, None, n, 4, 6, groups, 1e-5)
    yield "native_group_norm_backward", N(n, 4, 3, 2, d=f64, dense=True), x, mean, rstd, U(4, d=f64), n, 4, 6, groups, [True, True, True]
    x = N(n, 3, 2, d=f64)
    _, mean, rstd = torch.ops.aten.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    yield ("native_batch_norm_backward", N(n, 3, 2, d=f64), x, some([None, U(3, d=f64)]), N(3, d=f64), U(3, d=f64), mean,
           rstd, chance(), 1e-5, [True, True, True])
    d = some([f32, f64])
    yield "_softmax_backward_data", N(*s, d=d), torch.softmax(N(*s, d=d), 0), 0, d
    yield "_log_softmax_backward_data", N(*s, d=d), torch.log_softmax(N(*s, d=d), -1), -1, d
    at = index(4, *sizes(2))
    yield "embedding_dense_backward", N(*at.shape, 3, d=d), at, 4, some([-1, 1]), chance()
    image, kernel, stride, padding = N(n, 2, many(3, 6), many(3, 6), d=d), [some([2, 3]), 2], some([[], [1, 2]]), some([[0, 0], [1, 1]])
    ceil, by = chance(0.4), some([None, 3])
    y = torch.ops.aten.avg_pool2d(image, kernel, stride, padding, ceil, True, by)
    yield "avg_pool2d_backward", N(*y.shape, d=d), image, kernel, stride, padding, ceil, chance(), by
    y, at = torch.ops.aten.max_pool2d_with_indices(image, kernel, stride, padding, [1, 1], ceil)
    yield "max_pool2d_with_indices_backward", N(*y.shape, d=d), image, kernel, stride, padding, [1, 1], ceil, at
    yield "_adaptive_avg_pool2d_backward", N(n, 2, 2, 3, d=d), image
    y, at = torch.ops.aten.adaptive_max_pool2d(image, [2, 3])
    yield "adaptive_max_pool2d_backward", N(*y.shape, d=d), image, at


def functions():
    s, ends = sizes(), torch.tensor([0.0, -0.0, -1.0, torch.inf, -torch.inf, torch.nan, 1.0, 40.0])
    for name in ("igamma", "igammac"):
        yield name, 4 * U(*s, d=f64), 4 * U(*s, d=f64)
        yield name, 100 * U(*s), 100 * U(s[-1])
        yield name, 4 * U(*s, d=some([f16, bf16])), 4 * U(*s)
        yield name, torch.tensor([0.0, 0.0, 1.0, -1.0, 1.0, torch.inf, 1.0, torch.inf, torch.nan]), torch.tensor(
            [0.0, 1.0, 0.0, 1.0, -1.0, 1.0, torch.inf, torch.inf, 1.0])
        yield name, N(*s, d=i64), N(*s, d=i64)
    for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "erfcx", "log_ndtr", "spherical_bessel_j0",
                 "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1"):
        d = f32 if name[:6] == "bessel" else some([f32, f64])  # in f64 PyTorch's are right to 8 digits only
        yield "special_" + name, 3 * N(*s, d=d)
        yield "special_" + name, 20 * U(*s, d=d)
        yield "special_" + name, 1000 * U(*s, d=d)
        yield "special_" + name, ends
        yield "special_" + name, N(*s, d=some([i64, f16]))
    yield "special_ndtri", U(*s, d=some([f32, f64]))
    yield "special_ndtri", 1e-3 * U(*s, d=f64)
    yield "special_ndtri", ends


def lists():
    s = [N(2, 3), N(4)]
    for name in ("_foreach_addcdiv", "_foreach_addcmul"):
        yield name + ".Tensor", s, [N(2, 3), N(4)], [N(2, 3), N(4)], torch.tensor([0.5, 2.0])
    yield "_foreach_norm.Scalar", s, some([1, 2])
    yield "_foreach_norm.Scalar", s, 2, f64
    for sized in ((0, 3), (3, 0)):
        yield "index_fill.int_Scalar", N(*sized), sized.index(3), torch.tensor([some([0, 7])]), 1.5
        yield "index_fill.int_Scalar", N(*sized), sized.index(0), torch.tensor([0]), 1.5


def statistics():
    d, s = some([f32, f64]), sizes()
    x, dim, how = N(*s, d=d), many(0, len(s) - 1), some(["linear", "lower", "higher", "midpoint", "nearest"])
    holes = torch.where(torch.rand(s) < 0.2, torch.nan, x)
    for name in ("quantile", "nanquantile"):
        for given in (x, holes):
            yield name, given, U(some([1, 3]), d=d), some([None, dim]), chance(), {"interpolation": how}
            yield name, given, U(d=d), dim, chance(), {"interpolation": how}
            yield name + ".scalar", given, draw.random(), some([None, dim]), chance(), {"interpolation": how}
    yield "quantile.scalar", x, 1.5
    seen = N(some([1, 2, 3]), many(3, 6), d=d)
    yield "cov", seen, {"correction": many(0, 1)}
    yield "cov", N(5, d=d)
    yield "cov", N(2, 4, d=c64)
    yield "cov", seen, {"fweights": 1 + index(3, seen.shape[1]), "aweights": U(seen.shape[1], d=d)}
    yield "corrcoef", seen
    yield "nanmean", holes, some([None, [dim]]), chance()
    for name in ("trapezoid.dx", "trapz.dx", "cumulative_trapezoid.dx"):
        yield name, x, {"dx": some([1, 0.5]), "dim": dim} if name[-4] != "z" else {"dx": 0.5, "dim": dim}
    for name in ("hann", "blackman", "bartlett", "hamming"):
        yield f"{name}_window", many(0, 6)
        yield f"{name}_window.periodic", many(1, 6), chance(), {"dtype": some([f32, f64])}
    yield "hamming_window.periodic_alpha_beta", 5, chance(), 0.6, 0.3
    yield "hann_window", 4, {"dtype": i64}
    for name in ("special_softmax", "special_log_softmax"):
        yield name, x, dim
    yield "special_logsumexp", x, [dim]


def padding():
    d, spatial = some([f32, f64, i64, c64]), many(1, 3)
    x = N(*[many(1, 2) for _ in range(many(1, 2))], *[many(3, 5) for _ in range(spatial)], d=d)
    pads = [many(-1, 2) for _ in range(2 * spatial)]
    yield "pad", x, pads
    yield "pad", x, [many(-1, 2) for _ in range(2 * many(0, spatial))], "constant", some([None, 1.5])
    for number, mode in enumerate(["constant", "reflect", "replicate", "circular"]):
        yield "pad", x, pads, mode
        yield "_pad_enum", x, pads, number
    yield "pad", x, [4, 6] * spatial, some(["reflect", "circular"])
    yield "pad", x, [1, 1] * (spatial + 1), some(["reflect", "replicate", "circular"])
    yield "_pad_circular", x, pads
    rows, real = many(1, 5), some([f32, f64, f16, bf16])
    table, at = 2 * N(rows, many(1, 4), d=real), index(rows, *sizes(2))
    yield "embedding_renorm", table, at, some([0.5, 1.0, 3.0]), some([2.0, 1.0, 3.0])


def quantization():
    d, s = some([f32, f64]), sizes()
    x, axis = 3 * N(*s, d=d), many(0, len(s) - 1)
    least, most = some([(0, 255), (-8, 7), (-128, 127)])
    zero = many(max(least, -5), min(most, 5))
    scale, offset = torch.tensor(0.05), torch.tensor(zero, dtype=torch.int32)
    for name in ("fake_quantize_per_tensor_affine", "fake_quantize_per_tensor_affine_cachemask"):
        yield name, x, some([0.05, 0.3]), zero, least, most
    yield "fake_quantize_per_tensor_affine.tensor_qparams", x, scale, offset, least, most
    on = torch.tensor([many(0, 1)])
    yield "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", x, scale, offset, on, least, most
    scales, offsets = 0.02 + U(s[axis]), torch.full((s[axis],), zero, dtype=torch.int32)
    for name in ("fake_quantize_per_channel_affine", "fake_quantize_per_channel_affine_cachemask"):
        yield name, x, scales, offsets, axis, least, most
        yield name, x, scales[:-1], offsets, axis, least, most


def airy():
    """f32 only: near -2.3 PyTorch's is right to 6 digits."""
    yield "special_airy_ai", 3 * N(many(1, 4), many(1, 6))
    yield "special_airy_ai", 20 * U(many(1, 20))
    yield "special_airy_ai", -40 * U(many(1, 20))
    yield "special_airy_ai", N(many(1, 6), d=i64)
    yield "special_airy_ai", N(many(1, 6), d=f16)
    yield "special_airy_ai", torch.tensor([0.0, 0.25, -8.0, 103.9, 1e10, torch.inf, -torch.inf, torch.nan])


def step_lists(d, states, count):
    """Parameters, gradients and states; tensors of one parameter have the same layout."""
    ways = [lambda t: t, lambda t: t.transpose(0, -1).clone(memory_format=torch.contiguous_format).transpose(0, -1),
            lambda t: t.repeat_interleave(2, -1)[..., ::2]]
    lists = [[] for _ in range(2 + states)]
    for _ in range(count):
        s = some([[], [17], [3, 5], [0, 3], sizes()])
        lie = some(ways if s else ways[:1])
        for k, items in enumerate(lists):
            t = N(*s, d=d, dense=True)
            items.append(lie(t.square() if k > 2 or states == 1 else t))
    return lists


def options(names):
    given = {"lr": some([0.1, 0.003]), "beta1": some([0.9, 0.4]), "beta2": some([0.999, 0.5]), "eps": some([1e-8, 0.1]),
             "weight_decay": some([0.0, 0.2]), "amsgrad": chance(), "maximize": chance(), "momentum": some([0.0, 0.9]),
             "dampening": some([0.0, 0.3]), "nesterov": chance(), "is_first_step": chance(0.3), "lr_decay": some([0.0, 0.1])}
    scaled = {"grad_scale": torch.tensor(4.0) if chance() else torch.tensor([0.5])} if chance() else {}
    found = {"found_inf": torch.tensor([float(chance(0.3))])} if chance() else {}
    return {**{name: given[name] for name in names}, **scaled, **found}


def optimizer(name, states, extra, names):
    """One step as it should be, and steps that lack something."""
    d, count = some([f32, f32, f64, f16, bf16]), many(1, 2)
    lists = step_lists(d, states, count)
    named = options(names)
    if extra and not named[extra]:
        lists[-1] = []
    counted = [torch.tensor(float(many(1, 9)), dtype=some([f32, f32, f64, i64])) for _ in range(count)]
    steps = [] if name == "_fused_sgd" else [counted]
    yield name, *lists, *steps, named
    rate = torch.tensor(named["lr"], dtype=some([f32, f64]))
    yield name + ".tensor_lr", *lists, *steps, {**named, "lr": rate}
    wrong = many(0, 4)
    if wrong == 0:
        lists[1] = lists[1][:-1]
    elif wrong == 1:
        lists[some([1, 2])] = [t.double() if d != f64 else t.float() for t in lists[0]]
    elif wrong == 2 and steps:
        steps[0] = [torch.tensor([1.0, 2.0])] * count
    elif wrong == 3:
        lists[-1] = [] if lists[-1] else lists[0]
    else:
        lists = [[t.long() for t in items] for items in lists]
    yield name, *lists, *steps, {k: v for k, v in named.items() if k != "found_inf"}


def optimizers():
    common = ["lr", "weight_decay", "maximize"]
    for name in ("_fused_adam", "_fused_adamw"):
        yield from optimizer(name, 3, "amsgrad", [*common, "beta1", "beta2", "eps", "amsgrad"])
    yield from optimizer("_fused_sgd", 1, "momentum", [*common, "momentum", "dampening", "nesterov", "is_first_step"])
    yield from optimizer("_fused_adagrad", 1, None, [*common, "lr_decay", "eps"])
    scaled = [100 * N(*sizes(), d=some([f32, f64, f16, bf16])) for _ in range(many(0, 3))] + [N(0, 2), N()]
    if chance(0.4):
        scaled[0] = scaled[0] / 0
    name, single = "_amp_foreach_non_finite_check_and_unscale", some([[], [1], [1, 1]])
    yield name, scaled, torch.full(single, some([0.0, 1.0])), torch.tensor([some([0.5, 1.0, 3e4])])
    yield name, scaled + [some([index(3, 2), N(2, d=c64)])], torch.zeros(1), torch.ones(1)
    yield name, scaled, torch.zeros(some([0, 2])), torch.ones(1)
    yield name, scaled, torch.zeros(1), torch.ones(1, dtype=f64)
    scale, since = torch.full(single, some([8.0, 3e38])), torch.full((1,), many(0, 2), dtype=torch.int32)
    for found in (0.0, some([1.0, -0.5, torch.nan])):
        yield "_amp_update_scale", scale, since, torch.full(some([[], [1]]), found), 2.0, 0.25, many(1, 3)
    yield "_amp_update_scale", scale, since.long(), torch.zeros(1), 2.0, 0.25, 2
    yield "_amp_update_scale", scale, since, torch.zeros(2), 2.0, 0.25, 2


def batches():
    return some([[], [], [2], [2, 1], [0]])


def square(n, d, *batch):
    """Matrices that have an inverse, by rows or by columns."""
    a = N(*batch, n, n, d=d, dense=True) + 2 * torch.eye(n, dtype=d)
    return a if chance() else a.mT.contiguous().mT


def positive(n, d, *batch):
    a = N(*batch, n, n, d=d, dense=True)
    return a @ a.mH + torch.eye(n, dtype=d)


def factors():
    d, n, k, batch = some([f32, f64, c64]), many(0, 5), many(0, 3), batches()
    a, p = square(n, d, *batch), positive(n, d, *batch)
    b = N(*some([batch, [], batch[1:]]), n, k, d=d)
    wide = N(*batch, many(0, 4), many(0, 5), d=d)
    upper, left = {"upper": chance()}, {"left": False}
    yield "linalg_lu_factor_ex", wide
    yield "linalg_lu_factor", a
    yield "linalg_lu", wide
    factored = torch.linalg.lu_factor_ex(wide)[:2]
    yield "lu_unpack", *factored, *some([(), (False, True), (True, False)])
    yield "linalg_lu_solve", *torch.linalg.lu_factor(a), b, {"adjoint": chance()}
    yield "linalg_lu_solve", *torch.linalg.lu_factor(a), b.mT, {**left, "adjoint": chance()}
    yield "linalg_cholesky_ex", p, upper
    yield "linalg_cholesky", p.mT.contiguous().mT, upper
    for name in ("cholesky_solve", "_cholesky_solve_helper"):
        yield name, N(*batch, n, k, d=d), torch.linalg.cholesky(p, upper=upper["upper"]), upper["upper"]
    yield "cholesky_inverse", torch.linalg.cholesky(p, upper=upper["upper"]), upper["upper"]
    unit = {**upper, "unitriangular": chance()}
    yield "linalg_solve_triangular", a, b, unit
    yield "linalg_solve_triangular", a, b.mT, {**unit, **left}
    yield "triangular_solve", b, a, chance(), chance(), chance()
    for mode in ("reduced", "complete", "r"):
        yield "linalg_qr", wide, mode
    for name in ("_linalg_solve_ex", "linalg_solve_ex", "linalg_solve"):
        yield name, a, b
        yield name, a, b.mT, left
        yield name, a, N(*some([batch, []]), n, d=d)
    for name in ("linalg_inv_ex", "linalg_inv", "inverse", "_linalg_det", "linalg_det", "det", "_linalg_slogdet",
                 "linalg_slogdet", "slogdet", "logdet", "linalg_matrix_exp", "matrix_exp"):
        yield name, a
    yield some(["matrix_exp", "linalg_matrix_exp"]), some([1e-3, 5.0]) * a
    for name in ("linalg_matrix_power", "matrix_power"):
        yield name, a, many(-3, 5)


def unfactored():
    """Arguments without factors, and arguments that are no matrix."""
    zero, wide, d = torch.zeros(2, 2), N(2, 3), some([f32, f64])
    yield "linalg_lu_factor", zero
    yield "linalg_lu_factor_ex", zero, {"check_errors": True}
    yield "linalg_lu_factor_ex", zero
    yield "linalg_lu_factor_ex", zero, {"pivot": False}
    yield "linalg_lu_factor_ex", some([N(3), N(2, 2, d=i64), N(2, 2, d=f16)])
    for name in ("linalg_cholesky", "linalg_cholesky_ex", "linalg_inv", "linalg_solve", "_linalg_det", "linalg_inv_ex"):
        rest = [N(2, 2)] if name == "linalg_solve" else []
        yield name, some([wide, N(2)]), *rest
        yield name, N(2, 2, d=i64), *rest
    yield "linalg_cholesky", -torch.eye(2, dtype=d)
    yield "linalg_cholesky_ex", torch.stack([torch.eye(2), -torch.eye(2)]), {"check_errors": True}
    for name in ("_linalg_det", "_linalg_slogdet", "logdet", "det"):
        yield name, zero.to(d)
    yield "linalg_inv", zero
    yield "linalg_solve", zero, zero
    yield "_linalg_solve_ex", zero, zero, {"check_errors": True}
    yield "linalg_solve", torch.eye(2), N(3, 2)
    yield "linalg_solve", torch.eye(2), N(2, 2, d=f64)
    yield "linalg_solve", torch.eye(2), N(2), {"left": False}
    yield "linalg_solve_triangular", wide, wide, {"upper": True}
    yield "linalg_solve_triangular", torch.eye(2), N(3, 2), {"upper": True}
    yield "linalg_qr", wide, "q"
    yield "linalg_qr", torch.zeros(3, 2, dtype=some([d, c64]))
    yield "linalg_matrix_power", wide, 2
    yield "linalg_matrix_power", zero, -1
    yield "linalg_matrix_exp", wide
    yield "linalg_lu_solve", N(2, 2), torch.tensor([1, 2]), N(2, 2)
    yield "linalg_lu_solve", N(2, 2), torch.tensor([1], dtype=torch.int32), N(2, 2)


def sequences():
    d, steps, batch, rest = some([f32, f64, bf16, i64, c64]), many(1, 4), many(1, 4), some([[], [2], [2, 1]])
    first, x = chance(), N(steps, batch, *rest, d=d)
    lengths = torch.tensor(sorted((many(1, steps) for _ in range(batch)), reverse=True))
    x = x.transpose(0, 1) if first else x
    yield "_pack_padded_sequence", x, lengths, first
    packed, counts = torch.ops.aten._pack_padded_sequence(x, lengths, first)
    value = some([0.0, 1.5])
    yield "_pad_packed_sequence", packed, counts, first, value, some([-1, 0, steps, 6])
    yield "_pad_packed_sequence", packed, counts, first, value, len(counts) - 1 or len(counts)
    yield "_pack_padded_sequence", x, some([lengths.int(), lengths[:-1], lengths - steps, lengths[None]]), first
    yield "_pack_padded_sequence", N(3, 2), torch.tensor([1, 3]), False
    yield "_pad_packed_sequence", packed, counts + some([1, steps]), first, value, -1
    yield "_pad_packed_sequence", packed, counts.int(), first, value, -1
    kinds = some([f32, i64, boolean, c64])
    yield "cartesian_prod", [N(many(0, 3), d=kinds) for _ in range(many(1, 3))]
    yield "cartesian_prod", some([[], [N(2, 2)], [N(2), N(2, d=f64)], [N(2), N()]])


def labels():
    d, how, s = some([f32, f64]), many(0, 2), some([[], [many(1, 4)], [many(1, 3), many(1, 4)]])
    classes = s[-1] if s else 1
    x, target = N(*s, d=d), torch.randint(-1, classes, s)
    for name in ("multilabel_margin_loss", "multilabel_margin_loss_forward"):
        yield name, x, target, how
        yield name, x, target, 0
        yield name, x, some([target + classes, target - 2, target.int(), N(7)]), how
    t, n, c, width = many(1, 5), many(1, 3), many(2, 4), many(1, 3)
    scores, blank = N(t, n, c, d=d).log_softmax(2), many(0, c - 1)
    targets = torch.randint(0, c, (n, width), dtype=some([i64, torch.int32]))
    came, went = [many(0, t) for _ in range(n)], [many(0, width) for _ in range(n)]
    full, wide = [t] * n, [width] * n
    flat = torch.cat([row[:k] for row, k in zip(targets, went)])
    yield "_ctc_loss", scores, targets, full, wide, blank
    yield "_ctc_loss.Tensor", scores, targets.reshape(-1), torch.tensor(full), torch.tensor(wide), blank
    for given in (targets, flat):
        yield "ctc_loss.IntList", scores, given, came, went, blank, how, chance()
        yield "ctc_loss.Tensor", scores, given, torch.tensor(came), torch.tensor(went), blank, how, chance()
    yield "ctc_loss.IntList", scores[:, 0], targets[0], came[:1], went[:1], blank, how, True
    yield "ctc_loss.Tensor", scores[:, 0], targets[0], torch.tensor(came[0]), torch.tensor(went[0]), blank, how, True
    wrong = some([(scores, targets, [t + 1] * n, wide, blank), (scores, targets, full, [width + 1] * n, blank),
                  (scores, targets, full, wide, c), (scores, targets, full, wide[:-1], blank),
                  (scores, targets, [-1] * n, wide, blank), (scores[:, :0], targets[:0], [], [], blank),
                  (scores.half(), targets, full, wide, blank), (scores, targets.float(), full, wide, blank)])
    for name in ("_ctc_loss", "ctc_loss.IntList"):
        yield name, *wrong


def slopes():
    d, s = some([f32, f64, f32, f16, bf16]), sizes()
    grad, x = N(*s, d=d), 2 * N(*s, d=d)
    x = torch.where(torch.rand(s) < 0.1, some([0.0, 3.0, -3.0, 0.5]), x)
    yield "elu_backward", grad, some([1.0, 0.5]), some([1.0, 1.5]), some([1.0, 0.5]), chance(), x
    yield "leaky_relu_backward", grad, x, 0.1, False
    for name in ("hardswish_backward", "hardsigmoid_backward", "mish_backward"):
        yield name, grad, x
    for name in ("hardshrink_backward", "softshrink_backward"):
        yield name, grad, x, some([0.5, 0.0])
    yield "softplus_backward", grad, x, some([1, 0.5, 2.0]), some([20, 1.0])
    yield "log_sigmoid_backward", grad, x, torch.exp(-x.abs())
    wide = [2 * n if k == 0 else n for k, n in enumerate(s)]
    yield "glu_backward", grad, N(*wide, d=d), 0
    yield "_prelu_kernel_backward", grad, x, N(*s, d=d)
    target, real = N(*s, d=d), some([f32, f64])
    for how in (0, 1, 2):
        came = grad if how == 0 else N(d=d)
        yield "mse_loss_backward", came, x, target, how
        yield "smooth_l1_loss_backward", came, x, target, how, some([1.0, 0.5, 0.0])
        yield "huber_loss_backward", came, x, target, how, some([1.0, 0.5])
        yield "soft_margin_loss_backward", came, x, target.sign(), how
        p = U(*s, d=real)
        yield "binary_cross_entropy_backward", came.to(real), p, U(*s, d=real), some([None, U(*s, d=real)]), how


def picked_backward():
    d, n, c = some([f32, f64, bf16]), many(1, 4), many(1, 4)
    for shape in ([c], [n, c], [n, c, 2, many(1, 2)]):
        labels = [k for i, k in enumerate(shape) if i != (len(shape) > 1)]
        name = "nll_loss2d_backward" if len(shape) == 4 else "nll_loss_backward"
        target, how = index(c, *labels), many(0, 2)
        grad = N(*labels, d=d) if how == 0 else N(d=d)
        weight, total = some([None, U(c, d=d)]), 0.5 + U(d=d)
        yield name, grad, N(*shape, d=d, dense=True), target, weight, how, some([-100, 0]), total
    kinds, s = some([f32, f64, i64, c64, bf16]), sizes()
    dim = many(-len(s), len(s) - 1)
    place = many(0, s[dim] - 1)
    x = N(*s, d=kinds)
    yield "select_backward", x.select(dim, place), s, dim, place
    yield "slice_backward", x.narrow(dim, place, 1), s, dim, place, place + 1, 1
    yield "slice_backward", x[::2], s, 0, 0, 9, 2
    yield "diagonal_backward", N(3, 4, 2, d=kinds).diagonal(1, 0, 2), [3, 4, 2], 1, 0, 2


def moved():
    d, spatial, batch = some([f32, f64, bf16]), many(1, 3), some([[1], [2, 1], [1, 3]])
    s = [*batch, *[many(2, 4) for _ in range(spatial)]]
    pads = [many(0, 1) for _ in range(2 * spatial)]
    for way in ("reflection", "replication"):
        name, x = f"{way}_pad{spatial}d", N(*s, d=d)
        grown = getattr(torch.ops.aten, name)(x, pads)
        yield name + "_backward", N(*grown.shape, d=d), x, pads
    size, s = [many(1, 6) for _ in range(spatial)], [many(1, 2), many(1, 2), *s[-spatial:]]
    scales = [some([None, 1.5]) for _ in size]
    for name in (f"upsample_nearest{spatial}d_backward", f"_upsample_nearest_exact{spatial}d_backward"):
        yield name, N(*s[:2], *size, d=d), size, s
        yield name, N(*s[:2], *[int(1.5 * n) for n in s[2:]], d=d), [int(1.5 * n) for n in s[2:]], s, *scales


def grouped():
    d, k, n, g = some([f32, bf16, f16]), 8 * many(1, 2), 8 * many(1, 2), many(1, 3)
    ends = sorted(many(0, 16) for _ in range(g - 1)) + [16]
    offs = torch.tensor(ends, dtype=torch.int32)
    yield "_grouped_mm", N(16, k, d=d, dense=True), N(g, k, n, d=d, dense=True), offs
    yield "_grouped_mm", N(g, k, 8, d=d, dense=True), N(8, 16, d=d, dense=True), offs
    yield "_grouped_mm", N(k, 16, d=d, dense=True), N(16, n, d=d, dense=True), offs
    yield "_grouped_mm", N(g, k, n, d=d, dense=True), N(g, n, 8, d=d, dense=True)
    yield "_grouped_mm", N(16, k, d=d, dense=True), N(g, k, n, d=d, dense=True)
    yield "_grouped_mm", N(16, k, d=d, dense=True), N(g + 1, k, n, d=d, dense=True), offs


def norms():
    d, s = some([f32, f64, f16, bf16, c64]), sizes()
    x, dim, keeps = N(*s, d=d), many(-len(s), len(s) - 1), {"keepdim": chance()}
    yield "linalg_vecdot", x, N(*[some([1, n]) for n in s], d=d), {"dim": dim}
    yield "linalg_vecdot", x, N(*s, d=i64), {"dim": dim}
    yield "linalg_norm", x, None, some([None, [dim]]), keeps["keepdim"], {"dtype": some([None, None, f64 if d != c64 else c64])}
    yield "linalg_norm", x, some([1, 2, 0, 2.5]), [dim]
    m = N(many(1, 4), many(1, 4), d=d)
    for order in (1, -1):
        yield "linalg_norm", m, order, None, keeps["keepdim"]
        batch = N(many(1, 3), many(1, 4), many(1, 4), d=d)
        yield "linalg_matrix_norm", batch, order, some([[-2, -1], [0, 2], [2, 1]]), keeps["keepdim"]
    yield "linalg_norm.ord_str", m, "fro", some([None, [1, 0]]), keeps["keepdim"]
    yield "linalg_matrix_norm.str_ord", m, "fro", [-2, -1], keeps["keepdim"]
    yield "linalg_matrix_norm", m, 1, [0, 0]
    yield "linalg_norm", N(2, 2, 2), 1
    yield "linalg_norm", N(2, 2, d=i64), 1
    whole = N(*s, d=some([f32, i64, boolean, c64]))
    for name in ("fft_fftshift", "fft_ifftshift"):
        yield name, whole, some([None, [dim], list(range(len(s)))])
    d = some([f32, f64, bf16, i64])
    y = N(*s, d=d)
    for name in ("trapezoid.x", "trapz.x", "cumulative_trapezoid.x"):
        at = {"dim": dim}
        yield name, y, N(*s, d=some([d, f32])), at
        yield name, y, N(s[dim], d=d), at
        yield name, y, N(s[dim] + 2, d=d), at


def transforms():
    """Refused ones too: lengths below 1, dimensions twice or out of range, types without a transform."""
    s = [many(1, 7) for _ in range(many(1, 3))]
    d, norm = some([f32, f32, i64, boolean, bf16]), some([None, None, "ortho", "forward", "backward"])
    x, z = N(*s, d=d), N(*s, d=c64)
    dim, n = many(-len(s), len(s) - 1), some([None, None, many(1, 9)])
    for name in ("fft_fft", "fft_ifft", "fft_rfft", "fft_ihfft", "fft_irfft", "fft_hfft"):
        yield name, some([x, z]), n, dim, norm
    dims = some([None, [dim], draw.sample(range(len(s)), many(0, len(s)))])
    some_sizes = some([None, [many(1, 6) for _ in range(len(dims) if dims is not None else many(0, len(s)))]])
    for name in ("fft_fftn", "fft_ifftn", "fft_rfftn", "fft_ihfftn", "fft_irfftn", "fft_hfftn"):
        yield name, some([x, z]), some_sizes, dims, norm
    m = some([N(many(1, 6), many(1, 6), d=some([f32, c64])), N(2, many(1, 5), many(1, 5), d=some([f32, c64]))])
    for name in ("fft_fft2", "fft_ifft2", "fft_rfft2", "fft_irfft2", "fft_hfft2", "fft_ihfft2"):
        yield name, m, some([None, [many(1, 6), many(-1, 6)]]), some([[-2, -1], [0, 1], [1, 0]]), norm
    yield "fft_fft", z, some([0, -1]), dim
    yield "fft_irfft", N(3, 1, d=c64)
    yield "fft_fftn", x, [2], [0, 0]
    yield "fft_rfft", x, None, len(s)
    yield "fft_fft", N(3), None, -1, "none"
    yield some(["fft_fft", "fft_irfft"]), N(2, 0, 3, d=c64), None, some([0, 1, 2])
    count, way = many(1, len(s)), many(0, 2)
    yield "_fft_c2c", z, draw.sample(range(len(s)), count), way, chance()
    yield "_fft_r2c", N(*s), draw.sample(range(len(s)), count), way, chance()
    last = draw.sample(range(len(s)), count)
    yield "_fft_c2r", z, last, way, max(2 * (s[last[-1]] - 1) + many(0, 1), 1)
    wide = N(*[some([1, 1, 3, 4]) for _ in range(4)], d=c64)
    yield "_fft_c2c", wide, draw.sample(range(4), many(0, 4)), way, True
    yield "_fft_r2c", N(*wide.shape), draw.sample(range(4), many(1, 4)), way, chance()
    yield some(["fft_fftfreq", "fft_rfftfreq"]), many(-1, 9), some([1.0, 0.25]), {"dtype": some([None, f64, bf16, i64])}
    length, periodic = many(-1, 9), chance()
    yield "kaiser_window", length, {"dtype": some([None, f64, bf16, i64])}
    yield "kaiser_window.beta", length, periodic, some([12.0, 0.0, 3.5]), {"dtype": some([None, f64])}


def frames():
    width = many(3, 9)
    length, window = width + many(-1, 30), some([None, U(width, d=some([f32, f32, c64]))])
    x = N(*some([[length], [length], [2, length], [2, 2, length]]), d=some([f32, f32, f32, c64]))
    hop, own = some([None, many(1, 5), many(0, 5)]), some([None, None, None, width, many(0, width + 1)])
    half, whole = some([None, None, True, False]), some([True, True, True, None, False])
    yield "stft", x, width, hop, own, window, chance(), half, whole
    if own is not None and own > 0 and window is not None:
        yield "stft", x, width, hop, own, U(own), chance(), half, True
    yield "stft.center", x, width, hop, None, window, chance(), some(["reflect", "constant"]), chance(), half, whole
    hop = max(width // 4, 1)
    signal = N(*some([[width + 20], [2, width + 20]]), d=some([f32, f32, c64]))
    half = not signal.is_complex() and chance(0.7)
    z = torch.stft(signal, width, hop, center=True, onesided=half, return_complex=True)
    window = some([None, torch.hann_window(width), U(width) + 0.5, U(width) * 0])
    length = some([None, None, many(1, width + 30)])
    yield "istft", z, width, hop, None, window, chance(0.8), chance(), some([None, half]), length, not half and chance()
    yield "istft", z, some([width, width + 1]), some([hop, 0, width + 1]), None, window, True
    yield "istft", some([signal, z[..., :0]]), width, hop


# --- Samples and powers --------------------------------------------------------------------------


def sampled():
    kinds, order = [f32, f64, bf16, f16, c64, torch.int32, i64], {"edge_order": many(1, 2)}
    d, s = some(kinds), [many(3, 5) for _ in range(many(1, 3))]
    x, dim, dims = N(*s, d=d), many(-len(s), len(s) - 1), draw.sample(range(len(s)), many(1, len(s)))
    number = lambda: some([1, 2, 0.5, -0.3])
    yield "gradient.scalarint", x, {"spacing": some([None, number()]), "dim": some([None, dim]), **order}
    yield "gradient.scalararray", x, {"spacing": number(), "dim": dims, **order}
    yield "gradient.array", x, {"dim": dims, **order}
    yield "gradient.scalarrayint", x, {"spacing": [number()], "dim": dim, **order}
    yield "gradient.scalarrayarray", x, {"spacing": [number() for _ in dims], "dim": dims, **order}
    y, way = N(*s, d=some([f32, f64, bf16])), some([f32, f64, i64])
    at = [torch.cumsum(1 + N(n, d=way, dense=True).abs(), 0).to(way) for n in s]
    yield "gradient.tensorarrayint", y, {"spacing": at, **order}
    yield "gradient.tensorarrayint", y, {"spacing": [at[dim]], "dim": dim, **order}
    yield "gradient.tensorarray", y, {"spacing": [at[k] for k in dims], "dim": dims, **order}
    yield "gradient.tensorarray", y, {"spacing": [at[k] for k in dims] + at, "dim": dims, **order}
    yield "gradient.tensorarrayint", y, {"spacing": [at[dim][:2]], "dim": dim, **order}
    yield "gradient.tensorarrayint", y, {"spacing": [y], "dim": dim, **order}
    yield "gradient.array", x, {"dim": [0, 0]}
    yield "gradient.array", x, {"dim": [0], "edge_order": 3}
    yield "gradient.array", N(2, 2), {"dim": [1], "edge_order": many(1, 2)}
    yield "gradient.scalarint", some([N(3, d=u8), N(3, d=boolean), N(3, 0), N()]), {"dim": 0}
    yield "linalg_vander", N(*some([s, []]), d=d), {"N": some([None, many(0, 4)])}
    yield "vander", N(s[0], d=some([*kinds, boolean])), some([None, many(-1, 4)]), chance()
    yield "vander", N(2, 2), 2


GROUPS = {recurrent: 6, losses: 3, layers: 3, bags: 6, layout: 3, picks: 4, convolution: 6, backward: 3, lists: 2,
          statistics: 3, functions: 3, padding: 6, quantization: 4, airy: 3, optimizers: 12,
          factors: 12, unfactored: 2, sequences: 8, labels: 12, slopes: 4, picked_backward: 4,
          moved: 6, grouped: 3, norms: 8, transforms: 10, frames: 14, sampled: 10}


# --- Writing -------------------------------------------------------------------------------------


class Call:
    """The memory of one call, and its arguments as the fixture says them."""

    def __init__(self):
        self.blocks = []

    def tensor(self, t):
        wide = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage())
        self.blocks.append(pool.add(wide))
        return {"t": [len(self.blocks) - 1, geometry(t)]}

    def said(self, value):
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.dtype):
            return {"dtype": name_of(value)}
        if isinstance(value, (list, tuple)):
            return [self.said(item) for item in value]
        return value


def seen(value):
    if isinstance(value, torch.Tensor):
        return {"new": [geometry(value), pool.add(dense(value))]}
    return [seen(item) for item in value] if isinstance(value, list) else value


def record(name, *args):
    named = args[-1] if args and isinstance(args[-1], dict) else {}
    args, call = [a for a in args if not isinstance(a, dict)], Call()
    entry = {"args": [call.said(a) for a in args], "storages": call.blocks}
    entry.update({"named": [[k, call.said(v)] for k, v in named.items()]} if named else {})
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            outcome = overload(name)(*args, **named)
    except Exception as problem:
        return [inputs.add(entry), [], {"raised": type(problem).__name__}]
    results = list(outcome) if isinstance(outcome, tuple) else [outcome]
    return [inputs.add(entry), [seen(r) for r in results]]


def main():
    folder, calls = sys.argv[1], {}
    torch.set_num_threads(1)
    torch.manual_seed(2)
    for group, times in GROUPS.items():
        for _ in range(times):
            for name, *args in group():
                row = record(name, *args)
                if row[0] not in (k[0] for k in calls.setdefault(name, [])):
                    calls[name].append(row)
    document = {"blocks": pool.blocks.items, "calls": calls, "geometries": geometries.items, "inputs": inputs.items,
                "torch": torch.__version__.partition("+")[0]}
    with open(f"{folder}/calls.json", "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"), sort_keys=True, allow_nan=False)
        file.write("\n")
    with open(f"{folder}/storages.safetensors", "wb") as file:
        file.write(pool.safetensors())
    raised = sum(len(row) > 2 for rows in calls.values() for row in rows)
    print(f"{len(calls)} operators, {sum(map(len, calls.values()))} calls, {raised} refused")


if __name__ == "__main__":
    main()
