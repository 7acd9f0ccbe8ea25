#!/usr/bin/env python3
"""Reads a program of fnz as CBOR and runs it with numpy: written from docs/cbor-format.md alone.

    run_cbor.py PROGRAM.cbor INPUTS.safetensors...

State comes from the program, or from the inputs as buffer.NAME or parameter.NAME. Prints the beginning of each result.
It knows the operators of fixtures/pt2/kv_cache.pt2; add yours to OPS. It has 85 lines, blank ones and these left out."""
import hashlib, json, os, struct, sys
import numpy as np

DTYPES = "? u1 i1 i2 i4 i8 f2 - f4 f8 - c8 c16 u2 u4 u8".split()  # by number; "-": numpy has none
SAFETENSORS = dict(zip("BOOL U8 I8 I16 I32 I64 F16 - F32 F64 - C64 - U16 U32 U64".split(), DTYPES))
UNDEFINED = object()


def item(f):
    """The next CBOR item of a file."""
    head = f.read(1)[0]
    major, low, more = head >> 5, head & 31, f.read({24: 1, 25: 2, 26: 4, 27: 8}.get(head & 31, 0))
    if major == 7:
        floats = {2: ">e", 4: ">f", 8: ">d"}
        return struct.unpack(floats[len(more)], more)[0] if more else {20: False, 21: True, 22: None, 23: UNDEFINED}[low]
    n = int.from_bytes(more, "big") if more else low
    if major < 2:
        return -1 - n if major else n
    if major < 4:
        return f.read(n).decode() if major == 3 else f.read(n)
    items = [item(f) for _ in range(2 * n if major == 5 else n)]
    return dict(zip(items[::2], items[1::2])) if major == 5 else items


def safetensors(d):
    size = int.from_bytes(d[:8], "little")
    for name, t in json.loads(d[8:8 + size]).items():
        if name != "__metadata__":
            start, end = (8 + size + k for k in t["data_offsets"])
            yield name, np.frombuffer(d[start:end], SAFETENSORS.get(t["dtype"], "u1")).reshape(t["shape"])


def read(path):
    magic, version, p = item(open(path, "rb"))
    assert (magic, version) == ("fnz-cbor", 1), "no program that this knows"
    if 13 in p:  # the blobs lie in a file beside it
        name, size, digest = p[13]
        assert os.path.basename(name) == name
        data = open(os.path.join(os.path.dirname(path), name), "rb").read()
        assert len(data) == size and hashlib.blake2b(data, digest_size=32).digest() == digest, "other weights"
        arrays = dict(safetensors(data))  # a blob has the name of one of its weights there
        p[11] = [next(arrays[w[0]].tobytes() for w in p[10] if w[2] == k + 1 and w[0] in arrays) for k in range(len(p[11]))]
    return p


def weight(p, name):
    _, of, blob = next(w for w in p[10] if w[0] == name)
    dtype, sizes, strides, offset, _ = p[6][of]
    flat = np.frombuffer(p[11][blob - 1], DTYPES[dtype])
    return np.lib.stride_tricks.as_strided(flat[offset:], sizes, [s * flat.itemsize for s in strides])


def softmax(x, dim, dtype=None):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def put(x, indices, values, add=False):
    out = x.copy()
    out[tuple(slice(None) if i is None else i for i in indices)] = values
    return out


OPS = {"linear": lambda x, w, b=None: x @ w.T + (0 if b is None else b),
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
       "softmax.int": softmax}


def value_of(arg, values):
    if not isinstance(arg, list):
        return None if arg is UNDEFINED else arg
    return values[arg[1]] if arg[0] == 2 else [value_of(a, values) for a in arg[1:]] if arg[0] == 15 else arg[1]


def run(p, given):
    strings, (_, _, _, inputs, nodes, outputs) = [""] + p[0], p[7][0]
    values, results, users = {}, {}, 0
    for arg, (kind, name, *_) in zip(inputs, p[8]):
        known = ["input", "parameter", "buffer", "constant"][kind] + "." + name
        found = given.get(known, given.get(name))
        values[arg[1]] = weight(p, name) if found is None else found
    for target, _, _, args, outs, *_ in nodes:
        values[outs[0][1]] = OPS[strings[target]](*[value_of(a, values) for a in args])
    for arg, spec in zip(outputs, p[9]):
        mutation = {2: "buffer.", 3: "parameter.", 4: "input."}.get(spec[0])
        results[mutation + spec[2] if mutation else f"output.{users}"] = value_of(arg, values)
        users += not mutation
    return results


def main(program, *inputs):
    given = {name: array for path in inputs for name, array in safetensors(open(path, "rb").read())}
    for name, array in sorted(run(read(program), given).items()):
        print(name, array.dtype, array.shape, array.reshape(-1)[:3])


if __name__ == "__main__":
    main(*sys.argv[1:])
