"""Makes fixtures/random: programs that draw random numbers, and what PyTorch draws for them. For developers.

    python scripts/make_random_fixtures.py fixtures/random

NAME.pt2 is a program, NAME.safetensors has its inputs (input.NAME), and the exported program's results in eager
PyTorch on a CPU after torch.manual_seed(7): output.K, and buffer.NAME for buffers that it writes. Draws of a program
named bits_... are to be equal bit by bit, draws of the others except for their last places. state.safetensors has
torch.get_rng_state() after manual_seed(7), after 1, 625 and 1000 words, and after three normals, when the last one's
pair is pending. On a CPU of Intel PyTorch's own build draws bernoulli with a number for p by another generator; the
script refuses to run there. Needs torch, safetensors.
"""
import os
import sys

import torch
from safetensors.torch import save_file

SEED = 7
SOURCE = '''
import torch
from torch import nn
import torch.nn.functional as F

class Uniforms(nn.Module):
    def forward(self, x, y):
        half, wide = torch.float16, torch.float64
        return (torch.rand(5), torch.rand(3, 7, dtype=wide), torch.rand(40, dtype=half),
                torch.rand(40, dtype=torch.bfloat16), torch.rand_like(x), torch.rand_like(y),
                torch.empty(6, 5).uniform_(-1.3, 2.9), torch.empty(9, dtype=wide).uniform_(0.1, 0.77),
                torch.empty(33, dtype=half).uniform_(-3, 1), torch.rand(4, dtype=torch.complex64),
                torch.rand(0), torch.rand(()), torch.empty(11).geometric_(0.3),
                torch.empty(5, dtype=torch.int32).geometric_(0.7))

class Integers(nn.Module):
    def forward(self, x):
        return (torch.randint(10, (3, 4)), torch.randint(-5, 17, (20,), dtype=torch.int32),
                torch.randint(0, 2 ** 40, (6,)), torch.randint(0, 2 ** 28, (6,)), torch.randint(0, 2 ** 28 - 1, (6,)),
                torch.randint(0, 200, (6,), dtype=torch.float32), torch.randint_like(x, 3, 90),
                torch.randint(0, 2, (9,), dtype=torch.bool), torch.randint(-100, 100, (9,), dtype=torch.int8),
                torch.randint(0, 65504, (9,), dtype=torch.float16), torch.randint(0, 2000, (9,), dtype=torch.bfloat16),
                torch.empty(4, dtype=torch.int64).random_(), torch.empty(4, dtype=torch.uint8).random_(),
                torch.empty(4).random_(), torch.empty(4, dtype=torch.float64).random_(),
                torch.empty(4, dtype=torch.bool).random_(), torch.empty(4, dtype=torch.int16).random_(100),
                torch.randperm(17), torch.randperm(1), torch.randperm(300, dtype=torch.int32))

class Masks(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4, 6))
    def forward(self, x, p, image):
        self.kept.bernoulli_(0.4)
        return (torch.bernoulli(p), torch.bernoulli(x, 0.3), torch.empty(6, 4).t().bernoulli_(p.double()),
                torch.zeros(4, 6).bernoulli_(p[0]), torch.zeros(50, dtype=torch.int64).bernoulli_(0.9),
                F.dropout(x, 0.4), F.dropout(image, 0.5), F.dropout(x.half(), 0.3), F.dropout(x.bfloat16(), 0.3),
                F.dropout(x.double(), 0.1), F.dropout(x, 0.0), F.dropout(x, 1.0), torch.native_dropout(image, 0.3, True),
                F.alpha_dropout(x, 0.4, training=True), F.dropout2d(image, 0.5), F.feature_alpha_dropout(image, 0.5, training=True),
                F.dropout(x + 1, 0.25, inplace=True), F.alpha_dropout(x.half(), 0.4, training=True))

class Windows(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(6, 8))
    def forward(self, x):
        y = x.clone()
        y[:, ::2].uniform_()
        y.t()[1:5, ::3].uniform_(2, 3)
        y[1].random_(5)
        self.state.t().bernoulli_(0.5)
        self.state[2:4].uniform_()
        image = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
        image.uniform_()
        image[:, 1].random_(9)
        flat = y.view(-1)[3:23]
        flat.bernoulli_(0.5)
        unused = torch.rand(3)
        rows = torch.zeros(9, 8)
        rows[:, ::2].normal_()
        rows.t()[1::2, 3:].normal_(1, 2)
        return y, image, torch.rand_like(image), torch.rand_like(x.t()), torch.randint_like(x.t(), 9), rows

class Choices(nn.Module):
    def forward(self, weights, rows):
        return (torch.multinomial(weights, 1), torch.multinomial(weights, 4), torch.multinomial(rows, 2),
                torch.multinomial(rows, 1, True), torch.multinomial(rows, 9, True), torch.multinomial(weights.double(), 3),
                torch.multinomial(weights.double(), 7, True), torch.multinomial(rows.reshape(-1), 15))

class Normals(nn.Module):
    def forward(self, x, spread):
        wide = torch.float64
        return (torch.randn(5), torch.randn(16), torch.randn(37), torch.randn(3, 5), torch.randn(3, dtype=wide),
                torch.randn(40, dtype=wide), torch.randn(37, dtype=torch.float16), torch.randn(7, dtype=torch.bfloat16),
                torch.randn_like(x), torch.randn_like(x.t()), torch.empty(40).normal_(3, 0.5), torch.empty(5).normal_(3, 0.5),
                torch.normal(x, 0.5), torch.normal(1.5, spread), torch.normal(x, spread), torch.normal(0.5, 2.0, (20,)),
                torch.randn(10, dtype=torch.complex64), torch.view_as_real(torch.randn(3, dtype=torch.complex128)),
                torch.empty(20).exponential_(1.5), torch.empty(20, dtype=wide).exponential_(), torch.empty(20).cauchy_(0.3, 1.7),
                torch.empty(7).log_normal_(), torch.empty(20, dtype=torch.bfloat16).exponential_(2.0), torch.randn(2))

class Block(nn.Module):
    """A transformer block in training: dropout of the attention's weights, of its result and of what feeds forward."""
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True)
    def forward(self, x):
        y = self.layer(x)
        return y, F.dropout1d(y, 0.25)

class Sampler(nn.Module):
    """A step of a variational autoencoder, and one that takes noise away, as diffusion does."""
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(12, 8)
        self.decode = nn.Linear(4, 12)
    def forward(self, x, t):
        mean, log_var = self.encode(x).chunk(2, -1)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        y = torch.sigmoid(self.decode(z))
        noise = torch.randn_like(y)
        return y, torch.where(t > 0, y * 0.9 + noise * 0.1, y), torch.bernoulli(y)

class Recurrent(nn.Module):
    """Dropout between layers."""
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, 3, dropout=0.4, batch_first=True)
        self.gru = nn.GRU(5, 4, 2, dropout=0.3, bidirectional=True)
    def forward(self, x):
        return self.lstm(x)[0], self.gru(x)[0], torch.rand(2)

class Branches(nn.Module):
    def forward(self, flag, x):
        y = x + torch.rand(3)
        def one(v):
            return v + torch.rand(3)
        def other(v):
            return v * torch.rand(3) + torch.rand(3)
        z = torch.cond(flag, one, other, (y,))
        return z, torch.rand(2)
'''


