"""A program of fixed sizes, called over tensors of PyTorch at their addresses: results are tensors of PyTorch, and final
values of inputs are written where the inputs lie. For graphs of torch.compile(), whose guards have looked at the tensors;
Executable is for all others."""

from __future__ import annotations

from ctypes import POINTER, addressof, byref, c_char_p, c_int64, c_void_p, cast, pointer, sizeof
from typing import Any, Sequence

import torch

from .. import _structures as s
from .._library import lib
from ..dtypes import DTYPES
from ..errors import failure
from ..graph import Value
from ..handles import Context, Handle
from ..program import Program

_run = lib.fnz_executable_run


def has_fixed_sizes(program: Program) -> bool:
    """All inputs and results are tensors of known sizes."""
    every: list[Any] = [*program.inputs, *program.outputs]
    ends = [one for one in every if isinstance(one.value, Value)]
    return all(one.meta is not None and all(isinstance(number, int) for number in (*one.meta.shape, *one.meta.strides))
               for one in ends)


class _Place:
    """A slot: the memory that a run is given, and what its tensor is."""

    __slots__ = ("name", "memory", "shape", "strides", "dtype", "_geometry", "_numbers")

    def __init__(self, slot: s.Slot, memory: s.Memory):
        geometry = slot.geometry[0]
        rank = geometry.rank
        self.name, self.memory = slot.name.decode(), memory
        self.dtype: torch.dtype = getattr(torch, DTYPES[geometry.dtype].name)
        self.shape = torch.Size(geometry.sizes[:rank])
        self._geometry = s.Geometry(geometry.dtype, rank)
        self.take(tuple(geometry.strides[:rank]))

    def take(self, strides: tuple[int, ...]) -> None:
        rank = len(strides)
        self.strides = strides
        self._numbers = (c_int64 * (2 * rank))(*self.shape, *strides)
        self._geometry.sizes = cast(self._numbers, POINTER(c_int64))
        self._geometry.strides = cast(byref(self._numbers, 8 * rank), POINTER(c_int64))
        self.memory.geometry = pointer(self._geometry)

    def accepts(self, tensor: torch.Tensor) -> bool:
        return tensor.shape == self.shape and tensor.stride() == self.strides and tensor.dtype is self.dtype


class Direct:
    """A compiled program. Used by one thread at a time."""

    def __init__(self, program: Program, written: Sequence[str], threads: int):
        """written  graph names of the inputs with final values, in any order"""
        self._context = Context()
        names = (c_char_p * len(written))(*(name.encode() for name in written))
        options = s.CompileOptions(sizeof(s.CompileOptions), threads, cast(names, c_void_p), len(names))
        self._compiled = self._make(lib.fnz_compile, lib.fnz_executable_destroy, program._handle, byref(options))
        self._workspace = self._make(lib.fnz_workspace_create, lib.fnz_workspace_destroy, self._compiled)
        self.inputs, self._given = self._places(s.SIDE_INPUT)
        outputs, self._asked = self._places(s.SIDE_OUTPUT)
        position = {f"input.{one.name}": k for k, one in enumerate(self.inputs)}
        self._finals = [(position[one.name], one) for one in outputs if one.name in position]
        self._results = [one for one in outputs if one.name not in position]
        for one in self._results:
            one.take(_dense(one.shape, one.strides))
        self._execution = s.Execution(size=sizeof(s.Execution), inputs=addressof(self._given), outputs=addressof(self._asked),
                                      workspace=self._workspace.address)
        self._at = (c_void_p(self._context.address), c_void_p(self._compiled.address), byref(self._execution))
        self._order = _order(program, [one.name for one in self._results])

    def _make(self, create: Any, destroy: Any, of: Handle, *options: Any) -> Handle:
        return self._context.make(create, destroy, of.address, *options, keeps=(of,))

    def _places(self, side: int) -> tuple[list[_Place], Any]:
        count = lib.fnz_executable_count(self._compiled.address, side)
        memories = (s.Memory * max(count, 1))()
        return [_Place(lib.fnz_executable_slot(self._compiled.address, side, k), memories[k]) for k in range(count)], memories

    def accepts(self, tensors: Sequence[torch.Tensor]) -> bool:
        """They are what the program was made for; nothing else may be given to a call."""
        return all(one.accepts(tensor) for one, tensor in zip(self.inputs, tensors))

    def __call__(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        for one, tensor in zip(self.inputs, tensors):
            one.memory.data = tensor.data_ptr()
        for k, one in self._finals:
            one.memory.data = tensors[k].data_ptr()
        results = [torch.empty_strided(one.shape, one.strides, dtype=one.dtype) for one in self._results]
        for one, result in zip(self._results, results):
            one.memory.data = result.data_ptr()
        if _run(*self._at):
            raise failure(self._context.address)
        return [results[of] if type(of) is int else of[0] for of in self._order]


def _order(program: Program, names: list[str]) -> list[Any]:
    """Which result each user output is; in a tuple what is no result but a number or None."""
    users = [one for one in program.outputs if one.kind == "user"]
    return [names.index(f"output.{k}") if isinstance(one.value, Value) else (one.value,) for k, one in enumerate(users)]


def _dense(shape: Sequence[int], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides. If elements share memory or have gaps: dense rows."""
    step = 1
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides) if size != 1):
        if stride != step:
            rows, step = [], 1
            for one in reversed(shape):
                rows.append(step)
                step *= max(one, 1)
            return tuple(reversed(rows))
        step *= size
    return strides
