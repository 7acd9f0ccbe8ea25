"""torch.compile(model, backend="fnz"): graphs of PyTorch's compiler as executables of this package.

PyTorch's compiler finds the graph, aot_autograd makes it one of ATen operators whose writes are `copy_` to inputs at the end;
the first call of it compiles the program. Parameters and buffers that the graph only reads are weights, over the memory of
PyTorch's tensors. Eager PyTorch runs all other graphs, and a warning says once why. The module imports PyTorch, which loads it
by the entry point `torch_dynamo_backends`."""

from __future__ import annotations

import operator
import threading
import warnings
from collections import Counter
from typing import Any, Callable, Container, Mapping, Sequence

import torch
from torch._dynamo.backends.common import aot_autograd
from torch.autograd.graph import increment_version
from torch.fx import GraphModule, Node

from ..checks import integer
from ..errors import Error, type_error
from ..program import Program
from .direct import Direct, has_fixed_sizes
from .exported import lend, program_of_json
from .traced import write_traced

_MOST_THREADS = 4096
_MOST_CHANGES = 2  # of a weight; then it becomes an input
_BEFORE_WRITING = ("ARGUMENT", "OVERLAP", "TYPE", "REF")  # classes of errors in inputs, found before a run
_version_of = operator.attrgetter("_version")
_warned: set[str] = set()


