"""Modules of PyTorch that write, view, keep state and return structures, each with arguments of one call."""

from __future__ import annotations

import collections
from dataclasses import dataclass

import torch
from torch.export import Dim

Pair = collections.namedtuple("Pair", "first second")


@dataclass
class Result:
    value: torch.Tensor
    rest: list


torch.export.register_dataclass(Result, serialized_type_name="fnz.tests.Result")
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="fnz.tests.Pair")


@dataclass
class Case:
    name: str
    module: torch.nn.Module
    args: tuple
    kwargs: dict
    dynamic: object = None


CASES: list = []


def case(*args, dynamic=None, train=False, **kwargs):
    """Adds the class, made without arguments, as a case."""
    def add(kind):
        torch.manual_seed(0)
        CASES.append(Case(kind.__name__, kind().train(train), args, kwargs, dynamic))
        return kind
    return add


def x(*sizes):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(len(sizes)))


class Base(torch.nn.Module):
    def __init__(self, **buffers):
        super().__init__()
        for name, value in buffers.items():
            self.register_buffer(name, value)


@case(x(3, 4))
class WritesAView(Base):
    def forward(self, x):
        y = x.clone()
        y[0].add_(1)
        y.t()[1] = 0
        return y


@case(x(2, 8))
class WritesAnInput(Base):
    def forward(self, x):
        x.mul_(2)
        return x + 1


@case(x(4))
class Counts(Base):
    def __init__(self):
        super().__init__(calls=torch.zeros(1), cache=torch.zeros(3, 4))

    def forward(self, x):
        self.calls.add_(1)
        self.cache[1] = x
        return self.cache.sum(0) * self.calls


@case(x(8, 4), train=True)
class NormInTraining(Base):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


@case(x(2, 4), scale=x(4), shift=3)
class Named(Base):
    def forward(self, x, *, scale, shift):
        return {"y": x * scale + shift, "of": (x.sum(), None, 7)}


@case({"a": x(3), "b": [x(3), (x(3),)]})
class Nested(Base):
    def forward(self, tree):
        tree["b"][0].add_(tree["a"])
        return [tree["b"][1][0] * 2, {"z": tree["a"] - 1, "a": tree["b"][0]}]


@case(x(5))
class NamedTuple(Base):
    def forward(self, x):
        return Pair(x.relu_(), x.sum())


@case(x(5))
class DataClass(Base):
    def forward(self, x):
        return Result(x.exp(), [x.neg(), 1])


@case(x(6, 4), dynamic=({0: Dim("rows", min=2, max=64)},))
class DynamicRows(Base):
    def forward(self, x):
        y = x.view(-1).clone()
        y[: x.shape[0]].zero_()
        return y.view(x.shape), x.shape[0]


@case(x(4, 4), torch.tensor(2), dynamic=({0: Dim("b", min=2, max=16)}, None))
class DynamicCache(Base):
    def __init__(self):
        super().__init__(cache=torch.zeros(16, 4))

    def forward(self, x, at):
        self.cache[: x.shape[0]].copy_(x)
        return self.cache.index_select(0, at.view(1))


@case(x(4))
class NotPersistent(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.full((4,), 2.0), persistent=False)
        self.constant = torch.arange(4.0)

    def forward(self, x):
        return x.sub_(self.constant) * self.scale


@case(x(3, 3))
class Tied(Base):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x).relu_())


@case(x(2, 3, 4, 4))
class ChannelsLast(Base):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x):
        return self.conv(x.to(memory_format=torch.channels_last)).add_(1)


@case(x(4, 4), torch.tensor([0, 2]))
class IndexPut(Base):
    def forward(self, x, at):
        x[at] = x[at] + 1
        return x.index_add_(0, at, x[:2].clone())


@case(x(3, 4).to(torch.bfloat16))
class BFloat16(Base):
    def forward(self, x):
        return x.add_(1).softmax(-1)


@case(torch.arange(12).view(3, 4))
class Integers(Base):
    def forward(self, x):
        y = x.unbind(1)
        y[0].mul_(3)
        return y[0] // 2, x


@case(x(4), torch.tensor(True))
class Chooses(Base):
    def forward(self, x, flag):
        return torch.cond(flag, lambda x: x + 1, lambda x: x * 2, (x,))


@case(x(1, 4, 8))
class Attention(Base):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


@case(x(3, 1, 4))
class Recurrent(Base):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(4, 4)

    def forward(self, x):
        h, c, out = torch.zeros(1, 4), torch.zeros(1, 4), torch.zeros(3, 1, 4)
        for i in range(3):
            h, c = self.cell(x[i], (h, c))
            out[i].copy_(h)
        return out


@case(x(2, 3).to(torch.complex64))
class Complex(Base):
    def forward(self, x):
        torch.view_as_real(x).add_(1)
        return x.conj().imag + 1


def bigger_cases():
    """Models of torchvision and transformers, if these are installed."""
    found = []
    try:
        import torchvision
        for name in ("resnet18", "mobilenet_v3_small"):
            found.append(Case(name, getattr(torchvision.models, name)().eval(), (x(1, 3, 64, 64),), {}))
    except ImportError:
        pass
    try:
        import transformers as t
    except ImportError:
        return found
    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=50)
    ids = torch.arange(12).view(1, 12)
    found.append(Case("bert", t.BertModel(t.BertConfig(**sizes)).eval(), (ids,), {}))
    found.append(Case("gpt2", t.GPT2LMHeadModel(t.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=50)).eval(), (ids,),
                      {"use_cache": False}))
    llama = t.LlamaForCausalLM(t.LlamaConfig(**sizes, num_key_value_heads=2, max_position_embeddings=32)).eval()
    llama.requires_grad_(False)
    found.append(Case("llama", llama, (ids,), {"use_cache": False}))
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache
    llama.generation_config = t.GenerationConfig(use_cache=True, cache_implementation="static", max_length=16,
                                                 cache_config={"batch_size": 1, "max_cache_len": 16, "device": "cpu"})
    cached = TorchExportableModuleWithStaticCache(llama, batch_size=1, max_cache_len=16, device=torch.device("cpu"))
    found.append(Case("llama_static_cache", cached, (), {"input_ids": ids[:, 3:4].clone(), "cache_position": torch.tensor([0])}))
    return found
