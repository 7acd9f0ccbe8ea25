#!/usr/bin/env python3
"""Records what eager PyTorch makes of writes to tensors that show an element in several places.

    scripts/make_overlap_fixtures.py fixtures/overlap/cases.txt

Each case is a program of one write, the bytes of its inputs, and the bytes of the memory that is
written. Calls that raise
are left out. Needs PyTorch; the product, its tests and CI do not."""
import random
import sys

import torch

torch.set_num_threads(1)  # the order of one thread
random.seed(1)
torch.manual_seed(1)
NAMES = {torch.int32: "i32", torch.int64: "i64", torch.float32: "f32", torch.float64: "f64",
         torch.bfloat16: "bf16", torch.float16: "f16", torch.int8: "i8", torch.uint8: "u8",
         torch.bool: "bool", torch.int16: "i16"}
PAIRS = [("i32", "i64"), ("i32", "i32"), ("f32", "f64"), ("f32", "f32"), ("bf16", "f32"),
         ("i8", "u8"), ("i8", "i16"), ("bool", "f32"), ("i32", "f32"), ("f16", "bf16"),
         ("u8", "bool")]
DTYPES = {v: k for k, v in NAMES.items()}
# sizes, strides, offset; the last two are known to overlap
GEOMETRIES = [((2, 2), (1, 1), 0), ((3, 2), (1, 1), 0), ((2, 3), (1, 1), 1), ((3, 3), (2, 1), 1),
              ((2, 2, 2), (1, 2, 1), 0), ((3, 2), (1, 2), 2), ((3, 3, 4), (3, 1, 2), 0),
              ((2, 3), (0, 1), 0), ((3, 2, 2), (1, 0, 1), 1)]
OPS = ["mul_.Tensor", "sub_.Tensor", "copy_", "lt_.Tensor", "gt_.Tensor", "pow_.Tensor", "addcmul_",
       "logical_and_", "lerp_.Tensor", "gt_.Scalar", "mul_.Scalar", "add.out", "fill_.Tensor",
       "masked_fill_.Scalar", "masked_fill_.Tensor", "index_fill_.int_Scalar",
       "index_fill_.int_Tensor", "index_put_", "scatter_.value", "fill_.Scalar", "zero_",
       "as_strided_scatter"]


def hexed(t):
    t = t.contiguous().flatten()
    return bytes(t.to(torch.uint8).tolist() if t.dtype == torch.bool
                 else t.view(torch.uint8).tolist()).hex() or "-"


def numbers(shape, dtype):
    return torch.randint(0, 5, shape).to(dtype)


def geometry(t):
    text = f"{NAMES[t.dtype]}[{','.join(map(str, t.shape))}]"
    if t.stride() != torch.empty(t.shape).stride():
        text += f" stride({','.join(map(str, t.stride()))})"
    return text + (f" offset({t.storage_offset()})" if t.storage_offset() else "")


