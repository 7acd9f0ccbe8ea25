"""Functions that take a Program or a torch.export.ExportedProgram. They do in memory what `torch.export.save`, `fnz convert`
and `torch.export.load` do with files."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, TypeVar

from ._python import name_of
from .errors import type_error
from .explanation import Explanation, explained
from .program import Program, refuse_module
from .progress import Function
from .reports import Findings, Report

P = TypeVar("P")  # fnz.Program or torch.export.ExportedProgram: the result is what is given


def is_exported(value: Any) -> bool:
    """An ExportedProgram. PyTorch is not imported for it."""
    return any(kind.__name__ == "ExportedProgram" and kind.__module__.startswith("torch.export")
               for kind in type(value).__mro__)


def as_program(value: Any) -> Program:
    """The caller's object as a program."""
    if isinstance(value, Program):
        return value
    if is_exported(value):
        from .pytorch.exported import program_of
        return program_of(value)
    refuse_module(value)
    raise type_error("a program is a fnz.Program (fnz.load() reads one) or a torch.export.ExportedProgram; this is of type "
                     f"{name_of(type(value))}")


def _like(program: Program, given: P) -> P:
    """The result in the class of the caller's object."""
    if isinstance(given, Program):
        return program  # type: ignore[return-value]
    from .pytorch.exported import exported_of
    return exported_of(program, given)  # type: ignore[arg-type, return-value]


def _views_of(given: Any, views: str | None) -> str | None:
    """PyTorch's own passes and readers know plain views best."""
    return "keep" if views is None and not isinstance(given, Program) else views


def functionalize(program: P, *, views: str | None = None, state: str | None = None, deny: Iterable[str] = (),
                  target: str | None = None, progress: Function | None = None) -> P:
    """The same program without writes: see Program.functionalize(). An ExportedProgram stays as it is.
    Its result has the same tensors as weights and the same metadata, and keeps views by default."""
    if target is None:
        views = _views_of(program, views)
    return _like(as_program(program).functionalize(views=views, state=state, deny=deny, target=target,
                                                   progress=progress), program)


def decompose(program: P, set: str = "core", *, decompose: Iterable[str] = (), keep: Iterable[str] = (),
              views: str | None = None, progress: Function | None = None) -> P:
    """Operators as steps of others: see Program.decompose(). An ExportedProgram that writes is functionalized before."""
    source, views = as_program(program), _views_of(program, views) or "copy"
    if not isinstance(program, Program) and source.stats.mutations:
        source = source.functionalize(views=views, progress=progress)
    return _like(source.decompose(set, decompose=decompose, keep=keep, views=views, progress=progress), program)


def verify(program: Any, original: Any, *, inputs: Mapping[str, Any] | None = None, trials: int = 2,
           ignore_weights: bool = False, allow_narrower: bool = False, ignore_memory: bool = False,
           progress: Function | None = None) -> Report:
    """Whether a program means what the original means: see Program.verify(). Both may be an ExportedProgram."""
    return as_program(program).verify(as_program(original), inputs=inputs, trials=trials, ignore_weights=ignore_weights,
                                      allow_narrower=allow_narrower, ignore_memory=ignore_memory, progress=progress)


def lint(program: Any, *, sizes: Mapping[str, int] | None = None) -> Findings:
    """All that functionalizing refuses, and the copies of a run: see Program.lint()."""
    return as_program(program).lint(sizes=sizes)


def explain(program: Any, *, views: str | None = None, state: str = "outputs",
            sizes: Mapping[str, int] | None = None) -> Explanation:
    """The copies of a run, the most bytes first, with reason and remedy; and why each node of the functional form is there,
    with its line. A table in a notebook, text elsewhere. `sizes`: numbers of symbols, {"s0": 128}, instead of the recorded
    ones."""
    return explained(as_program(program), _views_of(program, views) or "copy", state, sizes)
