#!/usr/bin/env python3
"""Makes decoder/ anew: a program with state, inputs for four steps, and what PyTorch gives for them. Needs PyTorch."""
import json
import pathlib

import torch
from safetensors.torch import save_file

SIZE, ROOM, HEADS, STEPS = 8, 16, 2, 4


class Decoder(torch.nn.Module):
    """One layer of attention that keeps keys and values of all steps in buffers and writes them in place."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(SIZE, 3 * SIZE)
        self.out = torch.nn.Linear(SIZE, SIZE)
        self.register_buffer("keys", torch.zeros(HEADS, ROOM, SIZE // HEADS))
        self.register_buffer("values", torch.zeros(HEADS, ROOM, SIZE // HEADS))
        self.register_buffer("step", torch.zeros(1, dtype=torch.long))

    def forward(self, x):
        q, k, v = self.qkv(x).view(3, HEADS, 1, SIZE // HEADS)
        self.keys.index_copy_(1, self.step, k)
        self.values.index_copy_(1, self.step, v)
        seen = torch.arange(ROOM) <= self.step
        scores = (q @ self.keys.transpose(1, 2)) / (SIZE // HEADS) ** 0.5
        weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
        self.step.add_(1)
        return self.out((weights @ self.values).reshape(SIZE))


def scrub(program):
    """Source lines that mean the same on every machine."""
    for node in program.graph.nodes:
        trace = node.meta.get("stack_trace") or ""
        for path in (pathlib.Path(__file__).parent, pathlib.Path(torch.__file__).parents[1]):
            trace = trace.replace(str(path.resolve()) + "/", "")
        node.meta["stack_trace"] = trace


def main():
    folder = pathlib.Path(__file__).parent / "decoder"
    folder.mkdir(exist_ok=True)
    torch.manual_seed(0)
    model = Decoder().eval()
    inputs = torch.randn(STEPS, SIZE)
    with torch.no_grad():
        program = torch.export.export(model, (inputs[0],), strict=False)
        scrub(program)
        torch.export.save(program, folder / "program.pt2")
        for k in range(STEPS):
            end = "safetensors" if k == 0 else "%d.safetensors" % (k + 1)
            y = model(inputs[k])
            final = {"buffer." + name: value.clone() for name, value in model.named_buffers()}
            save_file({"x": inputs[k].clone()}, folder / ("inputs." + end))
            save_file({"output.0": y, **final}, folder / ("expected." + end))
    (folder / "case.json").write_text(json.dumps({"error": None, "torch": torch.__version__}) + "\n")


if __name__ == "__main__":
    main()
