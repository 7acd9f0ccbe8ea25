"""Element types, by PyTorch's names: the rows of <fnz/types.h>, read from the library."""

from __future__ import annotations

import sys
from typing import NamedTuple

from . import _structures as s
from ._library import lib


class Dtype(NamedTuple):
    """One element type."""

    name: str  # as PyTorch has it: "float32"
    number: int  # fnz_dtype
    bytes: int
    category: str  # b bool, u unsigned, i signed, f float, c complex
    typestr: str | None  # as NumPy has it: "<f4"; None where it has none


def _read_rows() -> list[Dtype]:
    rows: list[Dtype] = []
    first = s.DtypeInfo.from_address(lib.fnz_dtype_get_info(0)).torch
    while True:
        info = s.DtypeInfo.from_address(lib.fnz_dtype_get_info(len(rows)))
        if rows and info.torch == first:  # beyond the last one the first one comes again
            return rows
        name, category = info.torch.decode(), info.category.decode()
        has_numpy = not name.startswith(("bfloat", "float8", "complex32"))
        order = "|" if info.bytes == 1 else "<" if sys.byteorder == "little" else ">"
        rows.append(Dtype(name, len(rows), info.bytes, category,
                          f"{order}{category}{info.bytes}" if has_numpy else None))


DTYPES = _read_rows()
BY_NAME = {row.name: row for row in DTYPES}
# The format characters of the buffer protocol, by category and bytes.
FORMATS = {"?": "bool", **dict.fromkeys("bhilqn", "int"), **dict.fromkeys("BHILQNc", "uint"),
           **dict.fromkeys("efd", "float"), **dict.fromkeys(("Zf", "Zd", "F", "D"), "complex")}


def from_buffer_format(text: str, itemsize: int) -> Dtype | None:
    """The dtype of an item of the buffer protocol; None if fnz has no such type."""
    kind = FORMATS.get(text.lstrip("@=<") if sys.byteorder == "little" else text.lstrip("@="))
    return None if kind is None else BY_NAME.get("bool" if kind == "bool" else f"{kind}{8 * itemsize}")
