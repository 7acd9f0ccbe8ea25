"""How a program is called: maps the arguments of a call to inputs, and outputs to results."""

from __future__ import annotations

from typing import Any, Callable, Container, Iterable, Iterator

from . import _structures as s
from .errors import Error, argument_error
from .graph import Value, read_inputs, read_outputs
from .handles import Handle
from .tree import LEAF, Tree, read_trees, tuple_of

class Calling:
    """The calling convention of one program. If the file records the structure of the exported module, inputs and
    outputs have it."""

    def __init__(self, program: Handle, structure: str | None):
        self.leaves = [one for one in read_inputs(program) if one.kind in ("user", "literal")]
        self.results = [one for one in read_outputs(program) if one.kind in s.RESULT_KINDS]
        trees = read_trees(structure)
        names = [one.name for one in self.leaves]
        self.named, self.names = Tree("dict"), names
        self.positional, self.outputs = tuple_of(len(names)), tuple_of(len(self.results))
        if len(self.results) == 1:
            self.outputs = LEAF
        if trees and trees.inputs.leaves == len(names):
            self.positional, self.named = trees.inputs.children
            known = trees.names and len(trees.names) >= len(self.positional.children)
            self.names = (trees.names or []) if known else names if self.positional.is_flat else []
        if trees and trees.outputs.leaves == len(self.results):
            self.outputs = trees.outputs
        self.count = len(self.positional.children)
        self.is_plain = (self.positional.is_flat and not self.named.children
                         and all(one.kind == "user" for one in self.leaves))

    # --- What goes in ---
    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """The graph names of the inputs with their values. Literals must be what the program was traced with."""
        for one, value in zip(self.leaves, self.flatten(args, kwargs)):
            if one.kind == "user":
                yield one.name, value
            elif type(value) is not type(one.value) or value != one.value:
                raise argument_error(f"the program was traced with {one.value!r} here, not {value!r}",
                                     f"input `{one.name}`")

    def flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of a call's arguments. Inputs that the program takes by position may be given by name, too."""
        if len(args) < self.count and self.names:
            wanted = self.names[len(args):self.count]
            if all(name in kwargs for name in wanted):
                kwargs = dict(kwargs)
                args += tuple(kwargs.pop(name) for name in wanted)
        if len(args) != self.count:
            names = f" ({', '.join(self.names[:self.count])})" if self.names else ""
            more = f" and {', '.join(kwargs)} by name" if kwargs else ""
            raise argument_error(f"expected {self.count} by position{names}, got {len(args)}{more}", "inputs")
        leaves: list[Any] = []
        for i, (child, value) in enumerate(zip(self.positional.children, args)):
            child.flatten(value, f"input `{self.names[i] if self.names else i}`", leaves)
        self.named.flatten(kwargs, "inputs by name", leaves)
        return leaves

    # --- What comes out ---
    def check_results(self, given: Container[str]) -> None:
        """Refuses results that no run gives, such as script objects."""
        for k, one in enumerate(self.results):
            if isinstance(one.value, Value) and f"output.{k}" not in given:
                raise Error("UNSUPPORTED", "UNSUPPORTED", f"output {k}",
                            f"`{one.value.name}` is no tensor and no number; export the program without it")

    def flat(self, given: Iterable[str]) -> type | None:
        """tuple or list, if that of all results in their order is what the program gives."""
        names = [f"output.{k}" for k in range(len(self.results))]
        is_flat = (self.outputs.kind in ("tuple", "list") and all(child.kind == "leaf" for child in self.outputs.children)
                   and all(isinstance(one.value, Value) for one in self.results) and list(given)[:len(names)] == names
                   and all(name.startswith(("input.", "buffer.", "parameter.")) for name in list(given)[len(names):]))
        return {"tuple": tuple, "list": list}[self.outputs.kind] if is_flat else None

    def give(self, of: Callable[[str], Any]) -> Any:
        """The results as the program gives them; of("output.K") is a tensor or a number."""
        return self.outputs.unflatten(
            of(f"output.{k}") if isinstance(one.value, Value) else one.value for k, one in enumerate(self.results))
