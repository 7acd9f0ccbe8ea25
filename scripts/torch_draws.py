"""Random programs of views and writes, as lines of Python over torch: what scripts/against_torch.py compares.

A program is drawn while it runs: each line is tried on real tensors, and one that eager PyTorch refuses is left out, or
becomes the last line of a program that must be refused. Everything follows from the seed and the program's index."""
import random
import re

import torch

SIGNED = [torch.int8, torch.int16, torch.int32, torch.int64]
INTS = [torch.uint8, *SIGNED]
HALVES = [torch.float16, torch.bfloat16]
FLOATS = [*HALVES, torch.float32, torch.float64]
ALL = [torch.bool, *INTS, *FLOATS, torch.complex64]
# In programs most tensors are of few types, so that they meet.
OFTEN = [*ALL, torch.float32, torch.float32, torch.float32, torch.int64, torch.int32, torch.float16, torch.bfloat16]
BITS = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64}
MOST_ELEMENTS = 200


class Skip(Exception):
    """This line cannot be drawn here."""


def specials(dtype):
    """Bit patterns: infinities, zeros, NaNs with payloads (quiet ones, of both signs), subnormals, the largest."""
    width, fraction = {torch.float16: (16, 10), torch.bfloat16: (16, 7), torch.float32: (32, 23), torch.float64: (64, 52)}[dtype]
    sign, exponent = 1 << (width - 1), ((1 << (width - 1 - fraction)) - 1) << fraction
    quiet = 1 << (fraction - 1)
    some = [0, exponent, exponent | quiet, exponent | quiet | 5, 1, quiet | 3, exponent - 1, 1 << fraction]
    return [b | s for b in some for s in (0, sign)]


def signed(bits, width):
    return bits - (1 << width) if bits >> (width - 1) else bits


def drawn_values(rng, dtype, count, special):
    if dtype.is_complex:
        return torch.view_as_complex(drawn_values(rng, torch.float32, 2 * count, special).reshape(count, 2))
    if dtype == torch.bool:
        return torch.tensor([rng.random() < 0.5 for _ in range(count)], dtype=dtype)
    if dtype.is_floating_point:
        plain = torch.tensor([rng.randint(-8, 8) * 0.5 for _ in range(count)], dtype=dtype)
        if not special:
            return plain
        patterns, width = specials(dtype), 8 * dtype.itemsize
        bits = plain.view(BITS[dtype])
        for k in range(count):
            if rng.random() < 0.4:
                bits[k] = signed(rng.choice(patterns), width)
        return plain
    limits = torch.iinfo(dtype)
    return torch.tensor([rng.choice([limits.min, limits.max]) if special and rng.random() < 0.2 else
                         rng.randint(0 if limits.min == 0 else -4, 6) for _ in range(count)], dtype=dtype)


def copy_with_memory(t):
    """A copy of the same sizes and strides, with a copy of all the memory."""
    count = t.untyped_storage().nbytes() // t.element_size()
    flat = torch.empty(0, dtype=t.dtype).set_(t.untyped_storage(), 0, (count,), (1,)).clone()
    return flat.as_strided(t.size(), t.stride(), t.storage_offset())


class Program:
    """lines over the inputs x0, x1 ...; `bad` is the line behind them that eager refuses, with `error`."""

    def __init__(self, seed, index):
        self.seed, self.index = seed, index
        self.inputs, self.lines, self.outputs = {}, [], []
        self.bad, self.error, self.views, self.state = None, None, 0, 0

    def copied_inputs(self):
        return {name: copy_with_memory(t) for name, t in self.inputs.items()}

    def run(self, env):
        """Runs all lines but the bad one on what env has of the inputs."""
        env["torch"] = torch
        for line in self.lines:
            exec(compiled(line), env)
        return [env[name] for name in self.outputs]

    def text(self):
        out = []
        for name, t in self.inputs.items():
            out.append(f"# {name}: {str(t.dtype)[6:]}{list(t.shape)} strides {list(t.stride())} = {t.tolist()}")
        ends = [f"{self.bad}  # eager refuses: {self.error}"] if self.bad else []
        return "\n".join(out + self.lines + ends + [f"return {', '.join(self.outputs)}"])


def compiled(line, cache={}):
    if line not in cache:
        if len(cache) > 20000:
            cache.clear()
        cache[line] = compile(line, "<drawn>", "exec")
    return cache[line]


