"""Makes fixtures/methods: programs over one state, as PyTorch exports them. For developers.

    python scripts/make_methods_fixtures.py fixtures/methods

prefill.pt2 takes four tokens at once, decode.pt2 one, and look.pt2 reads the cache of both and writes nothing. Each is an
export of one module, a decoder of one layer whose cache and position are buffers; decode.pt2 calls its embedding
"words". steps.safetensors has what eager PyTorch gives for one prefill and four calls of decode on the same state, call
by call: K.input.tokens, K.output.0; then look's input and output, and the buffers in the end. Needs torch and safetensors.
"""
import os
import sys

import torch
from safetensors.torch import save_file

SOURCE = '''
import torch
from torch.nn.functional import linear

class Decoder(torch.nn.Module):
    def __init__(self, name="embedding"):
        super().__init__()
        self.register_parameter(name, torch.nn.Parameter(torch.randn(16, 8)))
        self.qkv = torch.nn.Parameter(torch.randn(24, 8) / 3)
        self.register_buffer("keys", torch.zeros(10, 8))
        self.register_buffer("values", torch.zeros(10, 8))
        self.register_buffer("position", torch.zeros((), dtype=torch.int64))
        self.name = name

    def forward(self, tokens):
        table = getattr(self, self.name)
        x = table[tokens]
        q, k, v = linear(x, self.qkv).chunk(3, -1)
        at = self.position + torch.arange(tokens.shape[0])
        self.keys.index_copy_(0, at, k)
        self.values.index_copy_(0, at, v)
        self.position.add_(tokens.shape[0])
        mask = torch.arange(10) <= at.unsqueeze(1)
        weights = (q @ self.keys.t()).masked_fill(~mask, float("-inf")).softmax(-1)
        return linear(x + weights @ self.values, table)

class Look(Decoder):
    def forward(self, scale):
        return (self.keys * scale).sum(0) + self.position
'''


def main():
    folder, names = sys.argv[1], {}
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    exec(compile(SOURCE, "model.py", "exec"), names)

    def model(kind, *name):
        torch.manual_seed(0)
        return names[kind](*name).eval()

    prompt, scale = torch.tensor([3, 1, 4, 1]), torch.full((8,), 0.5)
    for name, module, given in (("prefill", model("Decoder"), prompt), ("decode", model("Decoder", "words"), prompt[:1]),
                                ("look", model("Look"), scale)):
        torch.export.save(torch.export.export(module, (given,), strict=False), os.path.join(folder, name + ".pt2"))
    decoder, look, steps, tokens = model("Decoder"), model("Look"), {}, prompt
    for k in range(5):
        logits = decoder(tokens)
        steps[f"{k}.input.tokens"], steps[f"{k}.output.0"] = tokens, logits.detach().clone()
        tokens = logits[-1:].argmax(-1)
    look.load_state_dict(decoder.state_dict())
    steps["look.input.scale"], steps["look.output.0"] = scale, look(scale)
    steps.update({f"buffer.{name}": tensor.clone() for name, tensor in decoder.named_buffers()})
    save_file(steps, os.path.join(folder, "steps.safetensors"))


main()
