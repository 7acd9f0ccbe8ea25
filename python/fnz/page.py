"""The page of `fnz view`: a program before and after, in a notebook or in a file."""

from __future__ import annotations

import os
from ctypes import byref, sizeof
from html import escape
from typing import Any, Iterable

from . import _structures as s
from ._library import lib
from .checks import flag, path as path_of, text
from .errors import check
from .handles import Context
from .program import Program, load

_HEIGHT = 640  # pixels, in a notebook


class Page:
    """One HTML file that loads nothing. A notebook shows it; `html` is its text."""

    def __init__(self, html: bytes):
        self._bytes = html

    @property
    def html(self) -> str:
        return self._bytes.decode()

    def save(self, path: Any) -> None:
        """A file that appears whole or not at all."""
        context = Context()
        with context.lock:
            check(context.address, lib.fnz_file_write(context.address, path_of(path, "the file"), self._bytes,
                                                      len(self._bytes)))

    def _repr_html_(self) -> str:
        """In a frame of its own, whose script can do nothing outside of it."""
        return (f'<iframe sandbox="allow-scripts" style="width:100%;height:{_HEIGHT}px;border:1px solid #8884" '
                f'srcdoc="{escape(self.html)}"></iframe>')

    def __repr__(self) -> str:
        return f"<fnz.Page: {len(self._bytes)} bytes>"


def view(program: Any, *, verify: bool = False, title: str = "", format: str = "auto", ops: Iterable[str] = (),
         aliases: Iterable[str] = ()) -> Page:
    """A page that shows a program beside its functional form: writes, memory, copies and reasons. See docs/view.md.

    program  a Program, or what load() takes, with its format, ops and aliases
    verify   only if both forms are equal for all values, which the page then says
    title    at the head of the page; "" for the name of the file
    """
    if not title and isinstance(program, (str, os.PathLike)):
        title = os.path.basename(os.fsdecode(program))
    if not isinstance(program, Program):
        program = load(program, format=format, ops=ops, aliases=aliases)
    options = s.PageOptions(sizeof(s.PageOptions), text(title or "program", "the title"), False, flag(verify, "verify"))
    return Page(program._context.bytes_of(lib.fnz_page_write, program._handle.address, byref(options)))
