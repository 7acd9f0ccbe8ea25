#!/usr/bin/env python3
"""Takes programs through a decomposition table of PyTorch and compares what fnz makes of them. For developers: needs torch.

    check_prims.py --fnz build/fnz [--table inductor|core|refs] [--keep FOLDER] DIR...

DIR is a case or a folder of cases at any depth, as for check_with_torch.py: program.pt2 and inputs.safetensors. Each is loaded, goes
through `run_decompositions()` with the table of Inductor, that of core ATen, or all of PyTorch's own definitions (refs, which lead
to `prims` alone), and is saved. Then, for each:

  verify     fnz verify
  run        outputs and final state as PyTorch has them node by node: other bits only in floats, within 1e-5 of the largest
             (16 bits: 1e-2); random numbers are those after torch.manual_seed(0)
  reference  the same, by --engine interpreter
  convert    fnz convert

Prints a line per failing case, what PyTorch itself cannot take apart among them, and a count. Exit 1 if fnz failed any."""
import argparse
import collections
import os
import subprocess
import sys
import tempfile
import warnings

import torch
import torch._inductor.decomposition as decomposition
import torch._inductor.lowering
import torch._refs.fft
import torch._refs.linalg
import torch._refs.nn.functional
import torch._refs.special
from safetensors.torch import load_file, save_file

from check_with_torch import walk_cases

warnings.filterwarnings("ignore")
TABLES = {"inductor": decomposition.select_decomp_table, "core": torch._decomp.core_aten_decompositions,
          "refs": lambda: torch._decomp.decomposition_table}


def dense(t):
    return t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


def values_of(program, inputs):
    """The arguments of the graph, in order: copies, so that the program keeps its own."""
    tensors = {**program.constants, **program.state_dict}
    for spec in program.graph_signature.input_specs:
        if spec.kind.name != "USER_INPUT":
            yield tensors[spec.target].detach().clone()
        elif hasattr(spec.arg, "value"):
            yield spec.arg.value
        else:
            yield inputs[spec.arg.name].clone()


def expected(program, inputs):
    names = {"BUFFER_MUTATION": "buffer.", "USER_INPUT_MUTATION": "input.", "PARAMETER_MUTATION": "parameter."}
    torch.manual_seed(0)
    with torch.no_grad():
        outputs = torch.fx.Interpreter(program.graph_module).run(*values_of(program, inputs))
    wants, place = {}, 0
    for spec, value in zip(program.graph_signature.output_specs, outputs):
        is_output = spec.kind.name == "USER_OUTPUT"
        if isinstance(value, torch.Tensor) and (is_output or spec.kind.name in names):
            wants[f"output.{place}" if is_output else names[spec.kind.name] + spec.target] = dense(value)
        place += is_output
    return wants


def apart(got, want):
    if got is None or got.dtype != want.dtype or got.shape != want.shape:
        return "is missing or looks otherwise"
    if not (want.is_floating_point() or want.is_complex()):
        return None if torch.equal(got, want) else "has other values"
    a, b = (torch.view_as_real(t).double() if t.is_complex() else t.double() for t in (got, want))
    finite = b[b.isfinite()].abs()
    near = (1e-2 if want.element_size() == 2 else 1e-5) * max([1.0, *finite.max().reshape(-1).tolist()] if finite.numel() else [1.0])
    same = (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= near)
    return None if bool(same.all()) else f"has {int((~same).sum())} other values"


def run(fnz, folder, inputs, wants, *more):
    out = os.path.join(folder, "out.safetensors")
    status = call(fnz, "run", folder + "/program.pt2", "--inputs", folder + "/inputs.safetensors", "--outputs", out, *more)
    if status:
        return status
    got = load_file(out)
    for name, want in wants.items():
        first = inputs.get(name.removeprefix("input.")) if name.startswith("input.") else None
        if (name in got or name.startswith(("output.", "input."))) and (why := apart(got.get(name, first), want)):
            return f"{name} {why}"
    return None


def call(fnz, *words):
    done = subprocess.run([fnz, *words], capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or ["no message"])[-1][:300] if done.returncode else None


def check(fnz, case, table, folder):
    """None where PyTorch cannot take the case apart; else what went wrong, by step."""
    program = torch.export.load(case + "/program.pt2").run_decompositions(dict(table))
    inputs = load_file(case + "/inputs.safetensors")
    wants = expected(program, inputs)
    os.makedirs(folder, exist_ok=True)
    torch.export.save(program, folder + "/program.pt2")
    save_file(inputs, folder + "/inputs.safetensors")
    found = {"verify": call(fnz, "verify", folder + "/program.pt2"),
             "run": run(fnz, folder, inputs, wants), "reference": run(fnz, folder, inputs, wants, "--engine", "interpreter"),
             "convert": call(fnz, "convert", folder + "/program.pt2", "-o", folder + "/program.cbor")}
    return {step: why for step, why in found.items() if why}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fnz", required=True)
    parser.add_argument("--table", choices=TABLES, default="inductor")
    parser.add_argument("--keep")
    parser.add_argument("dirs", nargs="+")
    o = parser.parse_args()
    table, counts = TABLES[o.table](), collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for case in walk_cases(o.dirs):
            folder = os.path.join(o.keep or scratch, case.strip("/").replace("/", "_"))
            try:
                found = check(os.path.abspath(o.fnz), case, table, folder)
            except Exception as error:  # PyTorch's own
                counts["not taken apart by PyTorch"] += 1
                print("PyTorch", case, type(error).__name__, str(error).split("\n")[0][:160], flush=True)
                continue
            counts["failed" if found else "right"] += 1
            for step, why in found.items():
                print("FAIL", case, step, why, flush=True)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
