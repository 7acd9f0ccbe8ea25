"""One call of an operator on both sides of a comparison: PyTorch's tensors and libfnz's values, over memory of the same bytes.
For developers: needs torch."""
import ctypes
import math

import torch

import libfnz
from call_draws import DEFAULT, Tensor

P, I64, U64, F64 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_double


class Eager(ctypes.Structure):
    _fields_ = [("backend", P), ("handle", U64)]


class Geometry(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_uint32), ("is_conj", ctypes.c_bool), ("is_neg", ctypes.c_bool), ("offset", I64),
                ("sizes", ctypes.POINTER(I64)), ("strides", ctypes.POINTER(I64)), ("symbols", P)]


class Arg(ctypes.Structure):
    pass


class Union(ctypes.Union):
    _fields_ = [("i", I64), ("f", F64), ("s", ctypes.c_char_p), ("list", ctypes.POINTER(Arg))]


Arg._fields_ = [("tag", ctypes.c_uint8), ("flags", ctypes.c_uint8), ("count", ctypes.c_uint32), ("u", Union)]
INT, FLOAT, BOOL, COMPLEX, STRING, DTYPE, LAYOUT, FORMAT, DEVICE, LIST, NONE = 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1
FORMATS = {torch.contiguous_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3, torch.preserve_format: 4}


def argument(value, kept):
    """An fnz_arg of a value without tensors; `kept` keeps what it points to."""
    a = Arg()
    if value is None:
        a.tag = NONE
    elif isinstance(value, bool):
        a.tag, a.u.i = BOOL, value
    elif isinstance(value, int):
        a.tag, a.u.i = INT, value
    elif isinstance(value, float):
        a.tag, a.u.f = FLOAT, value
    elif isinstance(value, (complex, list)):
        parts = [value.real, value.imag] if isinstance(value, complex) else value
        items = (Arg * max(len(parts), 1))(*[argument(v, kept) for v in parts])
        kept.append(items)
        a.tag, a.count, a.u.list = COMPLEX if isinstance(value, complex) else LIST, len(parts), items
    elif isinstance(value, (str, torch.device)):
        text = str(value).encode()
        kept.append(text)
        a.tag, a.count, a.u.s = STRING if isinstance(value, str) else DEVICE, len(text), text
    elif isinstance(value, torch.dtype):
        a.tag, a.u.i = DTYPE, libfnz.DTYPES.index(value)
    else:
        a.tag, a.u.i = FORMAT, FORMATS[value]
    return a


