"""Tensors that go in and come out, by DLPack: no element is copied.

The package only looks at inputs, for the length of a call. A result is a `Tensor`, or a tensor of the library that the
inputs are of, over memory that lives as long as any object refers to it.
"""

from __future__ import annotations

from ctypes import POINTER, addressof, byref, c_int64, c_ubyte, cast, memmove, pointer, sizeof, string_at
from operator import attrgetter
from typing import Any

from . import _structures as s
from ._library import lib
from ._python import BufferView, exchange_api, name_of, pointer_of
from .capsules import lend
from .dtypes import BY_NAME, DTYPES, Dtype, from_buffer_format
from .errors import argument_error, last_error, type_error

CPU_DEVICE = (s.CPU, 0)
_look = lib.fnz_dlpack_look


class Tensor:
    """Memory that the library has filled, or holds: a result, a part of a state, a weight.

    numpy.asarray(), numpy.from_dlpack(), torch.from_dlpack() and the like look at the same memory, which stays valid
    as long as they do. `shape`, `strides` (in elements) and `dtype` (PyTorch's name) say what it is.
    """

    __slots__ = ("_shape", "_strides", "_dtype", "_read_only", "_address", "_owner")

    def __init__(self, address: int, dtype: Dtype, shape: tuple[Any, ...], strides: tuple[Any, ...], owner: Any,
                 read_only: bool = False):
        self._address, self._owner, self._read_only = address, owner, read_only
        self._dtype, self._shape, self._strides = dtype.name, shape, strides

    shape = property(attrgetter("_shape"))  # not to be set: they say how far the memory goes
    strides = property(attrgetter("_strides"))
    dtype = property(attrgetter("_dtype"))
    read_only = property(attrgetter("_read_only"))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled and copied as its elements, row-major."""
        return tensor_of, (self._dtype, self._shape, self.tobytes())

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[Any, ...] | None = None,
                   dl_device: tuple[Any, ...] | None = None,
                   copy: bool | None = None) -> Any:
        """A capsule for one consumer: of DLPack 1 where `max_version` says that the consumer takes it."""
        if dl_device is not None and tuple(map(int, dl_device)) != CPU_DEVICE:
            raise BufferError(f"fnz: this tensor lies in memory of the CPU, not on device {dl_device}")
        if copy:
            raise BufferError("fnz: a tensor is shared, not copied; copy what from_dlpack() gives")
        versioned = max_version is not None and max_version[0] >= 1
        if self.read_only and not versioned:
            raise BufferError("fnz: this tensor is read-only, which needs a consumer of DLPack 1")
        return lend(self._address, BY_NAME[self.dtype], self.shape, self.strides, self.read_only, versioned,
                    self._owner)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU_DEVICE

    @property
    def __array_interface__(self) -> dict[str, Any]:
        row = BY_NAME[self.dtype]
        if row.typestr is None:
            raise AttributeError(f"NumPy has no {self.dtype}")
        return {"version": 3, "shape": self.shape, "typestr": row.typestr, "data": (self._address, self.read_only),
                "strides": tuple(stride * row.bytes for stride in self.strides)}

    def __array__(self, *_: Any, **__: Any) -> Any:  # reached only where there is no __array_interface__
        raise TypeError(f"fnz: NumPy has no {self.dtype}; use torch.from_dlpack(), or tobytes()")

    def numpy(self) -> Any:
        """The same memory as an array of NumPy."""
        import numpy
        return numpy.asarray(self)

    def torch(self) -> Any:
        """The same memory as a tensor of PyTorch."""
        from torch.utils.dlpack import from_dlpack
        return from_dlpack(self)

    def tobytes(self) -> bytes:
        """The elements, row-major."""
        size = BY_NAME[self.dtype].bytes
        return b"".join(string_at(self._address + size * at, size * run)
                        for at, run in _runs(self.shape, self.strides))

    def tolist(self) -> Any:
        """The elements as nested lists; of types that Python has."""
        view: Any = memoryview(self.tobytes())
        row = BY_NAME[self.dtype]
        text = {"b": "?", "f": "  e f   d", "i": " bh i   q", "u": " BH I   Q"}.get(row.category, "")
        if row.typestr is None or not text:
            raise TypeError(f"fnz: Python has no {self.dtype}; use tobytes()")
        view = view.cast(text if row.category == "b" else text[row.bytes])
        if not self.shape:
            return view[0]
        return view.cast("B").cast(view.format, list(self.shape)).tolist() if 0 not in self.shape else _empty(self.shape)

    def item(self) -> Any:
        """The only element."""
        listed = self.tolist()
        while isinstance(listed, list):
            if len(listed) != 1:
                raise argument_error(f"item() is for one element, this tensor has sizes {list(self.shape)}")
            listed = listed[0]
        return listed

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return int(self.shape[0])

    def __repr__(self) -> str:
        return f"<fnz.Tensor {self.dtype}{list(self.shape)}>"


def tensor_of(dtype: str, shape: tuple[Any, ...], data: bytes) -> Tensor:
    """A tensor with memory of its own."""
    memory = (c_ubyte * max(len(data), 1)).from_buffer_copy(data or b"\0")
    return Tensor(addressof(memory), BY_NAME[dtype], shape, row_major(shape), memory)


def _empty(shape: tuple[Any, ...]) -> list[Any]:
    return [] if shape[0] == 0 else [_empty(shape[1:]) for _ in range(shape[0])]


def _runs(shape: tuple[Any, ...], strides: tuple[Any, ...]) -> list[tuple[int, int]]:
    """The contiguous runs of elements, row-major, as offsets and lengths."""
    runs, together = [0], 1
    rank = len(shape)
    while rank and (strides[rank - 1] == together or shape[rank - 1] == 1):
        together *= shape[rank - 1]
        rank -= 1
    for size, stride in zip(shape[:rank], strides[:rank]):
        runs = [at + i * stride for at in runs for i in range(size)]
    return [(at, together) for at in runs] if together else []


def row_major(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Strides of dense rows."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def span_of(shape: tuple[Any, ...], strides: tuple[Any, ...]) -> int:
    """How many elements from the first to behind the last one."""
    return 0 if 0 in shape else 1 + sum((size - 1) * stride for size, stride in zip(shape, strides))


def tensor_over(memory: s.Memory, owner: Any, read_only: bool = False) -> Tensor:
    """A fnz_memory as a tensor that keeps its owner alive."""
    geometry = memory.geometry[0]
    rank = geometry.rank
    return Tensor(memory.data or 0, DTYPES[geometry.dtype], tuple(geometry.sizes[:rank]),
                  tuple(geometry.strides[:rank]), owner, read_only)


_ON_CPU = (s.CPU, s.CUDA_HOST)


class Look:
    """Looks at a tensor of any library for a call: `view` describes the tensor. Used again and again."""

    __slots__ = ("view", "memory", "device", "_managed", "_version", "_view_at", "_managed_at", "_tensor_at")

    def __init__(self) -> None:
        self.view = s.DlpackView()
        self.memory, self.device = self.view.memory, self.view.device
        self._managed = s.DLManagedTensorVersioned()
        self._version = self._managed.version
        self._version.major = 1
        self._view_at, self._managed_at = byref(self.view), byref(self._managed)
        self._tensor_at = byref(self._managed.dl_tensor)

    def at(self, context: Any, value: Any, name: str) -> Any:
        """Looks at `value`. The caller keeps the returned object alive as long as the view is used."""
        api = exchange_api(type(value))
        if api is not None:
            if api.has_bits and (value.requires_grad or value.is_neg() or value.is_conj()):
                _refuse_bits(value, name)
            self._managed.flags, self._version.major = 0, 1
            try:
                api.look(value, self._tensor_at)
            except Exception as error:
                words = str(error).partition("\n")[0]
                raise argument_error(f"cannot be looked at: {words}; give a dense tensor on the CPU", f"input `{name}`") from error
            keeps = value
        elif isinstance(value, Tensor):
            self._fill(value._address, BY_NAME[value.dtype], value.shape, value.strides, value.read_only)
            return value
        elif isinstance(value, type):
            raise type_error(f"must be a tensor; this is the class {name_of(value)}", f"input `{name}`")
        else:
            if getattr(value, "is_neg", bool)():  # what __dlpack__() of PyTorch does not look at
                _refuse_bits(value, name)
            keeps = self._at_capsule(value, name) if hasattr(value, "__dlpack__") else None
            if keeps is None:
                return self._at_buffer(value, name)
        if _look(context, self._managed_at, self._view_at):
            refused = last_error(context)
            refused.where = refused.where or f"input `{name}`"
            raise refused
        if self.device.device_type not in _ON_CPU:
            raise argument_error("lies on a device; bring it to the CPU first", f"input `{name}`")
        return keeps

    def _at_capsule(self, value: Any, name: str) -> Any:
        """By the protocol; None if it refuses, as NumPy before 2 does for read-only arrays, and for bool."""
        try:
            capsule = value.__dlpack__(max_version=(1, 0))
        except TypeError:
            try:
                capsule = value.__dlpack__()
            except BufferError:
                return None
        except BufferError:
            return None
        try:
            address, versioned = pointer_of(capsule)
        except BufferError as error:
            raise argument_error(str(error), f"input `{name}`") from error
        given: Any = s.DLManagedTensorVersioned.from_address(address) if versioned else None
        self._version.major, self._version.minor = (given.version.major, given.version.minor) if versioned else (1, 0)
        if self._version.major == 1:  # of another one nothing else may be looked at, and it is refused
            self._managed.flags = given.flags if versioned else 0
            memmove(self._tensor_at, address + (s.DLManagedTensorVersioned.dl_tensor.offset if versioned else 0),
                    sizeof(s.DLTensor))
        return capsule  # not consumed: the capsule's destructor frees its tensor

    def _at_buffer(self, value: Any, name: str) -> Any:
        try:
            view = BufferView(value)
        except (TypeError, BufferError, ValueError) as error:
            raise type_error(f"must be a tensor with __dlpack__, or a buffer, as torch.tensor() and "
                             f"numpy.array() make them; this is of type {name_of(type(value))} ({error})", f"input `{name}`") from error
        dtype = from_buffer_format(view.format, view.itemsize)
        if dtype is None:
            raise type_error(f"has items of format {view.format!r}, which no element type of fnz is",
                             f"input `{name}`")
        if any(stride < 0 or stride % dtype.bytes for stride in view.strides) or view.address % dtype.bytes:
            raise argument_error("has elements that do not lie at multiples of their size, or backwards; copy it",
                                 f"input `{name}`")
        self._fill(view.address, dtype, view.shape, tuple(b // dtype.bytes for b in view.strides), view.read_only)
        return view

    def _fill(self, address: int, dtype: Dtype, shape: tuple[Any, ...], strides: tuple[Any, ...], read_only: bool) -> None:
        view = self.view
        rank = len(shape)
        view.sizes[:rank], view.strides[:rank] = shape, strides
        geometry = view.geometry
        geometry.dtype, geometry.rank, geometry.offset = dtype.number, rank, 0
        geometry.is_conj = geometry.is_neg = False
        geometry.sizes = cast(view.sizes, POINTER(c_int64))
        geometry.strides = cast(view.strides, POINTER(c_int64))
        geometry.symbols = None
        view.memory.data, view.memory.geometry = address, pointer(geometry)
        view.device.device_type, view.device.device_id = CPU_DEVICE
        view.read_only = read_only


def _refuse_bits(value: Any, name: str) -> None:
    """Raises for tensors that __dlpack__() refuses, or should: tensors with lazy bits, and tensors
    that require a gradient."""
    if value.requires_grad:
        raise argument_error("requires a gradient, and none flows through a call; give its detach()", f"input `{name}`")
    raise argument_error("has a conjugate or negative bit; give its resolve_conj().resolve_neg()", f"input `{name}`")
