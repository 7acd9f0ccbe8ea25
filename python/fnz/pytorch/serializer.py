"""PyTorch's own serializer of programs, without what takes most of its time: a copy of all to see whether a canonical form
exists, and the types of a class's fields, which its reader finds anew for each value. Files and results are the same."""

from __future__ import annotations

import functools
import typing
from types import FunctionType, SimpleNamespace
from typing import Any, Iterable

import torch
from torch._export.serde import schema, serialize

serde: Any = serialize  # its types are PyTorch's own affair


def write(exported: Any) -> bytes:
    """The JSON of an ExportedProgram, without its weights and examples."""
    with serde._enable_graph_inputs_of_type_nn_module(exported.example_inputs):
        exported.validate()
        writer = serde.GraphModuleSerializer(exported.graph_signature, exported.module_call_graph)
        return program_around(writer.serialize(exported.graph_module), exported.range_constraints,
                     verifiers=[one.dialect for one in exported.verifiers], guards_code=exported._guards_code)


def program_around(module: Any, ranges: Any, verifiers: Iterable[str] = (), **parts: Any) -> bytes:
    """The JSON around the one graph module."""
    program = schema.ExportedProgram(
        graph_module=module, opset_version={"aten": torch._C._get_max_operator_version()},
        range_constraints=serde.serialize_range_constraints(ranges),
        schema_version=schema.SchemaVersion(*schema.SCHEMA_VERSION), verifiers=list(verifiers),
        torch_version=torch.__version__, **parts)
    data: bytes = serde._to_json_bytes(program)
    return data


@functools.cache
def reader() -> Any:
    """serialize.deserialize(), which knows the types of fields from the first value of a class on: these functions of PyTorch
    with another `typing`."""
    types_of = functools.cache(lambda kind: typing.get_type_hints(kind, globalns=vars(schema)))
    known = SimpleNamespace(**{**vars(typing), "get_type_hints": lambda kind, **_: types_of(kind)})
    names: dict[str, Any] = {**vars(serde), "typing": known}
    for name in ("_dict_to_dataclass", "_bytes_to_dataclass", "deserialize"):
        own = getattr(serde, name)
        made = FunctionType(own.__code__, names, name, own.__defaults__, own.__closure__)
        made.__kwdefaults__ = own.__kwdefaults__
        names[name] = made
    return names["deserialize"]
