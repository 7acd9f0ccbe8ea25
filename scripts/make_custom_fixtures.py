"""Makes fixtures/custom: programs with custom operators, as PyTorch exports them. For developers.

    python scripts/make_custom_fixtures.py fixtures/custom

direct.pt2 calls the operators themselves, wrapped_v2.pt2 and wrapped_v1.pt2 call them through auto_functionalized_v2
and auto_functionalized; all three compute the same. inputs.safetensors has their inputs, expected.safetensors eager
PyTorch's results. overlapping.pt2 and overlapping_wrapped.pt2 give a written tensor and others that share elements
with it to one call, and overlapping.safetensors has eager's results. Needs torch and safetensors.
"""
import os
import sys
from typing import List, Optional

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch._higher_order_ops import auto_functionalize


@torch.library.custom_op("fixture::scale_rows", mutates_args={"dst"})
def scale_rows(dst: Tensor, factor: Tensor, rows: List[int]) -> None:
    for r in rows:
        dst[r] *= factor


@torch.library.custom_op("fixture::swap", mutates_args={"a", "b"})
def swap(a: Tensor, b: Tensor) -> Tensor:
    before = a.clone()
    a.copy_(b)
    b.copy_(before)
    return a + b


@swap.register_fake
def swap_fake(a, b):
    return torch.empty_like(a)


@torch.library.custom_op("fixture::add_to", mutates_args={"outs", "log"})
def add_to(outs: List[Tensor], x: Tensor, log: Optional[Tensor]) -> None:
    for out in outs:
        out.add_(x)
    if log is not None:
        log.add_(1)


@torch.library.custom_op("fixture::mix", mutates_args={"a", "b"})
def mix(b: Tensor, c: Tensor, a: Tensor) -> Tensor:
    """Reads all before it writes its arguments, in their order."""
    total, new_b, new_a = a + b + c, b * 3 - a, a * 2 + c
    b.copy_(new_b)
    a.copy_(new_a)
    return total


@mix.register_fake
def mix_fake(b, c, a):
    return torch.empty(a.shape)


library = torch.library.Library("fixture", "FRAGMENT")
library.define("twice(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", tags=(torch.Tag.out,))


@torch.library.impl(library, "twice", "CompositeExplicitAutograd")
def twice(x, *, out):
    return out.copy_(x * 2)


@torch.library.register_fake("fixture::twice")
def twice_fake(x, *, out):
    return out


def define(schema, run, fake):
    library.define(schema)
    name = schema.split("(")[0]
    library.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake("fixture::" + name, fake, lib=library)
    return getattr(torch.ops.fixture, name).default


# Names that end with an underscore and say nothing, None as a result, defaults that print as numbers.
NAMED = [
    define("second_(Tensor x, Tensor(a!) y) -> ()", lambda x, y: y.add_(x) and None, lambda x, y: None),
    define("none(Tensor x, Tensor(a!) y) -> NoneType", lambda x, y: y.add_(x) and None, lambda x, y: None),
    define("pure_(Tensor x) -> Tensor", lambda x: x * 2, lambda x: torch.empty_like(x)),
    define("fresh_(Tensor(a!) x, Tensor y) -> Tensor", lambda x, y: x.add_(y) * 3, lambda x, y: torch.empty_like(x)),
    define("some(Tensor(a!)?[] xs) -> ()", lambda xs: None, lambda xs: None),
    define("where(Tensor x, Device d='cuda:0', ScalarType t=float) -> Tensor",
           lambda x, d=None, t=None: x + 1, lambda x, d=None, t=None: torch.empty_like(x)),
]


class Named(torch.nn.Module):
    def forward(self, x, y, gaps, factor):
        second, none, pure, fresh, _, where = NAMED  # PyTorch has no wrapper for lists of optional tensors
        second(x, y)
        none(x, y)
        a = pure(x)
        b = fresh(factor, gaps[0])
        return a + b, where(a)


