"""torch.compile(model, backend="fnz"): graphs of PyTorch's compiler as executables of this package.

PyTorch's compiler finds the graph, aot_autograd makes it one of ATen operators whose writes are `copy_` to inputs at the end;
the first call of it compiles the program. Parameters and buffers that the graph only reads are weights, over the memory of
PyTorch's tensors. What fnz does not run is run by eager PyTorch, and a warning says once why. Imports PyTorch, which is who
asks for this module by the entry point `torch_dynamo_backends`."""

from __future__ import annotations

import threading
import warnings
from typing import Any, Callable, Mapping, Sequence

import torch
from torch._dynamo.backends.common import aot_autograd
from torch.fx import GraphModule, Node

from .checks import integer
from .errors import Error, type_error
from .executable import Executable
from .exported import lend, program_of_json, state_of
from .traced import write_traced

_MOST_THREADS = 4096
_warned: set[str] = set()


def backend(module: GraphModule, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """What torch.compile() calls. `options`: {"threads": 2}; PyTorch's number of threads if none are given."""
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
        self._lock = threading.Lock()  # final values belong to the last call

    def __call__(self, args: list[Any]) -> Any:
        if self._failed:
            return self._eager(args)
        with self._lock:
            try:
                if self._built is None or not self._built.holds_for(args):
                    self._built = _Built(self._graph, args, self._threads)
            except Unsupported as error:
                self._failed = True
                _say(str(error))
                return self._eager(args)
            try:
                results = self._built(args)
            except Error as error:
                _say(f"a call that fnz refuses: {error}")
                return self._eager(args)
        args.clear()
        return results


class Unsupported(Exception):
    """Which part of a graph fnz does not run, in words."""


class _Built:
    """The executable of a graph over the weights that the first call had."""

    def __init__(self, graph: GraphModule, args: Sequence[Any], threads: int):
        inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
        written = written_inputs(graph)
        check_runs(graph, args)
        held = [k for k, value in enumerate(args) if is_weight(value) and inputs[k] not in written]
        self._held = [(k, args[k], state_of((args[k],))) for k in held]
        self.executable = self._compile(graph, {inputs[k].name: args[k] for k in held}, threads)
        self._given = [k for k in range(len(args)) if k not in set(held)]
        self._finals = [(k, f"input.{inputs[k].name}") for k in self._given if inputs[k] in written]
        self._is_tuple = len(graph.graph.output_node().args[0]) != 1  # type: ignore[arg-type]

    @staticmethod
    def _compile(graph: GraphModule, weights: dict[str, torch.Tensor], threads: int) -> Executable:
        try:
            data, constants = write_traced(graph, weights)
            program = program_of_json(data, graph)
            lend(program, {**weights, **constants})
            return program.functionalize().compile(threads=threads)
        except Error as error:
            raise Unsupported(f"a graph: {error}") from error
        except NotImplementedError as error:
            raise Unsupported(f"a graph: {error}") from error

    def holds_for(self, args: Sequence[Any]) -> bool:
        """The weights are the same tensors, where they were, and nobody has written them."""
        for k, tensor, state in self._held:
            if args[k] is not tensor or state_of((tensor,)) != state:
                return False
        return True

    def __call__(self, args: Sequence[Any]) -> Sequence[Any]:
        executable = self.executable
        given = [args[k] for k in self._given]
        results = executable(*given)
        for k, name in self._finals:
            args[k].detach().copy_(executable.mutated[name])
        return results if self._is_tuple else (results,)


def is_weight(value: Any) -> bool:
    """A parameter or buffer, as PyTorch's compiler marks them."""
    return isinstance(value, torch.nn.Parameter) or (
        isinstance(value, torch.Tensor) and getattr(value, "_dynamo_static_input_type", None) is not None)


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
    for node in graph.graph.nodes:
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags and not _draws_nothing(node):
            raise Unsupported(f"a graph with {node.target}, whose random numbers are to be PyTorch's")


def _draws_nothing(node: Node) -> bool:
    """Attention without dropout."""
    arguments = node.target._schema.arguments  # type: ignore[union-attr]
    named = {**dict(zip((one.name for one in arguments), node.args)), **node.kwargs}
    rates = [named.get(one.name, one.default_value) for one in arguments if one.name in ("dropout_p", "p")]
    return bool(rates) and not any(rates)
