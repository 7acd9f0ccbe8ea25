"""Reading a program: nodes, their arguments and types, inputs and outputs."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from ctypes import byref, c_size_t, sizeof, string_at
from typing import Any, NamedTuple

from . import _structures as s
from ._library import lib
from .checks import Kept
from .dtypes import DTYPES
from .errors import type_error
from .handles import Handle

_ARG_BYTES = sizeof(s.Arg)


class Meta(NamedTuple):
    """The type of a tensor. Symbolic numbers are texts, "s77" or "2*s77 + 1"."""

    shape: tuple[Any, ...]
    dtype: str
    strides: tuple[Any, ...]
    offset: Any


class Value(NamedTuple):
    """A value that a node uses or returns, by its name; `meta` is None if it is no tensor."""

    name: str
    meta: Meta | None

    def __repr__(self) -> str:
        return f"%{self.name}"


class Subgraph(NamedTuple):
    """A body, as higher-order operators take it: graph `index` of the program."""

    index: int  # type: ignore[assignment]  # a tuple has a method of this name


class Input(NamedTuple):
    """An input of the program: `kind` is "user", "parameter", "buffer", "constant", "literal", ...; `target` the
    qualified name of a parameter, buffer or constant."""

    kind: str
    name: str
    target: str | None
    value: Any

    @property
    def meta(self) -> Meta | None:
        return self.value.meta if isinstance(self.value, Value) else None


class Output(NamedTuple):
    """An output: `kind` is "user", "buffer_mutation", ...; `target` what a mutation or gradient belongs to."""

    kind: str
    target: str | None
    value: Any

    @property
    def meta(self) -> Meta | None:
        return self.value.meta if isinstance(self.value, Value) else None


class Graph(Kept):
    """Graph `index` of a program; its values are named once."""

    _instead = "pickle the Program, which has them"

    def __init__(self, program: Handle, index: int):
        self._program, self.index = program, index
        self._values: dict[int, Value] = {}

    def value(self, number: int) -> Value:
        found = self._values.get(number)
        if found is None:
            name = lib.fnz_value_name(self._program.address, self.index, number).decode()
            geometry = lib.fnz_value_geometry(self._program.address, self.index, number)
            found = self._values[number] = Value(name, self.meta_at(geometry) if geometry else None)
        return found

    def meta_at(self, address: int) -> Meta:
        geometry = s.Geometry.from_address(address)
        rank = geometry.rank
        numbers = [*geometry.sizes[:rank], *geometry.strides[:rank], geometry.offset]
        if geometry.symbols:
            for k, symbol in enumerate(geometry.symbols[:2 * rank + 1]):
                if symbol:
                    numbers[k] = lib.fnz_program_symbol(self._program.address, symbol).text.decode()
        return Meta(tuple(numbers[:rank]), DTYPES[geometry.dtype].name, tuple(numbers[rank:2 * rank]), numbers[-1])

    def args_at(self, address: int, count: int) -> list[Any]:
        return [self.arg(s.Arg.from_address(address + k * _ARG_BYTES)) for k in range(count)]

    def arg(self, arg: s.Arg) -> Any:
        """An argument as Python has it."""
        tag, u = s.TAGS[arg.tag], arg.u
        if tag in ("VALUE", "SYMBOL", "TOKEN", "OBJECT"):
            return self.value(u.value)
        if tag in ("INT", "LAYOUT"):
            return u.i
        if tag == "FLOAT":
            return u.f
        if tag == "BOOL":
            return bool(u.i)
        if tag in ("STRING", "DEVICE", "OPERATOR"):
            return u.s.decode(errors="replace")
        if tag == "DTYPE":
            return DTYPES[u.i].name
        if tag == "MEMORY_FORMAT":
            return s.MEMORY_FORMATS.get(u.i, u.i)
        if tag in ("LIST", "COMPLEX"):
            items = self.args_at(u.list, arg.count) if arg.count else []
            return complex(*items) if tag == "COMPLEX" else items
        return Subgraph(u.i) if tag == "GRAPH" else None


class Default:
    """In place of an argument that was not given: the schema's default holds."""

    def __repr__(self) -> str:
        return "default"

    def __reduce__(self) -> str:  # there is one
        return "DEFAULT"


