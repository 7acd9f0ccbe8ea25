"""The structure that torch.export gives inputs and outputs: tuples, lists and dicts whose leaves are in order.

A structure is PyTorch's text of a tree ("treespec"). A program without such a text has one tuple of all leaves, or the
leaf itself if there is one output. Classes that the text names become what they are made of: a named tuple a tuple, a
data class or an output of `transformers` a dict.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, NamedTuple

from ._python import name_of
from .errors import argument_error

_LISTS = ("builtins.list", "torch.fx.immutable_collections.immutable_list", "collections.deque")


class Tree:
    """One place of a structure: a leaf where there are no children."""

    __slots__ = ("kind", "keys", "children", "leaves")

    def __init__(self, kind: str, children: tuple[Any, ...] = (), keys: tuple[Any, ...] = ()):
        self.kind, self.children, self.keys = kind, children, keys  # kind: leaf, tuple, list, dict
        self.leaves = 1 if kind == "leaf" else sum(child.leaves for child in children)

    def flatten(self, value: Any, where: str, out: list[Any]) -> None:
        """Appends the leaves of a value of this structure."""
        if self.kind == "leaf":
            out.append(value)
        elif self.kind == "dict":
            missing, more = _differences(self.keys, value, where)
            if missing or more:
                raise argument_error(f"expected {', '.join(map(repr, self.keys)) or 'none'}; " + "; ".join(
                    f"{words} {', '.join(map(repr, names))}" for words, names in (("missing", missing), ("not", more))
                    if names), where)
            for key, child in zip(self.keys, self.children):
                child.flatten(value[key], f"{where}[{key!r}]", out)
        else:
            if not isinstance(value, (tuple, list)) or len(value) != len(self.children):
                raise argument_error(f"expected a {self.kind} of {len(self.children)}, this is " + (
                    f"one of {len(value)}" if isinstance(value, (tuple, list)) else f"a {name_of(type(value))}"), where)
            for i, (one, child) in enumerate(zip(value, self.children)):
                child.flatten(one, f"{where}[{i}]", out)

    def unflatten(self, leaves: Iterator[Any]) -> Any:
        """A value of this structure."""
        if self.kind == "leaf":
            return next(leaves)
        values = [next(leaves) if child.kind == "leaf" else child.unflatten(leaves) for child in self.children]
        if self.kind == "dict":
            return dict(zip(self.keys, values))
        return values if self.kind == "list" else tuple(values)

    @property
    def is_flat(self) -> bool:
        """A tuple of leaves."""
        return self.kind == "tuple" and all(child.kind == "leaf" for child in self.children)


LEAF = Tree("leaf")


def _differences(keys: tuple[Any, ...], value: Any, where: str) -> tuple[list[Any], list[Any]]:
    try:
        given = list(value.keys())
    except AttributeError:
        raise argument_error(f"expected a dict, this is of type {name_of(type(value))}", where) from None
    return [key for key in keys if key not in given], [key for key in given if key not in keys]


def tuple_of(count: int) -> Tree:
    return Tree("tuple", (LEAF,) * count)


def _parse(spec: dict[str, Any]) -> Tree:
    kind, context = spec["type"], spec.get("context")
    if kind is None:
        return LEAF
    children = tuple(_parse(child) for child in spec["children_spec"])
    if kind in _LISTS:
        return Tree("list", children)
    if kind == "builtins.tuple":
        return Tree("tuple", children)
    keys = _keys_of(context)
    return Tree("dict", children, keys) if len(keys) == len(children) else Tree("tuple", children)


def _keys_of(context: Any) -> tuple[Any, ...]:
    """The keys of a dict, and of classes that record names of fields; () for others."""
    try:
        keys = json.loads(context) if isinstance(context, str) else context
    except ValueError:
        return ()
    if isinstance(keys, list) and len(keys) == 2 and isinstance(keys[1], list):
        keys = keys[1]  # a defaultdict: what makes a value, keys
    return tuple(keys) if isinstance(keys, list) and all(isinstance(k, (str, int)) for k in keys) else ()


class Trees(NamedTuple):
    """The structures of a program: inputs are a tuple of positional and a dict of named arguments."""

    inputs: Tree
    outputs: Tree
    names: list[Any] | None  # of positional arguments


def read_trees(module_call_graph: str | None) -> Trees | None:
    """None if the text has no structure, or a release of PyTorch wrote it in another form."""
    if not module_call_graph:
        return None
    try:
        whole = next(entry for entry in json.loads(module_call_graph) if entry.get("fqn") == "")["signature"]
        if not whole:
            return None
        inputs, outputs = (_parse(json.loads(whole[side])[1]) for side in ("in_spec", "out_spec"))
    except (ValueError, KeyError, TypeError, IndexError, StopIteration, AttributeError):
        return None
    if len(inputs.children) != 2 or inputs.children[1].kind != "dict":
        return None
    return Trees(inputs, outputs, whole.get("forward_arg_names"))