class Draw:
    """One program while it is drawn: its tensors so far, and choices among them."""

    def __init__(self, seed, index):
        self.rng = random.Random(f"{seed}:{index}")
        self.program = Program(seed, index)
        self.special = self.rng.random() < 0.35
        self.env = {"torch": torch}
        self.names = []
        self.count = 0

    # --- choices ---
    def chance(self, p):
        return self.rng.random() < p

    def one(self, items):
        items = list(items)
        if not items:
            raise Skip
        return self.rng.choice(items)

    def below(self, n):
        return self.rng.randrange(n) if n > 0 else 0

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def tensor(self, name):
        return self.env[name]

    def pick(self, test=lambda t: True):
        """A tensor's name, of the later ones more often."""
        fits = [n for n in self.names if test(self.env[n])]
        if not fits:
            raise Skip
        return fits[max(self.below(len(fits)), self.below(len(fits)))]

    def shape(self, rank=None):
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if rank is None else rank
        return [0 if self.chance(0.03) else self.rng.randint(1, 4) for _ in range(rank)]

    def dim(self, t):
        """A dimension, counted from either end; now and then one that is not there."""
        if self.chance(0.01):
            return t.dim() + 1
        rank = max(t.dim(), 1)
        return self.rng.randrange(-rank, rank)

    def size(self, t, dim):
        return t.shape[dim] if t.dim() and -t.dim() <= dim < t.dim() else 1

    def number(self, dtype=None):
        if dtype is torch.bool or self.chance(0.05):
            return self.one(["True", "False"])
        if (dtype is not None and not dtype.is_floating_point and not dtype.is_complex and self.chance(0.9)) or self.chance(0.4):
            return str(self.rng.randint(-3, 5))
        if self.special and self.chance(0.2):
            return self.one(["float('inf')", "-float('inf')", "float('nan')", "-0.0", "1e-42", "1e39"])
        return str(self.rng.randint(-6, 6) * 0.5)

    # --- inputs ---
    def give(self, tensor):
        name = f"x{len(self.program.inputs)}"
        self.program.inputs[name] = tensor
        self.env[name] = copy_with_memory(tensor)
        self.names.append(name)
        return name

    def input(self, dtype=None, shape=None):
        dtype, shape = dtype or self.one(OFTEN), self.shape() if shape is None else list(shape)
        count = 1
        for n in shape:
            count *= n
        kind = self.rng.random()
        if shape and kind < 0.12:  # dimensions in another order
            order = list(range(len(shape)))
            self.rng.shuffle(order)
            back = [order.index(k) for k in range(len(shape))]
            return self.give(drawn_values(self.rng, dtype, count, self.special).reshape([shape[k] for k in order]).permute(back))
        if shape and kind < 0.17:  # with gaps, which are 0 in dtypes without a place for them
            wide = torch.zeros(shape[:-1] + [2 * shape[-1]], dtype=dtype)
            wide[..., ::2] = drawn_values(self.rng, dtype, count, self.special).reshape(shape)
            return self.give(wide[..., ::2])
        return self.give(drawn_values(self.rng, dtype, count, self.special).reshape(shape))

    def indices(self, shape, size, dtype=torch.int64, negative=False, unique=False):
        """An input that holds indices below size."""
        count = 1
        for n in shape:
            count *= n
        if size == 0 and count:
            raise Skip
        low = -size if negative and self.chance(0.5) else 0
        if unique and count <= size:
            values = self.rng.sample(range(size), count)
        else:
            values = [self.rng.randrange(low, size) for _ in range(count)]
        if values and self.chance(0.02):
            values[self.below(count)] = size + self.below(2)
        return self.give(torch.tensor(values, dtype=dtype).reshape(shape))

    def mask(self, shape):
        if self.chance(0.3):
            return self.pick(lambda t: t.dtype == torch.bool and fits(t.shape, shape))
        return self.input(torch.bool, self.loose(shape))

    def loose(self, shape):
        """A shape that broadcasts to another one."""
        shape = [1 if self.chance(0.12) else n for n in shape]
        return shape[self.below(len(shape) + 1):] if self.chance(0.15) else shape

    def operand(self, shape, dtype=None, number=0.3):
        """A tensor that broadcasts to a shape, or a number."""
        if self.chance(number):
            return self.number(dtype)
        if self.chance(0.65):
            try:
                return self.pick(lambda t: fits(t.shape, shape) and (dtype is None or t.dtype == dtype or self.chance(0.5)))
            except Skip:
                pass
        return self.input(dtype if dtype and self.chance(0.6) else None, self.loose(shape))

    def source(self, shape, dtype, exact=False):
        """A tensor of just this shape, and dtype when exact."""
        if self.chance(0.5):
            try:
                return self.pick(lambda t: list(t.shape) == list(shape) and (not exact or t.dtype == dtype))
            except Skip:
                pass
        return self.input(dtype if exact or self.chance(0.7) else None, shape)

    # --- lines ---
    def keep(self, line):
        """Tries a line; its target is a new tensor."""
        target = assigned(line)
        exec(compiled(line), self.env)
        if any(self.env[n].shape != t.shape for n, t in self.program.inputs.items()):
            self.again()  # exporting does not expect that an input changes its sizes
            raise Skip
        self.program.lines.append(line)
        if target:
            t = self.env[target]
            if not isinstance(t, torch.Tensor) or t.numel() > MOST_ELEMENTS or t.dtype not in ALL:
                self.program.lines.pop()
                raise Skip
            self.names.append(target)


    def again(self):
        """Everything as it was before the line that was tried."""
        fresh = self.program.copied_inputs()
        self.program.run(fresh)
        self.env = fresh


