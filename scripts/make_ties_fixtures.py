#!/usr/bin/env python3
"""Writes fixtures/ties/: which of equal elements eager PyTorch gives on a CPU. For developers; needs PyTorch. The files have the
format of fixtures/made.

    scripts/make_ties_fixtures.py fixtures/ties

Everything is seeded. The records follow from algorithms without chance, so that other processors have the same."""

import torch

import make_made_fixtures as made
from make_made_fixtures import bf16, chance, f16, f32, f64, i64, many, some, u8

LENGTHS = [(1, 20), (17, 70), (64, 300)]
LONG = [(900, 1500)]


def ordered(rows, n):
    """Few different numbers, in runs or in no order; up and down again, the worst order for a pivot of three."""
    x = torch.randint(0, some([2, 3, 9, 60]), (rows, n))
    kind = many(0, 5)
    if kind == 0:
        return x.sort(1, descending=chance())[0]
    if kind == 1:
        return torch.cat([x[:, : n // 2].sort(1)[0], x[:, n // 2 :].sort(1, descending=True)[0]], 1)
    if kind == 2:
        return torch.minimum(torch.arange(n), torch.arange(n).flip(0)).remainder(some([50, 120])).expand(rows, n).contiguous()
    return x


def rows(lengths, nans=True):
    count, n = many(1, 2), many(*some(lengths))
    d = some([f32, f64, f16, bf16, i64, torch.int32, torch.int16, torch.int8, u8])
    x = ordered(count, n).to(d)
    if d.is_floating_point:
        x = x - 1
        x[(torch.rand(count, n) < 0.5) & (x == 0)] = -0.0
        if nans and chance():
            x[torch.rand(count, n) < some([0.02, 0.3])] = float("nan")
    return x if chance() else x.t().contiguous().t()


def kept(n, most=64):
    """How many of n: also at the border between the algorithms."""
    return min(n, some([1, n, n // 64, n // 64 + 1, many(1, n), many(1, n)]), most)


def top(lengths):
    x = rows(lengths)
    yield "topk", x, kept(x.shape[1]), 1, chance(), chance(0.7)
    yield "topk", x.t(), kept(x.shape[1]), 0, chance(), True


def picked(lengths):
    x = rows(lengths)
    n = x.shape[1]
    yield "kthvalue", x, max(1, kept(n, n)), 1
    yield "kthvalue", x, many(1, n), 1, True
    yield "median.dim", x, 1
    yield "nanmedian.dim", x, 1
    yield "mode", rows(lengths, nans=False), 1


GROUPS = {lambda: top(LENGTHS): 30, lambda: top(LONG): 6, lambda: picked(LENGTHS): 24, lambda: picked(LONG): 4}

if __name__ == "__main__":
    made.GROUPS = GROUPS
    made.main()
