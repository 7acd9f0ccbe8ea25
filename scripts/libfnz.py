"""libfnz by ctypes, as far as scripts/against_torch.py needs it: programs from bytes, functional forms, runs on tensors of
PyTorch, comparisons. For developers: needs torch."""
import ctypes
import re
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
OK, DIFFERENT = 0, 8
PT2, JSON = 1, 2


def dtypes():
    """[dtype of torch or None] in the order of the enum, off the rows of <fnz/types.h>."""
    rows = re.findall(r'^  ROW\(\w+, "\w+", \d+, \'.\', \d+, "(\w+)"', (ROOT / "include/fnz/types.h").read_text(), re.M)
    return [getattr(torch, name, None) for name in rows]


DTYPES = dtypes()
P = ctypes.c_void_p


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("kind", ctypes.c_int), ("where", ctypes.c_char * 192), ("message", ctypes.c_char * 512)]


class Array(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("sizes", ctypes.POINTER(ctypes.c_int64)), ("data", P), ("bytes", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("views", ctypes.c_int), ("state", ctypes.c_int), ("deny", P), ("ndeny", ctypes.c_size_t),
                ("check", P)]


class RunOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("original", ctypes.c_bool), ("check_schemas", ctypes.c_bool)]


class VerifyOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("trials", ctypes.c_int), ("ignore_weights", ctypes.c_bool)]


class Refused(Exception):
    """The error of fnz."""

    def __init__(self, step, status, kind, where, message):
        super().__init__(f"{kind}: {where}: {message}")
        self.step, self.status, self.kind, self.where, self.message = step, status, kind, where, message


def dense(tensor):
    """Row-major elements of a tensor, its lazy bits worked off."""
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def raw(tensor):
    tensor = dense(tensor)
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""


class Library:
    """One context and one CPU backend of a library. Not to be used by two threads."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(str(path))
        for name in ("fnz_last_error", "fnz_arrays_at"):
            getattr(self.lib, name).restype = P
        for name in ("fnz_class_name", "fnz_version"):
            getattr(self.lib, name).restype = ctypes.c_char_p
        self.lib.fnz_arrays_count.restype = ctypes.c_size_t
        self.context, self.backend = P(), P()
        if self.lib.fnz_context_create(None, ctypes.byref(self.context)) != OK:
            raise MemoryError
        self.call("create", self.lib.fnz_cpu_backend_create, ctypes.c_int(1), ctypes.byref(self.backend))

    def call(self, step, function, *args):
        status = function(self.context, *args)
        if status != OK:
            error = Error.from_address(self.lib.fnz_last_error(self.context))
            raise Refused(step, status, self.lib.fnz_class_name(error.kind).decode(), error.where.decode(), error.message.decode())

    def read(self, data, kind):
        program = P()
        self.call("read", self.lib.fnz_program_read, data, ctypes.c_size_t(len(data)), kind, ctypes.byref(program))
        return program

    def functionalize(self, program, views=0, state=0):
        options = Options(ctypes.sizeof(Options), views, state, None, 0, ctypes.cast(self.lib.fnz_verify_hashes, P))
        functional = P()
        self.call("functionalize", self.lib.fnz_functionalize, program, ctypes.byref(options), ctypes.byref(functional))
        return functional

    def destroy(self, *programs):
        for program in programs:
            self.lib.fnz_program_destroy(program)

    def arrays(self, tensors):
        """Arrays of {name: tensor}."""
        arrays = P()
        self.call("arrays", self.lib.fnz_arrays_create, ctypes.byref(arrays))
        for name, tensor in tensors.items():
            data, sizes = P(), (ctypes.c_int64 * max(tensor.dim(), 1))(*tensor.shape)
            status = self.lib.fnz_arrays_add(arrays, name.encode(), DTYPES.index(tensor.dtype), tensor.dim(), sizes, ctypes.byref(data))
            if status != OK:
                raise MemoryError
            if tensor.numel():
                values = dense(tensor)
                ctypes.memmove(data, values.data_ptr(), values.numel() * values.element_size())
        return arrays

    def taken(self, arrays):
        """{name: (dtype, sizes, bytes)}, and ends the arrays."""
        out = {}
        for k in range(self.lib.fnz_arrays_count(arrays)):
            a = Array.from_address(self.lib.fnz_arrays_at(arrays, ctypes.c_size_t(k)))
            out[a.name.decode()] = (DTYPES[a.dtype], tuple(a.sizes[:a.rank]), ctypes.string_at(a.data, a.bytes) if a.bytes else b"")
        self.lib.fnz_arrays_destroy(arrays)
        return out

    def run(self, program, inputs, original=False):
        options = RunOptions(ctypes.sizeof(RunOptions), original)
        arrays, outputs = self.arrays(inputs), P()
        self.call("arrays", self.lib.fnz_arrays_create, ctypes.byref(outputs))
        try:
            self.call("run --original" if original else "run", self.lib.fnz_run, program, self.backend, arrays,
                      ctypes.byref(options), outputs)
        except Refused:
            self.lib.fnz_arrays_destroy(outputs)
            raise
        finally:
            self.lib.fnz_arrays_destroy(arrays)
        return self.taken(outputs)

    def verify(self, program, functional, inputs, trials=1):
        arrays = self.arrays(inputs)
        try:
            self.call("verify", self.lib.fnz_verify, program, functional, arrays,
                      ctypes.byref(VerifyOptions(ctypes.sizeof(VerifyOptions), trials)), None)
        finally:
            self.lib.fnz_arrays_destroy(arrays)
