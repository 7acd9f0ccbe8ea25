#!/usr/bin/env python3
"""Writes fixtures/collectives/ranks/: programs of collectives with the inputs and results of each of 2 and of 4
processes, by PyTorch over gloo. For developers; needs PyTorch.

    scripts/make_collectives_fixtures.py fixtures/collectives/ranks

N.fnz has every operator, all reductions and element types, in place, of lists and into `out`; N.safetensors what rank R gives
("R.x") and gets ("R.output.0"). tp.R.pt2 is rank R's program of two linear layers, the first one split by columns, the second
one by rows, as torch.export writes it; tp.safetensors has its input, tp.want the result, which is that of the layers in one piece.

All numbers are small whole ones, so that sums are exact in any order. Cases that gloo lacks are left out: i16, and a
mean of integers."""

import json
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives  # defines c10d_functional
import torch.multiprocessing as mp

NAMES = {torch.bool: ("bool", "BOOL"), torch.uint8: ("u8", "U8"), torch.int8: ("i8", "I8"), torch.int32: ("i32", "I32"),
         torch.int64: ("i64", "I64"), torch.float16: ("f16", "F16"), torch.bfloat16: ("bf16", "BF16"),
         torch.float32: ("f32", "F32"), torch.float64: ("f64", "F64"), torch.complex64: ("c64", "C64")}
REAL = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
WHOLE = [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64]


def raw(t):
    return bytes(t.contiguous().flatten().view(torch.uint8).tolist()) if t.numel() else b""


