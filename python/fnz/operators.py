"""The table of operators: every ATen operator, and what follows from its schema."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ._library import lib
from .checks import text
from .errors import Error
from .handles import Context


class Operator(NamedTuple):
    """One operator of the table."""

    name: str  # "add_.Tensor"
    schema: str
    kind: str  # "functional", "inplace", "out", "mutable" or "scratch"
    tags: tuple[str, ...]
    is_view: bool
    is_mutating: bool
    functional_twin: str | None
    has_cpu_kernel: bool


def _read(op: int) -> Operator:
    twin = lib.fnz_op_functional_twin(op)
    tags = lib.fnz_op_tags(op).decode()
    return Operator(lib.fnz_op_name(op).decode(), lib.fnz_op_schema(op).decode(), lib.fnz_op_kind(op).decode(),
                    tuple(tags.split(",")) if tags else (), lib.fnz_op_is_view(op), lib.fnz_op_is_mutating(op),
                    lib.fnz_op_name(twin).decode() if twin else None, lib.fnz_cpu_has_kernel(op))


@lru_cache(maxsize=None)
def ops() -> tuple[Operator, ...]:
    """All of them, sorted by name."""
    return tuple(_read(lib.fnz_op_at(k)) for k in range(lib.fnz_op_count()))


def op(name: str) -> Operator:
    """By the name as schemas write it: "add.Tensor", "aten::view"."""
    asked = text(name, "the name of an operator")
    found = lib.fnz_op_find(None, asked)
    if not found:
        near = Context().bytes_of(lib.fnz_op_suggest, asked).decode()
        raise Error("BAD_INPUT", "REF", name, "the table has no operator of that name"
                    + (f"; did you mean {near}?" if near else ""))
    return _read(found)
