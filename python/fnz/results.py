"""Results of a call: a block of memory per result, handed out as a tensor of one library or another."""

from __future__ import annotations

import sys
from ctypes import POINTER, byref, c_bool, c_double, c_int64, c_void_p, cast, memmove, pointer, sizeof
from typing import Any, Callable, Union

from . import _structures as s
from ._library import lib
from ._python import ExchangeApi, exchange_api
from .capsules import FREE, Block, allocate, free
from .dtypes import DTYPES
from .errors import failure
from .tensors import Tensor, row_major, span_of

_make = lib.fnz_dlpack_make


def _is_dense(shape: tuple[Any, ...], strides: tuple[Any, ...]) -> bool:
    """Every element has a place of its own, and there are no gaps."""
    step = 1
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides) if size != 1):
        if stride != step:
            return False
        step *= size
    return True


class Result:
    """An OUTPUT slot. If its sizes are known, a run writes into a new block at once; else the result is copied out of
    the workspace."""

    __slots__ = ("name", "_memory", "_memory_at", "row", "_shape", "_strides", "_bytes", "_address", "_geometry",
                 "_numbers", "_options", "_options_at", "_out", "_out_at")

    def __init__(self, slot: s.Slot, memory: s.Memory):
        geometry = slot.geometry[0]
        rank = geometry.rank
        self.name, self._memory, self._memory_at = slot.name.decode(), memory, byref(memory)
        self.row, self._address = DTYPES[geometry.dtype], 0
        self._options = s.DlpackOptions(sizeof(s.DlpackOptions), s.DLDevice(s.CPU, 0), False, FREE, None)
        self._options_at, self._out = byref(self._options), c_void_p()
        self._out_at = byref(self._out)
        self._bytes = -1
        if geometry.symbols and any(geometry.symbols[:rank]):
            return
        shape, strides = tuple(geometry.sizes[:rank]), tuple(geometry.strides[:rank])
        self._set(shape, strides if 0 in shape or _is_dense(shape, strides) else row_major(shape))
        self._bytes = span_of(self._shape, self._strides) * self.row.bytes

    def _set(self, shape: tuple[Any, ...], strides: tuple[Any, ...]) -> None:
        rank = len(shape)
        self._shape, self._strides = shape, strides
        self._numbers = (c_int64 * (2 * rank))(*shape, *strides)
        at = cast(self._numbers, c_void_p).value or 0
        self._geometry = s.Geometry(self.row.number, rank, False, False, 0, cast(at, POINTER(c_int64)),
                                    cast(at + 8 * rank, POINTER(c_int64)), None)
        self._memory.geometry = pointer(self._geometry)

    @property
    def layout(self) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
        """Sizes and strides; None where the run decides them."""
        return (self._shape, self._strides) if self._bytes >= 0 else None

    def prepare(self) -> None:
        """Gives the run memory to write to."""
        if self._bytes >= 0:
            self._memory.data = self._address = allocate(self._bytes)
        else:
            self._memory.data = self._memory.geometry = None

    def take(self) -> None:
        """A result whose sizes only the run knows: out of the workspace, which the next run overwrites."""
        if self._bytes >= 0:
            return
        geometry = self._memory.geometry[0]
        shape, strides = tuple(geometry.sizes[:geometry.rank]), tuple(geometry.strides[:geometry.rank])
        size = span_of(shape, strides) * self.row.bytes
        self._address = allocate(size)
        if size:
            memmove(self._address, self._memory.data, size)
        self._set(shape, strides)
        self._memory.data = self._address

    def give(self, _context: int = 0) -> Tensor:
        """The result as a tensor of this package."""
        block, self._address = Block(self._address), 0
        return Tensor(block.address, self.row, self._shape, self._strides, block)

    def give_to(self, api: ExchangeApi, context: Any) -> Any:
        """As a tensor of a library with C functions: its deleter frees the block."""
        self._options.owner = self._address
        if _make(context, self._memory_at, self._options_at, self._out_at):
            raise failure(context)
        self._address = 0  # the managed tensor has it
        return api.make(self._out)

    def end(self) -> None:
        """Frees the block if it was not handed out."""
        address, self._address = self._address, 0
        if address:
            free(address)


class Number:
    """An OUTPUT slot of a number: an int, float or bool of Python, out of the workspace."""

    __slots__ = ("name", "value", "_memory")

    def __init__(self, slot: s.Slot, memory: s.Memory):
        self.name, self._memory = slot.name.decode(), memory
        self.value: int | float | bool = 0

    def prepare(self) -> None:
        self._memory.data = self._memory.geometry = None

    def take(self) -> None:
        row = DTYPES[self._memory.geometry[0].dtype]
        kind: Any = {"b": c_bool, "f": c_double}.get(row.category, c_int64)
        self.value = kind.from_address(self._memory.data).value

    def end(self) -> None:
        """It has no block."""


class InPlace:
    """An OUTPUT slot whose result is an input: its final value, which is written there, or a result that is the same."""

    __slots__ = ("name", "input", "is_written", "_memory", "_source")

    def __init__(self, name: str, memory: s.Memory, input: int, source: s.Memory):
        """source  the memory of that input, as a call finds it"""
        self.name, self.input, self._memory, self._source = name, input, memory, source
        self.is_written = name.startswith("input.")

    def prepare(self) -> None:
        if self.is_written:
            self._memory.data, self._memory.geometry = self._source.data, self._source.geometry
        else:
            self._memory.data = self._memory.geometry = None

    def take(self) -> None:
        """It is where it belongs."""

    def end(self) -> None:
        """It has no block."""


AnyResult = Union[Result, Number, InPlace]


def result_of(slot: s.Slot, memory: s.Memory) -> Result | Number:
    return Result(slot, memory) if slot.geometry else Number(slot, memory)


def end_all(results: list[AnyResult]) -> None:
    for one in results:
        one.end()


# --- Whose tensors ----------------------------------------------------------------------------------
Giver = Callable[[Result, int], Any]


def _as_numpy(result: Result, _context: int) -> Any:
    tensor = result.give()
    return tensor.numpy() if hasattr(tensor, "__array_interface__") else tensor


def _by_from_dlpack(module: str) -> Giver:
    def give(result: Result, _context: int) -> Any:
        return sys.modules[module].from_dlpack(result.give())
    return give


def _giver_of(kind: type) -> Giver | None:
    api = exchange_api(kind)
    if api is not None:
        return lambda result, context: result.give_to(api, context)
    root = kind.__module__.split(".")[0]
    if root == "numpy":
        return _as_numpy
    module = {"torch": "torch", "jax": "jax.numpy", "jaxlib": "jax.numpy", "cupy": "cupy"}.get(root, "")
    return _by_from_dlpack(module) if module in sys.modules else None


_givers: dict[type, Giver | None] = {}


def giver_for(leaves: Any) -> Giver:
    """For the library of the first input that is of one."""
    for value in leaves:
        kind = type(value)
        try:
            giver = _givers[kind]
        except KeyError:
            giver = _givers[kind] = _giver_of(kind)
        if giver is not None:
            return giver
    return Result.give
