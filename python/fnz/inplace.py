"""Inputs that a program changes, written in the memory of the caller: compile(in_place=True)."""

from __future__ import annotations

import sys
from typing import Any

from . import _structures as s
from ._library import lib
from .errors import Error
from .graph import read_inputs, read_outputs
from .handles import Handle

_IS_INPUT = 1  # FNZ_SHARING_INPUT


def written_inputs(program: Handle) -> tuple[list[str], dict[str, str]]:
    """The graph names of inputs that a functional program changes, and by the names of results that are such inputs
    themselves, "output.0", these inputs."""
    inputs, outputs = read_inputs(program), read_outputs(program)
    specs = [lib.fnz_program_output(program.address, k) for k in range(len(outputs))]
    written = [one.target for one in outputs if one.kind == "input_mutation" and one.target]
    for one, spec in zip(outputs, specs):
        if one.kind == "memory_mutation" or one.kind == "input_mutation" and (spec.metadata or spec.set):
            _refuse(one.target, "the program gives it other sizes, strides or memory")
    for k, given in enumerate(inputs):
        shares = lib.fnz_program_input(program.address, k).shares
        if shares and {given.name, inputs[shares - 1].name} & set(written):
            _refuse(given.name, f"it shares memory with {inputs[shares - 1].name}, and the program writes that")
    results = [spec for one, spec in zip(outputs, specs) if one.kind in s.RESULT_KINDS]
    return written, {f"output.{k}": inputs[spec.of].name for k, spec in enumerate(results)
                     if spec.sharing == _IS_INPUT and inputs[spec.of].name in written}


def _refuse(name: str | None, why: str) -> None:
    raise Error("UNSUPPORTED", "UNSUPPORTED", f"input `{name}`", f"cannot be changed in place: {why}; compile without "
                "in_place, and take its final value from `mutated`")


def note_written(value: Any) -> None:
    """A tensor of PyTorch counts how often it was written, for what its autograd has saved."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        torch.autograd.graph.increment_version(value)
