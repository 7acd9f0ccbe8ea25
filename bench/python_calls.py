"""The cost of a call from Python: fnz with tensors of PyTorch and with NumPy's arrays, by the compiled module and by ctypes
alone, PyTorch's eager module, and ONNX Runtime if `onnxruntime` and `onnx` are there; in turns, on one thread, in processor
time of that thread. Needs torch and numpy; rows of torchvision where that is there.

    FNZ_LIBRARY=build/libfnz.so.0.1 PYTHONPATH=python python bench/python_calls.py [NAME ...]

Programs `add` and `in place` have the number of elements in their names.
"""

import sys
import time
from pathlib import Path

import torch

import fnz
from fnz import quick

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


class InPlace(torch.nn.Module):
    def forward(self, x):
        x.add_(1)
        return x


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
    for exponent in (0, 3, 6, 7):
        yield f"add 1e{exponent}", lambda n=10**exponent: (Add(), (torch.randn(n), torch.randn(n)))
    for exponent in (0, 3, 6, 7):
        yield f"in place 1e{exponent}", lambda n=10**exponent: (InPlace(), (torch.randn(n),))
    yield "perceptron", lambda: (Perceptron(), (torch.randn(1, 64),))
    yield "training step", lambda: (Training(), (torch.randn(32, 64), torch.randn(32, 64)))
    yield "decode step", lambda: (torch.export.load(
        Path(__file__).parents[1] / "fixtures/decode/llama.pt2").module(), (torch.tensor([[7]]),))
    try:
        import torchvision
    except ImportError:
        return
    yield "resnet18", lambda: (torchvision.models.resnet18().eval(), (torch.randn(1, 3, 64, 64),))


def by_ctypes(executable: fnz.Executable) -> fnz.Executable:
    """Another one that does without the compiled module."""
    other = executable.another()
    other._quick = None
    return other


def onnx_session(name: str, module, inputs: tuple):
    """A call of ONNX Runtime with NumPy's arrays; None where it is not there, or a program writes."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError:
        return None
    if name.split()[0] not in ("add", "perceptron", "resnet18"):
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(torch.onnx.export(module, inputs, dynamo=True, verbose=False)
                                           .model_proto.SerializeToString(), options)
    feed = {one.name: value.numpy() for one, value in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feed)


def measure(name: str, module, inputs: tuple) -> str:
    exported = torch.export.export(module, inputs)
    executable = fnz.load(exported).functionalize().compile(threads=1, in_place=name.startswith("in place"))
    before, arrays = by_ctypes(executable), [one.numpy() for one in inputs]
    first = {key: value.clone() for key, value in module.state_dict().items()}
    session = onnx_session(name, module, inputs)
    calls = [(lambda: module(*inputs), lambda: module.load_state_dict(first))]
    calls += [(lambda one=one, given=given: one(*given), one.reset)
              for given in (inputs, arrays) for one in (before, executable)]
    calls += [(session, lambda: None)] if session else []
    best, end = [float("inf")] * len(calls), time.monotonic() + SECONDS
    with torch.inference_mode():
        for turn in range(ROUNDS):
            if turn and time.monotonic() > end:
                break
            best = [min(old, microseconds(*call, 0.02)) for old, call in zip(best, calls)]
    cells = [f"{one:,.1f}" for one in best] + ["-"] * (6 - len(best))
    return f"| {name} | {' | '.join(cells)} | {best[2] / best[0]:.2f} | {best[2] / best[1]:.2f} |"


def main() -> None:
    torch.set_num_threads(1)
    if quick.module is None:
        sys.exit("the compiled module is not there: build it, or unset FNZ_CTYPES")
    print(f"PyTorch {torch.__version__}, Python {sys.version.split()[0]}; microseconds a call\n\n"
          "| program | eager | PyTorch's tensors, ctypes | compiled | NumPy's, ctypes | compiled | ONNX Runtime "
          "| compiled / eager | compiled / ctypes |\n|---|---|---|---|---|---|---|---|---|")
    for name, make in programs():
        if len(sys.argv) == 1 or any(name.startswith(one) for one in sys.argv[1:]):
            print(measure(name, *make()), flush=True)


if __name__ == "__main__":
    main()
