#!/usr/bin/env python3
"""Writes fixtures/backward/: what eager PyTorch gives for the operators that joint graphs of training
hold, and for products, spectra and norms, on random arguments. For developers; needs PyTorch. The files have the format of fixtures/made.

    scripts/make_backward_fixtures.py fixtures/backward

Everything is seeded: the same PyTorch on the same processor gives the same files."""

import sys

import torch

import make_made_fixtures as made
from make_made_fixtures import N, U, bf16, c64, chance, f32, f64, index, many, sizes, some

aten = torch.ops.aten


def attention():
    d, b, h, l, k, e = some([f32, f64, bf16]), many(1, 2), many(1, 3), many(2, 4), many(2, 5), 8 * many(1, 2)
    q, key, v = N(b, h, l, e, d=d, dense=True), N(b, h, k, e, d=d, dense=True), N(b, h, k, e, d=d, dense=True)
    causal = chance()
    mask = None if causal else some([None, N(l, k, d=d, dense=True), N(b, 1, l, k, d=d, dense=True)])
    more = {"attn_mask": mask, "scale": some([None, 0.3])}
    out, sums = aten._scaled_dot_product_flash_attention_for_cpu(q, key, v, 0.0, causal, **more)
    if d != bf16:
        yield ("_scaled_dot_product_flash_attention_for_cpu_backward", N(b, h, l, e, d=d, dense=True), q, key, v, out, sums,
               0.0, causal, more)
    yield "_scaled_dot_product_attention_math", q, key, v, mask, 0.0, causal, None, {"scale": some([None, 0.3])}
    yield "_scaled_dot_product_attention_math", q, key, v, torch.rand(l, k) < 0.7
    yield "_scaled_dot_product_attention_math", q, key, v, None, 0.5, False, torch.rand(b, h, l, k) < 0.5
    yield "_scaled_dot_product_attention_math", N(b, 2 * h, l, e, d=d), key, v, {"enable_gqa": True}
    yield "_scaled_dot_product_attention_math", q, key, v, torch.rand(l, k) < 0.7, 0.0, True
    x, kinds = N(b, h, l, l, d=some([f32, f64])), torch.rand(b, h, l, l) < 0.4
    kinds[..., 0] = False
    yield "_masked_softmax", x, kinds, some([-1, 3, None]), 2
    yield "_masked_softmax", x, kinds[0, 0], -1, 0
    yield "_masked_softmax", x, kinds[:, 0, 0], -1, 1
    yield "_masked_softmax", x, kinds, some([1, 2]), 2
    yield "_masked_softmax", x, some([kinds, kinds.float()]), -1
    y = aten._masked_softmax(x, kinds, -1, 2)
    yield "_masked_softmax_backward", N(b, h, l, l, d=x.dtype, dense=True), y, kinds, some([-1, None])


def normed():
    d, n = some([f32, f64]), many(2, 3)
    x = N(n, 3, 2, d=d)
    mean, scale = x.mean((0, 2)), 1 / (x.var((0, 2), unbiased=False) + 1e-5).sqrt()
    yield ("batch_norm_backward", N(n, 3, 2, d=d), x, U(3, d=d), N(3, d=d), U(3, d=d), mean, scale, chance(), 1e-5,
           [True, chance(), True], torch.empty(0, dtype=torch.uint8))
    s = [many(2, 4) for _ in range(many(2, 4))]
    own = s[-many(1, len(s)):]
    x, weight = N(*s, d=d), some([None, U(*own, d=d)])
    rstd = torch.rsqrt(x.square().mean(list(range(len(s) - len(own), len(s))), True) + 1e-5)
    yield "_fused_rms_norm_backward", N(*s, d=d), x, own, rstd, weight, [True, chance()]
    dim = some([0, len(s) - 1])
    v, g = N(*s, d=d, dense=True), U(*[n if k == dim else 1 for k, n in enumerate(s)], d=d)
    norms = torch.norm_except_dim(v, 2, dim)
    for name in ("_weight_norm_interface_backward", "_weight_norm_differentiable_backward"):
        yield name, N(*s, d=d, dense=True), v, g, norms, dim
    n, rows, columns, aligned = many(1, 2), many(1, 4), many(1, 4), chance()
    yield "affine_grid_generator_backward", N(n, rows, columns, 2, d=d, dense=True), [n, 2, rows, columns], aligned
    yield "affine_grid_generator_backward", N(n, 2, rows, columns, 3, d=d, dense=True), [n, 2, 2, rows, columns], aligned
    at = index(4, *sizes(2))
    yield "embedding_backward", N(*at.shape, 3, d=d), at, 4, some([-1, 1]), chance(), False