def backend(module: GraphModule, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """torch.compile() calls this. `options`: {"threads": 2}; the default is PyTorch's number of threads."""
    threads = _threads_of(options or {})

    def compile_inference(graph: GraphModule, _examples: Sequence[Any]) -> _Compiled:
        return _Compiled(graph, threads)

    made: Callable[..., Any] = aot_autograd(
        fw_compiler=_eager_training, bw_compiler=_eager_training, inference_compiler=compile_inference,
        keep_inference_input_mutations=True)(module, inputs)
    return made


def _threads_of(options: Mapping[str, Any]) -> int:
    unknown = set(options) - {"threads"}
    if unknown:
        raise type_error(f"the backend has no option {', '.join(sorted(unknown))}; threads is one")
    return integer(options.get("threads", torch.get_num_threads()), "threads", 0, _MOST_THREADS)


def _eager_training(graph: GraphModule, _examples: Sequence[Any]) -> Callable[[list[Any]], Any]:
    _say("training, because fnz computes no gradients: call the model under torch.no_grad() for inference")
    return _boxed(graph)


def _say(what: str) -> None:
    """Once for each thing."""
    if what not in _warned:
        _warned.add(what)
        warnings.warn(f"fnz: eager PyTorch runs {what}", stacklevel=3)


def _boxed(graph: GraphModule) -> Callable[[list[Any]], Any]:
    """As aot_autograd calls it: with a list, which may be emptied."""
    def call(args: list[Any]) -> Any:
        given = list(args)
        args.clear()
        return graph(*given)
    call._boxed_call = True  # type: ignore[attr-defined]
    return call


class _Compiled:
    """A graph, compiled when it is called first, and again after a weight was moved or written."""

    _boxed_call = True

    def __init__(self, graph: GraphModule, threads: int):
        self._graph, self._threads = graph, threads
        self._eager = _boxed(graph)
        self._built: _Built | None = None
        self._failed = False
        self._changes: Counter[int] = Counter()  # of weights, by their places
        self._lock = threading.Lock()  # final values belong to the last call

    def __call__(self, args: list[Any]) -> Any:
        if self._failed:
            return self._eager(args)
        with self._lock:
            try:
                return self._built_for(args)(args)
            except Unsupported as error:
                self._failed = True
                _say(str(error))
            except Refused as error:
                _say(f"a call that fnz refuses: {error}")
        return self._eager(args)

    def _built_for(self, args: Sequence[Any]) -> _Built:
        """A weight that changes again and again becomes an input."""
        if self._built is not None:
            moved = self._built.moved(args)
            if not moved:
                return self._built
            self._changes.update(moved)
        self._built = None  # so that its memory ends first
        loose = [k for k, times in self._changes.items() if times > _MOST_CHANGES]
        self._built = _Built(self._graph, args, self._threads, loose)
        return self._built


class Unsupported(Exception):
    """Which part of a graph fnz does not run, in words."""


class Refused(Exception):
    """Why a call was not made; nothing is written yet."""


class _Built:
    """A graph compiled over the weights that the first call had."""

    def __init__(self, graph: GraphModule, args: Sequence[Any], threads: int, loose: Container[int]):
        """loose  places of weights that are given to each call"""
        inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
        written = written_inputs(graph)
        check_runs(graph, args)
        held = {k: value for k, value in enumerate(args)
                if is_weight(value) and inputs[k] not in written and k not in loose}
        self._held = list(held)
        self._weights = list(held.values())
        self._state = _state_of(self._weights)
        self._given = [k for k in range(len(args)) if k not in held]
        try:
            data, constants = write_traced(graph, {inputs[k].name for k in held})
            program = program_of_json(data, graph)
            lend(program, {**{inputs[k].name: value for k, value in held.items()}, **constants})
            self._call = _caller_of(program.functionalize(), threads)
        except Exception as error:  # of PyTorch's serializer too: eager PyTorch runs each graph
            raise Unsupported(f"a graph that fnz does not take: {error}") from error

    def moved(self, args: Sequence[Any]) -> set[int]:
        """Places of weights that are other tensors now, or lie elsewhere, or were written."""
        given = [args[k] for k in self._held]
        if all(map(operator.is_, given, self._weights)) and _state_of(given) == self._state:
            return set()
        addresses, versions = self._state
        return {k for k, now, tensor, address, version in zip(self._held, given, self._weights, addresses, versions)
                if now is not tensor or (now.data_ptr(), now._version) != (address, version)}

    def __call__(self, args: Sequence[Any]) -> Sequence[Any]:
        return self._call([args[k] for k in self._given])


def _caller_of(program: Program, threads: int) -> Callable[[list[Any]], Sequence[Any]]:
    """Calls the functional program with its inputs, and writes final values into them."""
    names = [one.name for one in program.inputs if one.kind == "user"]
    written = [str(one.target) for one in program.outputs if one.kind == "input_mutation"]
    places = [(names.index(name), f"input.{name}") for name in written]
    if has_fixed_sizes(program):
        direct = Direct(program, written, threads)

        def call_direct(given: list[Any]) -> Sequence[Any]:
            if not direct.accepts(given):
                raise Refused("tensors of other sizes or strides than the graph has")
            try:
                results = direct(given)
                increment_version([given[k] for k, _ in places if not given[k].is_inference()])
                return results
            except Error as error:
                if written and error.kind not in _BEFORE_WRITING:
                    raise
                raise Refused(str(error)) from error
        return call_direct
    executable = program.compile(threads=threads)
    is_bare = sum(one.kind == "user" for one in program.outputs) == 1

    def call(given: list[Any]) -> Sequence[Any]:
        try:
            results = executable(*(one.detach() if getattr(one, "requires_grad", False) else one for one in given))
        except Error as error:
            raise Refused(str(error)) from error
        for k, name in places:
            given[k].detach().copy_(executable.mutated[name])
        return (results,) if is_bare else results
    return call


def _state_of(tensors: list[torch.Tensor]) -> tuple[list[int], list[int]]:
    """Addresses of tensors, and PyTorch's counts of their writes."""
    return list(map(torch.Tensor.data_ptr, tensors)), list(map(_version_of, tensors))


def is_weight(value: Any) -> bool:
    """A parameter or buffer, as PyTorch's compiler marks them, whose writes PyTorch counts."""
    return isinstance(value, torch.Tensor) and not value.is_inference() and (
        isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None)


def written_inputs(graph: GraphModule) -> set[Node]:
    """Inputs that an operator writes."""
    found = set()
    for node in graph.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            named = {**dict(zip((one.name for one in node.target._schema.arguments), node.args)), **node.kwargs}
            found |= {named[one.name] for one in node.target._schema.arguments
                      if one.alias_info is not None and one.alias_info.is_write and isinstance(named.get(one.name), Node)}
    return {node for node in found if node.op == "placeholder"}


def check_runs(graph: GraphModule, args: Sequence[Any]) -> None:
    """Refuses what would be wrong, or is not there."""
    for value in args:
        if isinstance(value, torch.Tensor) and (value.device.type != "cpu" or value.layout is not torch.strided):
            raise Unsupported(f"a graph with a tensor on {value.device.type}, of layout {value.layout}")
        if isinstance(value, torch.Tensor) and (value.is_conj() or value.is_neg()):
            raise Unsupported("a graph with a tensor that has a conjugate or negative bit")
    for node in graph.graph.nodes:
        if node.op == "placeholder" and not isinstance(node.meta.get("val"), (torch.Tensor, torch.SymInt)):
            raise Unsupported(f"a graph whose argument {node.name} is a {type(node.meta.get('val')).__name__}")
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags and not _draws_nothing(node):
            raise Unsupported(f"a graph with {node.target}, whose random numbers are to be PyTorch's")


def _draws_nothing(node: Node) -> bool:
    """Attention without dropout."""
    arguments = node.target._schema.arguments  # type: ignore[union-attr]
    named = {**dict(zip((one.name for one in arguments), node.args)), **node.kwargs}
    rates = [named.get(one.name, one.default_value) for one in arguments if one.name in ("dropout_p", "p")]
    return bool(rates) and not any(rates)
