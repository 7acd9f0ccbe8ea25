"""Failures: every failure of the library is one exception, with the words of the library."""

from __future__ import annotations

from typing import Any

from ._library import lib
from ._structures import Error as _CError
from .progress import raised_in

# fnz_status in the order of <fnz/status.h>.
STATUSES = ("OK", "NO_MEMORY", "BAD_ARGUMENT", "BAD_INPUT", "UNSUPPORTED", "IO", "DEVICE", "INTERNAL", "DIFFERENT",
            "CANCELLED")


class Error(Exception):
    """A failure.

    status   "BAD_INPUT", "UNSUPPORTED", ...: enough to decide what to do next (`fnz_status`)
    kind     the stable class: "BOUNDS", "TYPE", "OVERLAP", ... (`fnz_class`)
    where    the node, line, record or file that it belongs to; "" when none
    message  one line: the reason, and what to do
    """

    def __init__(self, status: str, kind: str, where: str, message: str):
        super().__init__(status, kind, where, message)
        self.status, self.kind, self.where, self.message = status, kind, where, message

    def __str__(self) -> str:
        return ": ".join(part for part in (self.kind, self.where, self.message) if part)


class ArgumentError(Error, ValueError):
    """A value that is not taken: status "BAD_ARGUMENT"."""


class ArgumentTypeError(Error, TypeError):
    """A value of a type that is not taken: status "BAD_ARGUMENT"."""


def argument_error(message: str, where: str = "") -> Error:
    """The value that was given is not one that this package takes."""
    return ArgumentError("BAD_ARGUMENT", "ARGUMENT", where, message)


def type_error(message: str, where: str = "") -> Error:
    """The value that was given has a type that this package does not take."""
    return ArgumentTypeError("BAD_ARGUMENT", "ARGUMENT", where, message)


def last_error(context: Any) -> Error:
    """The last failure on a context, as an exception."""
    error = _CError.from_address(lib.fnz_last_error(context))
    status = STATUSES[error.status]
    kind = ArgumentError if status == "BAD_ARGUMENT" else Error
    return kind(status, lib.fnz_class_name(error.kind).decode(), error.where.decode(errors="replace"),
                error.message.decode(errors="replace"))


def failure(context: Any) -> BaseException:
    """The last failure on a context, or the exception that has cancelled the call."""
    error = last_error(context)
    raised = raised_in(getattr(context, "value", context)) if error.status == "CANCELLED" else None
    return error if raised is None else raised


def check(context: Any, status: int) -> None:
    """Raises the last failure on the context unless the status is FNZ_OK."""
    if status:
        raise failure(context)
