#!/usr/bin/env python3
"""The programs that the engine is measured on: ten small ones at three sizes, and 24 others.

    bench/engine/programs.py FOLDER [NAME ...]

Needs torch, torchvision, transformers and timm, which fnz itself never does. Writes FOLDER/NAME/program.pt2 and
inputs.safetensors, with seeded weights and inputs; files that exist are kept. engine.py measures them.
"""
import os
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
PROGRAMS = {}


def program(name):
    """Registers a function that gives a module and its inputs, a dict by parameter name."""
    return lambda make: PROGRAMS.setdefault(name, make)


def module(forward, **buffers):
    """A module with these buffers whose forward is the function, which gets the module first."""

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in buffers.items():
                self.register_buffer(name, value)

    Module.forward = forward
    return Module().eval()


# --- Small programs, 1e3, 1e5 and 1e7 elements ----------------------------------------------------

def chain10(self, x, y):
    for _ in range(5):
        x = (x + y) * 0.5
    return x


def inplace1(self, x):
    self.state.add_(x)
    return self.state[:1].clone()


def chain_exp(self, x, y):
    for _ in range(2):
        x = torch.exp(torch.tanh(x + y) * 0.5)
    return x


def gelu_bias(self, x, b):
    return F.gelu(x + b)


def transpose_add(self, x, y):
    return (x.t() + y) * 0.5


