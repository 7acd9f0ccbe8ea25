"""The cost of a call from Python: fnz with tensors of PyTorch and with NumPy's arrays, and PyTorch's eager module, in
turns, on one thread, in processor time of that thread. Needs torch and numpy; rows of torchvision where that is there.

    FNZ_LIBRARY=build/libfnz.so.0.1 PYTHONPATH=python python bench/python_calls.py [NAME ...]
"""

import sys
import time
from pathlib import Path

import torch

import fnz

ROUNDS, SECONDS = 15, 20  # as many turns, or as many as fit


def microseconds(call, reset, seconds: float) -> float:
    """The time of one call, over as many as take that long. The state of calls is reset every 16 of them."""
    count, spent = 0, 0.0
    while spent < seconds:
        reset()
        start = time.thread_time()
        for _ in range(16):
            call()
        spent += time.thread_time() - start
        count += 16
    return spent / count * 1e6


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))

    def forward(self, x):
        return self.layers(x)


class Training(torch.nn.Module):
    """A step of gradient descent with momentum; weights and momenta are buffers."""

    def __init__(self, size: int = 64):
        super().__init__()
        for name in ("weight", "momentum"):
            self.register_buffer(name, torch.randn(size, size) / 8)

    def forward(self, x, wanted):
        error = x @ self.weight - wanted
        self.momentum.mul_(0.9).add_(x.t() @ error, alpha=1e-3)
        self.weight.sub_(self.momentum)
        return (error * error).mean()


def programs():
    yield "add", lambda: (Add(), (torch.randn(8), torch.randn(8)))
    yield "perceptron", lambda: (Perceptron(), (torch.randn(1, 64),))
    yield "training step", lambda: (Training(), (torch.randn(32, 64), torch.randn(32, 64)))
    yield "decode step", lambda: (torch.export.load(
        Path(__file__).parents[1] / "fixtures/decode/llama.pt2").module(), (torch.tensor([[7]]),))
    try:
        import torchvision
    except ImportError:
        return
    yield "resnet18", lambda: (torchvision.models.resnet18().eval(), (torch.randn(1, 3, 64, 64),))


def measure(name: str, module, inputs: tuple) -> str:
    executable = fnz.load(torch.export.export(module, inputs)).functionalize().compile(threads=1)
    arrays = [one.numpy() for one in inputs]
    first = {key: value.clone() for key, value in module.state_dict().items()}
    calls = ((lambda: module(*inputs), lambda: module.load_state_dict(first)),
             (lambda: executable(*inputs), executable.reset), (lambda: executable(*arrays), executable.reset))
    best, end = [float("inf")] * 3, time.monotonic() + SECONDS
    with torch.inference_mode():
        for turn in range(ROUNDS):
            if turn and time.monotonic() > end:
                break
            best = [min(old, microseconds(*call, 0.02)) for old, call in zip(best, calls)]
    return f"| {name} | {best[0]:,.1f} | {best[1]:,.1f} | {best[2]:,.1f} | {best[1] / best[0]:.2f} |"


def main() -> None:
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, Python {sys.version.split()[0]}; microseconds a call\n\n"
          "| program | eager | fnz, PyTorch's tensors | fnz, NumPy's | fnz / eager |\n|---|---|---|---|---|")
    for name, make in programs():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            print(measure(name, *make()), flush=True)


if __name__ == "__main__":
    main()
