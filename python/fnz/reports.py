"""Results of checks and comparisons."""

from __future__ import annotations

import os
from ctypes import string_at
from dataclasses import dataclass
from typing import Any, List, NamedTuple

from . import _structures as s
from ._library import lib
from .errors import STATUSES, failure, last_error

NOT_A_NODE = 2**64 - 1  # SIZE_MAX


class Stats(NamedTuple):
    """Figures of a program: fnz_stats. `copies` are nodes that only move elements; explain() has the copies of a run."""

    nodes: int
    views: int
    mutations: int
    copies: int
    mutated: int
    inputs: int
    outputs: int
    graphs: int
    weights: int
    no_data: int
    weight_bytes: int


@dataclass(frozen=True)
class Report:
    """The result of a check; true when the two programs are equal. `message` says where they differ, "" when equal;
    the rest is fnz_verify_report."""

    equal: bool
    message: str
    trials: int
    bodies: int
    bodies_run: int
    missed: str
    numbers: bool
    no_numbers: str
    sizes: int
    weights: int
    weights_differing: int
    weights_without: int
    predicates: int
    predicates_turned: int
    not_compared: str
    narrower: str

    def __bool__(self) -> bool:
        return self.equal

    @classmethod
    def of(cls, context: int, status: int, report: s.VerifyReport) -> Report:
        message = ""
        if status:
            error = last_error(context)
            if STATUSES[status] != "DIFFERENT":
                raise failure(context)
            message = f"{error.where}: {error.message}" if error.where else error.message
        return cls(not status, message, report.trials, report.bodies, report.bodies_run, report.missed.decode(),
                   report.numbers, report.no_numbers.decode(), report.sizes, report.weights, report.weights_differing,
                   report.weights_without, report.predicates, report.predicates_turned,
                   report.not_compared.decode(), report.narrower.decode())


class Side(NamedTuple):
    """One program's side of a difference: a node, input or weight in the text form."""

    text: str
    source: str
    graph: int | None
    node: int | None


class Difference(NamedTuple):
    """The first difference of two programs."""

    where: str
    what: str
    a: Side
    b: Side

    @classmethod
    def of(cls, difference: Any) -> Difference:
        def side(one: Any) -> Side:
            is_node = one.node != NOT_A_NODE
            return Side(one.text.decode(errors="replace"), one.source.decode(errors="replace"),
                        one.graph if is_node else None, one.node if is_node else None)
        return cls(difference.where.decode(errors="replace"), difference.what.decode(errors="replace"),
                   side(difference.a), side(difference.b))


class Cost(NamedTuple):
    """Bytes that a run moves for one reason in one line of the model, in all `times` copies together: fnz_cost. `kind` is
    "copy" or "join", `node` the first of them in the functional form, "" if none is known. `modules` counts the modules of
    the model from `module` to `last_module`."""

    kind: str
    bytes: int
    largest: int
    times: int
    node: str
    place: str
    module: str
    last_module: str
    modules: int
    rule: str
    why: str
    remedy: str

    @classmethod
    def of(cls, cost: Any, node: str = "") -> Cost:
        words = [one.decode(errors="replace") for one in (cost.module, cost.last_module, cost.rule, cost.why, cost.remedy)]
        return cls(lib.fnz_cost_kind_name(cost.kind).decode(), cost.bytes, cost.largest, cost.times, node,
                   place_of(cost.source), words[0], words[1], cost.modules, *words[2:])

    def __str__(self) -> str:
        """"786 kB: 12 copies of 66 kB, modeling_llama.py:269, in layers.0 to layers.11: why; what to do"."""
        times = "joined pieces" if self.kind == "join" else "copies"
        up_to = "" if self.largest * self.times == self.bytes else "up to "
        parts = [f"{self.times} {times} of {up_to}{size_of(self.largest)}" if self.times > 1 else
                 f"one {'joined piece' if self.kind == 'join' else 'copy'}", self.place]
        if self.module:
            parts.append(f"in {self.module}" + (f" to {self.last_module}" if self.modules > 1 else ""))
        return (f"{size_of(self.bytes)}: {', '.join(filter(None, parts))}: {self.why}"
                + (f"; {self.remedy}" if self.remedy else ""))


class Finding(NamedTuple):
    """Something that functionalizing refuses ("refused"), or that costs a copy: fnz_finding. `cost` is what a run copies;
    None of a "copy" or a "scatter" says that it is one in the text of the functional form."""

    kind: str
    where: str
    what: str
    remedy: str
    cost: Cost | None = None

    @classmethod
    def of(cls, finding: Any) -> Finding:
        cost = Cost.of(s.Cost.from_address(finding.cost)) if finding.cost else None
        return cls(lib.fnz_finding_kind_name(finding.kind).decode(), finding.where.decode(errors="replace"),
                   finding.what.decode(errors="replace"), finding.remedy.decode(errors="replace"), cost)

    def __str__(self) -> str:
        what = f"a run copies {size_of(self.cost.bytes)}: {self.what}" if self.cost else self.what
        return f"{self.kind}: {self.where}: {what}" + (f"; {self.remedy}" if self.remedy else "")


class Findings(List[Finding]):
    """The findings of lint(). `no_run` is "" if copies are of a run. Else it is the reason why they are of the text of the
    functional form."""

    no_run: str = ""


def size_of(number: int) -> str:
    """"786 kB" """
    value, units = float(number), ["B", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.1f} {units[0]}" if units[0] != "B" and value < 10 else f"{value:.0f} {units[0]}"


def place_of(source: bytes) -> str:
    """"model.py:7": the innermost line outside of PyTorch; "" if the text has none."""
    place = lib.fnz_source_place(source)
    if not place.path_size:
        return ""
    path = os.path.basename(string_at(place.path, place.path_size).decode(errors="replace"))
    return f"{path}:{place.line}" if place.line else path
