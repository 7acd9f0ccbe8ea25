"""Named arrays of the library: numbers for a check, and safetensors files."""

from __future__ import annotations

from ctypes import byref, c_int64, c_void_p, memmove
from typing import Any, Iterable

from . import _structures as s
from ._library import lib
from .checks import integer
from .dtypes import DTYPES
from .errors import check
from .handles import Context, Handle
from .tensors import Look, Tensor, row_major, tensor_over


def new_arrays(context: Context) -> Handle:
    return context.make(lib.fnz_arrays_create, lib.fnz_arrays_destroy)


def load_arrays(context: Context, path: bytes) -> Handle:
    return context.load(lib.fnz_arrays_load, lib.fnz_arrays_destroy, path)


def fill(context: Context, arrays: Handle, named: Iterable[tuple[str, Any]]) -> Handle:
    """Adds copies of tensors of any library; Python's integers become scalars."""
    for name, value in named:
        if isinstance(value, int) and not isinstance(value, bool):
            number = c_int64(integer(value, "it", where=f"input `{name}`"))
            value = memoryview(number).cast("B").cast("q", ())
        look = Look()
        keeps = look.at(context.address, value, name)
        seen = tensor_over(look.view.memory, keeps)
        data, out = seen.tobytes(), c_void_p()
        sizes = (c_int64 * len(seen.shape))(*seen.shape)
        with context.lock:
            check(context.address, lib.fnz_arrays_add(arrays.address, name.encode(), look.view.geometry.dtype,
                                                      len(seen.shape), sizes, byref(out)))
        if data:
            memmove(out.value or 0, data, len(data))
    return arrays


def tensors_of(arrays: Handle) -> dict[str, Tensor]:
    """The arrays by name, where they lie."""
    found = {}
    for k in range(lib.fnz_arrays_count(arrays.address)):
        array = s.Array.from_address(lib.fnz_arrays_at(arrays.address, k))
        shape = tuple(array.sizes[:array.rank])
        found[array.name.decode()] = Tensor(array.data or 0, DTYPES[array.dtype], shape, row_major(shape), arrays)
    return found
