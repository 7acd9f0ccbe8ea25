"""Costs and reasons: the copies of a run, and why each node of a functional program is there, with its line of the model."""

from __future__ import annotations

from ctypes import addressof, byref, c_void_p, cast, sizeof
from html import escape
from typing import Mapping, NamedTuple

from . import _structures as s
from ._library import lib
from .checks import choice, text_of_sizes
from .errors import Error
from .program import Program
from .reports import Cost, Finding, Findings, NOT_A_NODE, place_of, size_of

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
    are what lint() says about the original. `costs` are the copies of a run at the sizes `sizes`, the most bytes
    first. If the engine has no plan of a run there are none, and `no_run` says why."""

    def __init__(self, program: Program, reasons: list[Reason], costs: list[Cost], findings: Findings):
        self.program, self.reasons, self.costs, self.findings = program, reasons, costs, findings
        self.sizes = self.no_run = ""

    def __len__(self) -> int:
        return len(self.reasons)

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [(one.node, one.reason, one.of + (f", for {one.reader}" if one.reader else ""), one.place)
                for one in self.reasons]

    def _sum(self) -> str:
        """"a run copies 2.4 MB" """
        copied = sum(one.bytes for one in self.costs if one.kind == "copy")
        if self.no_run:
            return f"no plan of a run: {self.no_run}"
        return f"a run copies {size_of(copied) if copied else 'nothing'}" + (f", at {self.sizes}" if self.sizes else "")

    def _others(self) -> list[Finding]:
        """Findings that are no costs of a run."""
        return [one for one in self.findings if not one.cost]

    def __str__(self) -> str:
        """Copies of a run, four columns, the other findings."""
        rows = [("node", "reason", "of", "line"), *(tuple(map(_short, row)) for row in self._rows())]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        lines = ["  ".join((*(text.ljust(width) for text, width in zip(row, widths)), row[3])).rstrip() for row in rows]
        return "\n".join([self._sum(), *map(str, self.costs), "", *lines, *map(str, self._others())])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = "".join(f'<th style="text-align:left">{name}</th>' for name in ("node", "reason", "of", "line"))
        words = {one.reason: one.words for one in self.reasons}
        body = "".join("<tr>" + "".join(
            f'<td style="{_STYLE}"' + (f' title="{escape(words[row[1]])}"' if k == 1 else "") + f">{escape(text)}</td>"
            for k, text in enumerate(row)) + "</tr>" for row in self._rows())
        costs, found = ("".join(f"<li>{escape(str(one))}</li>" for one in some) for some in (self.costs, self._others()))
        return (f"<p><b>{escape(self._sum())}</b></p>" + (f"<ol>{costs}</ol>" if costs else "")
                + f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" + (f"<ul>{found}</ul>" if found else ""))


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[:_WIDEST - 3] + "..."


def explained(program: Program, views: str, state: str, sizes: Mapping[str, int] | None) -> Explanation:
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
        explanation = Explanation(functional, reasons, [], program.lint(sizes=sizes))
        _find_costs(explanation, program, origins, sizes)
    finally:
        with context.lock:
            lib.fnz_origins_destroy(origins)
    return explanation


def _find_costs(explanation: Explanation, program: Program, origins: c_void_p,
                sizes: Mapping[str, int] | None) -> None:
    """Fills in costs and sizes, or why there are none."""
    functional = explanation.program
    plan = s.PlanOptions(size=sizeof(s.PlanOptions), sizes=text_of_sizes(sizes))
    options = s.CostsOptions(sizeof(s.CostsOptions), program._handle.address, origins, addressof(plan))
    try:
        made = functional._context.make(lib.fnz_costs_find, lib.fnz_costs_destroy, functional._handle.address, byref(options))
    except NotImplementedError:
        explanation.no_run = "libfnz_core has no engine"
        return
    except Error as error:
        if sizes or error.status not in ("UNSUPPORTED", "BAD_INPUT"):
            raise
        explanation.no_run = f"{error.where}: {error.message}" if error.where else error.message
        return
    explanation.sizes = lib.fnz_costs_sizes(made.address).decode(errors="replace")
    for k in range(lib.fnz_costs_count(made.address)):
        cost = s.Cost.from_address(lib.fnz_costs_at(made.address, k))
        node = "" if cost.node == NOT_A_NODE else _text(functional, cost.graph, cost.node)
        explanation.costs.append(Cost.of(cost, node))


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
    return place_of(lib.fnz_program_node(program._handle.address, graph, node).source)
