"""Exported programs of PyTorch as programs of this package, and back: PyTorch's own serializer says what is in them, and
weights stay where PyTorch has them, both ways. Imports PyTorch, so it is imported where the caller gives PyTorch's
objects."""

from __future__ import annotations

import contextlib
import logging
import warnings
from ctypes import POINTER, byref, c_int64, cast
from typing import Any, Iterable, Iterator, Mapping

import torch
from torch.export import ExportedProgram

from .. import _structures as s
from .._library import lib
from .._python import consume
from ..dtypes import BY_NAME
from ..errors import Error, check
from ..program import Program, declaring, load
from .subclasses import plain

try:
    from torch._export.serde import serialize as serde
except ImportError:  # a release that keeps it elsewhere
    serde = None  # type: ignore[assignment]

# Keys of a node's `meta` that PyTorch writes to files, and keys that it computes anew.
_KEPT = frozenset(("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", "custom", "from_node"))
_DERIVED = frozenset(("val", "tensor_meta", "example_value", "unbacked_bindings", "seq_nr", "original_aten", "eager_input_vals",
                      "tensor_dict", "grapharg", "creation_timestamp", "partitioner_tag", "autograd_backward",
                      "is_functional", "fwd_nn_module_stack", "export_wrapper_type"))


# --- To a program -----------------------------------------------------------------------------------
def program_of(exported: ExportedProgram) -> Program:
    """The program of an ExportedProgram, over its weights: they are not copied, and must not change."""
    exported = plain(exported)
    data = _written(exported)
    if data is None:
        return load(exported, ops=custom_schemas(exported.graph_module))
    program = program_of_json(data, exported.graph_module)
    lend(program, weights_of(exported))
    return program


def program_of_json(data: bytes, module: torch.fx.GraphModule) -> Program:
    return load(data, format="json", ops=custom_schemas(module))


def weights_of(exported: ExportedProgram) -> dict[str, torch.Tensor]:
    """Parameters, buffers and constants by qualified name; of tensor subclasses their plain tensors."""
    exported = plain(exported)
    every = {**exported.state_dict, **exported.constants}
    return {name: value for name, value in every.items() if isinstance(value, torch.Tensor)}


def custom_schemas(module: torch.nn.Module) -> list[str]:
    """Schemas of the operators in a graph and its bodies that the table has not."""
    found = {}
    for part in module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
            schema = getattr(node.target, "_schema", None)
            if isinstance(node.target, torch._ops.OpOverload) and schema is not None:
                name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
                if not schema.name.startswith("aten::") and not lib.fnz_op_find(None, name.encode()):
                    found[name] = str(schema)
    return [schema for schema in found.values() if _is_declarable(schema)]


def _is_declarable(schema: str) -> bool:
    """Some schemas have types of PyTorch alone. The reader of the program names such an operator if it needs it."""
    try:
        declaring([schema])
    except Error:
        return False
    return True


def _written(exported: ExportedProgram) -> bytes | None:
    """The JSON of the program without weights; None if this release of PyTorch does not write it alone."""
    if serde is None or _has_objects(exported):
        return None
    with contextlib.suppress(ImportError, AttributeError, TypeError):  # releases that do it otherwise
        from .serializer import write
        return write(exported)
    try:
        made = serde.serialize(exported, serialize_state_dict=False, serialize_constants=False,
                               serialize_example_inputs=False)
    except TypeError:
        return None
    data: bytes = made.exported_program
    return data


def _has_objects(exported: ExportedProgram) -> bool:
    """Script objects in the graph itself have names only in the file."""
    return any(isinstance(argument, torch.ScriptObject) for node in exported.graph.nodes for argument in node.args)


# --- Weights ----------------------------------------------------------------------------------------
def lend(program: Program, weights: Mapping[str, torch.Tensor]) -> None:
    """Gives weights without data the memory of tensors, which PyTorch keeps until no program needs it. Tensors without
    memory of the CPU give no data, and fnz refuses to compute with such weights."""
    wanted = {one.target for one in program.inputs if one.kind in ("parameter", "buffer", "constant")}
    given = {name: tensor.detach() for name, tensor in weights.items() if name in wanted and _has_memory(tensor)}
    kept: list[Any] = []
    loans = (s.WeightLoan * max(len(given), 1))(*[_loan(name, tensor, kept) for name, tensor in given.items()])
    context = program._context
    with context.lock:
        check(context.address, lib.fnz_program_lend_weights(context.address, program._handle.address, loans, len(given)))


def _has_memory(tensor: torch.Tensor) -> bool:
    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
    return (plain and tensor.device.type == "cpu" and not tensor.is_conj() and not tensor.is_neg()
            and str(tensor.dtype)[6:] in BY_NAME)


