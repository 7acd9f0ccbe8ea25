#!/usr/bin/env python3
"""Makes fixtures/mlir/cases anew: programs that IREE gets wrong unless they are written in another way. Needs PyTorch."""
import json
import pathlib

import torch
from safetensors.torch import save_file


class NegativeIndices(torch.nn.Module):
    def forward(self, x, i, v):
        y = x.clone()
        y[:, i] = v
        z = x.clone()
        z[-1] = 7.0
        return y, z, x.select_scatter(v[:, 0], 1, -2), x.diagonal_scatter(v[0, :2], -2)


def make(folder, module, inputs):
    folder.mkdir(parents=True, exist_ok=True)
    program = torch.export.export(module, tuple(inputs.values()), strict=False)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    torch.export.save(program, folder / "program.pt2")
    save_file(inputs, folder / "inputs.safetensors")
    outputs = module(*inputs.values())
    save_file({"output.%d" % k: y.contiguous() for k, y in enumerate(outputs)}, folder / "expected.safetensors")
    (folder / "case.json").write_text(json.dumps({"error": None, "torch": torch.__version__}) + "\n")


def main():
    folder = pathlib.Path(__file__).parents[1] / "fixtures/mlir/cases"
    x = torch.arange(12.0).reshape(4, 3)
    make(folder / "negative_indices", NegativeIndices(),
         {"x": x, "i": torch.tensor([-1, 0]), "v": torch.tensor([[9.0, 8.0, 7.0, 6.0]]).repeat(4, 1)[:, :2].contiguous()})


if __name__ == "__main__":
    main()