class Out(torch.nn.Module):
    """An operator that overwrites its out argument: a new tensor, and a part of one."""

    def forward(self, x):
        a, b = torch.empty(4, 4).t(), torch.zeros(8)
        torch.ops.fixture.twice(x, out=a)
        torch.ops.fixture.twice(x[0], out=b[2:6])
        return a + 1, b


class Model(torch.nn.Module):
    """A slice, two windows of one tensor, a transposed one, a list, None, a base with gaps."""

    def forward(self, x, y, gaps, factor):
        scale_rows(x[1:3], factor, [0, 1])
        z = swap(y[0], y[1])
        add_to([x[0], y.t()[0]], factor, None)
        scale_rows(gaps[1:], factor, [0])
        w = torch.zeros(4)
        add_to([w], factor, x[3])
        return x * 2, z, w


class Separate(torch.nn.Module):
    """The same without two windows of one tensor in a call, which the first kind of wrapper loses."""

    def forward(self, x, y, gaps, factor):
        scale_rows(x[1:3], factor, [0, 1])
        z = swap(x[0], y[1])
        add_to([x[0], y.t()[0]], factor, None)
        scale_rows(gaps[1:], factor, [0])
        w = torch.zeros(4)
        add_to([w], factor, x[3])
        return x * 2, z, w


class Overlapping(torch.nn.Module):
    """Windows of one tensor that share some elements, and one tensor under two names."""

    def forward(self, x, y, gaps, factor):
        s = mix(x[0:3], x.t()[0:3], x[1:4])
        t = mix(y[0], y[0], y[0])
        mix(y[1], y[2], y.t()[2])
        return s, t, x * 2


def inputs():
    torch.manual_seed(0)
    return torch.randn(4, 4), torch.randn(4, 4), torch.randn(6)[::2], torch.tensor(0.5)


def without_paths(program):
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", []):
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = trace.replace(os.path.dirname(__file__) + "/", "")
            for key in ("from_node", "nn_module_stack", "torch_fn"):
                node.meta.pop(key, None)
    return program


def save(module, path, decompose, args=None):
    program = torch.export.export(module, args or inputs())
    torch.export.save(without_paths(program.run_decompositions({}) if decompose else program), path)


def save_expected(module, folder, name):
    names = ["x", "y", "gaps", "factor"]
    given = inputs()
    results = {f"output.{k}": t.contiguous() for k, t in enumerate(module(*given))}
    results |= {f"input.{n}": t.contiguous() for n, t in zip(names, given)}
    save_file({n: t.clone() for n, t in results.items()}, os.path.join(folder, name))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    save(Model(), os.path.join(folder, "direct.pt2"), False)
    save(Model(), os.path.join(folder, "wrapped_v2.pt2"), True)
    save(Separate(), os.path.join(folder, "separate.pt2"), False)
    save(Out(), os.path.join(folder, "out.pt2"), True, inputs()[:1])
    save(Named(), os.path.join(folder, "named.pt2"), False)
    save(Named(), os.path.join(folder, "named_wrapped.pt2"), True)
    save(Overlapping(), os.path.join(folder, "overlapping.pt2"), False)
    save(Overlapping(), os.path.join(folder, "overlapping_wrapped.pt2"), True)
    save_expected(Overlapping(), folder, "overlapping.safetensors")
    auto_functionalize.do_auto_functionalize_v2 = auto_functionalize.do_auto_functionalize
    save(Separate(), os.path.join(folder, "wrapped_v1.pt2"), True)
    names = ["x", "y", "gaps", "factor"]
    given = {n: t.contiguous().clone() for n, t in zip(names, inputs())}
    save_file(given, os.path.join(folder, "inputs.safetensors"))
    save_expected(Model(), folder, "expected.safetensors")
    with open(os.path.join(folder, "ops.txt"), "w") as f:
        f.write("# The operators of these programs, as PyTorch prints their schemas.\n")
        for op in [op._opoverload for op in (scale_rows, swap, add_to, mix)] + NAMED:
            f.write(f"{op._schema}\n")


main(sys.argv[1])
