#!/usr/bin/env python3
"""Makes fixtures/prims: programs of PyTorch's operators outside of ATen, as PyTorch exports them. For developers.

    python scripts/make_prims_fixtures.py fixtures/prims

NAME.pt2 is a program, NAME.inputs.safetensors its inputs by graph name, NAME.expected.safetensors what eager PyTorch makes
of them after torch.manual_seed(0): outputs, and the inputs afterwards. `pooled`, `normed` and `dropped` went through the
decomposition table of Inductor, and `dropped` through its pass for random numbers too. Needs torch and safetensors.
"""
import os
import sys

import torch
import torch._inductor.decomposition as decomposition
import torch._inductor.inductor_prims
import torch._inductor.lowering
from safetensors.torch import save_file
from torch._inductor.fx_passes.replace_random import replace_random_passes
from torch._inductor.virtualized import V

prims = torch.ops.prims
CPU = torch.device("cpu")
LIKE = {"dtype": torch.float32, "device": CPU, "requires_grad": False}


def elements(x, y, n, m):
    """Those whose results are exact, or near enough on any machine."""
    one = "abs acos asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_j0 cbrt ceil cos cosh digamma erf erf_inv erfc erfcx exp exp2 "
    one += "expm1 floor isfinite lgamma log1p ndtri neg reciprocal round sign signbit sin sinh spherical_bessel_j0 tan tanh trunc"
    two = "add atan2 div eq fmax fmin fmod ge gt hypot le lt maximum minimum mul ne nextafter remainder sub"
    whole = "add bitwise_and bitwise_or bitwise_xor div eq gcd maximum mul remainder shift_left shift_right_arithmetic sub"
    positive = prims.abs(y)
    return ([getattr(prims, f)(x) for f in one.split()] + [getattr(prims, f)(x, y) for f in two.split()]
            + [getattr(prims, f)(n, m) for f in whole.split()] + [getattr(prims, f)(positive) for f in ("log", "log2", "log10", "rsqrt", "sqrt")]
            + [prims.pow(positive, x), prims.igamma(positive, positive), prims.igammac(positive, positive), prims.bitwise_not(n),
               prims.where(prims.gt(x, y), x, y), prims.fill(x, 3), *prims.frexp(y), prims.add(y, torch.tensor(2.0)), prims.fma(x, y, x),
               prims.convert_element_type(y, torch.float16), prims.convert_element_type(x, torch.float32),
               prims.inductor_cvt_e8m0_rceil(y), prims.acosh(prims.add(positive, torch.tensor(1.0)))])


def views(x, c):
    x = prims.clone(x)
    y = prims.broadcast_in_dim(x, [3, 2, 4, 5, 6], [1, 2, 4])
    z = prims.transpose(prims.squeeze(prims.split_dim(x, 1, 2), []), [3, 0, 2, 1])
    prims.copy_to(prims.view_of(prims.transpose(x, [2, 0, 1])), prims.full([6, 2, 4], 7, **LIKE))
    prims.copy_to(prims.as_strided(x, [2, 2], [1, 3], 4), prims.full([2, 2], -1.0, **LIKE))
    w = prims.squeeze(prims.broadcast_in_dim(x, [2, 1, 4, 6], [0, 2, 3]), [1])
    v = prims.view_of_dtype(prims.collapse_view(x, 0, 1), torch.int32)
    return (x, y, z, w, v, prims.real(c), prims.imag(c), prims.conj_physical(c), prims.reshape(prims.conj(c), [2, 3]),
            prims.broadcast_in_dim(prims.sum(x, [0, 1, 2]), [2, 2], []), prims.collapse_view(x, 1, 1))


def shapes(x, i):
    t = prims.transpose(x, [2, 1, 0])
    moved = prims.copy_to(prims.clone(x), t.reshape(2, 4, 6))
    put = prims._unsafe_index_put_(prims.clone(x), [i], torch.ones(2, 4, 6), True)
    return (prims.reshape(t, [8, 6]), prims.collapse(t, 0, 1), prims.collapse(prims.sum(x, [0, 1, 2]), 0, 0), prims.cat([x, x], 1),
            prims.rev(t, [0, 2]), prims.copy_strided(x, [1, 2, 8]), prims.inductor_force_stride_order(t, [8, 2, 1]), moved, put,
            prims.as_strided_scatter(x, t[0], [4, 2], [6, 1], 3), prims.device_put(x, CPU), prims.clone(t, memory_format=torch.contiguous_format),
            prims.resize(torch.empty(0), [2, 0]))


def sums(x):
    return (prims.sum(x, [1]), prims.prod(x, [0, 2]), prims.prod(x, []), prims.amax(x, [0, 1]), prims.amin(x, [2]), prims.var(x, [1, 2], 0),
            prims.var(x, [0], 1.0), *prims.prepare_softmax_online(x, 1), prims.fft_c2r(prims.fft_r2c(x, dim=[1, 2], onesided=True), dim=[1, 2], last_dim_size=6),
            prims.fft_c2c(prims.convert_element_type(x, torch.complex64), dim=[0], forward=False), prims.svd(x, full_matrices=False)[1])