def assigned(line):
    """The name that a line gives a new tensor, or None."""
    name = line.split(" = ")[0]
    return name if name.isidentifier() else None


def fits(shape, target):
    """It broadcasts to the target."""
    shape, target = list(shape), list(target)
    return len(shape) <= len(target) and all(a in (1, b) for a, b in zip(reversed(shape), reversed(target)))


# --- views: (draw, tensor, its name) -> expression ----------------------------------------------------------------------
def bounds(d, n):
    a, b = sorted((d.below(n + 1), d.below(n + 1)))
    if d.chance(0.2):
        a -= n + 1
    return a, b


def sliced(d, t, x):
    parts = []
    for n in t.shape[:d.below(t.dim()) + 1]:
        kind = d.rng.random()
        if kind < 0.3 and n:
            parts.append(str(d.rng.randrange(-n, n)))
        elif kind < 0.4:
            parts.append("None")
        elif kind < 0.5:
            parts.append(":")
        else:
            a, b = bounds(d, n)
            parts.append(f"{a}:{b}" + (f":{d.rng.randint(1, 3)}" if d.chance(0.4) else ""))
    if d.chance(0.1):
        parts.insert(0, "...")
    if not parts:
        raise Skip
    return f"{x}[{', '.join(parts)}]"


def factors(d, n):
    """A shape of n elements."""
    shape = []
    while n > 1:
        f = d.one(k for k in range(2, n + 1) if n % k == 0)
        shape.append(f)
        n //= f
    for _ in range(d.below(3)):
        shape.insert(d.below(len(shape) + 1), 1)
    return shape


def viewed(how):
    def draw(d, t, x):
        shape = factors(d, t.numel()) if t.numel() else d.one([[0], [0, 2], list(t.shape)])
        if shape and t.numel() and d.chance(0.2):
            shape[d.below(len(shape))] = -1
        return f"{x}.{how}({shape})"
    return draw


def expanded(d, t, x):
    shape = [d.rng.randint(1, 3) if n == 1 and d.chance(0.7) else d.one([n, -1]) for n in t.shape]
    shape = [d.rng.randint(1, 3) for _ in range(d.below(2))] + shape
    return d.one([f"{x}.expand({shape})", f"torch.broadcast_to({x}, {shape})"])


def unfolded(d, t, x):
    dim = d.dim(t)
    size = d.rng.randint(0 if d.chance(0.1) else 1, max(d.size(t, dim), 1))
    return f"{x}.unfold({dim}, {size}, {d.rng.randint(1, 3)})"


def diagonal(d, t, x):
    a, b = d.dim(t), d.dim(t)
    return f"{x}.diagonal({d.rng.randint(-2, 2)}, {a}, {b})"


def strided(d, t, x):
    """Any window of the storage, of any overlap."""
    room = t.untyped_storage().nbytes() // t.element_size()
    sizes, strides, offset = [], [], d.below(room)
    reach = offset
    for _ in range(d.below(4)):
        size, stride = d.rng.randint(1, 4), d.one([0, 1, 1, 2, 3, 4, 5])
        if reach + (size - 1) * stride >= room:
            size = 1
        reach += (size - 1) * stride
        sizes.append(size)
        strides.append(stride)
    if not room:
        raise Skip
    return f"{x}.as_strided({tuple(sizes)}, {tuple(strides)}, {offset})"


def as_dtype(d, t, x):
    dtypes = [torch.uint8, torch.int8, torch.int16, torch.float16, torch.bfloat16, torch.int32, torch.float32, torch.int64,
              torch.float64, torch.complex64]
    return f"{x}.view({d.one(dtypes)})"