# --- tensors, on both sides -------------------------------------------------------------------------------------------------
def laid_out(t):
    """(flat memory, sizes, strides, offset) of a drawn tensor."""
    shape, dense = list(t.values.shape), list(t.values.stride())
    count, layout = t.values.numel(), t.layout
    strides, offset, room = dense, 0, count
    if layout == "transposed" and len(shape) > 1:
        strides = list(reversed(torch.empty(list(reversed(shape))).stride()))
    elif layout == "slice" and shape:
        strides, offset, room = list(torch.empty([*shape[:-1], shape[-1] + 2]).stride()), 1, math.prod([*shape[:-1], shape[-1] + 2])
    elif layout == "step":
        strides, room = [2 * s for s in dense], 2 * count
    elif layout == "expanded":
        strides, room = [0, *dense[1:]], max(count // max(shape[0], 1), 1)
    elif layout == "shifted":
        offset, room = 3, count + 3
    elif layout == "channels_last":
        strides = list(torch.empty(shape).to(memory_format=torch.channels_last).stride())
    flat = torch.zeros(room, dtype=t.values.dtype)
    if count:
        flat.as_strided(shape, strides, offset).copy_(t.values) if layout != "expanded" else flat.copy_(t.values[0].reshape(-1))
    if layout == "negative":
        flat = -flat
    return flat.conj().resolve_conj() if layout == "conjugated" else flat, shape, strides, offset


class Memory:
    """The tensors of one call: for each its flat memory and window."""

    def __init__(self, call):
        self.rows, self.at = [], {}
        for t in call.tensors():
            if id(t) in self.at:
                continue
            self.at[id(t)] = len(self.rows)
            if t.again is not None:
                self.rows.append(self.rows[t.again])
            elif t.at is not None:
                base, _, strides, offset, _ = self.rows[t.at[0]]
                self.rows.append((base, list(t.values.shape), strides, offset + t.at[1], "plain"))
            else:
                self.rows.append((*laid_out(t), t.layout))


class TorchSide:
    def __init__(self, memory):
        self.bases, self.tensors = {}, []
        for base, shape, strides, offset, layout in memory.rows:
            mine = self.bases.setdefault(id(base), base.clone())
            t = mine.as_strided(shape, strides, offset)
            self.tensors.append(t.conj() if layout == "conjugated" else torch.ops.aten._neg_view(t) if layout == "negative" else t)

    def call(self, call, memory):
        def given(a):
            if isinstance(a, Tensor):
                return self.tensors[memory.at[id(a)]]
            return [given(x) for x in a] if isinstance(a, list) else a
        base, _, tail = call.op.partition(".")
        op = getattr(getattr(torch.ops.aten, base), tail or "default")
        positional, named = [], {k: given(v) for k, v in call.named.items()}
        for p, a in zip([p for p in op._schema.arguments if p.name not in named], call.args):
            if a is DEFAULT and p.has_default_value() and not p.kwarg_only:
                a = p.default_value
            if a is not DEFAULT:
                if p.kwarg_only:
                    named[p.name] = given(a)
                else:
                    positional.append(given(a))
        with torch.no_grad():
            got = op(*positional, **named)
        return list(got) if isinstance(got, tuple) else [] if got is None else [got]


class Library(libfnz.Library):
    """fnz_call() on memory."""

    def __init__(self, path):
        super().__init__(path)
        lib = self.lib
        lib.fnz_op_find.restype = P
        lib.fnz_eager_geometry.restype = ctypes.POINTER(Geometry)
        for name in ("fnz_stack_tensor", "fnz_take_tensor", "fnz_take_item"):
            getattr(lib, name).restype = Eager
        for name in ("fnz_stack_count", "fnz_stack_tensors"):
            getattr(lib, name).restype = ctypes.c_size_t
        lib.fnz_stack_arg.restype = ctypes.POINTER(Arg)
        lib.fnz_stack_warning.restype = ctypes.c_char_p
        self.stack, self.side = P(), P()
        self.call("create", lib.fnz_stack_create, self.backend, ctypes.byref(self.stack))
        self.call("create", lib.fnz_stack_create, self.backend, ctypes.byref(self.side))

    def op(self, name, stack):
        self.call("call", self.lib.fnz_call, P(self.lib.fnz_op_find(None, name.encode())), stack)

    def imported(self, flat):
        """A tensor over the memory of PyTorch's."""
        capsule = flat.__dlpack__(max_version=(1, 0))
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = P, [ctypes.py_object, ctypes.c_char_p]
        managed, out = get(capsule, b"dltensor_versioned"), Eager()
        self.call("import", self.lib.fnz_eager_from_dlpack, self.backend, P(managed), ctypes.byref(out))
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        rename(capsule, USED)
        return out

    def exported(self, tensor):
        """A copy of its elements as a tensor of PyTorch's."""
        g = self.lib.fnz_eager_geometry(tensor).contents
        if g.is_conj or g.is_neg:
            return self.exported(self.viewed("resolve_conj" if g.is_conj else "resolve_neg", tensor))
        managed = P()
        self.call("export", self.lib.fnz_eager_to_dlpack, tensor, ctypes.byref(managed))
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [P, ctypes.c_char_p, P]
        return torch.from_dlpack(Capsule(make(managed, b"dltensor_versioned", None))).clone(memory_format=torch.contiguous_format)

    def popped(self, stack):
        return self.lib.fnz_take_tensor(stack, ctypes.c_size_t(0))

    def viewed(self, name, tensor, *ints):
        self.lib.fnz_push_tensor(self.side, tensor)
        for values in ints:
            if isinstance(values, list):
                self.lib.fnz_push_ints(self.side, (I64 * max(len(values), 1))(*values), ctypes.c_size_t(len(values)))
            else:
                self.lib.fnz_push_int(self.side, I64(values))
        try:
            self.op(name, self.side)
            return self.popped(self.side)
        finally:
            self.lib.fnz_stack_clear(self.side)


USED = b"used_dltensor_versioned"


class Capsule:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


class FnzSide:
    def __init__(self, library, memory):
        self.library, self.bases, self.tensors, self.owned = library, {}, [], []
        for base, shape, strides, offset, layout in memory.rows:
            if id(base) not in self.bases:
                mine = base.clone()
                self.bases[id(base)] = mine, self.own(library.imported(mine))
            t = self.own(library.viewed("as_strided", self.bases[id(base)][1], shape, strides, offset))
            if layout in ("conjugated", "negative"):
                t = self.own(library.viewed("_conj" if layout == "conjugated" else "_neg_view", t))
            self.tensors.append(t)

    def own(self, tensor):
        self.owned.append(tensor)
        return tensor

    def end(self):
        for t in self.owned:
            self.library.lib.fnz_eager_release(t)

    def push(self, a, memory):
        lib, stack = self.library.lib, self.library.stack
        if a is DEFAULT:
            lib.fnz_push_default(stack)
        elif isinstance(a, Tensor):
            lib.fnz_push_tensor(stack, self.tensors[memory.at[id(a)]])
        elif isinstance(a, list) and any(isinstance(x, Tensor) for x in a):
            items = (Eager * len(a))(*[self.tensors[memory.at[id(x)]] if isinstance(x, Tensor) else Eager() for x in a])
            lib.fnz_push_tensors(stack, items, ctypes.c_size_t(len(a)))
        else:
            kept = []
            lib.fnz_push_arg(stack, ctypes.byref(argument(a, kept)))

    def call(self, call, memory):
        """Results: tensors as (geometry, elements), numbers; and the warning."""
        for a in call.args:
            self.push(a, memory)
        for name, a in call.named.items():
            self.push(a, memory)
            self.library.lib.fnz_push_name(self.library.stack, name.encode())
        stack = self.library.stack
        try:
            self.library.op(call.op, stack)
            return [self.result(k) for k in range(self.library.lib.fnz_stack_count(stack))]
        finally:
            self.library.lib.fnz_stack_clear(stack)

    def result(self, k):
        lib, stack = self.library.lib, self.library.stack
        arg = lib.fnz_stack_arg(stack, ctypes.c_size_t(k))
        count = lib.fnz_stack_tensors(stack, ctypes.c_size_t(k))
        if arg:
            a = arg.contents
            return a.u.f if a.tag == FLOAT else bool(a.u.i) if a.tag == BOOL else a.u.i if a.tag == INT else None if a.tag == NONE else "list"
        out = [self.seen(lib.fnz_stack_tensor(stack, ctypes.c_size_t(k), ctypes.c_size_t(j))) for j in range(count)]
        return out

    def seen(self, tensor):
        if not tensor.handle:
            return None
        g = self.library.lib.fnz_eager_geometry(tensor).contents
        return (libfnz.DTYPES[g.dtype], list(g.sizes[:g.rank]), list(g.strides[:g.rank]), self.library.exported(tensor))
