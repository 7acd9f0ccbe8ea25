"""Handles of objects that the library creates: a handle keeps the objects that its own depends on alive.

A context belongs to one thread at a time. Each program has one, with a lock that every call on it takes; objects
created from a program share its context. An executable has one of its own, so that running waits for no program. All
executables compiled for a GPU share one context.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from contextlib import contextmanager
from ctypes import byref, c_void_p, string_at
from functools import lru_cache
from typing import Any, Callable, Iterator

from . import _structures as s
from ._library import lib
from .checks import Kept
from .errors import Error, check
from .progress import Follower, Function, deferred, followings, following_call


_counting = threading.RLock()


class Handle(Kept):
    """The address of something that `destroy` ends, after which what it `keeps` may end.

    If objects refer to each other in a circle, Python calls __del__ in any order: an object is destroyed after the
    last one that depends on it.
    """

    __slots__ = ("address", "_destroy", "_keeps", "_users", "_is_left")

    def __init__(self, address: int, destroy: Callable[[int], Any], *keeps: Handle):
        self.address, self._destroy, self._keeps = address, destroy, keeps
        self._users, self._is_left = 0, False
        with _counting:
            for kept in keeps:
                kept._users += 1

    def __del__(self) -> None:
        if not self.address:
            return
        self._is_left = True
        left = [self]
        with _counting:
            while left:
                handle = left.pop()
                if handle.address and handle._is_left and not handle._users:
                    handle._destroy(handle.address)
                    handle.address = 0
                    for kept in handle._keeps:
                        kept._users -= 1
                    left += handle._keeps


_contexts: weakref.WeakSet[Context] = weakref.WeakSet()


def _end_context(address: int) -> None:
    lib.fnz_context_destroy(address)
    del followings[address]


class Context(Handle):
    """An allocator and the last error, for one thread at a time: a caller holds `lock`."""

    __slots__ = ("lock", "_following", "__weakref__")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        _contexts.add(self)
        out = c_void_p()
        if lib.fnz_context_create(None, byref(out)) or not out.value:
            self.address = 0
            raise Error("NO_MEMORY", "NOMEM", "", "out of memory")
        self._following: list[Any] = [None, None, False]
        followings[out.value] = self._following
        if Follower.address:
            lib.fnz_context_set_progress(out.value, Follower.address, id(self._following))
        super().__init__(out.value, _end_context)

    @contextmanager
    def followed(self, progress: Function | None) -> Iterator[None]:
        """Calls of this thread say to `progress` how far they are."""
        with self.lock:
            self._following[:] = None if progress is None else following_call(progress, self._following), None, False
            try:
                if progress is None or Follower.address:
                    yield
                    return
                lib.fnz_context_set_progress(self.address, Follower.by_ctypes, id(self._following))
                with deferred(self._following):
                    yield
            finally:
                self._following[0] = None
                if not Follower.address:
                    lib.fnz_context_set_progress(self.address, None, None)

    def make(self, function: Callable[..., int], destroy: Callable[[int], Any], *arguments: Any, keeps: tuple[Any, ...] = ()
             ) -> Handle:
        """The object that function(context, *arguments, &out) creates, as a handle."""
        out = c_void_p()
        with self.lock:
            check(self.address, function(self.address, *arguments, byref(out)))
        return Handle(out.value or 0, destroy, self, *keeps)

    def load(self, function: Callable[..., int], destroy: Callable[[int], Any], path: bytes, *arguments: Any) -> Handle:
        """make() of a file, whose failures name the file."""
        try:
            return self.make(function, destroy, path, *arguments)
        except Error as error:
            name = os.fsdecode(path)
            if not error.where.startswith(name):
                error.where = f"{name}: {error.where}"
            raise

    def bytes_of(self, function: Callable[..., int], *arguments: Any) -> bytes:
        """The bytes that function(context, *arguments, &buffer) writes."""
        buffer = s.Buffer()
        with self.lock:
            try:
                check(self.address, function(self.address, *arguments, byref(buffer)))
                return string_at(buffer.data, buffer.size) if buffer.data else b""
            finally:
                lib.fnz_buffer_free(self.address, byref(buffer))


def _begin_child() -> None:
    """In a process that was forked: locks that other threads held are held by none that could give them back."""
    global _counting
    _counting = threading.RLock()
    for context in list(_contexts):
        if context.lock.acquire(blocking=False):
            context.lock.release()
        else:
            context.lock = threading.RLock()


os.register_at_fork(after_in_child=_begin_child)


@lru_cache(maxsize=None)
def gpu_context() -> Context:
    """For compiling for a GPU: a context keeps what it started there, so that the next executable need not."""
    return Context()


atexit.register(gpu_context.cache_clear)  # while ending it still finds what it needs
