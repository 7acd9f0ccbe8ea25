"""What the library makes, and when it ends: a handle keeps what it was made with alive.

A context belongs to one thread at a time. Each program has one, with a lock that every call on it takes; what is made
of a program shares it. An executable has one of its own, so that running waits for no program.
"""

from __future__ import annotations

import threading
from ctypes import byref, c_void_p, string_at
from typing import Any, Callable

from . import _structures as s
from ._library import lib
from .errors import Error, check


class Handle:
    """The address of something that `destroy` ends, after which what it `keeps` may end."""

    __slots__ = ("address", "_destroy", "_keeps")

    def __init__(self, address: int, destroy: Callable[[int], Any], *keeps: Any):
        self.address, self._destroy, self._keeps = address, destroy, keeps

    def __del__(self) -> None:
        if self.address:
            self._destroy(self.address)


class Context(Handle):
    """An allocator and the last error, for one thread at a time: whoever calls on it holds `lock`."""

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.RLock()
        out = c_void_p()
        if lib.fnz_context_create(None, byref(out)):
            self.address = 0
            raise Error("NO_MEMORY", "NOMEM", "", "out of memory")
        super().__init__(out.value, lib.fnz_context_destroy)

    def make(self, function: Callable[..., int], destroy: Callable[[int], Any], *arguments: Any, keeps: tuple = ()
             ) -> Handle:
        """What function(context, *arguments, &out) makes, as a handle."""
        out = c_void_p()
        with self.lock:
            check(self.address, function(self.address, *arguments, byref(out)))
        return Handle(out.value, destroy, self, *keeps)

    def bytes_of(self, function: Callable[..., int], *arguments: Any) -> bytes:
        """What function(context, *arguments, &buffer) writes."""
        buffer = s.Buffer()
        with self.lock:
            try:
                check(self.address, function(self.address, *arguments, byref(buffer)))
                return string_at(buffer.data, buffer.size) if buffer.data else b""
            finally:
                lib.fnz_buffer_free(self.address, byref(buffer))
