#!/usr/bin/env python3
"""Exports small programs with regions by PyTorch 2.15, one of each kind, for make_fuzz_seeds.py.

    scripts/export_fuzz_programs.py FOLDER"""
import pathlib
import sys

import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

torch.set_num_threads(1)
x, n = torch.ones(3, 4), torch.tensor(3)


def loop(x, n):
    return while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y.sin() + x), (n - n, x))


def branches(x, n):
    return torch.cond(n > 2, lambda y: y.clone().add_(1), lambda y: y.cos(), (x,))


def mapped(x, n):
    return map_(lambda row, k: row.t() + k, x, n)


def scanned(x, n):
    return scan(lambda c, row: (c + row, c * row), torch.zeros(4), x)


def reduced(x, n):
    return associative_scan(lambda a, b: a * b, x[:2], 0, combine_mode="generic")


def cast(x, n):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x.t() + 1


def without_gradients(x, n):
    with torch.no_grad():
        y = x * n
    return y.view(-1)[1:]


def batched(x, n):
    return torch.vmap(lambda row: row.sum() * row)(x)


def batched_twice(x, n):
    return torch.vmap(torch.vmap(lambda k: k.cos()), in_dims=1, out_dims=1)(x)


def batched_writes(x, n):
    y = x.clone()
    torch.vmap(lambda row: row[1:].add_(1))(y)
    return y


def symbolic(x, n):
    y = torch.cat([x, x])
    return y[: x.shape[0]].reshape(-1, 2), x.shape[0] + 1


def counted(x, n):
    k = n.item()
    torch._check(k > 0)
    torch._check(k < 3)
    return x[:k] * k, torch.nonzero(x)


class Stateful(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(4, 4))
        self.register_buffer("b", torch.zeros(4))

    def forward(self, x, n):
        self.b.add_(x[0])
        return torch.nn.functional.linear(x, self.w, self.b.expand(4))


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x, n):
        return self.norm(x).relu_()


class Of(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x, n):
        return self.f(x, n)


PROGRAMS = [loop, branches, mapped, scanned, reduced, cast, without_gradients, batched, batched_twice,
            batched_writes, symbolic, counted]


def save(folder, name, module, dynamic):
    shapes = {"x": {0: torch.export.Dim("rows", min=2, max=64)}, "n": None} if dynamic else None
    program = torch.export.export(module, (x, n), dynamic_shapes=shapes, strict=False)
    torch.export.save(program, folder / f"{name}.pt2")


def main():
    folder = pathlib.Path(sys.argv[1])
    for f in PROGRAMS:
        try:
            save(folder, f.__name__, Of(f), f is symbolic)
        except Exception as e:
            print(f.__name__, type(e), str(e)[:300])
    save(folder, "stateful", Stateful(), False)
    save(folder, "normed", Normed(), False)
    save(folder, "dynamic_state", Stateful(), True)


if __name__ == "__main__":
    main()
