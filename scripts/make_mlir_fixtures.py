#!/usr/bin/env python3
"""Makes fixtures/mlir/cases anew: programs that IREE gets wrong, or refuses, unless they are written in another way. Needs
PyTorch."""
import json
import pathlib

import torch
from safetensors.torch import save_file
from torch._higher_order_ops.map import map as map_slices
from torch._higher_order_ops.scan import scan


class NegativeIndices(torch.nn.Module):
    def forward(self, x, i, v):
        y = x.clone()
        y[:, i] = v
        z = x.clone()
        z[-1] = 7.0
        return y, z, x.select_scatter(v[:, 0], 1, -2), x.diagonal_scatter(v[0, :2], -2)


class Loops(torch.nn.Module):
    """A recurrent layer, and a function on each of its results."""

    def forward(self, x, h, w):
        def step(h, x):
            h = torch.tanh(x @ w + h)
            return h, h * 2

        h, y = scan(step, h, x)
        return h, y, map_slices(lambda y, w: y @ w, y, w)


class Rotary(torch.nn.Module):
    """Rotary positions as complex numbers, and a filter of frequencies."""

    def __init__(self):
        super().__init__()
        angle = torch.outer(torch.arange(4.0), 1 / 100 ** (torch.arange(2.0) / 2))
        self.register_buffer("turns", torch.polar(torch.ones_like(angle), angle))

    def forward(self, x, w):
        z = torch.view_as_complex(x.reshape(4, 3, 2, 2))
        y = torch.view_as_real(z * self.turns[:, None]).flatten(2)
        f = torch.fft.rfft(y, dim=0) * torch.view_as_complex(w)
        return y, torch.fft.irfft(f, n=4, dim=0), z / (z + 1), z.abs()


def make(folder, module, inputs):
    folder.mkdir(parents=True, exist_ok=True)
    program = torch.export.export(module, tuple(inputs.values()), strict=False)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    torch.export.save(program, folder / "program.pt2")
    save_file(inputs, folder / "inputs.safetensors")
    outputs = module(*inputs.values())
    outputs = [torch.view_as_real(y) if y.is_complex() else y for y in outputs]  # as the module has them
    save_file({"output.%d" % k: y.contiguous() for k, y in enumerate(outputs)}, folder / "expected.safetensors")
    (folder / "case.json").write_text(json.dumps({"error": None, "torch": torch.__version__}) + "\n")


def main():
    folder = pathlib.Path(__file__).parents[1] / "fixtures/mlir/cases"
    x = torch.arange(12.0).reshape(4, 3)
    make(folder / "negative_indices", NegativeIndices(),
         {"x": x, "i": torch.tensor([-1, 0]), "v": torch.tensor([[9.0, 8.0, 7.0, 6.0]]).repeat(4, 1)[:, :2].contiguous()})
    numbers = torch.linspace(-1.5, 1.5, 48)
    make(folder / "loops", Loops(),
         {"x": numbers[:12].reshape(4, 3), "h": numbers[20:23].clone(), "w": numbers[30:39].reshape(3, 3).clone()})
    make(folder / "rotary", Rotary(),
         {"x": numbers.reshape(4, 3, 4).clone(), "w": torch.linspace(0.5, 2, 24).reshape(3, 1, 4, 2).clone()})


if __name__ == "__main__":
    main()
