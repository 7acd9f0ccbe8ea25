"""Makes fixtures/random/philox: a program of random operators, and what PyTorch draws for it on a GPU. For developers.

    python scripts/make_philox_fixture.py fixtures/random

philox.txt is the program, philox.safetensors has its inputs (input.NAME) and results (output.K) by a generator of CUDA
with seed SEED and THREADS threads. It needs no GPU: this is an implementation of its own, which goes through the
launches as PyTorch's kernels are written (threads, blocks, turns; 2.15), with numpy's functions for PyTorch's fast
ones. Integers, masks, permutations and uniform numbers are to be equal bit by bit, results of log, exp, sin, cos or
tan except for the last places. Needs numpy, safetensors.
"""
import math
import os
import sys

import numpy
from numpy import float16, float32, float64, int64, uint32, uint64
from safetensors.numpy import save_file

SEED, THREADS = 0x123456789ABCDEF, 512
F32 = numpy.float32


# --- Philox4x32-10: a state is a counter and a place in its words -----------------------------------------------------
def philox(counter, key):
    c = [numpy.asarray(x, uint64) for x in counter]
    k = [int(x) for x in key]
    low = uint64(0xFFFFFFFF)
    for _ in range(10):
        first, second = uint64(0xD2511F53) * c[0], uint64(0xCD9E8D57) * c[2]
        c = [(second >> uint64(32)) ^ c[1] ^ uint64(k[0]), second & low,
             (first >> uint64(32)) ^ c[3] ^ uint64(k[1]), first & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return numpy.stack(c, -1).astype(uint32)


class State:
    """curand_init(seed, thread, offset) of many threads; each call gives four words of each."""

    def __init__(self, thread, offset):
        self.thread, self.at = numpy.asarray(thread, uint64), offset // 4

    def four(self):
        at = numpy.full_like(self.thread, self.at)
        self.at += 1
        low = uint64(0xFFFFFFFF)
        return philox([at & low, at >> uint64(32), self.thread & low, self.thread >> uint64(32)],
                      [SEED & 0xFFFFFFFF, SEED >> 32])


class Generator:
    offset = 0

    def take(self, increment):
        had = self.offset
        self.offset += (increment + 3) // 4 * 4
        return had


GENERATOR = Generator()


# --- What words become -------------------------------------------------------------------------------------------------
def singles(words):
    return words.astype(F32) * F32(2.0**-32) + F32(2.0**-33)


def longs(words):
    return words[..., 0::2].astype(uint64) ^ (words[..., 1::2].astype(uint64) << uint64(21))


def doubles(words):
    return longs(words).astype(float64) * 2.0**-53 + 2.0**-54


def fused(a, b, c):
    """One rounding, of floats: a product of these is exact in 80 bits, and nearly so is the sum."""
    wide = numpy.longdouble
    return (wide(a) * wide(b) + wide(c)).astype(numpy.asarray(a).dtype)


def single_normals(words):
    turn = F32(2.3283064e-10) * F32(6.2831855)
    out = numpy.empty(words.shape, F32)
    for pair in (0, 2):
        radius = numpy.sqrt(F32(-2) * numpy.log(singles(words[..., pair])))
        angle = fused(words[..., pair + 1].astype(F32), turn, turn / F32(2))
        out[..., pair], out[..., pair + 1] = radius * numpy.sin(angle), radius * numpy.cos(angle)
    return out


def double_normals(words):
    radius = numpy.sqrt(-2 * numpy.log(doubles(words)[..., 0]))
    angle = (longs(words)[..., 1].astype(float64) * 2.0**-52 + 2.0**-53) * math.pi
    return numpy.stack([radius * numpy.sin(angle), radius * numpy.cos(angle)], -1)


def integers(words):
    return words


def long_integers(words):
    return words[..., 0::2].astype(uint64) << uint64(32) | words[..., 1::2].astype(uint64)


# --- Launches ----------------------------------------------------------------------------------------------------------
def grid_of(count):
    return min(THREADS // 256, (count + 255) // 256)


def nullary(count, make, unroll):
    """The kernel of all operators that only write: a loop of the grid's stride."""
    grid = grid_of(count)
    stride = 256 * grid
    state = State(numpy.arange(stride), GENERATOR.take(((count - 1) // (stride * unroll) + 1) * 4))
    out = None
    for start in range(0, ((count - 1) // (stride * unroll) + 1) * stride * unroll, stride * unroll):
        numbers = make(state.four())
        if out is None:
            out = numpy.empty(count, numbers.dtype)
        for k in range(unroll):
            at = start + numpy.arange(stride) + stride * k
            out[at[at < count]] = numbers[at < count, k]
    return out


def uniforms(count, dtype):
    return nullary(count, doubles, 2) if dtype == float64 else nullary(count, singles, 4)


def normals(count, dtype):
    return nullary(count, double_normals, 2) if dtype == float64 else nullary(count, single_normals, 4)


def kept(count, p, size):
    """Fused dropout's mask, of elements of this many bytes that lie dense at a multiple of 16 bytes."""
    vector = 16 // size
    while vector > 1 and count % vector:
        vector //= 2
    grid = grid_of(count)
    stride = 256 * grid
    offset = GENERATOR.take(((count - 1) // (stride * 4) + 1) * 4)
    chance = float64(p) if size == 8 else F32(p)
    state = State(numpy.arange(stride), offset)
    out = numpy.empty(count, bool)
    if vector == 1:
        for start in range(0, count, stride * 4):
            numbers = singles(state.four()) < chance
            for k in range(4):
                at = start + numpy.arange(stride) + stride * k
                out[at[at < count]] = numbers[at < count, k]
        return out
    for start in range(0, count, stride * vector):
        numbers = numpy.concatenate([singles(state.four()) for _ in range((vector + 3) // 4)], -1) < chance
        for k in range(vector):
            at = start + numpy.arange(stride) * vector + k
            out[at[at < count]] = numbers[at < count, k]
    return out


# --- Operators ---------------------------------------------------------------------------------------------------------
def uniform(count, low, high, dtype):
    wide = float64 if dtype == float64 else F32
    low, high = dtype(low), dtype(high)
    value = fused(uniforms(count, dtype), wide(high - low), wide(low)).astype(dtype)
    return numpy.where(value == high, low, value)


def normal(count, mean, deviation, dtype):
    wide = float64 if dtype == float64 else F32
    return fused(normals(count, dtype), wide(deviation), wide(mean)).astype(dtype)


def exponential(count, rate, dtype):
    u = uniforms(count, dtype)
    eps = numpy.finfo(u.dtype).eps
    log = numpy.where(u >= 1 - eps / 2, -eps / 2, numpy.log(u)).astype(u.dtype)
    return u.dtype.type(-1) / u.dtype.type(rate) * log


def cauchy(count, median, sigma, dtype):
    u = uniforms(count, dtype)
    one = u.dtype.type
    if dtype != float64:
        eps = numpy.finfo(F32).eps
        u = numpy.clip(u, eps, F32(1) - eps)
    return (one(median) + one(sigma) * numpy.tan(one(math.pi) * (u - one(0.5)))).astype(dtype)


def geometric(count, p, dtype):
    u = uniforms(count, dtype)
    one = u.dtype.type
    below = numpy.log(one(1) - one(p)) if dtype != float64 else numpy.log1p(-p)
    return numpy.ceil(numpy.log(u) / below)


def bernoulli(count, p, dtype):
    return uniforms(count, dtype) < (p if dtype == float64 else F32(p))


def bernoulli_of(p):
    """Four elements of each of as many threads as that takes."""
    threads = (p.size + 3) // 4
    numbers = singles(State(numpy.arange(threads), GENERATOR.take(10)).four()).reshape(-1)[:p.size]
    return numbers <= p.reshape(-1)


def random_from(count, low, span):
    drawn = nullary(count, long_integers, 2) if span >= 2**28 else nullary(count, integers, 4)
    return (drawn.astype(uint64) % uint64(span) + uint64(low % 2**64)).astype(int64)


def randperm(n):
    bits = min(64, math.ceil(math.log2(n - (6 * n * n + 1) / (math.log(0.9) * 12))))
    assert bits < 32
    keys = random_from(n, -2**31, 2**32 - 1).astype(uint64) & uint64(2**bits - 1)
    order = numpy.argsort(keys, kind="stable")
    keys, out = keys[order], order.astype(int64)
    offset = GENERATOR.take(n)
    for first in range(n - 1):
        if keys[first] != keys[first + 1] or (first and keys[first] == keys[first - 1]):
            continue
        size = 1
        while first + size < n and keys[first + size] == keys[first]:
            size += 1
        state, words = State([first], offset), []
        for i in range(size - 1, 0, -1):
            words = words or [int(w) for w in state.four()[0]]
            r = words.pop(0) % (i + 1)
            out[first + i], out[first + r] = out[first + r], out[first + i]
    return out


def multinomial(weights, samples, again):
    rows, places = weights.shape
    if samples == 1 or not again:
        scores = weights / exponential(weights.size, 1, weights.dtype.type).reshape(weights.shape)
        return numpy.argsort(-scores, axis=1, kind="stable")[:, :samples].astype(int64)
    lanes, turns = ((samples - 1) // 128 + 1) * 128, (rows - 1) // min(rows, 65535) + 1
    state = State((numpy.arange(rows)[:, None] * lanes + numpy.arange(samples)).reshape(-1), GENERATOR.take(turns * 4))
    u = singles(state.four())[:, 0].reshape(rows, samples)
    out = numpy.empty((rows, samples), int64)
    for row in range(rows):
        part = (weights[row] / weights[row].sum(dtype=weights.dtype)).astype(weights.dtype)
        sums = numpy.cumsum(part, dtype=weights.dtype)
        at = numpy.minimum(numpy.searchsorted(sums, u[row], side="left"), places - 1)
        for k in range(samples):
            while at[k] > 0 and weights[row, at[k]] == 0:
                at[k] -= 1
        out[row] = at
    return out


# --- The program -------------------------------------------------------------------------------------------------------
LINES, RESULTS, INPUTS = [], {}, {}
NAMES = {float16: "f16", float32: "f32", float64: "f64", int64: "i64", numpy.bool_: "bool", numpy.uint8: "u8"}


def kind_of(array):
    return f"{NAMES[array.dtype.type]}[{','.join(map(str, array.shape))}]"


def give(name, array):
    INPUTS[name] = array
    return f"%{name}"


def add(call, *results):
    names = [f"%r{len(RESULTS) + k}" for k in range(len(results))]
    typed = [f"{n}: {kind_of(r)}" for n, r in zip(names, results)]
    LINES.append(f"  {', '.join(typed)} = {call}")
    for n, r in zip(names, results):
        RESULTS[n] = numpy.ascontiguousarray(r)


def as_type(array, dtype, *sizes):
    return array.astype(dtype).reshape(sizes or array.shape)


def draw_numbers():
    rng = numpy.random.default_rng(5)
    one, wide, half = give("one", numpy.zeros((6, 35), F32)), give("wide", numpy.zeros(777)), give("half", numpy.zeros(888, float16))
    add("rand([2600])", uniform(2600, 0, 1, float32))
    add("rand([1500], dtype=f64)", uniform(1500, 0, 1, float64))
    add("rand([600], dtype=f16)", uniform(600, 0, 1, float16))
    add(f"uniform({one}, -1.3, 2.9)", as_type(uniform(210, -1.3, 2.9, float32), float32, 6, 35))
    add(f"uniform({half}, -3, 1)", uniform(888, -3, 1, float16))
    add("randint(10, [2100])", random_from(2100, 0, 10))
    add("randint.low(-5, 4000000000, [900])", random_from(900, -5, 4000000005))
    add(f"random({half})", as_type(random_from(888, 0, 2049), float16))
    add("rand([1])", uniform(1, 0, 1, float32))
    whole = give("whole", numpy.zeros(700, int64))
    add(f"random.from({whole}, -9223372036854775808, None)", nullary(700, long_integers, 2).view(int64))
    add(f"bernoulli.p({one}, 0.3)", as_type(bernoulli(210, 0.3, float32), float32, 6, 35))
    add(f"bernoulli.p({wide}, 0.6)", as_type(bernoulli(777, 0.6, float64), float64))
    chances = rng.random((5, 123)).astype(F32)
    add(f"bernoulli({give('chances', chances)})", as_type(bernoulli_of(chances), float32, 5, 123))
    for name, array in (("a", rng.random(2304).astype(F32)), ("b", rng.random(1603).astype(F32)), ("c", rng.random(1602).astype(F32)),
                        ("d", rng.random(1300)), ("e", rng.random(4800).astype(float16))):
        mask = kept(array.size, 1 - 0.25, array.itemsize)
        wide_type = float64 if array.dtype == float64 else F32
        scale = wide_type(1 / float64(wide_type(0.75)))
        add(f"native_dropout({give(name, array)}, 0.25, True)", (array.astype(wide_type) * mask * scale).astype(array.dtype), mask)
    for _ in range(12):
        add("randperm(40)", randperm(40))
    weights = rng.random((7, 30)).astype(F32)
    weights[:, 11] = 0
    name = give("weights", weights)
    add(f"multinomial({name}, 1)", multinomial(weights, 1, False))
    add(f"multinomial({name}, 4)", multinomial(weights, 4, False))
    add(f"multinomial({name}, 9, True)", multinomial(weights, 9, True))
    # from here on but for the last places
    add("randn([2100])", normal(2100, 0, 1, float32))
    add("randn([700], dtype=f64)", normal(700, 0, 1, float64))
    add(f"normal_functional({one}, 2.5, 0.3)", as_type(normal(210, 2.5, 0.3, float32), float32, 6, 35))
    add(f"log_normal({wide}, 0.5, 0.25)", numpy.exp(normal(777, 0.5, 0.25, float64)))
    add(f"exponential({one}, 1.5)", as_type(exponential(210, 1.5, float32), float32, 6, 35))
    add(f"exponential({wide}, 0.5)", exponential(777, 0.5, float64))
    add(f"cauchy({wide}, 1.0, 2.0)", cauchy(777, 1, 2, float64))
    add(f"geometric({wide}, 0.2)", geometric(777, 0.2, float64))
    add("rand([3])", uniform(3, 0, 1, float32))


def main():
    draw_numbers()
    head = ", ".join(f"%{name}: {kind_of(array)}" for name, array in INPUTS.items())
    text = f"fnz 1\nprogram({head})\n{{\n" + "\n".join(LINES) + f"\n  return {', '.join(RESULTS)}\n}}\n"
    with open(os.path.join(sys.argv[1], "philox.txt"), "w", encoding="ascii") as out:
        out.write(text)
    arrays = {f"input.{name}": array for name, array in INPUTS.items()}
    arrays |= {f"output.{k}": array for k, array in enumerate(RESULTS.values())}
    save_file(arrays, os.path.join(sys.argv[1], "philox.safetensors"))


main()