def pieces(d, t, x):
    dim = d.dim(t)
    n = d.size(t, dim)
    kind = d.below(5)
    if kind == 0:
        parts, text = n, f"{x}.unbind({dim})"
    elif kind == 1:
        size = d.rng.randint(1, max(n, 1))
        parts, text = -(-n // size), f"{x}.split({size}, {dim})"
    elif kind == 2:
        a = d.below(n + 1)
        parts, text = 2, f"{x}.split([{a}, {n - a}], {dim})"
    elif kind == 3:
        parts, text = 1, f"{x}.chunk({d.rng.randint(1, 3)}, {dim})"
    else:
        parts, text = 2, f"{x}.tensor_split({d.one([2, 3, [1], [1, 2]])}, {dim})"
    if not parts:
        raise Skip
    return f"{text}[{d.one([0, 0, d.below(parts), -1])}]"


def permuted(d, t, x):
    order = list(range(t.dim()))
    d.rng.shuffle(order)
    return f"{x}.permute({order})"


def two_dims(*names):
    return lambda d, t, x: f"{x}.{d.one(names)}({d.dim(t)}, {d.dim(t)})"


def fixed(*forms):
    return lambda d, t, x: d.one(forms).replace("@", x)


def narrowed(d, t, x):
    dim = d.dim(t)
    n = d.size(t, dim)
    a = d.below(n + 1)
    return f"{x}.narrow({dim}, {a - (n if d.chance(0.2) else 0)}, {d.below(n - a + 1)})"


def selected(d, t, x):
    dim = d.dim(t)
    n = d.size(t, dim)
    return f"{x}.select({dim}, {d.rng.randrange(-n, n) if n else 0})"


def like_another(d, t, x):
    y = d.pick()
    return d.one([f"{x}.expand_as({y})", f"{x}.view_as({y})", f"{x}.reshape_as({y})", f"{x}.type_as({y})",
                  f"torch.broadcast_tensors({x}, {y})[{d.below(2)}]", f"{x}.to({y})"])


def of_complex(d, t, x):
    if t.is_complex():
        return d.one([f"torch.view_as_real({x})", f"{x}.real", f"{x}.imag", f"{x}.conj()", f"{x}.mH" if t.dim() == 2 else f"{x}.conj()",
                      f"{x}.conj().imag", f"{x}.resolve_conj()"])
    return d.one([f"torch.view_as_complex({x})", f"torch.real({x})", f"{x}.conj()", f"{x}.resolve_neg()"])


VIEWS = [(4, sliced), (2, selected), (1, narrowed), (2, viewed("view")), (2, viewed("reshape")), (2, expanded), (2, unfolded), (2, diagonal),
         (2, strided), (3, as_dtype), (2, pieces), (1, permuted), (1, two_dims("transpose", "swapaxes", "movedim", "flatten")),
         (2, lambda d, t, x: f"{x}.unsqueeze({d.dim(t)})"), (1, lambda d, t, x: f"{x}.squeeze({d.dim(t)})"),
         (2, fixed("@.t()", "@.mT", "@.T", "@.squeeze()", "@.flatten()", "@.ravel()", "@.contiguous()", "@.detach()", "@.view_as(@)",
                   "torch.atleast_2d(@)", "torch.atleast_3d(@)", "torch.ops.aten.alias(@)", "@.positive()", "torch.hsplit(@, 1)[0]",
                   "torch.unbind(@)[0]", "torch.meshgrid(@, @, indexing='ij')[0]", "torch.swapdims(@, 0, -1)")),
         (1, like_another), (2, of_complex),
         (1, lambda d, t, x: f"{x}.to({d.one(OFTEN)}{d.one(['', '', ', copy=True'])})")]


# --- values -----------------------------------------------------------------------------------------------------------------
BINARY = ["add", "sub", "mul", "add", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor",
          "bitwise_and", "bitwise_or", "bitwise_xor", "div", "remainder", "fmod", "floor_divide", "copysign", "true_divide", "fmax", "fmin", "rsub"]
UNARY = ["neg", "abs", "relu", "logical_not", "bitwise_not", "sign", "sgn", "floor", "ceil", "trunc", "round", "square", "clone", "isnan", "isfinite",
         "signbit", "zeros_like", "ones_like", "triu", "tril", "conj_physical", "resolve_conj", "flipud", "isinf", "nan_to_num"]
REDUCE = ["any", "all", "amax", "amin", "argmax", "argmin", "count_nonzero"]


def refuse_inexact(d, op, t):
    """Skips operators whose results depend on the place of an element, as PyTorch's vector loops give other bits than
    its loops for the rest."""
    op = op.rstrip("_")
    if t.is_complex() and op in ("abs", "div", "true_divide", "neg", "sgn", "mul", "square"):
        raise Skip
    if d.special and op in ("fmod", "remainder", "floor_divide"):
        raise Skip


def alpha(d):
    """Products with these are exact in every type."""
    return d.one([-2, -1, 0, 2])


def binary(d):
    a = d.pick()
    b = d.operand(d.tensor(a).shape, d.tensor(a).dtype)
    op = d.one(BINARY)
    refuse_inexact(d, op, d.env.get(b, d.tensor(a)))
    refuse_inexact(d, op, d.tensor(a))
    if d.chance(0.2) and op in ("add", "sub", "rsub"):
        return f"torch.{op}({a}, {b}, alpha={alpha(d)})"
    return f"torch.{op}({a}, {b})"


def unary(d):
    a, op = d.pick(), d.one(UNARY)
    refuse_inexact(d, op, d.tensor(a))
    return f"torch.{op}({a})"


def reduced(d):
    a = d.pick()
    t = d.tensor(a)
    if not t.is_floating_point() and not t.is_complex() and d.chance(0.4):
        op = d.one(["sum", "prod", "cumsum", "cumprod"])
        rest = f"{d.dim(t)}" if op.startswith("cum") or d.chance(0.6) else ""
    else:
        op, rest = d.one(REDUCE), f"{d.dim(t)}" if d.chance(0.7) else ""
    if rest and op in ("any", "all", "amax", "amin", "sum", "argmax") and d.chance(0.3):
        rest += ", keepdim=True"
    return f"{a}.{op}({rest})"


def chosen(d):
    a = d.pick()
    shape, dtype = d.tensor(a).shape, d.tensor(a).dtype
    return d.one([lambda: f"torch.where({d.mask(shape)}, {a}, {d.operand(shape, dtype)})",
                  lambda: f"{a}.masked_fill({d.mask(shape)}, {d.number(dtype)})",
                  lambda: f"torch.clamp({a}, {d.number(dtype)}, {d.number(dtype)})",
                  lambda: f"{a}.masked_scatter({d.mask(shape)}, {d.source(shape, dtype, True)})"])()


def joined(d):
    a = d.pick()
    t = d.tensor(a)
    b = d.source(t.shape, t.dtype)
    return f"torch.{d.one(['cat', 'stack'])}(({a}, {b}), {d.dim(t)})"


def gathered(d):
    a = d.pick()
    t = d.tensor(a)
    dim = d.dim(t)
    n = d.size(t, dim)
    kind = d.below(6)
    if kind == 0:
        return f"{a}.index_select({dim}, {d.indices(d.shape(1), n)})"
    if kind == 1:
        return f"{a}.gather({dim}, {d.indices([d.rng.randint(1, max(k, 1)) for k in t.shape], n)})"
    if kind == 2:
        return f"{a}.take({d.indices(d.shape(), t.numel(), negative=True)})"
    if kind == 3 and t.dim():
        return f"{a}[{d.indices(d.shape(d.rng.randint(1, 2)), t.shape[0], d.one([torch.int64, torch.int64, torch.int32]), negative=True)}]"
    if kind == 4 and t.dim() > 1:
        shape = d.shape(1)
        return f"{a}[{d.one([':, ', '', '..., '])}{d.indices(shape, t.shape[-1] if t.dim() == 2 else min(t.shape), negative=True)}]"
    return d.one([f"{a}.flip({dim})", f"{a}.roll({d.rng.randint(-2, 2)}, {dim})", f"{a}.repeat({[d.rng.randint(1, 2)] * t.dim()})",
                  f"{a}.index_fill({dim}, {d.indices(d.shape(1), n)}, {d.number(t.dtype)})", f"torch.diag_embed({a})",
                  f"{a}.select_scatter({d.source(list(t.shape[1:]), t.dtype)}, 0, {d.below(n)})", f"{a}.repeat_interleave(2, {dim})"])


def made(d):
    shape = d.shape()
    return d.one([f"torch.zeros({shape}, dtype={d.one(OFTEN)})", f"torch.full({shape}, {d.number()}, dtype={d.one(OFTEN)})",
                  f"torch.arange({d.rng.randint(0, 8)}, dtype={d.one(OFTEN)})", f"torch.full_like({d.pick()}, {d.number()})",
                  f"{d.pick()}.new_zeros({shape})", f"torch.eye({d.rng.randint(1, 3)}, dtype={d.one(OFTEN)})"])


# --- writes -----------------------------------------------------------------------------------------------------------------
WRITE_BINARY = ["add_", "sub_", "mul_", "add_", "mul_", "div_", "eq_", "ne_", "lt_", "le_", "gt_", "ge_", "logical_and_", "logical_or_", "logical_xor_",
                "bitwise_and_", "bitwise_or_", "bitwise_xor_", "remainder_", "fmod_", "floor_divide_", "copysign_", "clamp_min_", "clamp_max_"]
WRITE_UNARY = ["neg_", "abs_", "relu_", "zero_", "logical_not_", "bitwise_not_", "sign_", "sgn_", "floor_", "ceil_", "trunc_", "round_", "square_",
               "conj_physical_", "triu_", "tril_", "nan_to_num_"]


def write_binary(d):
    a = d.pick()
    t = d.tensor(a)
    op, b = d.one(WRITE_BINARY), d.operand(t.shape, t.dtype)
    refuse_inexact(d, op, t)
    return f"{a}.{op}({b}" + (f", alpha={alpha(d)})" if op in ("add_", "sub_") and d.chance(0.2) else ")")


def write_unary(d):
    a, op = d.pick(), d.one(WRITE_UNARY)
    refuse_inexact(d, op, d.tensor(a))
    return f"{a}.{op}()"


def write_copy(d):
    a = d.pick()
    t = d.tensor(a)
    return f"{a}.copy_({d.operand(t.shape, number=0)})"


def write_fill(d):
    a = d.pick()
    t = d.tensor(a)
    if d.chance(0.3):
        return f"{a}.fill_({d.pick(lambda s: s.dim() == 0)})"
    return d.one([f"{a}.fill_({d.number(t.dtype)})", f"{a}.fill_diagonal_({d.number(t.dtype)}, {d.one(['True', 'False'])})",
                  f"{a}.clamp_({d.number(t.dtype)}, {d.number(t.dtype)})"])


def write_masked(d):
    a = d.pick()
    t = d.tensor(a)
    mask = d.mask(t.shape)
    if d.chance(0.4):
        return f"{a}.masked_fill_({mask}, {d.number(t.dtype)})"
    if d.chance(0.3):
        return f"{a}.masked_fill_({mask}, {d.pick(lambda s: s.dim() == 0)})"
    if d.chance(0.5):
        return f"{a}.masked_scatter_({mask}, {d.source(t.shape, t.dtype, True)})"
    if not t.dim():
        raise Skip
    whole = d.input(torch.bool, t.shape[:d.rng.randint(1, t.dim())])
    return f"{a}[{whole}] = {d.one([d.number(t.dtype), d.input(t.dtype, [])])}"


def write_index(d):
    a = d.pick(lambda t: t.dim() > 0)
    t = d.tensor(a)
    dim = d.dim(t)
    count = d.rng.randint(0 if d.chance(0.1) else 1, 3)
    index = d.indices([count], d.size(t, dim), d.one([torch.int64] * 4 + [torch.int32]))
    shape = list(t.shape)
    if -t.dim() <= dim < t.dim():
        shape[dim] = count
    kind = d.below(3)
    if kind == 0:
        return f"{a}.index_fill_({dim}, {index}, {d.number(t.dtype) if d.chance(0.7) else d.pick(lambda s: s.dim() == 0)})"
    source = d.source(shape, t.dtype, d.chance(0.9))
    if kind == 1:
        return f"{a}.index_copy_({dim}, {index}, {source})"
    return f"{a}.index_add_({dim}, {index}, {source}" + (f", alpha={alpha(d)})" if d.chance(0.3) else ")")


def write_scatter(d):
    a = d.pick()
    t = d.tensor(a)
    dim = d.dim(t)
    shape = [d.rng.randint(1, max(n, 1)) for n in t.shape]
    index = d.indices(shape, d.size(t, dim))
    if d.chance(0.3):
        return f"{a}.scatter_({dim}, {index}, {d.number(t.dtype)}" + (", reduce='add')" if d.chance(0.2) else ")")
    source = d.source(shape, t.dtype, d.chance(0.9))
    if d.chance(0.3):
        way = d.one(["sum", "prod", "amax", "amin"])
        return f"{a}.scatter_reduce_({dim}, {index}, {source}, '{way}', include_self={d.one(['True', 'False'])})"
    return f"{a}.{d.one(['scatter_', 'scatter_add_'])}({dim}, {index}, {source})"


def write_put(d):
    a = d.pick()
    t = d.tensor(a)
    accumulate = d.one(["False", "False", "True"])
    if d.chance(0.4):
        shape = d.shape(d.below(3))
        source = d.source(shape, t.dtype, d.chance(0.9))
        if not d.tensor(source).is_contiguous():
            raise Skip  # which of two values for one place stays, depends on the order of the source in memory
        return f"{a}.put_({d.indices(shape, t.numel(), negative=True)}, {source}, {accumulate})"
    if not t.dim():
        raise Skip
    shape = d.shape(d.below(3))
    used = d.rng.randint(1, min(t.dim(), 2))
    index = [d.indices(d.loose(shape) or shape, t.shape[k], negative=True) for k in range(used)]
    first = ""
    if t.dim() > used and d.chance(0.2):
        first, index = "None, ", [d.indices(d.loose(shape), t.shape[1], negative=True)]
        return f"{a}.index_put_(({first}{index[0]}), {d.input(t.dtype, [])}, {accumulate})"
    value = d.operand(shape + list(t.shape[used:]), t.dtype, number=0)
    if d.chance(0.3) and shape:  # places in brackets that are no list are numbers that tracing must know
        return f"{a}[{', '.join(index)}] {d.one(['=', '=', '+='])} {value}"
    return f"{a}.index_put_(({', '.join(index)},), {value}, {accumulate})"


def write_item(d):
    """x[...] = value, x[...] op= value."""
    a = d.pick(lambda t: t.dim() > 0)
    t = d.tensor(a)
    place = sliced(d, t, a)
    window = eval(place, {a: t})
    return f"{place} {d.one(['=', '=', '+=', '*=', '-='])} {d.operand(window.shape, t.dtype)}"


def write_more(d):
    a = d.pick()
    t = d.tensor(a)
    b = d.operand(t.shape, t.dtype, number=0)
    return d.one([lambda: f"torch._foreach_{d.one(['add', 'mul', 'sub', 'copy'])}_([{a}, {d.pick()}], [{b}, {d.pick()}])",
                  lambda: f"torch._foreach_{d.one(['add', 'mul'])}_([{a}, {d.pick()}], {d.number(t.dtype)})",
                  lambda: f"torch._foreach_{d.one(['neg', 'abs', 'zero'])}_([{a}, {d.pick()}])",
                  lambda: f"{a}.{d.one(['cumsum_', 'cumprod_'])}({d.dim(t)})" if not t.is_floating_point() and not t.is_complex() else f"{a}.neg_()",
                  lambda: f"{a}.addcmul_({b}, {d.operand(t.shape, t.dtype, number=0)}, value={d.rng.randint(-2, 2)})" if not t.is_complex() and
                  not t.is_floating_point() else f"{a}.abs_()",
                  lambda: f"{a}.index_reduce_({d.dim(t)}, {d.indices([1], t.shape[0] if t.dim() else 1)}, {a}.select(0, 0).unsqueeze(0), 'amax')",
                  lambda: f"{a}.bernoulli_(1.0)" if False else f"{a}.lerp_({b}, 1.0)" if False else f"{a}.swapaxes({d.dim(t)}, {d.dim(t)}).copy_({b})"])()


def write_view(d):
    """In-place views, of anything but inputs: exporting does not expect that."""
    inputs = [d.tensor(n) for n in d.program.inputs]
    a = d.pick(lambda t: not any(t is x for x in inputs))
    t = d.tensor(a)
    return d.one([lambda: f"{a}.t_()", lambda: f"{a}.transpose_({d.dim(t)}, {d.dim(t)})", lambda: f"{a}.squeeze_()",
                  lambda: f"{a}.unsqueeze_({d.dim(t)})", lambda: f"{a}.squeeze_({d.dim(t)})", lambda: strided(d, t, a).replace("as_strided", "as_strided_"),
                  lambda: f"{a}.swapaxes_({d.dim(t)}, {d.dim(t)})"])()


# --- out= -------------------------------------------------------------------------------------------------------------------
def out_tensor(d, shape, dtype):
    """A tensor that is written: mostly of the right sizes, sometimes empty or of others."""
    if d.chance(0.15):
        return f"torch.empty(0, dtype={dtype})"
    try:
        return d.pick(lambda t: list(t.shape) == list(shape) and (t.dtype == dtype or d.chance(0.3)) or d.chance(0.02))
    except Skip:
        return d.input(dtype if d.chance(0.8) else None, shape)


def result_of(d, text):
    """The value of an expression, computed on copies."""
    got = eval(text, {n: (v.clone() if isinstance(v, torch.Tensor) else v) for n, v in d.env.items()})
    return got


def out(d):
    kind = d.below(7)
    if kind == 0:
        text = unary(d)
        op = text[6:text.index("(")]
        if op in ("relu", "clone", "isnan", "isfinite", "zeros_like", "ones_like", "resolve_conj", "flipud", "isinf"):
            raise Skip
    elif kind <= 3:
        text = binary(d)
        if text.startswith("torch.rsub"):
            raise Skip
    elif kind == 4:
        text = joined(d)
    elif kind == 5:
        a = d.pick()
        t = d.tensor(a)
        dim = d.dim(t)
        text = d.one([lambda: f"torch.{d.one(['any', 'all', 'amax', 'amin', 'argmax'])}({a}, {dim})",
                      lambda: f"torch.{d.one(['sum', 'cumsum', 'prod'])}({a}, {dim})" if not t.is_floating_point() and not t.is_complex() else f"torch.any({a}, {dim})",
                      lambda: f"torch.clamp({a}, {d.number(t.dtype)}, {d.number(t.dtype)})",
                      lambda: f"torch.where({d.mask(t.shape)}, {a}, {d.operand(t.shape, t.dtype, number=0)})"])()
    else:
        a = d.pick()
        t = d.tensor(a)
        dim = d.dim(t)
        n = d.size(t, dim)
        text = d.one([lambda: f"torch.index_select({a}, {dim}, {d.indices(d.shape(1), n)})",
                      lambda: f"torch.gather({a}, {dim}, {d.indices([d.rng.randint(1, max(k, 1)) for k in t.shape], n)})",
                      lambda: f"torch.take({a}, {d.indices(d.shape(), t.numel(), negative=True)})"])()
    want = result_of(d, text)
    return f"{text[:-1]}, out={out_tensor(d, want.shape, want.dtype)})"


VALUES = [(5, binary), (3, unary), (2, reduced), (2, chosen), (1, joined), (3, gathered), (1, made)]
WRITES = [(5, write_binary), (2, write_unary), (4, write_copy), (2, write_fill), (3, write_masked), (2, write_index), (3, write_scatter), (3, write_put),
          (4, write_item), (1, write_more), (1, write_view), (4, out)]


COMPUTES = re.compile(r"[-+*]= |accumulate|True\)$|alpha=|reduce|\.(" + "|".join(
    {*BINARY, *WRITE_BINARY, *UNARY, *WRITE_UNARY, *REDUCE, "sum", "prod", "cumsum", "cumprod", "cumsum_", "cumprod_", "clamp", "clamp_",
     "_foreach_add_", "_foreach_sub_", "_foreach_mul_", "_foreach_neg_", "_foreach_abs_", "addcmul_", "index_add_", "scatter_add_"}
    - {"clone", "zero_", "zeros_like", "ones_like", "triu", "tril", "triu_", "tril_", "resolve_conj", "flipud"}) + r")\(")


def only_moves(program):
    """No line computes new numbers, so that the bits of NaNs must stay as they are, too."""
    return not any(COMPUTES.search(line) for line in program.lines)


def nan_as_bits(program):
    """Bits of a NaN that was computed may have become numbers. Which NaN it is, depends on the machine."""
    return any(".view(torch." in line for line in program.lines) and not only_moves(program)


def weighted(d, rows):
    return d.rng.choices([row[1] for row in rows], [row[0] for row in rows])[0]


def draw_line(d):
    kind = d.rng.random()
    if kind < 0.38:
        x = d.pick()
        text = weighted(d, VIEWS)(d, d.tensor(x), x)
        return f"{d.fresh()} = {text}"
    if kind < 0.58:
        return f"{d.fresh()} = {weighted(d, VALUES)(d)}"
    line = weighted(d, WRITES)(d)
    return line


def draw(seed, index):
    """The program of this index, or of it and a line behind it that eager refuses."""
    d = Draw(seed, index)
    for _ in range(d.rng.choice([1, 1, 2])):
        d.input()
    steps, refusable = d.rng.randint(2, 9), d.chance(0.12)
    tries = 0
    while len(d.program.lines) < steps and tries < 40:
        tries += 1
        given = len(d.names)
        line = None
        try:
            line = draw_line(d)
            d.keep(line)
        except Skip:
            pass
        except Exception as error:  # whatever eager says
            if line and refusable and d.program.lines and len(d.names) >= given:
                d.program.bad, d.program.error = line, str(error).split("\n")[0][:160]
                break
    finish(d)
    return d.program


def finish(d):
    p = d.program
    drop_unused(p)
    live = [n for n in d.names if n.startswith("v") or n in p.inputs]
    made_names = [n for n in live if n.startswith("v")]
    p.outputs = sorted(set(made_names[-1:] + d.rng.sample(live, min(len(live), 2))))
    if not p.outputs:
        p.outputs = list(p.inputs)[:1]
    p.views = d.rng.choice([0, 0, 0, 1, 2])
    p.state = 1 if d.chance(0.1) else 0


def drop_unused(p):
    """Inputs that were drawn for a line that was left out."""
    used = set(re.findall(r"\bx\d+\b", "\n".join(p.lines + [p.bad or ""])))
    first = list(p.inputs)[:1]
    p.inputs = {n: t for n, t in p.inputs.items() if n in used or n in first}
