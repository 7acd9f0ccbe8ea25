#!/usr/bin/env python3
"""Records how many nodes PyTorch's own decomposition to core ATen leaves of programs.

    record_decompositions.py OUT.tsv FOLDER...

Each folder is searched for program.pt2 and *.pt2 files; a line has the file's name below its folder (without
/program.pt2), the nodes after `run_decompositions()` with the default table, and how many there are of each operator.
Nodes are calls in all graphs, without getitem. A program that PyTorch does not take apart has "-" and the reason.
Needs PyTorch. tests/functionalize/decompose.py compares with this.
"""

import collections
import operator
import pathlib
import sys
import warnings

import torch

warnings.simplefilter("ignore")


def name(target):
    text = str(target)
    return text if " " not in text else target.__name__


def operators(program):
    counts = collections.Counter()
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", []):
            if node.op == "call_function" and node.target is not operator.getitem:
                counts[name(node.target)] += 1
    return counts


def record(path):
    try:
        counts = operators(torch.export.load(path).run_decompositions())
    except Exception as error:  # whatever it is, it is the answer
        first = (str(error).strip().splitlines() or [""])[0]
        return "-", f"{type(error).__name__}: {first}"[:160].replace("\t", " ")
    return str(sum(counts.values())), " ".join(f"{name}:{n}" for name, n in sorted(counts.items()))


def main(out, *folders):
    lines = []
    for folder in map(pathlib.Path, folders):
        for path in sorted(folder.rglob("*.pt2")):
            name = str(path.relative_to(folder))
            name = name.removesuffix("/program.pt2").removesuffix(".pt2")
            lines.append("\t".join((name, *record(path))))
            print(lines[-1][:120], file=sys.stderr)
    text = f"# torch {torch.__version__}: program, nodes after run_decompositions(), of each operator\n"
    pathlib.Path(out).write_text(text + "\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
