"""Makes fixtures/vmap: programs that call torch.vmap, as PyTorch exports them. For developers.

    python scripts/make_vmap_fixtures.py fixtures/vmap

NAME.pt2 is a program, NAME.inputs.safetensors its inputs by graph name, NAME.expected.safetensors
what eager PyTorch makes of them: outputs, and the inputs afterwards. Needs torch and safetensors.
"""
import os
import sys

import torch
from safetensors.torch import save_file
from torch import vmap


def mask(padding):
    """The mask of an attention layer, made from rules for single places, four regions deep."""
    places = torch.arange(2), torch.arange(1), torch.arange(5), torch.arange(5)

    def rule(b, h, q, k):
        result = q.new_ones((), dtype=torch.bool)
        return result & (k <= q) & padding[b, k] & (k > q - 3)

    for at in range(3, -1, -1):
        rule = vmap(rule, in_dims=tuple(0 if i == at else None for i in range(4)))
    return rule(*places)


def writes(x):
    def each(a):
        a = a.clone()
        a[0] = 1.0
        a[1:].add_(a[0])
        a.t().mul_(2)
        return a

    return vmap(each)(x)


def writes_base(x):
    def each(a):
        a.add_(1)
        a[0].mul_(3)
        return a.sum()

    return vmap(each, in_dims=1)(x), x * 2


def places(x, i, values):
    def each(a, j, v):
        return a.index_put((j,), v), a[:, j], x[j - j]

    return vmap(each)(x, i, values)


def products(x, y, z):
    def each(a):
        return vmap(lambda b: torch.dot(a[0], b), in_dims=1)(z), a @ z, torch.einsum("ij,kj->ik", a, y)

    return vmap(each)(x)


def shapes(x, factor):
    def each(a, f):
        return (a * f, a.reshape(-1)[1:], a.softmax(0), a.sum(), a.std(), a.argmax(), a.amax(0),
                torch.stack([a, a.flip(0)], 1), a.unsqueeze(-1).expand(4, 5, 2), a.t().unbind(1))

    return vmap(each)(x, factor)


def cases():
    torch.manual_seed(0)
    r = torch.randn
    yield mask, torch.tensor([[1, 1, 0, 1, 1], [1, 0, 1, 1, 0]]).bool()
    yield writes, r(3, 4, 5)
    yield writes_base, r(3, 4)
    yield places, r(3, 6, 6), torch.tensor([[0, 1], [2, 3], [4, 5]]), r(3, 2, 6)
    yield products, r(3, 4, 5), r(2, 5), r(5, 2)
    yield shapes, r(3, 4, 5), r(3).double()


class Call(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


def save(f, args, folder):
    program = torch.export.export(Call(f), tuple(a.clone() for a in args))
    for node in program.graph.nodes:
        for key in ("stack_trace", "from_node", "nn_module_stack", "torch_fn", "custom"):
            node.meta.pop(key, None)
    path = os.path.join(folder, f.__name__)
    torch.export.save(program, path + ".pt2")
    names = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    save_file({n: a.clone() for n, a in zip(names, args)}, path + ".inputs.safetensors")
    given = [a.clone() for a in args]
    results = torch.utils._pytree.tree_leaves(f(*given))
    expected = {f"output.{k}": t.contiguous().clone() for k, t in enumerate(results)}
    expected |= {f"input.{n}": a for n, a in zip(names, given)}
    save_file(expected, path + ".expected.safetensors")


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for f, *args in cases():
        save(f, args, folder)


main(sys.argv[1])