def save(path, tensors):
    """As safetensors, which has no C64 in its own library."""
    head, data = {}, b""
    for name, t in tensors.items():
        values = raw(t.to(torch.uint8) != 0) if t.dtype == torch.bool else raw(t)
        head[name] = {"dtype": NAMES[t.dtype][1], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def typed(name, t):
    stride = f" stride({','.join(map(str, t.stride()))})" if not t.is_contiguous() else ""
    return f"%{name}: {NAMES[t.dtype][0]}[{','.join(map(str, t.shape))}]{stride}"


class Recorder:
    """Runs calls in this process, and writes them down."""

    def __init__(self, rank, count):
        self.rank, self.count = rank, count
        self.inputs, self.lines, self.outputs, self.changed = {}, [], [], []

    def input(self, t, changes=False):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = (t.clone(), t)
        if changes:
            self.changed.append((name, t))
        return name, t

    def node(self, op, values, *rest, out=None):
        """values: (name, tensor), or a list of them. Its results, waited for."""
        many = isinstance(values, list)
        namespace, name = op.split("::")
        given = [v for _, v in values] if many else values[1]
        made = getattr(getattr(torch.ops, namespace), name)(given, *rest, **({"out": out[1]} if out else {}))
        said = "[" + ", ".join("%" + n for n, _ in values) + "]" if many else "%" + values[0]
        words = ", ".join([said] + [json.dumps(r) if isinstance(r, str) else str(r) for r in rest] + ([f"out=%{out[0]}"] if out else []))
        results = [(f"v{len(self.lines)}_{k}", t) for k, t in enumerate(made if isinstance(made, list) else [made])]
        types = ", ".join(typed(*r) for r in results)
        self.lines.append(f"  {'[' + types + ']' if many else types} = {op}({words})")
        return results if many else results[0]

    def wait(self, value, namespace="_c10d_functional"):
        value = self.node(f"{namespace}::wait_tensor", value)
        self.outputs.append((value[0], value[1].clone()))

    def copy(self, value):
        made = f"c{len(self.lines)}", value[1].clone()
        self.lines.append(f"  {typed(*made)} = clone(%{value[0]})")
        return made

    def text(self):
        inputs = ",\n".join("  " + typed(n, t) for n, (t, _) in self.inputs.items())
        return f"fnz 1\nprogram(\n{inputs})\n{{\n" + "\n".join(self.lines) + "\n  return " + \
               ",\n      ".join("%" + n for n, _ in self.outputs) + "\n}\n"

    def arrays(self):
        had = {f"{self.rank}.{n}": before for n, (before, _) in self.inputs.items()}
        got = {f"{self.rank}.output.{k}": t for k, (_, t) in enumerate(self.outputs)}
        return {**had, **got, **{f"{self.rank}.input.{n}": t for n, t in self.changed}}


def reductions(r, name):
    for dtype in REAL + WHOLE + [torch.complex64]:
        x = r.input((torch.arange(6).reshape(2, 3) % 4 - 1 + r.rank % 3).to(dtype))
        words = ["sum"] + ([] if dtype == torch.complex64 else ["product", "min", "max"])
        for word in words + ([] if dtype in REAL + [torch.complex64] else ["band", "bor", "bxor"]) + (["avg"] if dtype not in WHOLE else []):
            r.wait(r.node("_c10d_functional::all_reduce", x, word, name))


def operators(r, name):
    n, ns = r.count, "_c10d_functional::"
    x = r.input((torch.arange(12.0) + 100 * r.rank).reshape(4, 3))
    for dtype in REAL + WHOLE:
        some = r.input(((torch.arange(12) + 3 * r.rank) % 5).reshape(4, 3).to(dtype))
        r.wait(r.node(ns + "all_gather_into_tensor", some, n, name))
        r.wait(r.node(ns + "reduce_scatter_tensor", some, "sum", n, name))
        r.wait(r.node(ns + "all_to_all_single", some, [4 // n] * n, [4 // n] * n, name))
        r.wait(r.node(ns + "broadcast", some, 1, name))
    r.wait(r.node(ns + "reduce_scatter_tensor", x, "max", n, name))
    r.wait(r.node(ns + "reduce_scatter_tensor", x, "avg", n, name))
    r.lines.append(f"  {typed('turned', x[1].t())} = transpose.int(%{x[0]}, 0, 1)")
    r.wait(r.node(ns + "all_reduce", ("turned", x[1].t()), "sum", name))
    row = r.input(x[1][1].clone())
    for v in r.node(ns + "all_reduce_coalesced", [x, row], "sum", name):
        r.wait(v)
    for v in r.node(ns + "all_gather_into_tensor_coalesced", [x, row], n, name):
        r.wait(v)
    for v in r.node(ns + "reduce_scatter_tensor_coalesced", [x, x], "sum", n, name):
        r.wait(v)
    both = [r.node(ns + "all_reduce", x, "sum", name), r.node(ns + "broadcast", x, 0, name)]
    r.outputs += [(w, t.clone()) for w, t in r.node(ns + "wait_tensors", both)]
    for op, rest in (("all_gather_into_tensor", (n, name)), ("reduce_scatter_tensor", ("sum", n, name)),
                     ("all_to_all_single", ([4 // n] * n, [4 // n] * n, name))):
        r.wait(r.node("_c10d_functional_autograd::" + op, x, *rest))
    ranks, tagged = list(range(n)), "c10d_functional"
    for op, rest in (("all_gather_into_tensor", ()), ("all_reduce", ("sum",)), ("reduce_scatter_tensor", ("sum",)),
                     ("broadcast", (1,)), ("all_to_all_single", (None, None))):
        r.wait(r.node(f"{tagged}::{op}", x, *rest, "", ranks, n), tagged)
    for op, rest in (("all_gather_into_tensor_coalesced", ()), ("all_reduce_coalesced", ("sum",)),
                     ("reduce_scatter_tensor_coalesced", ("sum",))):
        for v in r.node(f"{tagged}::{op}", [x, x], *rest, "", ranks, n):
            r.wait(v, tagged)


def written(r, name):
    """In place and into `out`, some of it into inputs."""
    n, ns = r.count, "_c10d_functional::"
    x = r.input((torch.arange(12.0) - 7 * r.rank).reshape(4, 3))
    r.wait(r.node(ns + "all_reduce_", r.copy(x), "sum", name))
    r.wait(r.node(ns + "broadcast_", r.copy(x), 1, name))
    y = r.input(torch.full((2, 2), float(r.rank + 1)), changes=True)
    r.wait(r.node(ns + "all_reduce_", y, "product", name))
    for v in r.node(ns + "all_reduce_coalesced_", [r.copy(x), r.copy(y)], "max", name):
        r.wait(v)
    r.wait(r.node(ns + "all_gather_into_tensor_out", x, n, name, out=r.input(torch.zeros(4 * n, 3), changes=True)))
    r.wait(r.node(ns + "reduce_scatter_tensor_out", x, "sum", n, name, out=r.input(torch.zeros(4 // n, 3), changes=True)))


class Layers(torch.nn.Module):
    def __init__(self, rank, count):
        super().__init__()
        g = torch.Generator().manual_seed(5)
        self.whole = [torch.randint(-3, 4, s, generator=g).float() for s in ((8, 4), (3, 8))]
        self.first = torch.nn.Parameter(self.whole[0].chunk(count, 0)[rank].clone())
        self.second = torch.nn.Parameter(self.whole[1].chunk(count, 1)[rank].clone())

    def forward(self, x):
        y = torch.relu(torch.nn.functional.linear(x, self.first))
        y = torch.nn.functional.linear(y, self.second)
        return torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_reduce(y, "sum", "0"))


Layers.forward.__code__ = Layers.forward.__code__.replace(co_filename="layers.py")  # as files say where a node comes from


def layers(rank, count, folder):
    model, x = Layers(rank, count), torch.arange(8.0).reshape(2, 4) - 3
    torch.export.save(torch.export.export(model, (x,)), os.path.join(folder, f"tp.{rank}.pt2"))
    want = torch.relu(x @ model.whole[0].t()) @ model.whole[1].t()
    assert torch.equal(model(x), want)
    if rank == 0:
        save(os.path.join(folder, "tp.safetensors"), {"x": x})
        with open(os.path.join(folder, "tp.want"), "w") as f:
            f.write(", ".join(f"{v:g}" for v in want.flatten().tolist()) + "\n")


def work(rank, count, store, folder, got):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=count)
    r, name = Recorder(rank, count), dist.group.WORLD.group_name
    with torch.no_grad():
        reductions(r, name)
        operators(r, name)
        written(r, name)
        if count == 2:
            layers(rank, count, folder)
    torch.save((r.text(), r.arrays()), f"{got}.{rank}")
    dist.barrier()


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    for count in (2, 4):
        with tempfile.TemporaryDirectory() as scratch:
            got = os.path.join(scratch, "got")
            mp.spawn(work, (count, os.path.join(scratch, "store"), folder, got), count)
            texts, arrays = zip(*(torch.load(f"{got}.{rank}") for rank in range(count)))
        assert len(set(texts)) == 1, "processes have different programs"
        with open(os.path.join(folder, f"{count}.fnz"), "w") as f:
            f.write(texts[0])
        save(os.path.join(folder, f"{count}.safetensors"), {k: v for a in arrays for k, v in a.items()})


if __name__ == "__main__":
    main()
