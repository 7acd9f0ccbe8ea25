#!/usr/bin/env python3
"""Reads a program of fnz as CBOR and runs it with numpy: written from docs/cbor-format.md alone.

    run_cbor.py PROGRAM.cbor INPUTS.safetensors... [--want WANT.safetensors]

State comes from the program, or from the inputs as buffer.NAME or parameter.NAME. Prints each result; with --want each
must be close to the array of its name there. It knows the operators of fixtures/pt2/kv_cache.pt2; add yours to OPS."""
import hashlib, json, os, struct, sys
import numpy as np

DTYPES = "? u1 i1 i2 i4 i8 f2 - f4 f8 - c8 c16 u2 u4 u8".split()  # by number; "-": numpy has none
SAFETENSORS = {"BOOL": "?", "U8": "u1", "I8": "i1", "I32": "i4", "I64": "i8", "F16": "f2", "F32": "f4", "F64": "f8"}
UNDEFINED = object()


def item(d, at):
    """The CBOR item at a place, and the place behind it."""
    major, low, at = d[at] >> 5, d[at] & 31, at + 1
    if major == 7:
        size = {25: 2, 26: 4, 27: 8}.get(low)
        if size:
            return struct.unpack({2: ">e", 4: ">f", 8: ">d"}[size], d[at:at + size])[0], at + size
        return {20: False, 21: True, 22: None, 23: UNDEFINED}[low], at
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(low, 0)
    n, at = (int.from_bytes(d[at:at + size], "big") if size else low), at + size
    if major < 2:
        return (-1 - n if major else n), at
    if major < 4:
        return (d[at:at + n].decode() if major == 3 else d[at:at + n]), at + n
    items = []
    for _ in range(n * (2 if major == 5 else 1)):
        value, at = item(d, at)
        items.append(value)
    return (dict(zip(items[::2], items[1::2])) if major == 5 else items), at


def safetensors(d):
    size = int.from_bytes(d[:8], "little")
    for name, t in json.loads(d[8:8 + size]).items():
        if name != "__metadata__":
            start, end = (8 + size + k for k in t["data_offsets"])
            yield name, np.frombuffer(d[start:end], SAFETENSORS.get(t["dtype"], "u1")).reshape(t["shape"])


def read(path):
    with open(path, "rb") as file:
        (magic, version, p), _ = item(file.read(), 0)
    assert (magic, version) == ("fnz-cbor", 1), "no program that this knows"
    if 13 in p:  # the blobs lie in a file beside it
        name, size, digest = p[13]
        assert os.path.basename(name) == name
        with open(os.path.join(os.path.dirname(path), name), "rb") as file:
            data = file.read()
        assert len(data) == size and hashlib.blake2b(data, digest_size=32).digest() == digest, "other weights"
        arrays = {name: a.tobytes() for name, a in safetensors(data)}
        names = [[w[0] for w in p[10] if w[2] == k + 1] for k in range(len(p[11]))]
        p[11] = [next(arrays[n] for n in ns if n in arrays) for ns in names]
    return p


def weight(p, type_index, blob):
    dtype, sizes, strides, offset, _ = p[6][type_index]
    flat = np.frombuffer(p[11][blob - 1], DTYPES[dtype])
    return np.lib.stride_tricks.as_strided(flat[offset:], sizes, [s * flat.itemsize for s in strides])


def softmax(x, dim, dtype=None):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def put(x, indices, values, add=False):
    out = x.copy()
    out[tuple(slice(None) if i is None else i for i in indices)] = values
    return out


OPS = {
    "linear": lambda x, w, b=None: x @ w.T + (0 if b is None else b),
    "view_copy": lambda x, sizes: x.reshape(sizes),
    "index_copy": lambda x, dim, i, source: put(x, [None] * dim + [i], source),
    "index_put": put,
    "arange": lambda end, *_: np.arange(end),
    "max": lambda x: x.max(),
    "le.Tensor": lambda a, b: a <= b,
    "transpose_copy.int": lambda x, a, b: x.swapaxes(a, b),
    "matmul": lambda a, b: a @ b,
    "div.Tensor": lambda a, b: a / np.float32(b),
    "bitwise_not": lambda x: ~x,
    "masked_fill.Scalar": lambda x, mask, value: np.where(mask, np.float32(value), x),
    "softmax.int": softmax,
}


def run(p, given):
    strings, (_, _, _, inputs, nodes, outputs) = [""] + p[0], p[7][0]
    weights, values, results = {w[0]: w for w in p[10]}, {}, {}
    kinds = ["user", "parameter", "buffer", "constant"]

    def value(arg):
        if not isinstance(arg, list):
            return None if arg is UNDEFINED else arg
        return {2: lambda: values[arg[1]], 15: lambda: [value(a) for a in arg[1:]]}.get(arg[0], lambda: arg[1])()

    for arg, spec in zip(inputs, p[8]):
        name = ("input" if not spec[0] else kinds[spec[0]]) + "." + spec[1]
        found = given.get(name, given.get(spec[1]))
        values[arg[1]] = found if found is not None else weight(p, *weights[spec[1]][1:])
    for target, _, _, args, outs, *_ in nodes:
        values[outs[0][1]] = OPS[strings[target]](*[value(a) for a in args])
    count = 0
    for arg, spec in zip(outputs, p[9]):
        mutation = {2: "buffer.", 3: "parameter.", 4: "input."}.get(spec[0])
        results[mutation + spec[2] if mutation else f"output.{count}"] = value(arg)
        count += not mutation
    return results


def load(paths):
    return {name: array for path in paths for name, array in safetensors(open(path, "rb").read())}


def main():
    paths, want = sys.argv[1:], {}
    if "--want" in paths:
        want = load(paths[paths.index("--want") + 1:])
        paths = paths[:paths.index("--want")]
    results = run(read(paths[0]), load(paths[1:]))
    for name, array in sorted(results.items()):
        print(name, array.dtype, array.shape, array.reshape(-1)[:3])
    for name, array in want.items():
        assert np.allclose(results[name], array, rtol=1e-5, atol=1e-6), name
    print(f"{len(want)} as wanted")


main()