def _loan(name: str, tensor: torch.Tensor, kept: list[Any]) -> s.WeightLoan:
    """`kept` holds what the loan points to."""
    rank, storage = tensor.dim(), tensor.untyped_storage()
    numbers = (c_int64 * (2 * rank))(*tensor.shape, *tensor.stride())
    at = cast(numbers, POINTER(c_int64))
    strides = cast(byref(numbers, 8 * rank), POINTER(c_int64))
    geometry = s.Geometry(BY_NAME[str(tensor.dtype)[6:]].number, rank, False, False, tensor.storage_offset(), at, strides,
                          None)
    whole = torch.empty(0, dtype=torch.uint8).set_(storage)
    managed, versioned = consume(whole.__dlpack__())
    kind: Any = s.DLManagedTensorVersioned if versioned else s.DLManagedTensor
    loan = s.WeightLoan(name.encode(), cast(byref(geometry), POINTER(s.Geometry)), storage.data_ptr(), storage.nbytes(),
                        kind.from_address(managed).deleter, managed)
    kept += numbers, geometry, loan
    return loan


# --- Back -------------------------------------------------------------------------------------------
def exported_of(program: Program, like: ExportedProgram) -> ExportedProgram:
    """The program as an ExportedProgram. `like` is the original, and the result has its tensors as weights."""
    like = plain(like)
    weights = weights_of(like)
    missing = [one.target for one in program.inputs if one.kind in ("parameter", "buffer", "constant")
               and one.target not in weights]
    if missing:
        raise Error("UNSUPPORTED", "UNSUPPORTED", "", f"the result needs {', '.join(map(str, missing))}, which the exported "
                    "program has not; save() the fnz.Program")
    if serde is None or _has_objects(like):
        made = _loaded(program)
    else:
        tensors: Any = dict(like.state_dict), dict(like.constants), like.example_inputs
        artifact = serde.SerializedArtifact(program.write("json"), *tensors)
        with _quiet():
            made = _deserializer()(artifact)
    if getattr(like, "_guards_code", None) and not getattr(made, "_guards_code", None):
        made._guards_code = like._guards_code
    _give_examples(made, like, weights)
    for what in _lost(like, made):
        warnings.warn(f"fnz: {what}", stacklevel=4)
    return made


def _deserializer() -> Any:
    with contextlib.suppress(ImportError, AttributeError):  # releases that do it otherwise
        from .serializer import reader
        return reader()
    return serde.deserialize


def _give_examples(made: ExportedProgram, like: ExportedProgram, weights: Mapping[str, torch.Tensor]) -> None:
    """Examples of the inputs that were state before: its values."""
    targets = {spec.arg.name: spec.target for spec in like.graph_signature.input_specs if spec.target}
    state = [name for name in made.graph_signature.user_inputs if name in targets]
    if state and like.example_inputs:
        args, kwargs = like.example_inputs
        made._example_inputs = ((*args, *(weights[str(targets[name])] for name in state)), kwargs) if not kwargs else None


def _loaded(program: Program) -> ExportedProgram:
    """By the bytes of a file, weights and all."""
    import io
    return torch.export.load(io.BytesIO(program.write("pt2")))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """PyTorch logs a warning for each symbol of the original that the result does not need any more."""
    logger = logging.getLogger("torch._export.serde.serialize")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _lost(before: ExportedProgram, after: ExportedProgram) -> Iterator[str]:
    """Parts of the original that the result lacks, in words."""
    keys = sorted({key for node in before.graph.nodes for key in node.meta} - _KEPT - _DERIVED)
    if keys:
        yield f"node.meta has {', '.join(map(str, keys))}, which no file of PyTorch keeps; the result is without"
    had, has = before.module_call_graph, after.module_call_graph
    if [entry.fqn for entry in had] != [entry.fqn for entry in has]:
        yield "module_call_graph has other entries than before"
    names = {node.name for node in after.graph.nodes}
    for entry in has:
        if entry.fqn and entry.signature is not None:
            gone = sorted(_names_in(entry.signature.inputs + entry.signature.outputs) - names)
            if gone:
                yield (f"the signature of {entry.fqn} in module_call_graph names {', '.join(gone)}, which the result has "
                       "not: unflatten() cannot restore this module")


def _names_in(arguments: Iterable[Any]) -> set[str]:
    return {one.name for one in arguments if not hasattr(one, "value")}


def state_of(tensors: Iterable[torch.Tensor]) -> tuple[tuple[int, int], ...]:
    """Addresses of tensors, and PyTorch's counts of their writes: equal while no tensor changes."""
    return tuple((tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version) for tensor in tensors)
