"""Arguments of this package: of the type and the range that each takes, or an error in words."""

from __future__ import annotations

import operator
import os
from collections import abc
from typing import Any, Iterable, Mapping

from ._python import name_of
from .errors import argument_error, type_error

INT64 = (-(1 << 63), (1 << 63) - 1)


def text(value: Any, what: str) -> bytes:
    """A text as the library takes one."""
    if not isinstance(value, str):
        raise type_error(f"{what} must be a text; this is of type {name_of(type(value))}")
    return _encoded(value.encode("utf-8", "surrogateescape"), what)


def path(value: Any, what: str) -> bytes:
    """The name of a file or a folder."""
    try:
        return _encoded(os.fsencode(value), what)
    except TypeError:
        raise type_error(f"{what} must be a path; this is of type {name_of(type(value))}") from None


def _encoded(value: bytes, what: str) -> bytes:
    if b"\0" in value:
        raise argument_error(f"{what} has a zero byte, which the library would take for its end")
    return value


def texts(values: Iterable[str], what: str) -> list[bytes]:
    """Several texts, or one."""
    if isinstance(values, str):
        values = (values,)
    try:
        listed = list(values)
    except TypeError:
        raise type_error(f"{what} must be texts; this is of type {name_of(type(values))}") from None
    return [text(value, f"each of {what}") for value in listed]


def integer(value: Any, what: str, least: int = INT64[0], most: int = INT64[1], where: str = "") -> int:
    """A whole number between two, which are taken."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise type_error(f"{what} must be an integer; this is of type {name_of(type(value))}", where)
    if not least <= number <= most:
        raise argument_error(f"{what} is {number}; it goes from {least} to {most}", where)
    return number


def flag(value: Any, what: str) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise type_error(f"{what} must be True or False; this is of type {name_of(type(value))}")
    return value


def choice(value: Any, of: tuple[Any, ...], what: str) -> int:
    """The place of a text among the known ones."""
    if text(value, what).decode("utf-8", "surrogateescape") not in of:
        raise argument_error(f"{what} is one of {', '.join(of)}, not {value!r}")
    return of.index(value)


def an(value: Any, kind: type, what: str) -> Any:
    """An object of a class of this package."""
    if not isinstance(value, kind):
        raise type_error(f"{what} must be a {name_of(kind)}; this is of type {name_of(type(value))}")
    return value


def named(values: Mapping[str, Any], what: str) -> list[tuple[str, Any]]:
    """Tensors by their names."""
    if not isinstance(values, abc.Mapping):
        raise type_error(f"{what} must be a dict of tensors by name; this is of type {name_of(type(values))}")
    items = list(values.items())
    for name, _ in items:
        text(name, f"a name of {what}")
    return items


def text_of_sizes(sizes: Mapping[str, int] | None) -> bytes | None:
    """Numbers of symbols as the library takes them, "s0=128"; None for none."""
    if not sizes:
        return None
    if not isinstance(sizes, abc.Mapping):
        raise type_error(f"the sizes must be a dict of integers by symbol; this is of type {name_of(type(sizes))}")
    return b",".join(b"%s=%d" % (text(name, "a symbol"), integer(number, "a size")) for name, number in sizes.items())


class Kept:
    """An object that only this process has: pickling or copying it is refused, with the way to go instead."""

    __slots__ = ()
    _instead = "make it anew there"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"fnz: a {name_of(type(self))} is of this process, and cannot be pickled or copied: "
                        f"{self._instead}")