class Case:
    """One write to u, a window of x."""

    def __init__(self, sizes, strides, offset, dtype, other):
        self.sizes, self.dtype, self.other = list(sizes), dtype, other
        reach = offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
        self.x = numbers((reach,), dtype)
        self.inputs = {"x": self.x.clone()}
        self.u = self.x.as_strided(sizes, strides, offset)
        self.window = f"{list(sizes)}, {list(strides)}, {offset}"

    def add(self, t):
        name = f"y{len(self.inputs)}"
        self.inputs[name] = t
        return "%" + name

    def operand(self, dtype=None, whole=False):
        shape = [n if whole or random.random() < .8 else 1 for n in self.sizes]
        y = numbers(shape, dtype or self.other)
        if random.random() < .5:
            order = random.sample(range(len(shape)), len(shape))
            y = y.permute(order).contiguous().permute([order.index(i) for i in range(len(order))])
        return y

    def call(self, op):
        """Does it, and says how it is written."""
        base, u, dims = op.split(".")[0], self.u, len(self.sizes)
        dim = random.randrange(dims)
        number = random.choice([1, 2, 3])
        if op == "add.out":
            a, b = self.operand(whole=True), self.operand(self.dtype)
            text = f"({self.add(a)}, {self.add(b)}, out=%u)"
            torch.add(a, b, out=u)
        elif op in ("gt_.Scalar", "mul_.Scalar", "fill_.Scalar"):
            number = random.choice([2, 0.5])
            text = f"(%u, {number!r})"
            getattr(u, base)(number)
        elif op == "zero_":
            text = "(%u)"
            u.zero_()
        elif op == "fill_.Tensor":
            y = numbers((), self.other)
            text = f"(%u, {self.add(y)})"
            u.fill_(y)
        elif base == "masked_fill_":
            mask = self.operand(torch.bool)
            y = number if op.endswith("Scalar") else numbers((), self.dtype)
            text = f"(%u, {self.add(mask)}, {y if op.endswith('Scalar') else self.add(y)})"
            u.masked_fill_(mask, y)
        elif base == "index_fill_":
            index = torch.randint(0, self.sizes[dim], (random.randint(0, 2),))
            y = number if op.endswith("Scalar") else numbers((), self.dtype)
            text = f"(%u, {dim}, {self.add(index)}, {y if op.endswith('Scalar') else self.add(y)})"
            u.index_fill_(dim, index, y)
        elif op == "index_put_":
            index = [random.choice([numbers(self.sizes, torch.bool),
                                    torch.randint(0, self.sizes[0], (2,))])]
            y = numbers(random.choice([(), (1,)]), self.dtype)
            text = f"(%u, [{self.add(index[0])}], {self.add(y)})"
            u.index_put_(index, y)
        elif op == "scatter_.value":
            index = torch.randint(0, self.sizes[dim], [random.randint(1, n) for n in self.sizes])
            text = f"(%u, {dim}, {self.add(index)}, {number})"
            u.scatter_(dim, index, number)
        elif op in ("addcmul_", "lerp_.Tensor"):
            a, b = self.operand(), self.operand()
            text = f"(%u, {self.add(a)}, {self.add(b)})"
            getattr(u, base)(a, b)
        else:
            y = self.operand()
            text = f"(%u, {self.add(y)})"
            getattr(u, base)(y)
        return text

    def record(self, op):
        if op == "scatter_.value" and self.dtype in (torch.float16, torch.bfloat16):
            return None  # eager writes all of a wider copy back, in an order; fnz refuses it
        if op == "as_strided_scatter":
            y = self.operand(self.dtype, whole=True)
            name = self.add(y)
            lines = [f"%w: {geometry(self.x)} = {op}(%x, {name}, {self.window})"]
            try:
                want = hexed(torch.as_strided_scatter(self.x, y, self.u.shape, self.u.stride(),
                                                      self.u.storage_offset()))
            except RuntimeError:
                return None
        else:
            try:
                text = self.call(op)
            except (RuntimeError, IndexError):
                return None
            lines = [f"%u: {geometry(self.u)} = as_strided(%x, {self.window})",
                     f"%w: {geometry(self.u)} = {op}{text}"]
            want = hexed(self.x)
        head = ", ".join(f"%{k}: {geometry(t)}" for k, t in self.inputs.items())
        result = "%w" if op == "as_strided_scatter" else "%x"
        body = "".join(f"  {line}\n" for line in lines)
        data = "".join(f"in {k} {hexed(t)}\n" for k, t in self.inputs.items())
        return f"fnz 1\nprogram({head})\n{{\n{body}  return {result}\n}}\n{data}want {want}\n"


def main():
    torch.set_warn_always(False)
    with open(sys.argv[1], "w", encoding="ascii") as f:
        f.write(f"# Recorded with PyTorch {torch.__version__} by scripts/make_overlap_fixtures.py\n")
        for window in GEOMETRIES:
            for op in OPS:
                for dtype, other in random.sample(PAIRS, 4):
                    case = Case(*window, DTYPES[dtype], DTYPES[other]).record(op)
                    if case:
                        f.write(case)


main()
