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


def axes(x, y):
    def each(a, v):
        return (a.permute(1, 0), a.unsqueeze(0).squeeze(), v.t(), a.t(), a.roll(1, 1), a.roll((1, 2), (0, -1)),
                v.expand(2, 5), a.repeat(2, 1, 1), a.diagonal(), a.tril(), a.cumsum(0), a.sum(0, keepdim=True),
                a.max(), a.max(1)[0], a.flatten(), a.chunk(2), a.new_full((2,), 1.5), torch.zeros_like(a),
                a.sum((0, 1)), a.pow(2), 2.0 - a, a > 0.5, a.topk(2)[0], torch.nn.functional.layer_norm(a, (5,)))

    return vmap(each)(x, y)


def gathered(x, i, j, mask):
    def each(a, k):
        return (a[j], a[:, j], a[j, j], x[0][k], a[k, k], a[:, k, j], a.index_select(0, j), a.index_select(1, k),
                x[0].index_select(1, k), x[0][k, :, k], x[0][j, k], a.index_put((j,), a[:2]),
                a.index_put((k,), x[0][:2]), a.index_put((j, k), a[0][:2]), a[:, k[0]], a[k[:, None], j],
                torch.where(mask, a, a + 1), a.masked_fill(mask, 2.0), a.lerp(a + 1, 0.5), a * k[0], a[..., None])

    return vmap(each)(x, i)


def sums(x, w, b, z):
    def each(a, u):
        return (a @ a.t(), a @ w, w.t() @ a.t(), a.mv(u), torch.addmm(b, a, w), torch.mm(a, w), torch.dot(u, u),
                torch.bmm(z, a.expand(2, 3, 4).transpose(1, 2)), torch.nn.functional.linear(a, w.t()),
                torch.nn.functional.linear(a, w.t(), b), torch.nn.functional.linear(u, a),
                torch.einsum("ij,jk", a, w), torch.einsum("ii->i", a @ a.t()), torch.cat([a, a], 1), torch.stack([u, u]))

    return vmap(each)(x, x[:, 0])


def puts(x, i, j, v, u):
    """Writing at indices that the batch has one row of each, or that are the same for all of it."""
    def each(a, k, l, s):
        def written(at, value):
            b = a.clone()
            b[at] = value
            return b

        b, c, d = a.clone(), a.clone(), a.clone()
        b.index_add_(1, k, s, alpha=2)
        c.index_copy_(-1, j, s.transpose(1, 2))
        d.index_fill_(2, l, 3.0).index_fill_(0, j, s[0, 0, 0])
        return (b, c, d, a.index_add(0, k, u[:2]), a.index_add(2, j, s.transpose(1, 2)), a.index_copy(1, k, s),
                u.index_add(1, k, s), u.index_copy(0, j, s.transpose(0, 1)), a.index_fill(1, k, s[0, 0, 0].double()),
                u.index_fill(0, k[0], -1.0), written(k, 1.0), written(k, s.transpose(0, 1)),
                written((k, slice(None), l), s[0]), written((slice(None), k, l), 0.5), written((slice(None), k), s[0, 0, 0]),
                written((slice(None), j), s), u.index_put((k, l), s[0]))

    nested = vmap(lambda a, k: vmap(lambda b, w: b.index_add(0, k, w), in_dims=(1, None))(a, u[0, :2, 0]), in_dims=(0, 0))
    return vmap(each)(x, i, i.flip(0), v), nested(x[..., 0], i)


def fills(x, n, m, h):
    def each(a, value, where, half):
        b, c, d, e = a.clone(), a.clone(), torch.stack([a] * 4, -1), half.clone()
        b.fill_diagonal_(2.0)
        b[1] = value
        c.masked_fill_(where, value).t().fill_diagonal_(-1.0, True)
        d.fill_diagonal_(0.0)
        e.fill_(value)
        return (b, c, d, e, a.masked_fill(where[0], value), half[:2].masked_fill(where[:2, :2], value),
                value.masked_fill(where, value + 1), torch.fill(a, value), torch.fill(a, 2.0))

    return vmap(each)(x, n, m, h)


def more(x, i, u):
    def each(a, k):
        return (a.t().view_as(u), u.t().view_as(a), (a.t() + 0).reshape_as(a), a[0].expand_as(u.t()), u[:, 0].expand_as(a),
                a.tile(2), a.tile(2, 1, 1), a[0].roll(2), torch.nn.functional.pad(a, (1, 1)),
                a.repeat_interleave(2), a.repeat_interleave(2, 1), a.take_along_dim(k, 1), a.take_along_dim(k[:, :1], 0),
                a.scatter_reduce(1, k, a, "amax"), torch.searchsorted(u[0], a), torch.searchsorted(a.sort()[0], a),
                torch.broadcast_tensors(a, a[0, 0], u[:, 0]), torch.aminmax(a), torch.count_nonzero(k), a.std(unbiased=False),
                torch.var_mean(a, dim=1), a[0].diag_embed(), a.diagonal_scatter(u[0]), torch.concat([a, u.t()]),
                torch.isin(k, k.new_tensor([1])), a.tensor_split((1, 3), 1), torch.isclose(a, a[0]))

    return vmap(each)(x, i)


def outer(a, b):
    def each(x, y):
        return torch.outer(x, y), torch.outer(y, a[0]), x.ger(b[1])

    return vmap(each)(a, b), vmap(vmap(torch.outer), in_dims=(None, 0))(a, b[:, :, None].expand(3, 5, 2).reshape(3, 5, 2)[:, :3])


def cases():
    torch.manual_seed(0)
    r = torch.randn
    yield mask, torch.tensor([[1, 1, 0, 1, 1], [1, 0, 1, 1, 0]]).bool()
    yield writes, r(3, 4, 5)
    yield writes_base, r(3, 4)
    yield places, r(3, 6, 6), torch.tensor([[0, 1], [2, 3], [4, 5]]), r(3, 2, 6)
    yield products, r(3, 4, 5), r(2, 5), r(5, 2)
    yield shapes, r(3, 4, 5), r(3).double()
    yield axes, r(3, 4, 5), r(3, 5)
    yield gathered, r(3, 4, 4, 4), torch.tensor([[0, 1], [2, 3], [1, 1]]), torch.tensor([0, 2]), r(4, 4, 4) > 0
    yield sums, r(2, 3, 4), r(4, 5), r(5), r(2, 3, 4)
    yield (puts, r(3, 4, 4, 4), torch.tensor([[0, 1], [2, 3], [1, 0]]), torch.tensor([0, 2]), r(3, 4, 2, 4), r(4, 4, 4))
    yield fills, r(3, 4, 4), r(3), r(3, 4, 4) > 0, r(3, 2).half()
    yield outer, r(3, 4), r(3, 5)
    yield more, r(3, 4, 5), torch.randint(0, 4, (3, 4, 5)), r(5, 4)


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