def made(x):
    return (prims.iota(5, start=0, step=1, dtype=torch.int64, device=CPU, requires_grad=False),
            prims.iota(4, start=7, step=-2, dtype=torch.int32, device=CPU, requires_grad=False), prims.full([2, 3], 2.5, **LIKE),
            prims.full_like(x, 3, dtype=torch.int64, device=CPU, requires_grad=False), prims.scalar_tensor(4, dtype=torch.float64, device=CPU),
            prims.fill(prims.empty([2], **LIKE), 1), prims.fill(prims.empty_strided([2, 3], [1, 2], **LIKE), 2),
            prims.fill(prims.empty_permuted([2, 3], [1, 0], **LIKE), 3), prims.inductor_rand_eager_offsets([4, 8, 1], CPU))


def drawn(x):
    seeds = prims.inductor_seeds(3, CPU)
    seed = prims.inductor_lookup_seed(seeds, 1)
    return (seeds, seed, prims.inductor_random([2, 3], seed, "rand"), prims.inductor_randint(-2, 9, [4], seed), prims.inductor_seed(CPU),
            prims.uniform([2, 3], low=-1, high=2, dtype=torch.float32, device=CPU, stride=[1, 2]), torch.rand(2))


def normals(x):
    seed = prims.inductor_seed(CPU)
    return (prims.inductor_random([20], seed, "randn"), prims.normal([3, 2], mean=1, std=2.0, **LIKE), torch.rand(2))


def pools(x, y):
    a, i = prims._low_memory_max_pool_with_offsets(x, [3, 2], [2, 1], [1, 1], [1, 2], False)
    b, k = prims._low_memory_max_pool_with_offsets(y, [2, 2, 2], [2, 2, 2], [0, 0, 1], [1, 1, 1], True)
    return (a, i, b, k, prims._low_memory_max_pool_offsets_to_indices(i, [3, 2], list(x.shape[2:]), [2, 1], [1, 1], [1, 2]),
            prims._low_memory_max_pool_offsets_to_indices(k, [2, 2, 2], list(y.shape[2:]), [2, 2, 2], [0, 0, 1], [1, 1, 1]))


def pooled(x):
    y, at = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    return y, at, torch.nn.functional.hardswish(y), torch.nn.functional.max_pool2d(x, 3, 2)


def normed(x, w):
    return (torch.nn.functional.batch_norm(x, None, None, w, w, True), torch.nn.functional.group_norm(x, 2), x.addcmul(x, x, value=2),
            torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), torch.nn.functional.softmax(x, 1), x.var(1))


def dropped(x):
    return torch.nn.functional.dropout(x, 0.3, True), torch.rand_like(x), torch.randint(0, 9, (3,)), torch.rand(2)


class Call(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *args):
        return self.call(*args)


def inputs_of(program, args):
    names = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    return dict(zip(names, (torch.clone(a) for a in args)))


def run(program, inputs):
    """The results of the graph, node by node: an exported module has no dispatch of its own for prims."""
    torch.manual_seed(0)
    tensors = {**program.constants, **program.state_dict}
    args = [inputs[s.arg.name] if s.kind.name == "USER_INPUT" else tensors[s.target] for s in program.graph_signature.input_specs]
    return torch.fx.Interpreter(program.graph_module).run(*args)


def write(folder, name, call, args, passes=()):
    with torch.no_grad():
        program = torch.export.export(Call(call), args)
        for change in passes:
            program = change(program) or program
        inputs = inputs_of(program, args)
        outputs = run(program, {k: v.clone() for k, v in inputs.items()})
    torch.export.save(program, os.path.join(folder, name + ".pt2"))
    expected = {f"output.{i}": o.resolve_conj().clone().contiguous() for i, o in enumerate(outputs) if isinstance(o, torch.Tensor)}
    save_file({k: v.contiguous() for k, v in inputs.items()}, os.path.join(folder, name + ".inputs.safetensors"))
    save_file(expected, os.path.join(folder, name + ".expected.safetensors"))


def inductor(program):
    return program.run_decompositions(decomposition.select_decomp_table())


def random_passes(program):
    fake = next(n.meta["val"] for n in program.graph.nodes if n.op == "placeholder").fake_mode
    with V.set_fake_mode(fake):
        replace_random_passes(program.graph_module)
    program.graph_module.recompile()
    for spec, node in zip(program.graph_signature.output_specs, program.graph.output_node().args[0]):
        spec.arg = type(spec.arg)(name=node.name)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(1)
    x, y = torch.rand(3, 4) * 1.8 - 0.9, torch.rand(3, 4) * 4 - 2
    n, m = torch.randint(-9, 9, (6,), dtype=torch.int32), torch.randint(1, 5, (6,), dtype=torch.int32)
    cube, image = torch.randn(2, 4, 6), torch.randn(1, 4, 6, 6)
    write(folder, "elements", elements, (x, y, n, m))
    write(folder, "views", views, (cube, torch.randn(3, 2, dtype=torch.complex64)))
    write(folder, "shapes", shapes, (cube, torch.tensor([1, 1])))
    write(folder, "sums", sums, (cube,))
    write(folder, "made", made, (cube,))
    write(folder, "drawn", drawn, (x,))
    write(folder, "normals", normals, (x,))
    write(folder, "pools", pools, (image, torch.randn(1, 2, 4, 4, 5)))
    write(folder, "pooled", pooled, (image.half(),), [inductor])
    write(folder, "normed", normed, (image, torch.rand(4)), [inductor])
    write(folder, "dropped", dropped, (x,), [inductor, random_passes])


if __name__ == "__main__":
    main(*sys.argv[1:])