def resampled():
    d, aligned, n, c = some([f32, f64, bf16]), chance(), many(1, 2), many(1, 2)
    for spatial, name in ((1, "linear1d"), (2, "bilinear2d"), (2, "bicubic2d"), (3, "trilinear3d")):
        came, went = [many(1, 5) for _ in range(spatial)], [many(1, 6) for _ in range(spatial)]
        grad = N(n, c, *went, d=d)
        yield f"upsample_{name}_backward", grad, went, [n, c, *came], aligned
        yield f"upsample_{name}_backward", grad, went, [n, c, *came], aligned, *[some([None, 1.5]) for _ in went]
        yield f"upsample_{name}_backward", grad, came + [1], [n, c, *came], aligned
    real, came, went = some([f32, f64]), [many(1, 6), many(1, 6)], [many(1, 6), many(1, 6)]
    for name in ("bilinear", "bicubic", "lanczos"):
        yield f"_upsample_{name}2d_aa_backward", N(n, c, *went, d=real, dense=True), went, [n, c, *came], False
    rows, columns, mask = many(1, 4), many(1, 4), [chance(0.8), True]
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            for spatial in (2, 3):
                if mode == 2 and spatial == 3:
                    continue
                deep = [2] * (spatial - 2)
                yield (f"grid_sampler_{spatial}d_backward", N(n, c, *deep, 2, columns, d=real),
                       N(n, c, *deep, rows, 3, d=real), N(n, *deep, 2, columns, spatial, d=real), mode, padding,
                       aligned, mask)
    yield "grid_sampler_2d_backward", N(n, c, 2, 2), N(n, c, 3, 3), N(n, 2, 2, 2, d=f64), 0, 0, aligned, mask
    yield "grid_sampler_2d_backward", N(n, c, 2, 3), N(n, c, 3, 3), N(n, 2, 2, 2), 0, 0, aligned, mask


