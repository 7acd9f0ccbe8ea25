"""Memory that is shared with other libraries: blocks for results, and tensors lent through DLPack.

A consumer of DLPack calls a deleter at any time: in a thread without Python, or while an exception is on its way. So
nothing here is called back: blocks end by the C library's free(), and where memory of a Python object is lent, the
deleter posts a semaphore. Objects whose loans have ended are let go at the next loan or call.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_int, c_int64, c_size_t, c_uint, c_void_p, cast, pointer, sizeof
from typing import Any

from . import _structures as s
from ._library import lib
from ._python import decref, incref, is_unconsumed, new_capsule
from .dtypes import Dtype
from .errors import Error, check
from .handles import Context

_ALIGNMENT = 64
_c = ctypes.PyDLL(None)  # these take no time: Python's lock is not given up for them
_allocate = ctypes.PYFUNCTYPE(c_void_p, c_size_t, c_size_t)(("aligned_alloc", _c))
free = ctypes.PYFUNCTYPE(None, c_void_p)(("free", _c))
_sem_init = ctypes.PYFUNCTYPE(c_int, c_void_p, c_int, c_uint)(("sem_init", _c))
_sem_getvalue = ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p)(("sem_getvalue", _c))
FREE = cast(_c.free, c_void_p).value
_POST = cast(_c.sem_post, c_void_p).value or 0
_SEMAPHORE = c_int64 * 8  # sem_t and more

_context = Context()  # of managed tensors; its allocator is the C library's, which any thread may call


def allocate(size: int) -> int:
    """The address of a new block, which free() ends."""
    address: int | None = _allocate(_ALIGNMENT, (max(size, 1) + _ALIGNMENT - 1) & -_ALIGNMENT)
    if not address:
        raise Error("NO_MEMORY", "NOMEM", "", f"out of memory: a result has {size} bytes")
    return address


class Block:
    """A block that ends with this object."""

    __slots__ = ("address", "_end")

    def __init__(self, address: int):
        self.address, self._end = address, free

    def __del__(self) -> None:
        self._end(self.address)


def make_managed(memory: Any, read_only: bool, release: int, owner: int) -> int:
    """A DLManagedTensorVersioned over the fnz_memory; release(owner) is called when the consumer is done."""
    options = s.DlpackOptions(sizeof(s.DlpackOptions), s.DLDevice(s.CPU, 0), read_only, release, owner)
    out = c_void_p()
    with _context.lock:
        check(_context.address, lib.fnz_dlpack_make(_context.address, memory, byref(options), byref(out)))
    return out.value or 0


class _Loan:
    """One capsule that was handed out, and the object whose memory it lends."""

    __slots__ = ("capsule", "_owner", "_semaphore", "_managed", "_deleter")

    def __init__(self, address: int, dtype: Dtype, shape: tuple[Any, ...], strides: tuple[Any, ...], read_only: bool,
                 versioned: bool, owner: Any):
        rank = len(shape)
        sizes, steps = (c_int64 * rank)(*shape), (c_int64 * rank)(*strides)
        geometry = s.Geometry(dtype.number, rank, False, False, 0, cast(sizes, POINTER(c_int64)),
                              cast(steps, POINTER(c_int64)), None)
        self._owner, self._semaphore = owner, _SEMAPHORE()
        _sem_init(self._semaphore, 0, 0)
        self._managed = make_managed(byref(s.Memory(address, pointer(geometry))), read_only, _POST,
                                     ctypes.addressof(self._semaphore))
        kind: Any = s.DLManagedTensorVersioned
        if not versioned:
            out = c_void_p()
            with _context.lock:
                check(_context.address,
                      lib.fnz_dlpack_make_unversioned(_context.address, self._managed, byref(out)))
            self._managed, kind = out.value or 0, s.DLManagedTensor
        self._deleter = kind.from_address(self._managed).deleter
        self.capsule = new_capsule(self._managed, versioned)

    def has_ended(self) -> bool:
        """Whether no consumer has the memory any more. A capsule that no consumer has taken, and that no reference
        holds, is destroyed here."""
        if self.capsule is not None and _references(self) == _ALONE:
            if is_unconsumed(self.capsule):
                CFUNCTYPE(None, c_void_p)(self._deleter)(self._managed)
            self.capsule = None
        value = c_int()
        _sem_getvalue(self._semaphore, byref(value))
        return value.value > 0


def _references(loan: _Loan) -> int:
    return sys.getrefcount(loan.capsule)


def _references_of_one() -> int:
    loan = _Loan.__new__(_Loan)
    loan.capsule = object()
    return _references(loan)


_ALONE = _references_of_one()  # only the loan refers to the capsule

_loans: list[_Loan] = []
_sweeping = threading.Lock()
_FEW = 64  # as many are looked through each time; more when they have doubled
_look_at = _FEW


def lend(address: int, dtype: Dtype, shape: tuple[Any, ...], strides: tuple[Any, ...], read_only: bool, versioned: bool,
         owner: Any) -> Any:
    """A capsule for one consumer, which keeps the owner alive as long as it has the memory."""
    if len(_loans) < _FEW or len(_loans) >= _look_at:
        sweep()
    loan = _Loan(address, dtype, shape, strides, read_only, versioned, owner)
    capsule = loan.capsule  # so that a sweep of another thread does not find it alone
    incref(loan)  # so that it outlives Python's end, where a consumer may still have the memory
    _loans.append(loan)
    return capsule


def sweep() -> int:
    """Lets go what consumers are done with, and says how many tensors are still lent."""
    global _look_at
    if _sweeping.acquire(blocking=False):
        try:
            for loan in [loan for loan in tuple(_loans) if loan.has_ended()]:
                _loans.remove(loan)
                decref(loan)
            _look_at = 2 * len(_loans) + _FEW
        finally:
            _sweeping.release()
    return len(_loans)


def _begin_child() -> None:
    """In a process that was forked: no other thread is there that sweeps."""
    global _sweeping
    _sweeping = threading.Lock()


os.register_at_fork(after_in_child=_begin_child)
