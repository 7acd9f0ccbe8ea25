#!/usr/bin/env python3
"""Times Fourier transforms of fnz beside eager PyTorch: bench/results/fourier.md.

    bench/fourier.py --fnz build/fnz FOLDER [--rounds 5]

Writes each program to FOLDER, then lets both take turns on one thread; of each the least time counts. Needs torch
2.15, which fnz itself never does."""
import argparse
import json
import subprocess
import time
import warnings

import torch

warnings.filterwarnings("ignore")


def c64(*sizes):
    return torch.randn(*sizes, dtype=torch.complex64)


PROGRAMS = {
    "fft, 512 lines of 1,024 (c64)": (torch.fft.fft, c64(512, 1024)),
    "fft, 512 lines of 1,000 (c64)": (torch.fft.fft, c64(512, 1000)),
    "fft, 512 lines of 1,009, a prime (c64)": (torch.fft.fft, c64(512, 1009)),
    "fft, 8,192 lines of 64 (c64)": (torch.fft.fft, c64(8192, 64)),
    "fft, 512 columns of 1,024 (c64)": (lambda x: torch.fft.fft(x, dim=0), c64(1024, 512)),
    "fft, one line of 1,024 (c64)": (torch.fft.fft, c64(1024)),
    "fft, one line of 2^20 (c64)": (torch.fft.fft, c64(1 << 20)),
    "rfft, 512 lines of 1,024 (f32)": (torch.fft.rfft, torch.randn(512, 1024)),
    "irfft, 512 lines of 1,024 (f32)": (torch.fft.irfft, c64(512, 513)),
    "rfft2, 512 images of 14 x 14 (f32)": (torch.fft.rfft2, torch.randn(512, 14, 14)),
    "fft2, 16 images of 256 x 256 (c64)": (torch.fft.fft2, c64(16, 256, 256)),
    "stft of 4 x 16,000, frames of 400 (f32)": (
        lambda x: torch.view_as_real(torch.stft(x, 400, 160, window=torch.hann_window(400), return_complex=True)),
        torch.randn(4, 16000)),
}


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def torch_us(program, x):
    start = time.perf_counter()
    program(x)
    return (time.perf_counter() - start) * 1e6


def fnz_us(fnz, folder):
    done = subprocess.run([fnz, "bench", f"{folder}/fourier.pt2", "--inputs", f"{folder}/fourier.safetensors", "--threads",
                           "1", "--rounds", "10", "--json", "--quiet"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["engine"]["least_us"]


def main():
    from safetensors.torch import save_file
    parser = argparse.ArgumentParser()
    parser.add_argument("--fnz", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("folder")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| program | PyTorch us | fnz us | fnz's time by PyTorch's |\n|---|---|---|---|")
    for name, (function, x) in PROGRAMS.items():
        program = Program(function)
        exported = torch.export.export(program, (x,))
        torch.export.save(exported, f"{args.folder}/fourier.pt2")
        save_file({exported.graph_signature.user_inputs[0]: x}, f"{args.folder}/fourier.safetensors")
        theirs, ours = [], []
        with torch.inference_mode():
            for _ in range(args.rounds):
                theirs += [torch_us(program, x) for _ in range(10)]
                ours.append(fnz_us(args.fnz, args.folder))
        print(f"| {name} | {min(theirs):.0f} | {min(ours):.0f} | {min(ours) / min(theirs):.1f} |", flush=True)


if __name__ == "__main__":
    main()
