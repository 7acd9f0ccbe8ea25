#!/usr/bin/env python3
"""Writes functionalize/decompose/targets/NAME.def anew: the operators that a consumer of exported programs takes, read from its
own registry.

    targets.py [--aten schema/aten.tsv] [--to functionalize/decompose/targets] NAME...
    targets.py --list NAME=FILE.tsv ...

NAME is executorch, coreml, openvino or onnx; the consumer must be installed where this runs. --list reads a list that was taken
elsewhere: a line is an operator's name without its namespace, a tab, and the version that it was read from.

Only functional operators of the table count, views among them, and no aliases: the others are not in the programs that
fnz writes.
"""
import argparse
import pathlib
import re
import sys

HEAD = """\
/* %s.def - the operators that %s takes.
 *
 * READ("what the list was read from")
 * HAS(operator)   with "__" for the dot before its overload
 *
 * Sorted as schema/aten.tsv is. Written by scripts/targets.py: not to be edited. Corrections of the
 * list are in mends.def and calls.def. */
"""


class Aten:
    """The operators of the table, by name: "add.Tensor"."""

    def __init__(self, path):
        self.rows = {}
        for line in path.read_text().splitlines():
            if line and line[0] != "#":
                name, kind, view, _, _, twin, copy = line.split("\t")[:7]
                self.rows[name] = (kind, "aten::" + twin, "aten::" + copy)
        aliases = (path.parent / "facts" / "aliases.def").read_text()
        self.aliases = {name if "." in name + other else f"{name}.*"
                        for name, other in re.findall(r'^ALIAS\("([^"]+)", "([^"]+)"\)', aliases, flags=re.M)}
        self.names = [name for name, row in self.rows.items()
                      if row[0] == "functional" and name.startswith("aten::") and not self.is_alias(name)]

    def is_alias(self, name):
        """fnz writes one of an operator's two names."""
        name = name.removeprefix("aten::")
        return name in self.aliases or f"{name.split('.')[0]}.*" in self.aliases

    def twin(self, name):
        """The functional operator of an operator with out=: the one with the same name."""
        twin = self.rows[name][1] if name in self.rows else ""
        return twin if twin.split(".")[0] == name.split(".")[0] else None

    def with_views(self, names):
        """With the views whose copies are among them."""
        return names | {name for name in self.names if self.rows[name][2] in names}


def executorch(aten):
    """The portable kernels: out= operators. to_edge() makes copies of views."""
    import importlib.metadata

    import executorch.kernels.portable as portable
    text = (pathlib.Path(list(portable.__path__)[0]) / "functions.yaml").read_text()
    outs = ["aten::" + name for name in re.findall(r"^- op: ([\w.]+)", text, flags=re.M)]
    return (f"executorch {importlib.metadata.version('executorch')}, kernels/portable/functions.yaml",
            aten.with_views({aten.twin(name) for name in outs}))


def coreml(aten):
    """Its registry knows few overloads: it has a rule of its own for which ones."""
    import coremltools
    from coremltools.converters.mil.frontend.torch.torch_op_registry import _TORCH_OPS_REGISTRY as registry
    return (f"coremltools {coremltools.__version__}, _TORCH_OPS_REGISTRY",
            {name for name in aten.names if registry.get_func(name)})


def openvino(aten):
    """Names in the table of its reader of FX graphs, which is in a library of C++."""
    import importlib.metadata

    import openvino as package
    [path] = pathlib.Path(package.__file__).parent.glob("libs/libopenvino_pytorch_frontend.so*")
    found = re.findall(rb"(?<=\0)aten\.([A-Za-z0-9_]+)(\.[A-Za-z0-9_]+)?(?=\0)", path.read_bytes())
    names = {f"aten::{name.decode()}{over.decode()}".removesuffix(".default") for name, over in found}
    return f"openvino {importlib.metadata.version('openvino')}, libopenvino_pytorch_frontend", names


def onnx(aten):
    """The functions of PyTorch's exporter."""
    import importlib.metadata

    from torch.onnx._internal.exporter import _registration
    registry = _registration.ONNXRegistry.from_torchlib()
    versions = ", ".join(f"{name} {importlib.metadata.version(name).split('+')[0]}" for name in ("torch", "onnxscript"))
    return f"{versions}, ONNXRegistry", {target for target in registry.functions if isinstance(target, str)}


READERS = {"executorch": executorch, "coreml": coreml, "openvino": openvino, "onnx": onnx}


def listed(aten, path):
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return rows[0][1], {"aten::" + name for name, _ in rows}


def write(folder, name, aten, read):
    version, names = read
    kept = [one for one in aten.names if one in names]
    if not kept:
        sys.exit(f"targets.py: {name}: no operator of the list is in the table")
    text = HEAD % (name, name) + f'READ("{version}")\n'
    text += "".join(f"HAS({one.removeprefix('aten::').replace('.', '__')})\n" for one in kept)
    (folder / f"{name}.def").write_text(text)
    print(f"{name}: {len(kept)} operators, {version}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aten", default="schema/aten.tsv", type=pathlib.Path)
    parser.add_argument("--to", default="functionalize/decompose/targets", type=pathlib.Path)
    parser.add_argument("--list", action="append", default=[], metavar="NAME=FILE.tsv")
    parser.add_argument("names", nargs="*", choices=[*READERS, []])
    options = parser.parse_args()
    aten = Aten(options.aten)
    for name in options.names:
        write(options.to, name, aten, READERS[name](aten))
    for word in options.list:
        name, path = word.split("=", 1)
        write(options.to, name, aten, listed(aten, pathlib.Path(path)))


if __name__ == "__main__":
    main()
