#!/usr/bin/env python3
"""The cost of a call on eight elements in eager PyTorch and in fnz, in one run.

    bench/dispatch_against_torch.py build/bench/bench_dispatch

Needs torch, which fnz itself never does. The two take turns; of each the best round counts. PyTorch is
called from Python, one thread, without gradients; fnz from C.
"""
import subprocess
import sys
import timeit

import torch

ROUNDS, CALLS = 5, 200_000


def torch_ns(call):
    return min(timeit.repeat(call, number=CALLS, repeat=3)) / CALLS * 1e9


def fnz_ns(bench):
    out = subprocess.run([bench, str(CALLS)], capture_output=True, text=True, check=True).stdout
    return {name: (float(stack), float(typed)) for name, stack, typed in map(str.split, out.splitlines())}


def main():
    torch.set_num_threads(1)
    a, b = torch.ones(8), torch.zeros(8)
    calls = {
        "add.Tensor": lambda: torch.add(a, b),
        "add_.Tensor": lambda: a.add_(b),
        "mul.Tensor": lambda: torch.mul(a, b),
        "detach": lambda: a.detach(),
    }
    best = {name: [float("inf")] * 3 for name in calls}
    with torch.inference_mode():
        for _ in range(ROUNDS):
            ours = fnz_ns(sys.argv[1])
            for name, call in calls.items():
                round_ = (torch_ns(call), *ours[name])
                best[name] = [min(x) for x in zip(best[name], round_)]
    print(f"{'operator':14} {'torch ns':>9} {'fnz_call ns':>12} {'typed ns':>9} {'ratio':>6}")
    for name, (theirs, stack, typed) in best.items():
        print(f"{name:14} {theirs:9.0f} {stack:12.0f} {typed:9.0f} {theirs / stack:6.1f}")


if __name__ == "__main__":
    main()
