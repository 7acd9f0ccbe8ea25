#!/usr/bin/env python3
"""Makes fixtures/compilers/small.pt2 anew, the example of docs/for-compilers.md. Needs PyTorch."""
import pathlib

import torch


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([1.0, 2.0, 4.0]))
        self.register_buffer("cache", torch.zeros(4, 3))

    def forward(self, x, y):
        self.cache[: x.shape[0]] = x
        y.add_(self.w)
        return self.cache[0]


def main():
    sizes = {"x": {0: torch.export.Dim("n", min=1, max=4)}, "y": None}
    program = torch.export.export(Small(), (torch.ones(2, 3), torch.ones(3)), dynamic_shapes=sizes, strict=False)
    for node in program.graph.nodes:  # not the paths of the machine
        trace = node.meta.pop("stack_trace", None)
        for name in ("nn_module_stack", "torch_fn"):
            node.meta.pop(name, None)
        if trace and "in forward" in trace:
            line = int(trace.rpartition(", line ")[2].split(",")[0])
            node.meta["stack_trace"] = 'File "small.py", line %d, in forward' % line
    torch.export.save(program, pathlib.Path(__file__).parents[1] / "fixtures/compilers/small.pt2")


if __name__ == "__main__":
    main()
