"""Makes fixtures/state: programs that keep one tensor under two names, as PyTorch exports them. For developers.

    python scripts/make_state_fixtures.py fixtures/state

static_cache.pt2 decodes a token over transformers' StaticCache, whose tensors are buffers of the module too, as
transformers.integrations.executorch registers them; optimizer_step.pt2 is a step of torch.optim.SGD, whose tensors are
buffers too, adam_step.pt2 one of Adam and nadam_step.pt2 one of NAdam, which read numbers off tensors where no
gradients are recorded. windows.pt2 has buffers that are windows of one memory. In all others, the export lists each
tensor twice: as a buffer that no node uses, and as a constant that is written. NAME.steps.safetensors has, for each of
four calls in a row, its inputs (K.input.NAME), and what eager PyTorch makes of it (K.output.0, and K.buffer.NAME for
both names). For Adam and NAdam the results are of the exported program: traced, they compute in float32 what they
otherwise leave to Python. Needs torch, transformers and safetensors.
"""
import os
import sys

import torch
from safetensors.torch import save_file

TRACED = ("adam_step", "nadam_step")
SOURCE = '''
import torch

class Decode(torch.nn.Module):
    def __init__(self, config, cache):
        super().__init__()
        self.qkv = torch.nn.Parameter(torch.randn(12, 4) / 2)
        self.cache = cache
        for i, layer in enumerate(cache.layers):
            self.register_buffer(f"key_cache_{i}", layer.keys, persistent=False)
            self.register_buffer(f"value_cache_{i}", layer.values, persistent=False)
            self.register_buffer(f"cumulative_length_{i}", layer.cumulative_length, persistent=False)

    def forward(self, x):
        q, k, v = torch.nn.functional.linear(x, self.qkv).unsqueeze(1).chunk(3, -1)
        k, v = self.cache.update(k, v, 0)
        mask = torch.arange(6) < self.cumulative_length_0
        weights = (q @ k.transpose(-1, -2)).masked_fill(~mask, float("-inf")).softmax(-1)
        return (weights @ v).squeeze(1)

class Step(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = [torch.nn.Parameter(torch.randn(2, 2))]
        self.optimizer = torch.optim.SGD(self.weights, lr=0.5, momentum=0.5)
        self.weights[0].grad = torch.ones(2, 2)
        self.optimizer.step()
        self.register_buffer("weight", self.weights[0].detach(), persistent=False)
        momentum = self.optimizer.state[self.weights[0]]["momentum_buffer"]
        self.register_buffer("momentum", momentum, persistent=False)

    def forward(self, grad):
        with torch.no_grad():
            self.weights[0].grad.copy_(grad)
            self.optimizer.step()
            return self.weight * 2

class StateStep(torch.nn.Module):
    def __init__(self, optimizer):
        super().__init__()
        self.weights = [torch.nn.Parameter(torch.randn(2, 2))]
        self.optimizer = optimizer(self.weights, lr=0.5)
        self.weights[0].grad = torch.ones(2, 2)
        self.optimizer.step()
        self.register_buffer("weight", self.weights[0].detach(), persistent=False)
        for name, tensor in self.optimizer.state[self.weights[0]].items():
            self.register_buffer(name, tensor, persistent=False)

    def forward(self, grad):
        with torch.no_grad():
            self.weights[0].grad.copy_(grad)
            self.optimizer.step()
            return self.weight * 2

class Windows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        memory = torch.arange(8.0)
        self.register_buffer("whole", memory, persistent=False)
        self.register_buffer("part", memory[2:5], persistent=False)
        self.register_buffer("odd", memory[1::2], persistent=False)
        self.register_buffer("matrix", memory.view(2, 4), persistent=False)

    def forward(self, x):
        self.part.add_(x)
        self.matrix.t()[3].mul_(2)
        return self.whole + self.odd.sum()
'''


def models():
    from transformers import LlamaConfig, StaticCache
    names = {}
    exec(compile(SOURCE, "model.py", "exec"), names)
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=16, hidden_size=4, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
                         num_key_value_heads=1, head_dim=4, max_position_embeddings=6)
    cache = StaticCache(config, max_cache_len=6)
    cache.early_initialization(1, 1, 4, torch.float32, torch.device("cpu"))
    yield "static_cache", "x", names["Decode"](config, cache), [torch.randn(1, 1, 4) for _ in range(4)]
    yield "windows", "x", names["Windows"](), [torch.randn(3) for _ in range(4)]
    yield "optimizer_step", "grad", names["Step"](), [torch.randn(2, 2) for _ in range(4)]
    for name, optimizer in (("adam_step", torch.optim.Adam), ("nadam_step", torch.optim.NAdam)):
        yield name, "grad", names["StateStep"](optimizer), [torch.randn(2, 2) for _ in range(4)]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    for name, argument, model, inputs in models():
        program = torch.export.export(model.eval(), (inputs[0],), strict=False)
        torch.export.save(program, os.path.join(folder, name + ".pt2"))
        steps, call = {}, program.module() if name in TRACED else model
        for k, value in enumerate(inputs):
            steps[f"{k}.input.{argument}"] = value
            steps[f"{k}.output.0"] = call(value).detach().clone()
            for n, tensor in program.constants.items():  # the model's own tensors
                steps[f"{k}.buffer.{n}"] = tensor.detach().clone()
        save_file(steps, os.path.join(folder, name + ".steps.safetensors"))


if __name__ == "__main__":
    main()