def rmsnorm(self, x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def small(n):
    columns = {10**3: 32, 10**5: 320, 10**7: 2560}[n]
    rows = n // columns
    x, y = torch.randn(rows, columns), torch.randn(rows, columns)
    w = torch.randn(columns)
    return {
        "chain10": (module(chain10), dict(x=x, y=y)),
        "inplace1": (module(inplace1, state=torch.zeros(rows * columns)), dict(x=x.flatten())),
        "chain_exp": (module(chain_exp), dict(x=x, y=y)),
        "gelu_bias": (module(gelu_bias), dict(x=x, b=w)),
        "softmax": (module(lambda self, x: torch.softmax(x, -1)), dict(x=x)),
        "layernorm": (nn.LayerNorm(columns), dict(input=x)),
        "rmsnorm": (module(rmsnorm), dict(x=x, w=w)),
        "sum_all": (module(lambda self, x: x.sum()), dict(x=x)),
        "mean_rows": (module(lambda self, x: x.mean(-1)), dict(x=x)),
        "transpose_add": (module(transpose_add), dict(x=x, y=y.t().contiguous())),
    }


SMALL = ["chain10", "inplace1", "chain_exp", "gelu_bias", "softmax", "layernorm", "rmsnorm", "sum_all",
         "mean_rows", "transpose_add"]
for _exponent in (3, 5, 7):
    for _name in SMALL:
        program(f"{_name}_1e{_exponent}")(lambda n=10**_exponent, name=_name: small(n)[name])


# --- State ----------------------------------------------------------------------------------------

def slice_loop(self, x):
    x = x.clone()
    for i in range(100):
        x[i] += 1
    return x


@program("slice_loop100_1e2")
def _():
    return module(slice_loop), dict(x=torch.randn(100, 1))


@program("slice_loop100_1e5")
def _():
    return module(slice_loop), dict(x=torch.randn(100, 1000))


def caches():
    return dict(kc=torch.zeros(1, 8, 4096, 64), vc=torch.zeros(1, 8, 4096, 64))


def kv_index_copy(self, k, v, pos):
    self.kc.index_copy_(2, pos, k)
    self.vc.index_copy_(2, pos, v)
    return k + v


def kv_slice(self, k, v):
    self.kc[:, :, 17:18] = k
    self.vc[:, :, 17:18] = v
    return k + v


def token():
    return dict(k=torch.randn(1, 8, 1, 64), v=torch.randn(1, 8, 1, 64))


@program("kv_index_copy")
def _():
    return module(kv_index_copy, **caches()), dict(token(), pos=torch.tensor([17]))


@program("kv_slice")
def _():
    return module(kv_slice, **caches()), token()


class Adam(nn.Module):
    """A step of Adam over 50 tensors by the list operators, as torch.optim's foreach form has it."""

    def __init__(self, count, size):
        super().__init__()
        self.count = count
        for i in range(count):
            self.register_buffer(f"p{i}", torch.randn(size))
            self.register_buffer(f"m{i}", torch.zeros(size))
            self.register_buffer(f"v{i}", torch.zeros(size))

    def forward(self, g):
        names = range(self.count)
        p, m, v = ([getattr(self, f"{kind}{i}") for i in names] for kind in "pmv")
        grads = list(g.unbind(0))
        torch._foreach_lerp_(m, grads, 0.1)
        torch._foreach_mul_(v, 0.999)
        torch._foreach_addcmul_(v, grads, grads, 0.001)
        roots = torch._foreach_sqrt(v)
        torch._foreach_add_(roots, 1e-8)
        torch._foreach_addcdiv_(p, m, roots, -0.001)
        return p[0][:1].clone()


class AdamItem(Adam):
    """The same with a step that counts in a tensor, read as a number, as torch.optim's form that is not capturable."""

    def __init__(self, count, size):
        super().__init__(count, size)
        self.register_buffer("step", torch.tensor(0.0))

    def forward(self, g):
        names = range(self.count)
        p, m, v = ([getattr(self, f"{kind}{i}") for i in names] for kind in "pmv")
        grads = list(g.unbind(0))
        self.step.add_(1)
        rate = (0.001 / (0.9**self.step - 1)).item()
        scale = (1 - 0.999**self.step).sqrt().item()
        torch._foreach_lerp_(m, grads, 0.1)
        torch._foreach_mul_(v, 0.999)
        torch._foreach_addcmul_(v, grads, grads, 0.001)
        roots = torch._foreach_sqrt(v)
        torch._foreach_div_(roots, scale)
        torch._foreach_add_(roots, 1e-8)
        torch._foreach_addcdiv_(p, m, roots, rate)
        return p[0][:1].clone()


program("adam50item_1e3")(lambda: (AdamItem(50, 10**3), dict(g=torch.randn(50, 10**3))))
for _exponent in (3, 5):
    program(f"adam50_1e{_exponent}")(lambda n=10**_exponent: (Adam(50, n), dict(g=torch.randn(50, n))))


@program("batchnorm_train")
def _():
    return nn.BatchNorm2d(64).train(), dict(input=torch.randn(8, 64, 56, 56))


# --- Moving, indexing, products -------------------------------------------------------------------

@program("cat_stack")
def _():
    return (module(lambda self, a, b: torch.stack([torch.cat([a, b], 1), torch.cat([b, a], 1)])),
            dict(a=torch.randn(256, 512), b=torch.randn(256, 512)))


class Gather(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20000, 256)

    def forward(self, ids, rows):
        x = self.table(ids)
        return x[rows] + x.index_select(0, rows)


@program("embed_gather")
def _():
    return Gather().eval(), dict(ids=torch.randint(20000, (4096,)), rows=torch.randint(4096, (4096,)))


@program("index_put_acc")
def _():
    return (module(lambda self, x, i, v: x.clone().index_put_((i,), v, accumulate=True)),
            dict(x=torch.randn(4096, 64), i=torch.randint(4096, (8192,)), v=torch.randn(8192, 64)))


for _n in (64, 512, 1024):
    program(f"matmul_{_n}")(lambda n=_n: (module(lambda self, a, b: a @ b),
                                          dict(a=torch.randn(n, n), b=torch.randn(n, n))))


@program("conv3x3_64x56")
def _():
    return nn.Conv2d(64, 64, 3, padding=1).eval(), dict(input=torch.randn(1, 64, 56, 56))


@program("conv3x3_256x14")
def _():
    return nn.Conv2d(256, 256, 3, padding=1).eval(), dict(input=torch.randn(1, 256, 14, 14))


@program("sdpa_512")
def _():
    q, k, v = (torch.randn(1, 8, 512, 64) for _ in range(3))
    return (module(lambda self, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
            dict(q=q, k=k, v=v))


# --- Models at real sizes -------------------------------------------------------------------------

def resnet18(batch):
    import torchvision
    return torchvision.models.resnet18(weights=None).eval(), dict(x=torch.randn(batch, 3, 224, 224))


program("resnet18_b1")(lambda: resnet18(1))
program("resnet18_b4")(lambda: resnet18(4))


@program("mobilenet_v2_train_b4")
def _():
    import torchvision
    model = torchvision.models.mobilenet_v2(weights=None, dropout=0.0).train()
    return model, dict(x=torch.randn(4, 3, 224, 224))


@program("vit_tiny_b1")
def _():
    import timm
    return timm.create_model("vit_tiny_patch16_224", pretrained=False).eval(), dict(x=torch.randn(1, 3, 224, 224))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        from transformers import BertConfig, BertModel
        self.bert = BertModel(BertConfig(vocab_size=8000, hidden_size=256, num_hidden_layers=4,
                                         num_attention_heads=4, intermediate_size=1024))

    def forward(self, ids):
        return self.bert(input_ids=ids).last_hidden_state


@program("bert_small")
def _():
    return Bert().eval(), dict(ids=torch.randint(8000, (1, 128)))


class Block(nn.Module):
    def __init__(self, dim, heads, hidden, length):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(dim, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, dim, bias=False)
        self.norm1, self.norm2 = (nn.Parameter(torch.ones(dim)) for _ in range(2))
        shape = (1, heads, length, dim // heads)
        self.register_buffer("kc", torch.zeros(shape))
        self.register_buffer("vc", torch.zeros(shape))

    def split(self, x):
        return x.view(1, x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, cos, sin, pos, mask):
        h = rmsnorm(self, x, self.norm1)
        q, k, v = self.split(self.q(h)), self.split(self.k(h)), self.split(self.v(h))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        self.kc.index_copy_(2, pos, k)
        self.vc.index_copy_(2, pos, v)
        a = F.scaled_dot_product_attention(q, self.kc, self.vc, attn_mask=mask)
        x = x + self.o(a.transpose(1, 2).reshape(1, x.shape[1], -1))
        h = rmsnorm(self, x, self.norm2)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Llama(nn.Module):
    """A llama with a static cache: 42 million weights as llama(1, 1024)."""

    def __init__(self, length, dim=512, heads=8, hidden=1376, layers=8, words=16384):
        super().__init__()
        self.table, self.head = nn.Embedding(words, dim), nn.Linear(dim, words, bias=False)
        self.blocks = nn.ModuleList(Block(dim, heads, hidden, length) for _ in range(layers))
        self.norm = nn.Parameter(torch.ones(dim))
        angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(0, dim // heads, 2) / (dim // heads))
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1))
        self.register_buffer("places", torch.arange(length))

    def forward(self, ids, pos):
        x, mask = self.table(ids), self.places[None, :] <= pos[:, None]
        cos, sin = self.cos[pos], self.sin[pos]
        for block in self.blocks:
            x = block(x, cos, sin, pos, mask)
        return self.head(rmsnorm(self, x, self.norm)[:, -1:])


def llama(tokens, length):
    return (Llama(length).eval(),
            dict(ids=torch.randint(16384, (1, tokens)), pos=torch.arange(tokens) + (17 if tokens == 1 else 0)))


program("llama_decode1")(lambda: llama(1, 1024))
program("llama_prefill64")(lambda: llama(64, 1024))


class LstmLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(128, 256)

    def forward(self, x, h, c):
        for i in range(50):
            h, c = self.cell(x[i], (h, c))
        return h


@program("lstm_loop50")
def _():
    return LstmLoop().eval(), dict(x=torch.randn(50, 4, 128), h=torch.zeros(4, 256), c=torch.zeros(4, 256))


# --- Beyond the 54: a decode step's cache at several sizes, and a long optimizer step --------------

for _length in (16, 256, 4096, 16384):
    def _cache(length=_length):
        shape = (1, 8, length, 64)
        forward = lambda self, k, pos: self.kc.index_copy_(2, pos, k)[:, :, :1].clone()
        return module(forward, kc=torch.zeros(shape)), dict(k=torch.randn(1, 8, 1, 64), pos=torch.tensor([7]))
    program(f"cache_{_length}")(_cache)

program("adam200_1e4")(lambda: (Adam(200, 10**4), dict(g=torch.randn(200, 10**4))))


def make(name):
    """Module and inputs, with the same numbers each time."""
    torch.manual_seed(0)
    return PROGRAMS[name]()


def write(name, folder):
    from safetensors.torch import save_file
    path = os.path.join(folder, name)
    if os.path.exists(os.path.join(path, "inputs.safetensors")):
        return
    os.makedirs(path, exist_ok=True)
    model, inputs = make(name)
    with torch.no_grad():
        exported = torch.export.export(model, (), kwargs=inputs, strict=False)
    torch.export.save(exported, os.path.join(path, "program.pt2"))
    save_file({k: v.contiguous() for k, v in inputs.items()}, os.path.join(path, "inputs.safetensors"))


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(PROGRAMS)
    for name in names:
        print(name, flush=True)
        write(name, folder)


if __name__ == "__main__":
    main()
