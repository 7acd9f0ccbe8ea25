#!/usr/bin/env python3
"""Losses with the gradients of all parameters: fnz's engine beside eager PyTorch's autograd, on one thread.

    bench/models/training.py --fnz build/fnz FOLDER [NAME ...]

Needs torch and torchvision; fnz needs none of it. Writes FOLDER/NAME.pt2, a graph of the forward and the backward pass as
torch.export traces it, and FOLDER/NAME.safetensors. Both take turns, three rounds; of each the least time counts. Prints a table
in Markdown, with the largest difference of a gradient as a part of the largest element of all: biases before a batch norm have
gradients of noise.
"""
import argparse
import copy
import pathlib
import re
import subprocess
import time
import warnings

import torch
import torchvision
from safetensors.torch import load_file, save_file
from torch import nn
from torch.export.experimental import _export_forward_backward

warnings.filterwarnings("ignore")


class Last(nn.Module):
    """The last step of an LSTM."""

    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


class Lines(nn.Module):
    """Convolutions of one dimension, with one by channel as in front of attention."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(64, 128, 3, padding=1), nn.GELU(), nn.Conv1d(128, 128, 31, padding=15, groups=128),
                                  nn.BatchNorm1d(128), nn.SiLU(), nn.Conv1d(128, 64, 1))

    def forward(self, x):
        return self.body(x).mean(2)


def image(name, batch=2, size=128):
    return getattr(torchvision.models, name)(weights=None), torch.randn(batch, 3, size, size), 1000


def layers():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.LayerNorm(512), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10))


def planes():
    return nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1), nn.GroupNorm(8, 32), nn.SiLU(), nn.Conv2d(32, 64, 3, 2, 1),
                         nn.GroupNorm(8, 64), nn.SiLU(), nn.ConvTranspose2d(64, 32, 2, 2), nn.Conv2d(32, 3, 1),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten())


MODELS = {"resnet18": lambda: image("resnet18"), "mobilenet_v3_small": lambda: image("mobilenet_v3_small"),
          "shufflenet_v2_x0_5": lambda: image("shufflenet_v2_x0_5"), "squeezenet1_1": lambda: image("squeezenet1_1"),
          "layers_64": lambda: (layers(), torch.randn(64, 784), 10), "planes_64": lambda: (planes(), torch.randn(2, 3, 64, 64), 3),
          "lines_500": lambda: (Lines(), torch.randn(4, 64, 500), 64), "lstm_32": lambda: (Last(), torch.randn(8, 32, 64), 10)}


class Loss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        return (nn.functional.cross_entropy(self.model(x), y),)


def write(name, folder):
    """The loss as a module, its arguments, and the names of the parameters by the place of their gradient."""
    torch.manual_seed(0)
    model, x, classes = MODELS[name]()
    for layer in model.modules():
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    loss, args = Loss(model), (x, torch.randint(0, classes, (len(x),)))
    graph = _export_forward_backward(torch.export.export(copy.deepcopy(loss), args))
    torch.export.save(graph, folder / f"{name}.pt2")
    inputs = [one.arg.name for one in graph.graph_signature.input_specs if one.kind.name == "USER_INPUT"]
    save_file(dict(zip(inputs, args)), folder / f"{name}.safetensors")
    specs = [one for one in graph.graph_signature.output_specs if one.kind.name in ("LOSS_OUTPUT", "GRADIENT_TO_PARAMETER")]
    return loss, args, [one.target for one in specs]


def ask(fnz, verb, name, folder, *more):
    done = subprocess.run([fnz, verb, folder / f"{name}.pt2", "--inputs", folder / f"{name}.safetensors", "--threads", "1", *more],
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def eager_ms(loss, args, seconds=2):
    parameters, least, end = list(loss.parameters()), 1e9, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        torch.autograd.grad(loss(*args)[0], parameters)
        least = min(least, time.perf_counter() - began)
    return 1e3 * least


def apart(loss, args, targets, results):
    """The largest difference of a gradient, as a part of the largest element of all."""
    gradients = torch.autograd.grad(loss(*args)[0], list(loss.parameters()))
    wanted = dict(zip([name for name, _ in loss.named_parameters()], gradients))
    most = max((results[f"output.{place}"] - wanted[target]).abs().max().item()
               for place, target in enumerate(targets) if target in wanted)
    return most / max(one.abs().max().item() for one in gradients)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fnz", required=True, type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.folder.mkdir(parents=True, exist_ok=True)
    print("| graph | fnz ms | eager ms | ratio | apart |\n|---|---|---|---|---|")
    for name in args.names or MODELS:
        loss, values, targets = write(name, args.folder)
        times = []
        for _ in range(3):
            least = re.search(r"engine +least ([\d.]+) us", ask(args.fnz, "bench", name, args.folder)).group(1)
            times.append((float(least) / 1e3, eager_ms(loss, values)))
        mine, eager = (min(one) for one in zip(*times))
        ask(args.fnz, "run", name, args.folder, "--outputs", args.folder / "out.safetensors")
        far = apart(loss, values, targets, load_file(args.folder / "out.safetensors"))
        print(f"| {name} | {mine:.2f} | {eager:.2f} | {mine / eager:.2f} | {far:.0e} |", flush=True)


if __name__ == "__main__":
    main()
