#!/usr/bin/env python3
"""Makes fixtures/symbolic/sizes/: programs with dynamic shapes, and what eager PyTorch makes of them.

    make_symbolic_fixtures.py OUT

NAME.pt2 is what torch.export.save wrote. NAME.K.in.safetensors are inputs of one choice of sizes or
indices, NAME.K.out.safetensors the outputs and the inputs afterwards; NAME.refused.in.safetensors are inputs that the
exported module refuses by a guard. Needs PyTorch and safetensors.
"""
import os
import re
import sys

import torch
from safetensors.torch import save_file
from torch.utils._pytree import tree_leaves, tree_map

ANY = torch.export.Dim.DYNAMIC


def tensor(*sizes):
    return torch.arange(1, 1 + torch.Size(sizes).numel(), dtype=torch.float32).reshape(sizes)


def number(i):
    return torch.tensor(i)


class ItemTwo(torch.nn.Module):
    def forward(self, x, i, j):
        a, b = i.item(), j.item()
        for k in (a, b):
            torch._check(k >= 0)
            torch._check(k < 7)
        x[a].add_(10)
        y = x[b] * 2
        x[b].mul_(3)
        return y, x[a] + 0


class ItemNarrow(torch.nn.Module):
    def forward(self, x, i):
        k = i.item()
        torch._check(k >= 0)
        torch._check(k <= 9)
        x.narrow(0, 0, k).mul_(2)
        return x + 1


class Quarter(torch.nn.Module):
    def forward(self, x):
        h = x.shape[0] // 2
        x[:h].add_(1)
        x[h:].mul_(2)
        x[h // 2:h].zero_()
        return x


class NonzeroN(torch.nn.Module):
    def forward(self, x):
        i = (x > 3).nonzero()
        i.add_(1)
        return i


class MergeDims(torch.nn.Module):
    def forward(self, x):
        b, n, c = x.shape
        v = x.view(b * n, c)
        v[:, 0].zero_()
        w = x.view(b, n * c)
        w[0].add_(1)
        return v


class Turned(torch.nn.Module):
    """contiguous() gives a copy but where one dimension has size 1: there the result would be a view."""
    def forward(self, x):
        y = x.t().contiguous()
        y.mul_(2)
        return x + 1, y


class DecayByStep(torch.nn.Module):
    def forward(self, x, step):
        x.mul_(0.9 ** step.item())
        return x + 1


class AdamStep(torch.nn.Module):
    def forward(self, p, m, v, step, g):
        step.add_(1)
        n = step.item()
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).add_(g * g * 0.001)
        rate = 0.01 * torch.sym_sqrt(1 - 0.999 ** n) / (1 - 0.9 ** n)
        p.sub_(rate * (m / v.sqrt().add_(1e-8)))
        return p * 2


class FloatsOfData(torch.nn.Module):
    """Numbers that are read as floats, whole ones that are made of them, and choices among them."""
    def forward(self, x, f, i):
        a, k = f.item(), i.item()
        x.mul_(torch.sym_max(a, 0.25))
        y = x + torch.sym_min(a, 0.1) * a
        z = x * (a % 0.3) + (k * 0.1) / 7
        w = x * torch.sym_ite(k > 3, k * 0.1, a) + k / (k * k + 10)
        return y, z, w, x - (-a) * k * 0.5


class CheckedFloat(torch.nn.Module):
    def forward(self, x, f):
        a = f.item()
        torch._check(a > 0.0)
        torch._check(a < 1.0)
        x.mul_(a)
        return x + (1 - a)


class FirstOfRows(torch.nn.Module):
    """A stride that is no size: the graph asks the tensor for it."""
    def forward(self, x):
        x.as_strided((x.shape[0],), (x.stride(0),), 1).mul_(2)
        return x.sum((1, 2)) * x.stride(0)


class FirstTurned(torch.nn.Module):
    """A copy, unless data say that there is one row: both are the caller's in the end."""

    def forward(self, x, i):
        n = i.item()
        torch._check(n >= 0)
        torch._check(n <= x.shape[0])
        return x[:n].t().contiguous().view(-1), x