def apart():
    d, b, n, m, w = some([f32, f64]), some([[], [2]]), many(1, 4), many(1, 4), many(1, 4)
    x, y = N(*b, n, w, d=d), N(*b, m, w, d=d)
    y[..., 0, :] = x[..., 0, :]
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, torch.inf):
        p = some([0.0, 1.0, 2.0]) if p == torch.inf else p  # infinity is no number of JSON
        yield "_cdist_backward", N(*b, n, m, d=d), x.contiguous(), y.contiguous(), p, torch.cdist(x, y, p)
        few = N(n, w, d=d, dense=True)
        yield "_pdist_backward", N(n * (n - 1) // 2, d=d), few, p, torch.pdist(few, p)


def bags():
    d, rows, count, w = some([f32, f64]), many(2, 6), many(1, 8), many(1, 4)
    starts = [0] + sorted(many(0, count) for _ in range(many(0, 3)))
    offsets, at, padding, mode = torch.tensor(starts), index(rows, count), some([-1, -1, 0]), many(0, 2)
    weight = N(rows, w, d=d, dense=True)
    scale = U(count, d=d) if mode == 0 and chance() else None
    out, bag, size, most = aten._embedding_bag(weight, at, offsets, False, mode, False, scale, False, padding)
    bag = torch.bucketize(torch.arange(count), offsets, right=True) - 1
    size = torch.zeros(len(starts), dtype=torch.int64).index_add_(0, bag, (at != padding).long())
    grad = N(*out.shape, d=d, dense=True)
    often = chance() if mode != 2 else False
    yield "_embedding_bag_dense_backward", grad, at, bag, size, most, rows, often, mode, scale, padding
    given = bag if mode == 2 or chance() else bag[:0]
    yield "_embedding_bag_backward", grad, at, offsets, given, size, most, rows, often, mode, False, scale, padding
    yield "_embedding_bag_per_sample_weights_backward", grad, weight, at, offsets, bag, some([0, mode]), padding


def picked():
    d, s = some([f32, f64, bf16]), sizes()
    x, dim, count = N(*s, d=d), many(0, len(s) - 1), many(1, 5)
    from_size = [count if k == dim else n for k, n in enumerate(s)]
    yield "index_select_backward", N(*from_size, d=d), s, dim, index(s[dim], count)
    yield "gather_backward", N(*from_size, d=d), x, dim, index(s[dim], *from_size), False
    at = index(s[dim], *s)
    yield "cummaxmin_backward", N(*s, d=d), x, at, dim
    less = [n for k, n in enumerate(s) if k != dim]
    yield "value_selecting_reduction_backward", N(*less, d=d), dim, index(s[dim], *less), s, False
    kept = [1 if k == dim else n for k, n in enumerate(s)]
    yield "value_selecting_reduction_backward", N(*kept, d=d), dim - len(s), index(s[dim], *kept), s, True
    mask = torch.rand(s) < 0.5
    total = int(mask.sum())
    yield "masked_scatter_backward", N(*s, d=d), mask, [total + many(0, 3)]
    yield "masked_scatter_backward", N(2, *s, d=d), mask, [2, total + 1]
    yield "masked_select_backward", N(total, d=d), x, mask
    yield "trace_backward", N(d=d), [many(1, 3), many(1, 3)]
    real = some([f32, f64])
    whole = N(*s, d=real)
    whole = torch.where(torch.rand(s) < some([0.0, 0.3]), 0.0, whole)
    yield "cumprod_backward", N(*s, d=real), whole, dim, whole.cumprod(dim)


def margins():
    d, n, c, how = some([f32, f64]), many(1, 4), many(1, 5), many(0, 2)
    x, of, weight = N(n, c, d=d, dense=True), N(n, d=d) if how == 0 else N(d=d), some([None, U(c, d=d)])
    yield "multi_margin_loss_backward", of, x, index(c, n), many(1, 2), some([1, 0.5]), weight, how
    yield "multi_margin_loss_backward", N(d=d), x[0].clone(), index(c), 1, 1, None, how
    target = torch.randint(-1, c, (n, c))
    _, hit = aten.multilabel_margin_loss_forward(x, target, how)
    yield "multilabel_margin_loss_backward", of, x, target, how, hit
    yield "multilabel_margin_loss_backward", of, x, target + c, how, hit


def slopes():
    d, s = some([f32, f64]), sizes()
    x, grad, wide = N(*s, d=d), N(*s, d=d), [2 * s[0], *s[1:]]
    yield "infinitely_differentiable_gelu_backward", grad, x
    a, da = N(*wide, d=d), N(*wide, d=d)
    yield "glu_jvp", torch.nn.functional.glu(a, 0), a, da, 0
    g = N(*s, d=d)
    yield "glu_backward_jvp", aten.glu_backward(g, a, 0), g, a, grad, da, 0
    for training in (False, True):
        yield "rrelu_with_noise_backward", grad, x, U(*s, d=d), 0.1, some([0.3, 0.1]), training, False


def aligned():
    d, t, n, c, width = some([f32, f64]), many(2, 6), many(1, 3), many(2, 4), many(1, 3)
    scores, blank = N(t, n, c, d=d, dense=True).log_softmax(2), many(0, c - 1)
    targets = (torch.randint(1, c, (n, width)) + blank) % c  # never the blank
    came, went = [many(1, t) for _ in range(n)], [many(0, width) for _ in range(n)]
    flat = torch.cat([row[:k] for row, k in zip(targets, went)])
    for given in (targets, flat):
        loss, alpha = aten._ctc_loss(scores, given, came, went, blank)
        zeroes = bool(loss.isinf().any()) or chance()
        grad = N(n, d=d)
        yield "_ctc_loss_backward", grad, scores, given, came, went, loss, alpha, blank, zeroes
        yield ("_ctc_loss_backward.Tensor", grad, scores, given, torch.tensor(came), torch.tensor(went), loss, alpha,
               blank, zeroes)


def spectra():
    """No vectors are recorded: their signs are LAPACK's."""
    d, batch, m, n = some([f32, f64, c64]), some([[], [2], [2, 1]]), many(1, 4), many(1, 4)
    a, square = N(*batch, m, n, d=d), N(*batch, n, n, d=d)
    whole = square + 4 * torch.eye(n)
    yield "_linalg_eigh", square, some(["L", "U"]), False
    yield "linalg_eigvalsh", square, some(["L", "U", "l"])
    yield "_linalg_eigh", some([a[..., :1, :] if n > 1 else N(2), square.real.half(), square.real.long()]), "L", False
    yield "_linalg_eigh", square, "X", False
    yield "_linalg_svd", a, chance(), False
    yield "linalg_svdvals", a
    yield "svd", a, chance(), False
    yield "_linalg_svd", a, False, True, {"driver": "gesvd"}
    yield "_linalg_svd", N(*some([[0, 3], [3, 0], [2, 0, 2]]), d=d), chance(), True
    yield "linalg_pinv", a, some([1e-5, 0.5])
    yield "pinverse", a
    yield "linalg_pinv.atol_rtol_float", a, {"atol": some([None, 0.5]), "rtol": some([None, 0.1])}
    yield "linalg_pinv.atol_rtol_float", whole + whole.mH, {"hermitian": True}
    yield "linalg_pinv.atol_rtol_float", a[..., :0]
    real = a.real.dtype
    yield "linalg_pinv.atol_rtol_tensor", a, {"atol": torch.tensor(some([0.0, 0.5]), dtype=real)}
    yield "linalg_pinv.rcond_tensor", a, torch.tensor(0.1, dtype=real)
    yield "linalg_matrix_rank", a, some([1e-3, 1.0])
    yield "linalg_matrix_rank.atol_rtol_float", a @ a.mH, {"rtol": some([None, 0.01])}
    yield "linalg_matrix_rank.atol_rtol_float", whole + whole.mH, {"hermitian": True}
    yield "linalg_cond", whole, some([None, 2, -2])
    yield "nuclear_norm", N(m, n, d=d), chance()
    yield "nuclear_norm.dim", N(2, m, n, d=d), some([[0, 1], [1, 2], [2, 0]]), chance()
    yield "frobenius_norm.dim", a, some([[-1], [-2, -1]]), chance()
    for order in (2, -2):
        yield "linalg_matrix_norm", N(2, m, n, d=d), order, some([[-2, -1], [0, 2], [2, 1]]), chance()
    yield "linalg_norm", N(m, n, d=d), 2, None, chance()
    yield "linalg_matrix_norm.str_ord", N(2, m, n, d=d), "nuc", some([[-2, -1], [0, 2], [2, 1]]), chance()


def products():
    d, m, k, n = some([f32, f64, bf16]), many(1, 4), many(1, 4), many(1, 4)
    bytes_of = lambda *s: torch.randint(-128, 128, s, dtype=torch.int8)
    yield "_int_mm", bytes_of(m, k), bytes_of(k, n)
    yield "_int_mm", bytes_of(m, k), bytes_of(k, n).int()
    yield "_weight_int8pack_mm", N(m, 32, d=some([bf16, f32]), dense=True), bytes_of(16 * n, 32), U(16 * n, d=bf16)
    yield "_addmm_activation", N(n, d=d), N(m, k, d=d), N(k, n, d=d), {"use_gelu": chance()}
    chain = [N(m, k, d=d), N(k, n, d=d), N(n, 3, d=d), N(3, 2, d=d)]
    yield "linalg_multi_dot", chain[:many(2, 4)]
    yield "linalg_multi_dot", [N(k, d=d), N(k, n, d=d), N(n, d=d)]
    yield "linalg_multi_dot", some([[N(2)], [N(2), N(2, 2, 2)]])
    real = some([f32, f64])
    yield "_trilinear", N(m, k, d=real), N(3, k, n, d=real), N(m, n, d=real), [1, 3], [0], [1, 2], [2, 3]
    yield "conv_tbc", N(many(3, 5), m, k, d=real), N(many(1, 3), k, n, d=real), N(n, d=real), many(0, 1)
    image, bias = N(m, k, 5, 4, d=real), some([None, N(n, d=real)])
    yield "thnn_conv2d", image, N(n, k, 3, 2, d=real), [3, 2], bias, some([[1, 1], [2, 1]]), some([[0, 0], [1, 1]])
    yield "_slow_conv2d_forward", image, N(n, k, 3, 2, d=real), [3, 2], bias, [1, 1], [1, 0]
    yield "slow_conv_transpose2d", image, N(k, n, 2, 3, d=real), [2, 3], bias, [2, 2], [1, 1], [1, 0], [1, 2]
    yield "slow_conv_dilated2d", image, N(n, k, 2, 2, d=real), [2, 2], bias, [1, 1], [1, 1], [2, 1]
    volume = N(m, k, 3, 4, 4, d=real)
    yield "slow_conv3d", volume, N(n, k, 2, 2, 3, d=real), [2, 2, 3], bias, [1, 2, 1], [1, 0, 1]
    yield "slow_conv3d_forward", volume, N(n, k, 2, 2, 3, d=real), [2, 2, 3], bias, [1, 1, 1], [0, 0, 0]
    yield "slow_conv_dilated3d", volume, N(n, k, 2, 2, 2, d=real), [2, 2, 2], bias, [1, 1, 1], [0, 1, 0], [1, 2, 1]
    yield "slow_conv_transpose3d", volume, N(k, n, 2, 2, 2, d=real), [2, 2, 2], bias


GROUPS = {attention: 8, normed: 4, resampled: 4, apart: 3, bags: 10, picked: 6, margins: 6, slopes: 3, aligned: 6, spectra: 8, products: 4}


eager_overload = made.overload


def overload(name):
    """Eager has no kernel of `_fused_rms_norm_backward` on a CPU; PyTorch's decomposition defines it."""
    found = eager_overload(name)
    return torch._decomp.decomposition_table[found] if name == "_fused_rms_norm_backward" else found


if __name__ == "__main__":
    made.overload = overload
    made.GROUPS = GROUPS
    made.main()
