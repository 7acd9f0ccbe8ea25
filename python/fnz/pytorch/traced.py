"""A graph that PyTorch's compiler has traced, written as the JSON of an exported program, by PyTorch's own serializer."""

from __future__ import annotations

from typing import Any, Container

import torch
from torch._export.serde import serialize as serde
from torch.export import graph_signature as of
from torch.fx import Graph, GraphModule, Node

from .serializer import program_around


def write_traced(graph: GraphModule, weights: Container[str]) -> tuple[bytes, dict[str, torch.Tensor]]:
    """The program, and the tensors that are in the graph itself, by name. Inputs in `weights` become its parameters, all
    others are user inputs; NotImplementedError names what no exported program holds."""
    whole, constants = _with_constants(graph)
    specs = [_input_spec(node, weights, constants) for node in whole.graph.nodes if node.op == "placeholder"]
    results = [of.OutputSpec(of.OutputKind.USER_OUTPUT, _argument(one), None)
               for one in whole.graph.output_node().args[0]]  # type: ignore[union-attr]
    writer = serde.GraphModuleSerializer(of.ExportGraphSignature(specs, results), [])
    try:
        module = writer.serialize(whole)
    except serde.SerializeError as error:
        raise NotImplementedError(str(error).strip().splitlines()[-1]) from error
    return program_around(module, _ranges(whole)), constants


def _with_constants(graph: GraphModule) -> tuple[GraphModule, dict[str, torch.Tensor]]:
    """Tensors that are attributes of the module become inputs."""
    copied, constants, renamed = Graph(), dict[str, torch.Tensor](), dict[Node, Node]()
    result = copied.graph_copy(graph.graph, renamed)
    copied.output(result)
    whole = GraphModule(graph, copied)
    for old, new in renamed.items():
        new.meta = {key: old.meta[key] for key in ("val", "stack_trace") if key in old.meta}
    first = next(iter(copied.nodes))
    for node in [node for node in copied.nodes if node.op == "get_attr"]:
        value = _attribute(graph, str(node.target))
        if isinstance(value, torch.Tensor):
            with copied.inserting_before(first):
                made = copied.placeholder(f"constant_{len(constants)}")
            made.meta["val"] = node.meta.get("val", value)
            constants[made.name] = value
            node.replace_all_uses_with(made)
            copied.erase_node(node)
    _leave_out_indices(copied)
    _take_attention(copied)
    return whole, constants


_POOLS = {torch.ops.aten.max_pool2d_with_indices.default: torch.ops.aten.max_pool2d.default,
          torch.ops.aten.max_pool3d_with_indices.default: torch.ops.aten.max_pool3d.default}


def _leave_out_indices(graph: Graph) -> None:
    """Largest elements without their places, which nothing reads: these take time."""
    for node in list(graph.nodes):
        if node.target in _POOLS and all(user.args[1] == 0 for user in node.users):
            with graph.inserting_before(node):
                made = graph.call_function(_POOLS[node.target], node.args, node.kwargs)
            made.meta = {**node.meta, "val": node.meta["val"][0]}
            for user in list(node.users):
                user.replace_all_uses_with(made)
                graph.erase_node(user)
            graph.erase_node(node)


_FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def _take_attention(graph: Graph) -> None:
    """Attention as the model has called it, if only its first result is read: then heads that the model repeats for it need not
    be copied."""
    for node in list(graph.nodes):
        if node.target is not _FLASH or any(user.args[1] != 0 for user in node.users):
            continue
        named = {**dict(zip((one.name for one in _FLASH._schema.arguments), node.args)), **node.kwargs}
        with graph.inserting_before(node):
            made = graph.call_function(
                torch.ops.aten.scaled_dot_product_attention.default,
                (named["query"], named["key"], named["value"], named.get("attn_mask"), named.get("dropout_p", 0.0),
                 named.get("is_causal", False)), {"scale": named.get("scale")})
        made.meta = {**node.meta, "val": node.meta["val"][0]}
        for user in list(node.users):
            user.replace_all_uses_with(made)
            graph.erase_node(user)
        graph.erase_node(node)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _input_spec(node: Node, weights: Container[str], constants: Container[str]) -> of.InputSpec:
    if node.name in weights:
        return of.InputSpec(of.InputKind.PARAMETER, _argument(node), node.name)
    if node.name in constants:
        return of.InputSpec(of.InputKind.CONSTANT_TENSOR, _argument(node), node.name)
    return of.InputSpec(of.InputKind.USER_INPUT, _argument(node), None)


def _argument(one: Any) -> Any:
    if not isinstance(one, Node):
        return of.ConstantArgument(name="", value=one)
    value = one.meta.get("val")
    if isinstance(value, torch.Tensor):
        return of.TensorArgument(name=one.name)
    for kind, made in ((torch.SymInt, of.SymIntArgument), (torch.SymFloat, of.SymFloatArgument),
                       (torch.SymBool, of.SymBoolArgument)):
        if isinstance(value, kind):
            return made(name=one.name)
    if value is None or isinstance(value, (int, float, bool, str)):
        return of.ConstantArgument(name=one.name, value=value)
    raise NotImplementedError(f"{one.name} is a {type(value).__name__}")


def _ranges(graph: GraphModule) -> dict[Any, Any]:
    """Ranges of the symbols in sizes."""
    found: dict[Any, Any] = {}
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        for size in (*value.shape, *value.stride()) if isinstance(value, torch.Tensor) else (value,):
            if isinstance(size, torch.SymInt):
                known: Any = getattr(size.node.shape_env, "var_to_range", {})
                found.update({symbol: known[symbol] for symbol in size.node.expr.free_symbols if symbol in known})
    return found
