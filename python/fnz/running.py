"""One call of a program by what its user has: tensors of PyTorch or NumPy, numbers and lists of Python; results in the
classes that the exported module gives."""

from __future__ import annotations

import math
import struct
import threading
import weakref
from typing import Any, Callable, Iterator

from ._python import name_of
from .dtypes import BY_NAME
from .errors import argument_error, type_error
from .executable import Executable
from .graph import Input
from .program import Program
from .tensors import Tensor, tensor_of
from .verbs import as_program, is_exported

# By category and bytes of an element type, struct's letter.
_LETTERS = {"b": {1: "?"}, "f": {2: "e", 4: "f", 8: "d"}, "i": {1: "b", 2: "h", 4: "i", 8: "q"},
            "u": {1: "B", 2: "H", 4: "I", 8: "Q"}}


def run(program: Any, *args: Any, **kwargs: Any) -> Any:
    """One call of a Program or a torch.export.ExportedProgram by the engine, which is compiled at the first call.

    Arguments are as the exported module takes them: tensors of any library, and where the program takes a tensor also
    numbers and lists of Python. Results have the structure of the exported module, of an ExportedProgram with its classes
    (named tuples, outputs of `transformers`, ...), and tensors are of the library of the first tensor that is given: of
    PyTorch for an ExportedProgram without one.

    Each call begins with the program's own state. Neither the inputs nor the program's buffers are changed: see
    Executable for calls that go on where the last one ended."""
    return _runner_of(program)(args, kwargs)


class _Runner:
    """An executable for calls of run()."""

    def __init__(self, program: Program, unflatten: Callable[[list[Any]], Any] | None, state_of_weights: Any = None):
        self.executable: Executable = program.compile()
        self.calling = program._calling()
        self.unflatten, self.state_of_weights = unflatten, state_of_weights
        self._lock = threading.Lock()  # between reset() and the call

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        calling = self.calling
        given = calling.flatten(args, kwargs)
        library = next(filter(None, map(_library_of, given)), "torch" if self.unflatten else "")
        leaves = iter([_as_tensor(value, one, library) for one, value in zip(calling.leaves, given)])
        positional, named = calling.positional.unflatten(leaves), calling.named.unflatten(leaves)
        with self._lock:
            if len(self.executable.state):
                self.executable.reset()
            result = self.executable(*positional, **named)
        if not self.unflatten:
            return result
        results: list[Any] = []
        calling.outputs.flatten(result, "results", results)
        return self.unflatten([_as_torch(one) if library == "torch" else one for one in results])


_runners: weakref.WeakKeyDictionary[Any, _Runner] = weakref.WeakKeyDictionary()


def _runner_of(program: Any) -> _Runner:
    found, state = _runners.get(program) if is_exported(program) or isinstance(program, Program) else None, None
    if is_exported(program):
        from .pytorch.exported import state_of, weights_of
        state = state_of(weights_of(program).values())
    if found is None or found.state_of_weights != state:
        made = _Runner(as_program(program), _unflatten_of(program), state)
        found = _runners[program] = made
    return found


def _unflatten_of(program: Any) -> Callable[[list[Any]], Any] | None:
    """Results of an ExportedProgram in its classes."""
    if not is_exported(program):
        return None
    from torch.utils import _pytree as pytree
    spec = program.call_spec.out_spec
    return lambda leaves: pytree.tree_unflatten(leaves, spec)


# --- What Python has as tensors ---------------------------------------------------------------------
def _library_of(value: Any) -> str:
    root = type(value).__module__.split(".")[0]
    return root if root in ("torch", "numpy") and hasattr(value, "__dlpack__") else ""


def _as_torch(value: Any) -> Any:
    return value.torch() if isinstance(value, Tensor) else value


def _as_tensor(value: Any, one: Input, library: str) -> Any:
    """A number or list where the program takes a tensor, in the element type that it takes."""
    if one.meta is None or not isinstance(value, (bool, int, float, complex, list, tuple)):
        return value
    dtype = one.meta.dtype
    try:
        if library == "torch":
            import torch
            return torch.tensor(value, dtype=getattr(torch, dtype))
        if library == "numpy" and BY_NAME[dtype].typestr:
            import numpy
            return numpy.asarray(value, dtype=BY_NAME[dtype].typestr)
        return _packed(value, dtype)
    except (ValueError, TypeError, OverflowError, RuntimeError, struct.error) as error:
        raise argument_error(f"is no tensor of {dtype}: {error}", f"input `{one.name}`") from error


def _packed(value: Any, dtype: str) -> Tensor:
    row = BY_NAME[dtype]
    letter = _LETTERS.get(row.category, {}).get(row.bytes)
    if letter is None or row.typestr is None:
        raise type_error(f"Python has no {dtype}; give a tensor")
    shape = _shape_of(value)
    numbers = list(_numbers_in(value, shape))
    return tensor_of(dtype, shape, struct.pack(f"={math.prod(shape)}{letter}", *numbers))


def _shape_of(value: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        value = value[0] if value else 0.0
    return tuple(shape)


def _numbers_in(value: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    if not shape:
        if not isinstance(value, (bool, int, float)):
            raise TypeError(f"{name_of(type(value))} is no number")
        yield value
    elif not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise ValueError("its lists have different lengths")
    else:
        for part in value:
            yield from _numbers_in(part, shape[1:])
