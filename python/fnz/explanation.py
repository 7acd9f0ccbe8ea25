"""Reasons: why each node of a functional program is there, and which line of the model it comes from."""

from __future__ import annotations

import os
from ctypes import addressof, byref, c_void_p, cast, sizeof, string_at
from html import escape
from typing import NamedTuple

from . import _structures as s
from ._library import lib
from .checks import choice
from .program import Program
from .reports import Finding, NOT_A_NODE

_WIDEST = 60  # of a column of text
_STYLE = "text-align:left;white-space:pre;font-family:monospace"


class Reason(NamedTuple):
    """Why there is a node. `reason` is a name of FNZ_REASON_ROWS, "computed", "write_back", ...; `of` the node of the
    original whose work it is, `reader` the one for which it became necessary, "" if these are one or none."""

    node: str
    reason: str
    words: str
    of: str
    reader: str
    place: str


class Explanation:
    """The functional form of a program: `program`, with a reason for each of its nodes in `reasons`, and `findings`, which
    are what lint() says about the original."""

    def __init__(self, program: Program, reasons: list[Reason], findings: list[Finding]):
        self.program, self.reasons, self.findings = program, reasons, findings

    def __len__(self) -> int:
        return len(self.reasons)

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [(one.node, one.reason, one.of + (f", for {one.reader}" if one.reader else ""), one.place)
                for one in self.reasons]

    def __str__(self) -> str:
        """Four columns, then the findings."""
        rows = [("node", "reason", "of", "line"), *(tuple(map(_short, row)) for row in self._rows())]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = ["  ".join((*(text.ljust(width) for text, width in zip(row, widths)), row[3])).rstrip() for row in rows]
        return "\n".join(lines + [f"{one.kind}: {one.where}: {one.what}" + (f"; {one.remedy}" if one.remedy else "")
                                  for one in self.findings])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f'<th style="text-align:left">{name}</th>' for name in ("node", "reason", "of", "line"))
        words = {one.reason: one.words for one in self.reasons}
        body = "".join("<tr>" + "".join(
            f'<td style="{_STYLE}"' + (f' title="{escape(words[row[1]])}"' if k == 1 else "") + f">{escape(text)}</td>"
            for k, text in enumerate(row)) + "</tr>" for row in self._rows())
        found = "".join(f"<li><b>{escape(one.kind)}</b> {escape(one.where)}: {escape(one.what)}"
                        + (f"; {escape(one.remedy)}" if one.remedy else "") + "</li>" for one in self.findings)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + (f"<ul>{found}</ul>" if found else "")


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[:_WIDEST - 3] + "..."


def explained(program: Program, views: str, state: str) -> Explanation:
    """Functionalizes and reads where each node comes from."""
    context, origins = program._context, c_void_p()
    options = s.FunctionalizeOptions(
        sizeof(s.FunctionalizeOptions), choice(views, s.VIEWS, "views"), choice(state, s.STATES, "state"), None, 0,
        cast(lib.fnz_verify_hashes, c_void_p), cast(lib.fnz_program_check_types, c_void_p), addressof(origins))
    functional = program._made(lib.fnz_functionalize, byref(options), None)
    try:
        reasons = [_reason(program, functional, origins, graph, node)
                   for graph in range(lib.fnz_graph_count(functional._handle.address))
                   for node in range(lib.fnz_node_count(functional._handle.address, graph))]
    finally:
        with context.lock:
            lib.fnz_origins_destroy(origins)
    return Explanation(functional, reasons, program.lint())


def _reason(program: Program, functional: Program, origins: c_void_p, graph: int, node: int) -> Reason:
    own = _text(functional, graph, node)
    address = lib.fnz_origins_at(origins, graph, node)
    if not address:
        return Reason(own, "", "", "", "", _place(functional, graph, node))
    origin = s.Origin.from_address(address)
    is_same = (origin.reader, origin.reader_graph) == (origin.node, origin.graph)
    of = "" if origin.node == NOT_A_NODE else _text(program, origin.graph, origin.node)
    reader = "" if is_same or origin.reader == NOT_A_NODE else _text(program, origin.reader_graph, origin.reader)
    if not reader and origin.output != NOT_A_NODE:
        reader = f"output {origin.output}"
    place = _place(program, origin.graph, origin.node) if of else _place(functional, graph, node)
    return Reason(own, lib.fnz_reason_name(origin.reason).decode(), lib.fnz_reason_words(origin.reason).decode(), of, reader,
                  place)


def _text(program: Program, graph: int, node: int) -> str:
    """A node in the text form, without types."""
    return program._context.bytes_of(lib.fnz_node_write, program._handle.address, graph, node, False).decode(
        errors="replace").strip()


def _place(program: Program, graph: int, node: int) -> str:
    """"model.py:7": the innermost line outside of PyTorch."""
    source = lib.fnz_program_node(program._handle.address, graph, node).source
    place = lib.fnz_source_place(source)
    if not place.path_size:
        return ""
    path = os.path.basename(string_at(place.path, place.path_size).decode(errors="replace"))
    return f"{path}:{place.line}" if place.line else path
