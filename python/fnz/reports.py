"""Results of checks and comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from . import _structures as s
from ._library import lib
from .errors import STATUSES, failure, last_error

NOT_A_NODE = 2**64 - 1  # SIZE_MAX


class Stats(NamedTuple):
    """Figures of a program: fnz_stats."""

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


class Finding(NamedTuple):
    """Something that functionalizing refuses ("refused"), or that costs a copy: fnz_finding."""

    kind: str
    where: str
    what: str
    remedy: str

    @classmethod
    def of(cls, finding: Any) -> Finding:
        return cls(lib.fnz_finding_kind_name(finding.kind).decode(), finding.where.decode(errors="replace"),
                   finding.what.decode(errors="replace"), finding.remedy.decode(errors="replace"))
