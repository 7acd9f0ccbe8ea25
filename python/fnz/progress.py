"""Long calls: how far they are, and exceptions that end them.

The library calls a function every 0.1 s of a long call. It lets Python handle signals, so that Ctrl-C raises
KeyboardInterrupt, and calls the function that was given as `progress`. An exception of either cancels the call, and is
raised when the call has ended. The compiled module has this function. Without the module there is one of ctypes, for calls
with `progress`: Python may raise KeyboardInterrupt before its first line, where nothing catches it, so that such a call has a
handler of its own for Ctrl-C.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, c_bool, c_void_p, cast, py_object
from typing import Any, Callable, Iterator, NamedTuple, Optional

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


def following_call(function: Function, following: list[Any]) -> Callable[..., bool]:
    """The function, as the library's follower calls it."""
    def call(*parts: Any) -> bool:
        following[2] = function(Progress(*parts)) is False
        return not following[2]
    return call


def _follow(user: int, progress: Any) -> bool:
    following = cast(user, py_object).value
    try:
        p = progress[0]
        return following[1] is None and following[0](p.what.decode(), p.unit.decode(), p.done, p.of, p.share)
    except BaseException as error:
        following[1] = error
        return False


_by_ctypes = CFUNCTYPE(c_bool, c_void_p, POINTER(s.Progress))(_follow)


class Follower:
    """The addresses of functions that follow calls: all of them, by the compiled module; those with `progress`, by ctypes."""

    address = 0
    by_ctypes: int = cast(_by_ctypes, c_void_p).value or 0


@contextmanager
def deferred(following: list[Any]) -> Iterator[None]:
    """Ctrl-C is kept as the exception of the call."""
    def keep(number: int, frame: Any) -> None:
        following[1] = KeyboardInterrupt()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, keep)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if following[1] is not None:  # it came too late to cancel
        raise following[1]


# By context: the function of the call, or None; the exception that has ended it, or None; whether the function has.
followings: dict[int, list[Any]] = {}


def raised_in(context: int) -> BaseException | None:
    """The exception that has cancelled the last call on a context; None: the function has."""
    following = followings[context]
    if following[2]:
        return None
    error, following[1] = following[1], None
    return error  # type: ignore[no-any-return]