class PartOfSize(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        k = int(n * 0.7)
        x[:k].add_(1)
        return x[k:] * (n / 7), torch.zeros(n - int(n * 0.3)) + 0.1 * n


class PowersOfItem(torch.nn.Module):
    def forward(self, x, i):
        k = i.item()
        torch._check(k >= 0)
        torch._check(k < 10)
        x.add_(2 ** k)
        return x + k ** 2, x - (k * 3) // 2


class Hinge(torch.nn.Module):
    """A number that is 0 in most runs, beside a literal 0."""
    def forward(self, x, n):
        k = torch.sym_max(0.0, n.item() - 50.0)
        y = torch.clamp(x, 0.0, 3.0)
        y.add_(1)
        return y, x * k


class TwoHinges(torch.nn.Module):
    def forward(self, x, p, q):
        a, b = torch.sym_max(0.0, p.item() - 50.0), torch.sym_max(0.0, q.item() - 70.0)
        y = x * 1
        y.add_(a)
        return y, x * b, x + a


class TruthAsFloat(torch.nn.Module):
    def forward(self, x, i, f):
        n, a = i.item(), f.item()
        x.mul_(torch.sym_float(torch.sym_ite(n > a, 1, 0)))
        y = x * torch.sym_float(torch.sym_ite(n > 0.5, 1, 0)) + 1
        return y, x + 0.5 * torch.sym_ite(a < 50.0, 1, 0)


class NegatedFloat(torch.nn.Module):
    """The number 0 of the program is another one than that which is negated."""
    def forward(self, n: int, x, i):
        y = x * 1
        y.mul_(-torch.sym_float(i.item()))
        return y, x * n


class RangeOfHinge(torch.nn.Module):
    """Sizes are computed of floats here, which are numbers of their own in most runs."""
    def forward(self, x, n):
        k = torch.sym_max(0.0, n.item() - 50.0)
        x.add_(k)
        return x + 1, torch.arange(k, k + 3.0, 1.0)


class ChosenFloats(torch.nn.Module):
    """Both choices are floats, whole or not: one with integers gives another dtype."""
    def forward(self, x, i, f):
        k, a = i.item(), f.item()
        x.add_(torch.sym_ite(a < a - a, a, a - a))
        return x + 1, i * torch.sym_ite(a < 0.5, a, torch.sym_float(k))


class LessThanHalves(torch.nn.Module):
    def forward(self, x, i):
        x.mul_(torch.sym_ite(i.item() < 2.5, 2.0, 3.0))
        return x + 1


class MoreThanTwice(torch.nn.Module):
    """Which branch was traced, only guards of the export say; one of its tensors is in a list."""
    def forward(self, x, others):
        y, z = others
        if x.shape[0] > 2 * y.shape[0]:
            return x[: y.shape[0]] + y * z
        return x * 2


class LongerBy(torch.nn.Module):
    """Guards that say only 'above 0', over inputs whose names are not their keys."""
    def forward(self, X, others):
        y = others["Y.of"]
        if X.shape[0] - y.shape[0] > 0 and X.shape[0] * 0.5 > 2.5:
            return X[: y.shape[0]] + y
        return X * 2


class BinsAtLeast(torch.nn.Module):
    """A size of data that has no number where it is recorded, but a bound."""
    def forward(self, i):
        return torch.bincount(i, minlength=12) + 1


class TailOf(torch.nn.Module):
    """That y is no longer than x, only a guard says."""
    def forward(self, x, y):
        x[-y.shape[0]:].copy_(y)
        return x * 2


class ChoiceInCondition(torch.nn.Module):
    def forward(self, x, i):
        k = i.item()
        return x * torch.sym_ite(torch.sym_ite(k > 3, k, -k) > 2, 2, 3)


CASES = {
    "more_than_twice": (MoreThanTwice, ({0: torch.export.Dim.AUTO}, ({0: torch.export.Dim.AUTO}, None)), [
        (tensor(n), (tensor(k), tensor(1))) for n, k in ((8, 3), (6, 2), (30, 14), (8, 4))]),
    "longer_by": (LongerBy, ({0: torch.export.Dim.AUTO}, {"Y.of": {0: torch.export.Dim.AUTO}}), [
        (tensor(n), {"Y.of": tensor(k)}) for n, k in ((8, 3), (6, 5), (30, 14), (8, 8))]),
    "bins_at_least": (BinsAtLeast, None, [(torch.tensor(i),) for i in ([1, 2, 3], [1, 20, 3], [0, 11, 0])]),
    "tail_of": (TailOf, ({0: ANY, 1: ANY}, {0: ANY, 1: ANY}), [
        (tensor(n, 2), tensor(k, 2)) for n, k in ((10, 4), (7, 7), (9, 2), (4, 5))]),
    "choice_in_condition": (ChoiceInCondition, None, [(tensor(4), number(k)) for k in (1, 6, -4, 3)]),
    "item_two": (ItemTwo, (None, None, None), [
        (tensor(7), number(a), number(b)) for a, b in ((3, 4), (2, 2), (5, 0), (0, 6))]),
    "hinge": (Hinge, None, [(tensor(6) - 3, torch.tensor(n)) for n in (7.0, 300.0, 50.5, -2.0)]),
    "two_hinges": (TwoHinges, None, [
        (tensor(6), torch.tensor(p), torch.tensor(q))
        for p, q in ((1.0, 2.0), (60.0, 100.0), (60.0, 2.0), (1.0, 100.0))]),
    "truth_as_float": (TruthAsFloat, None, [
        (tensor(6), number(i), torch.tensor(f)) for i, f in ((3, 1.5), (0, 0.25), (-4, 60.0), (9, 9.0))]),
    "negated_float": (NegatedFloat, (ANY, None, None), [
        (n, tensor(6), number(i)) for n, i in ((4, 3), (3, 0), (7, -2))]),
    "range_of_hinge": (RangeOfHinge, None, [
        (tensor(4), torch.tensor(n, dtype=torch.float64)) for n in (1.0, 60.0, 60.5)]),
    "chosen_floats": (ChosenFloats, None, [
        (tensor(4), number(k), torch.tensor(a)) for k, a in ((3, 0.75), (5, -2.5), (0, 0.25))]),
    "less_than_halves": (LessThanHalves, None, [(tensor(4), number(k)) for k in (2, 3, -9)]),
    "item_narrow": (ItemNarrow, (None, None), [(tensor(9), number(k)) for k in (3, 1, 8, 0)]),
    "quarter": (Quarter, ({0: ANY},), [(tensor(n),) for n in (10, 6, 13)]),
    "nonzero_n": (NonzeroN, ({0: ANY},), [
        (tensor(7),), (tensor(4),), (-tensor(4),),
        (torch.tensor([1., -1, 2, -3, 4, -5, 6, 7, 8]),)]),
    "merge_dims": (MergeDims, ({0: ANY, 1: ANY},), [
        (tensor(*s),) for s in ((2, 6, 4), (2, 2, 4), (3, 9, 4), (5, 5, 4))]),
    "decay_by_step": (DecayByStep, None, [(tensor(4), number(k)) for k in (3, 0, 11)]),
    "adam_step": (AdamStep, None, [
        (tensor(4), torch.zeros(4), torch.zeros(4), number(k), tensor(4) / 8) for k in (0, 5)]),
    "floats_of_data": (FloatsOfData, None, [
        (tensor(4), torch.tensor(a), number(k)) for a, k in ((0.7, 2), (-1.3, 5), (0.2, 3))]),
    "checked_float": (CheckedFloat, None, [(tensor(4), torch.tensor(a)) for a in (0.7, 0.2)]),
    "part_of_size": (PartOfSize, ({0: ANY},), [(tensor(n),) for n in (10, 11, 12)]),
    "first_of_rows": (FirstOfRows, ({0: ANY, 1: ANY},), [(tensor(*s),) for s in ((3, 4, 2), (5, 2, 2))]),
    "powers_of_item": (PowersOfItem, None, [(tensor(4), number(k)) for k in (3, 0, 9)]),
    "first_turned": (FirstTurned, None, [(tensor(6, 4), number(k)) for k in (3, 2, 6)]),
    "turned": (Turned, ({0: ANY, 1: ANY},), [(tensor(*s),) for s in ((5, 6), (2, 2), (3, 9))]),
}


def strip_paths(program):
    """File names in stack traces say no more than the name of the file."""
    for node in program.graph.nodes:
        trace = node.meta.get("stack_trace")
        if trace:
            node.meta["stack_trace"] = re.sub(r'File ".*/', 'File "', trace)


def clone(args):
    return tree_map(lambda a: a.clone() if torch.is_tensor(a) else a, args)


def is_refused(program, args):
    try:
        program.module()(*clone(args))
    except (AssertionError, RuntimeError) as error:
        return "Guard failed" in str(error)
    return False


def make(out, name, module, shapes, inputs):
    program = torch.export.export(module(), clone(inputs[0]), dynamic_shapes=shapes)
    strip_paths(program)
    torch.export.save(program, os.path.join(out, name + ".pt2"))
    names = [s.arg.name for s in program.graph_signature.input_specs]
    for k, nested in enumerate(inputs):
        args = tree_leaves(clone(nested))
        given = dict(zip(names, [torch.as_tensor(t).clone() for t in args]))
        if is_refused(program, nested):
            save_file(given, f"{out}/{name}.refused.in.safetensors")
            continue
        save_file(given, f"{out}/{name}.{k}.in.safetensors")
        results = torch.fx.Interpreter(program.graph_module).run(*args)
        wanted = {f"output.{i}": t.clone().contiguous() for i, t in enumerate(results)}
        wanted |= {"input." + n: t.clone() for n, t in zip(names, args) if torch.is_tensor(t)}
        save_file(wanted, f"{out}/{name}.{k}.out.safetensors")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    with torch.no_grad():
        for case, (module, shapes, inputs) in CASES.items():
            make(sys.argv[1], case, module, shapes, inputs)
