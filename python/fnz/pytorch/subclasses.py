"""Exported programs whose weights are tensor subclasses, as torchao makes of a quantized module: a weight that is several
plain tensors becomes as many weights. Imports PyTorch."""

from __future__ import annotations

import copy
import weakref
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputSpec, TensorArgument
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

ACCESS = "export::access_subclass_inner_tensor"  # (weight, name of one of its tensors)

# With the identities of the weights that it is made of.
_plain: weakref.WeakKeyDictionary[ExportedProgram, tuple[tuple[int, ...], ExportedProgram]] = weakref.WeakKeyDictionary()


def plain(exported: ExportedProgram) -> ExportedProgram:
    """The program with a weight `linear.weight.scale` for the tensor `scale` of a subclass `linear.weight`. It is the
    given one if no weight is such a tensor. A node that reads the subclass itself stays, and fnz refuses it."""
    if not any(map(_is_subclass, exported.state_dict.values())) and not any(map(_is_subclass, exported.constants.values())):
        return exported
    weights = tuple(map(id, (*exported.state_dict.values(), *exported.constants.values())))
    if exported not in _plain or _plain[exported][0] != weights:
        _plain[exported] = weights, _made_plain(exported)
    return _plain[exported][1]


def _is_subclass(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and is_traceable_wrapper_subclass(value)


def _made_plain(exported: ExportedProgram) -> ExportedProgram:
    module = torch.fx.GraphModule(exported.graph_module, copy.deepcopy(exported.graph))
    for old, new in zip(exported.graph.nodes, module.graph.nodes):
        new.name = old.name  # copying renames what is a name of Python's, as `input`
    state, constants = dict(exported.state_dict), dict(exported.constants)
    nodes = {node.name: node for node in module.graph.nodes if node.op == "placeholder"}
    left, specs = list(exported.graph_signature.input_specs), []
    while left:
        spec = left.pop(0)
        held = state if spec.target in state else constants
        value: Any = held.get(spec.target)
        uses = list(nodes[spec.arg.name].users) if spec.arg.name in nodes else []
        if not _is_subclass(value) or spec.arg.name not in nodes or not all(map(_is_access, uses)):
            specs.append(spec)
            continue
        names = list(dict.fromkeys(str(use.args[1]) for use in uses)) or value.__tensor_flatten__()[0]
        left[:0] = _inner(module.graph, nodes, spec, names)
        for name in names:
            held[f"{spec.target}.{name}"] = _as_weight(getattr(value, name), value)
        del held[spec.target]
        for use in uses:
            module.graph.erase_node(use)
        module.graph.erase_node(nodes[spec.arg.name])
    module.recompile()
    signature = ExportGraphSignature(specs, list(exported.graph_signature.output_specs))
    return exported._update(module, signature, state_dict=state, constants=constants)


def _as_weight(tensor: torch.Tensor, whole: Any) -> torch.Tensor:
    return torch.nn.Parameter(tensor, requires_grad=False) if isinstance(whole, torch.nn.Parameter) else tensor


def _is_access(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.name == ACCESS


def _inner(graph: torch.fx.Graph, nodes: dict[str, torch.fx.Node], spec: InputSpec, names: list[str]) -> list[InputSpec]:
    """An input for each of these tensors of a weight. Nodes that read one of them read its input."""
    whole, made = nodes[spec.arg.name], []
    for name in names:
        with graph.inserting_before(whole):
            node = graph.placeholder(f"{spec.arg.name}_{name}")
        node.meta["val"] = getattr(whole.meta["val"], name)
        nodes[node.name] = node
        made.append(InputSpec(spec.kind, TensorArgument(node.name), f"{spec.target}.{name}", spec.persistent))
        for use in [use for use in whole.users if use.args[1] == name]:
            use.replace_all_uses_with(node)
    return made
