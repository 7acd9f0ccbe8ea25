"""The parts of CPython's own C interface that the package needs: capsules, buffers, and DLPack's table of C functions
of a type."""

from __future__ import annotations

import ctypes
from ctypes import PYFUNCTYPE, Structure, byref, c_char_p, c_int, c_ssize_t, c_uint32, c_void_p, py_object
from typing import Any

_python = ctypes.pythonapi

# Names of capsules; these bytes must outlive every capsule.
VERSIONED, PLAIN, EXCHANGE = b"dltensor_versioned", b"dltensor", b"dlpack_exchange_api"
_USED_VERSIONED, _USED_PLAIN = b"used_dltensor_versioned", b"used_dltensor"

# Prototypes of this module's own: all modules of a process share the prototypes of ctypes.pythonapi.
_is_valid = PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_IsValid", _python))
_get_pointer = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", _python))
_set_name = PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", _python))
_new_capsule = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _python))
incref = PYFUNCTYPE(None, py_object)(("Py_IncRef", _python))
decref = PYFUNCTYPE(None, py_object)(("Py_DecRef", _python))


def name_of(kind: type) -> str:
    """A type as messages name it."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def pointer_of(capsule: Any) -> tuple[int, bool]:
    """The managed tensor in a capsule, and whether it is one of DLPack 1."""
    for name in (VERSIONED, PLAIN):
        if _is_valid(capsule, name):
            return _get_pointer(capsule, name), name is VERSIONED
    raise BufferError("its __dlpack__() gave no capsule of DLPack, or one that has been consumed")


def is_unconsumed(capsule: Any) -> bool:
    """Whether no consumer has taken what is in the capsule."""
    return bool(_is_valid(capsule, VERSIONED) or _is_valid(capsule, PLAIN))


def consume(capsule: Any) -> tuple[int, bool]:
    """As pointer_of(); the managed tensor is the caller's from now on, who calls its deleter."""
    pointer, versioned = pointer_of(capsule)
    _set_name(capsule, _USED_VERSIONED if versioned else _USED_PLAIN)
    return pointer, versioned


def new_capsule(pointer: int, versioned: bool) -> Any:
    """A capsule without a destructor: see capsules.py."""
    return _new_capsule(pointer, VERSIONED if versioned else PLAIN, None)


class _PyBuffer(Structure):
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t), ("readonly", c_int),
                ("ndim", c_int), ("format", c_char_p), ("shape", ctypes.POINTER(c_ssize_t)),
                ("strides", ctypes.POINTER(c_ssize_t)), ("suboffsets", c_void_p), ("internal", c_void_p)]


_get_buffer = PYFUNCTYPE(c_int, py_object, c_void_p, c_int)(("PyObject_GetBuffer", _python))
_release_buffer = PYFUNCTYPE(None, c_void_p)(("PyBuffer_Release", _python))
_RECORDS_RO = 0x0018 | 0x0004  # PyBUF_STRIDES | PyBUF_FORMAT


def _row_bytes(shape: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    """Row-major strides, for a buffer that says none, as one of ctypes does."""
    strides = []
    for count in reversed(shape):
        strides.append(size)
        size *= max(count, 1)
    return tuple(reversed(strides))


class BufferView:
    """A buffer that stays where it is as long as this lives. Raises what the object does."""

    def __init__(self, value: Any):
        self._buffer = _PyBuffer()
        self._release = _release_buffer
        _get_buffer(value, byref(self._buffer), _RECORDS_RO)
        b = self._buffer
        if b.suboffsets:
            raise BufferError("its rows are found by pointers")
        self.address, self.itemsize, self.read_only = b.buf or 0, b.itemsize, bool(b.readonly)
        self.format = (b.format or b"B").decode()
        rank, size = b.ndim, max(b.itemsize, 1)
        self.shape = tuple(b.shape[:rank]) if b.shape else (b.len // size,) * (rank > 0)
        self.strides = tuple(b.strides[:rank]) if b.strides else _row_bytes(self.shape, size)

    def __del__(self) -> None:
        if self._buffer.obj:
            self._release(byref(self._buffer))


class _ExchangeTable(Structure):
    """DLPackExchangeAPI, of DLPack 1.3."""
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("previous", c_void_p), ("allocate", c_void_p),
                ("from_object", c_void_p), ("to_object", c_void_p), ("look", c_void_p), ("stream", c_void_p)]


class ExchangeApi:
    """The C functions that a library offers for its tensors: one looks at a tensor, one makes a tensor of a managed
    one."""

    __slots__ = ("address", "look", "has_bits", "_to_object")

    def __init__(self, address: int, kind: type):
        table, self.address = _ExchangeTable.from_address(address), address
        self.look = PYFUNCTYPE(c_int, py_object, c_void_p)(table.look)
        self._to_object = PYFUNCTYPE(c_int, c_void_p, c_void_p)(table.to_object)
        self.has_bits = hasattr(kind, "is_neg")  # PyTorch's functions look past what memory alone does not say

    def make(self, managed: Any) -> Any:
        """A tensor of the library, which has the managed tensor from now on."""
        out = py_object()
        self._to_object(managed, byref(out))
        made = out.value
        decref(made)  # the reference that the function gave; `made` is one of its own
        return made


_apis: dict[type, ExchangeApi | None] = {}


def exchange_api(kind: type) -> ExchangeApi | None:
    """The functions for a type of tensors; None if it has none, or none that looks at a tensor."""
    try:
        return _apis[kind]
    except KeyError:
        pass
    capsule, api = getattr(kind, "__dlpack_c_exchange_api__", None), None
    if capsule is not None and _is_valid(capsule, EXCHANGE):
        address = _get_pointer(capsule, EXCHANGE)
        table = _ExchangeTable.from_address(address)
        if table.major == 1 and table.look and table.to_object:
            api = ExchangeApi(address, kind)
    _apis[kind] = api
    return api
