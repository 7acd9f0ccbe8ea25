"""Long calls: how far they are, and exceptions that end them.

The library calls a function every 0.1 s of a long call. It lets Python handle signals, so that Ctrl-C raises
KeyboardInterrupt, and calls the function that was given as `progress`. An exception of either cancels the call, and is
raised when the call has ended. The compiled module has this function, too: when Python runs one of its own, it raises
KeyboardInterrupt before the function can catch it, and prints a traceback.
"""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, c_bool, c_void_p, cast, py_object
from typing import Any, Callable, NamedTuple, Optional

from . import _structures as s


class Progress(NamedTuple):
    """How far a long call is.

    what   names the step: "read", "functionalize", "decompose", "verify", "compile", "run", "hash" or "write"
    unit   of `done`: "nodes", "bytes", "seeds"
    done   units that are done
    of     all units; 0: unknown
    share  the part that is done, from 0 to 1; below 0: unknown
    """

    what: str
    unit: str
    done: int
    of: int
    share: float


Function = Callable[[Progress], Optional[bool]]  # False cancels


def told(function: Function, following: list[Any]) -> Callable[..., bool]:
    """The function, as the library's follower calls it."""
    def tell(*parts: Any) -> bool:
        following[2] = function(Progress(*parts)) is False
        return not following[2]
    return tell


def _follow(user: int, progress: Any) -> bool:
    following = cast(user, py_object).value
    try:
        p = progress[0]
        return following[0] is None or following[0](p.what.decode(), p.unit.decode(), p.done, p.of, p.share)
    except BaseException as error:
        following[1] = error
        return False


_by_ctypes = CFUNCTYPE(c_bool, c_void_p, POINTER(s.Progress))(_follow)


class Follower:
    """The address of the function that follows calls."""

    address: int = cast(_by_ctypes, c_void_p).value or 0


# By context: the function of the call, or None; the exception that has ended it, or None; whether the function has.
followings: dict[int, list[Any]] = {}


def raised_in(context: int) -> BaseException | None:
    """The exception that has cancelled the last call on a context; None: the function has."""
    following = followings[context]
    if following[2]:
        return None
    error, following[1] = following[1], None
    return error if isinstance(error, BaseException) else KeyboardInterrupt()  # which Python has printed before
