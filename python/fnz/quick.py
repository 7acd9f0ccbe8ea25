"""The compiled part of a call: `fnz._call`, of python/call/, where it is there.

It serves tensors of PyTorch and of this package, arrays of NumPy and buffers, and leaves all other calls, and all errors, to ctypes.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from ctypes import c_void_p, cast
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

from . import _structures as s
from ._library import VERSION, lib
from ._python import exchange_api
from .dtypes import BY_NAME, Dtype
from .errors import failure
from .handles import Context, Handle
from .progress import Follower
from .results import AnyResult, InPlace, Number, Result
from .tensors import Tensor

_FILE = "_call.abi3.so"
_UNKNOWN, _EXCHANGE, _NUMPY, _BUFFER, _OWN = range(5)  # fnzi_py_access
_BUFFERS = ("builtins.memoryview", "builtins.bytearray", "array.array")
_TORCH = ("torch.Tensor", "torch.nn.parameter.Parameter")  # its other types may have functions in Python


def _takes_modules() -> bool:
    """Whether this Python has CPython's stable interface of 3.11: builds without its lock, or that trace references, have not."""
    return (sys.version_info >= (3, 11) and sys.implementation.name == "cpython"
            and not sysconfig.get_config_var("Py_GIL_DISABLED") and not hasattr(sys, "getobjects"))


def _load() -> Any:
    """The module, in the package or beside the library; None: calls go by ctypes, as FNZ_CTYPES=1 asks for."""
    if os.environ.get("FNZ_CTYPES") or not _takes_modules():
        return None
    folders = [Path(__file__).resolve().parent]
    if os.path.isabs(lib._name):
        folders.append(Path(lib._name).resolve().parent)
    for folder in folders:
        if (folder / _FILE).is_file():
            loader = ExtensionFileLoader("fnz._call", str(folder / _FILE))
            spec = spec_from_loader("fnz._call", loader)
            try:
                module = module_from_spec(spec)  # type: ignore[arg-type]
                loader.exec_module(module)
            except ImportError:  # for another system
                continue
            if module.VERSION == VERSION:
                return module
    return None


module = _load()
if module is not None:
    Follower.address = module.FOLLOW


def _fail(context: int) -> None:
    raise failure(context)


def _kind_of(kind: type) -> tuple[int, int, bool]:
    """How inputs of a type are looked at, the address of its functions, and whether it has bits beside its memory."""
    api, name = exchange_api(kind), f"{kind.__module__}.{kind.__qualname__}"
    if api is not None and (not api.has_bits or name in _TORCH):
        return _EXCHANGE, api.address, api.has_bits
    if name == "numpy.ndarray" or kind is Tensor:
        return _OWN if kind is Tensor else _NUMPY, 0, False
    return _BUFFER if name in _BUFFERS else _UNKNOWN, 0, False


def _parts_of(tensor: Tensor) -> tuple[int, int, tuple[Any, ...], tuple[Any, ...], bool]:
    return tensor._address, BY_NAME[tensor._dtype].number, tensor._shape, tensor._strides, tensor._read_only


def _numpy_of(row: Dtype) -> tuple[Any, Any]:
    """numpy.ndarray, and the dtype there; None where it has none."""
    import numpy
    return numpy.ndarray, None if row.typestr is None else numpy.dtype(row.typestr)


_NAMES = ("fnz_executable_run", "fnz_dlpack_look", "fnz_dlpack_make", "fnz_dtype_get_info", "fnz_context_set_generator")


def _described(slot: s.Slot, result: AnyResult | None) -> tuple[Any, ...]:
    """An output, as the module reads it."""
    nothing = None, 0, 0, 0, None, None
    if isinstance(result, Result):
        return (False, False, -1, False, result.row, result.row.number, result.row.bytes, slot.geometry[0].rank,
                *(result.layout or (None, None)))
    if isinstance(result, InPlace):
        return False, False, result.input, result.is_written, *nothing
    return result is None, isinstance(result, Number), -1, False, *nothing


def new_caller(shared: Context, compiled: Handle, workspace: Handle, inputs: list[tuple[bool, bool]],
               outputs: list[tuple[s.Slot, AnyResult | None]]) -> Any:
    """A caller of an executable, whose runs take the lock of the shared context.

    inputs   of each: whether it is a number, and whether it is donated
    outputs  the slot, and what describes its results; None: it is in the state
    """
    functions = tuple(cast(getattr(lib, name), c_void_p).value for name in _NAMES)
    described = tuple(_described(slot, result) for slot, result in outputs)
    return module.Caller(functions, (module.Memory, _fail, _kind_of, Tensor, _parts_of, _numpy_of), shared, Context(), compiled,
                         workspace, tuple(inputs), described)