DEFAULT = Default()


class Node(Kept):
    """One node. `args` are in the order of the operator's schema; `meta` is that of the first result."""

    __slots__ = ("_graph", "index", "target", "args", "outputs", "source")
    _instead = "pickle the Program, which has them"

    def __init__(self, graph: Graph, program: Handle, index: int):
        info = lib.fnz_program_node(program.address, graph.index, index)
        self._graph, self.index, self.target = graph, index, info.target.decode()
        self.args = tuple(DEFAULT if arg.tag == 0 else graph.arg(arg) for arg in info.args[:info.nargs])
        self.outputs = tuple(graph.arg(arg) for arg in info.outputs[:info.noutputs])
        self.source = info.source.decode(errors="replace")

    @property
    def name(self) -> str:
        """The name of the first result; "" if there is none."""
        first = self._first()
        return first.name if first else ""

    @property
    def meta(self) -> Meta | None:
        first = self._first()
        return first.meta if first else None

    @property
    def metadata(self) -> dict[str, Any]:
        """The exporter's metadata of the node, without its stack trace: nn_module_stack, torch_fn ..."""
        text = lib.fnz_node_metadata(self._graph._program.address, self._graph.index, self.index)
        return json.loads(text) if text else {}

    @property
    def modules(self) -> list[tuple[str, str]]:
        """(path, type) of the modules around the node, innermost first; the path of the exported module is ""."""
        found: list[tuple[str, str]] = []
        while (module := self._module(len(found))).path:
            found.append((string_at(module.path, module.path_size).decode(errors="replace"),
                          string_at(module.type, module.type_size).decode(errors="replace")))
        return found

    def _module(self, k: int) -> s.Module:
        module: s.Module = lib.fnz_node_module(self._graph._program.address, self._graph.index, self.index, k)
        return module

    def _first(self) -> Value | None:
        first: Any = self.outputs[0] if self.outputs else None
        while isinstance(first, list):
            first = first[0] if first else None
        return first if isinstance(first, Value) else None

    def __repr__(self) -> str:
        return f"{', '.join(map(repr, self.outputs))} = {self.target}({', '.join(map(repr, self.args))})"


class Nodes(Kept, Sequence[Any]):
    """The nodes of a graph, in the order in which they run; read when they are looked at."""

    _instead = "pickle the Program, which has them"

    def __init__(self, program: Handle, graph: int = 0):
        self._program, self._graph = program, Graph(program, graph)
        self._count: int = lib.fnz_node_count(program.address, graph)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if isinstance(index, str):
            raise type_error(f"nodes have numbers: [node for node in nodes if node.target == {index!r}] finds them by name")
        index = operator.index(index)
        if not -self._count <= index < self._count:
            raise IndexError(f"there is no node {index}; there are {self._count}, from 0 on")
        return Node(self._graph, self._program, index % self._count)


def _ends(program: Handle, graph: int, function: Any) -> list[Any]:
    count = c_size_t()
    at = function(program.address, graph, byref(count))
    return Graph(program, graph).args_at(at, count.value) if count.value else []


def read_inputs(program: Handle) -> list[Input]:
    found = []
    for k, value in enumerate(_ends(program, 0, lib.fnz_graph_inputs)):
        spec = lib.fnz_program_input(program.address, k)
        target = spec.target.decode() if spec.target else None
        name = value.name if isinstance(value, Value) else target or ""
        found.append(Input(s.INPUT_KINDS[spec.kind], name, target, value))
    return found


def read_outputs(program: Handle) -> list[Output]:
    found = []
    for k, value in enumerate(_ends(program, 0, lib.fnz_graph_outputs)):
        spec = lib.fnz_program_output(program.address, k)
        found.append(Output(s.OUTPUT_KINDS[spec.kind], spec.target.decode() if spec.target else None, value))
    return found