def programs(names):
    x, y = torch.arange(12.0).reshape(3, 4), torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2)
    p = torch.linspace(0, 1, 24).reshape(4, 6)
    image = torch.linspace(-1, 1, 240).reshape(2, 5, 4, 6).contiguous(memory_format=torch.channels_last)
    yield "bits_uniforms", names["Uniforms"](), dict(x=x, y=y)
    yield "bits_integers", names["Integers"](), dict(x=x)
    yield "bits_masks", names["Masks"](), dict(x=x * 10 - 5, p=p, image=image)
    yield "bits_windows", names["Windows"](), dict(x=torch.arange(48.0).reshape(6, 8))
    yield "bits_choices", names["Choices"](), dict(weights=torch.tensor([1.0, 2, 0.5, 4, 3, 0]),
                                                  rows=torch.linspace(0.1, 2, 15).reshape(3, 5))
    yield "bits_branches", names["Branches"](), dict(flag=torch.tensor(False), x=torch.arange(3.0))
    yield "normals", names["Normals"](), dict(x=torch.arange(35.0).reshape(5, 7), spread=torch.linspace(0, 3, 35).reshape(5, 7))
    yield "transformer", names["Block"](), dict(x=torch.linspace(-1, 1, 160).reshape(2, 5, 16))
    yield "recurrent", names["Recurrent"](), dict(x=torch.linspace(-1, 1, 60).reshape(3, 4, 5))
    yield "sampler", names["Sampler"](), dict(x=torch.linspace(-1, 1, 36).reshape(3, 12), t=torch.tensor([[0], [1], [2]]))


def record(folder, name, module, inputs):
    module.train()
    program = torch.export.export(module, tuple(inputs.values()))
    torch.export.save(program, os.path.join(folder, name + ".pt2"))
    run = program.module()
    torch.manual_seed(SEED)
    results = run(*[v.clone() for v in inputs.values()])
    flat = torch.utils._pytree.tree_leaves(results)
    tensors = {f"input.{k}": v.contiguous().clone() for k, v in inputs.items()}
    tensors |= {f"output.{k}": v.contiguous().clone() for k, v in enumerate(flat)}
    tensors |= {f"buffer.{k}": v.contiguous().clone() for k, v in run.named_buffers()}
    save_file(tensors, os.path.join(folder, name + ".safetensors"))
    print(name, len(flat), "results")


def states():
    made = {}
    torch.manual_seed(SEED)
    made["state.0"] = torch.get_rng_state()
    drawn = 0
    for words in (1, 625, 1000):
        torch.rand(words - drawn)
        drawn = words
        made[f"state.{words}"] = torch.get_rng_state()
    torch.manual_seed(SEED)
    torch.randn(3)
    made["state.normal"] = torch.get_rng_state()
    return made


def main():
    with open("/proc/cpuinfo") as f:
        if "GenuineIntel" in f.read():
            sys.exit("PyTorch draws bernoulli by another generator on this CPU; run this on one that is not Intel's")
    folder, names = sys.argv[1], {}
    os.makedirs(folder, exist_ok=True)
    exec(compile(SOURCE, "model.py", "exec"), names)
    torch.manual_seed(0)
    for name, module, inputs in programs(names):
        record(folder, name, module, inputs)
    save_file(states(), os.path.join(folder, "state.safetensors"))


if __name__ == "__main__":
    main()
