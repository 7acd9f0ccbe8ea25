#!/usr/bin/env python3
"""Loads what fnz writes as .pt2 in PyTorch, runs it there and compares. For developers: needs torch.

    check_with_torch.py --fnz build/fnz [--views copy|keep] [--list] DIR...

DIR is a case or a folder of cases at any depth, or has NAME.pt2 with NAME.steps.safetensors. A case has program.pt2, inputs.safetensors (one tensor per
user input, by graph name) and expected.safetensors (output.K, input.NAME, buffer.FQN), or error in case.json
for a program that must be refused. For each case:

  convert   fnz convert program.pt2 -o out.pt2, twice, with equal bytes; weights equal the source's
  load      torch.export.load, which runs PyTorch's own verifier; graph.lint()
  schema    no operator writes an argument; the file has the source's schema version and no other fields
  run       ep.module() on the inputs: outputs, mutated inputs and buffers as expected
  replay    the graph node by node: its outputs by the signature are the same
  again     with --decompositions: ep.run_decompositions({}) and ep.run_decompositions() take it, and run the same

For NAME.pt2, ep.module() is called once for each step of NAME.steps.safetensors (K.input.NAME, K.output.K,
K.buffer.FQN), and everything that the signature knows by a name must have its value there. The file lists memory that
is written once, by one of its names.

Prints a line per failing case (all with --list), and at the end a table. Exit 1 if any failed.
"""
import argparse, collections, json, os, subprocess, sys, tempfile, warnings, zipfile

warnings.filterwarnings("ignore")


def walk_cases(folders):
    return sorted(r for d in folders for r, _, files in os.walk(d) if "program.pt2" in files)


def model_of(path):
    """The model's JSON and the other records of an archive, names without the root folder."""
    with zipfile.ZipFile(path) as z:
        names = z.namelist()
        root = "" if "version" in names else names[0].split("/")[0] + "/"
        records = {n[len(root):]: z.read(n) for n in names}
    name = next(n for n in records if n == "serialized_exported_program.json" or n.startswith("models/"))
    return json.loads(records.pop(name)), records


def fields(value, at="", out=None):
    """Which keys the JSON has where; names of values and lists are no keys."""
    out = set() if out is None else out
    if isinstance(value, list):
        for item in value:
            fields(item, at, out)
    elif isinstance(value, dict):
        free = at.endswith(("_values", "metadata", "range_constraints", "opset_version", "_fields"))
        for key, item in value.items():
            if not free:
                out.add(at + "." + key)
            fields(item, at + (".*" if free else "." + key), out)
    return out


def compare_files(source, result):
    old, old_records = model_of(source)
    new, new_records = model_of(result)
    if old["schema_version"] != new["schema_version"] or old.get("torch_version") != new.get("torch_version"):
        return "schema or torch version changed"
    old_records.pop(".data/serialization_id", None)
    if old_records != new_records:
        return "records changed"
    if any(k not in new for k in old):
        return "members were lost"
    return None


def differs(got, want, exact):
    import torch
    if not isinstance(got, torch.Tensor):
        return "is no tensor"
    got, want = got.detach().cpu(), want.cpu()
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype} {tuple(got.shape)}, want {want.dtype} {tuple(want.shape)}"
    got, want = got.resolve_conj().resolve_neg().contiguous(), want.contiguous()
    if torch.equal(torch.view_as_real(got) if got.is_complex() else got,
                   torch.view_as_real(want) if want.is_complex() else want):
        return None
    if exact or not got.dtype.is_floating_point and not got.is_complex():
        tolerance = 0.0
    else:
        finite = want.abs()[torch.isfinite(want.abs())].double()
        largest = max([1.0] + ([finite.max().item()] if finite.numel() else []))
        tolerance = (1e-2 if got.dtype in (torch.float16, torch.bfloat16) else 1e-5) * largest
    try:
        torch.testing.assert_close(got, want, rtol=0, atol=tolerance, equal_nan=True)
    except AssertionError as e:
        return str(e).strip().split("\n")[0]
    return None


def with_strides(tensor, looks):
    """The values with the strides that the case says they came in."""
    import torch
    if not looks or list(tensor.stride()) == looks["stride"]:
        return tensor.clone()
    out = torch.empty_strided(looks["shape"], looks["stride"], dtype=tensor.dtype)
    return out.copy_(tensor)


def user_inputs(ep, inputs, looks):
    values = []
    for spec in ep.graph_signature.input_specs:
        if spec.kind.name != "USER_INPUT":
            continue
        name = getattr(spec.arg, "name", None)
        values.append(with_strides(inputs[name], looks.get(name)) if name in inputs else spec.arg.value)
    return values


def check_graph(ep):
    import torch
    for module in ep.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        module.graph.lint()
        names = [n.name for n in module.graph.nodes]
        if len(names) != len(set(names)) or not all(n.isidentifier() for n in names):
            return "names are not unique identifiers"
        for node in module.graph.nodes:
            if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
                return f"{node.target} writes an argument"
    if any(v.dialect != "ATEN" for v in ep.verifiers):
        return "the dialect is not ATEN"
    return None


def replay(ep, values):
    """Outputs by the signature, from running the graph as it is."""
    import torch
    given, arguments = iter(values), []
    for spec in ep.graph_signature.input_specs:
        kind, target = spec.kind.name, spec.target
        if kind == "USER_INPUT":
            arguments.append(next(given))
        elif kind == "PARAMETER" or (kind == "BUFFER" and spec.persistent):
            arguments.append(ep.state_dict[target])
        else:
            arguments.append(ep.constants[target])
    with torch.no_grad():
        results = torch.fx.Interpreter(ep.graph_module).run(*arguments)
    out, k = {}, 0
    for spec, value in zip(ep.graph_signature.output_specs, results):
        if spec.kind.name == "USER_OUTPUT":
            out[f"output.{k}"] = value
            k += 1
        elif spec.kind.name == "USER_INPUT_MUTATION":
            out["input." + spec.target] = value
        else:
            out["buffer." + spec.target] = value
    return out


def run_module(ep, values, names):
    import torch
    try:
        module = ep.module(check_guards=False)  # the export's own guards may be wrong
    except TypeError:
        module = ep.module()
    args, kwargs = torch.utils._pytree.tree_unflatten(values, ep.call_spec.in_spec)
    with torch.no_grad():
        result = module(*args, **kwargs)
    out = {f"output.{k}": v for k, v in enumerate(torch.utils._pytree.tree_leaves(
        result, is_leaf=lambda x: x is None))}
    out.update({"input." + n: v for n, v in zip(names, values)})
    out.update({"buffer." + n: v for n, v in module.named_buffers()})
    return out


def compare_values(got, expected, first, exact):
    for key, want in expected.items():
        value = got.get(key, first.get(key))
        if value is None:
            if key.startswith("output."):
                return f"no {key}"
            continue
        what = differs(value, want, exact)
        if what:
            return f"{key}: {what}"
    return None


def decomposed(path, call):
    """The result of `call` on the program after each of PyTorch's decompositions; None when all is well."""
    import torch
    for name, arguments in (("run_decompositions({})", ({},)), ("run_decompositions()", ())):
        try:
            what = call(torch.export.load(path).run_decompositions(*arguments))
        except Exception as e:
            what = f"{type(e).__name__}: {(str(e).strip().splitlines() or [''])[0][:200]}"
        if what:
            return f"{name}: {what}"
    return None


def check(folder, options, counts):
    import torch
    from safetensors.torch import load_file
    case = {}
    if os.path.exists(os.path.join(folder, "case.json")):
        case = json.load(open(os.path.join(folder, "case.json")))
    source = os.path.join(folder, "program.pt2")
    with tempfile.TemporaryDirectory() as temp:
        paths = [os.path.join(temp, n) for n in ("a.pt2", "b.pt2")]
        for path in paths:
            run = subprocess.run([options.fnz, "convert", source, "-o", path, "--views", options.views, *options.option],
                                 capture_output=True, text=True)
            if run.returncode:
                line = (run.stderr.strip().splitlines() or [""])[-1]
                if run.returncode == 2 and (case.get("error") or ": UNSUPPORTED:" in line):
                    counts["refused"] += 1
                    return "refused", line
                return "convert", f"exit {run.returncode}: {line}"
        if open(paths[0], "rb").read() != open(paths[1], "rb").read():
            return "convert", "the second run gave other bytes"
        what = compare_files(source, paths[0])
        if what:
            return "convert", what
        try:
            ep = torch.export.load(paths[0])
        except Exception as e:
            lines = [l for l in str(e).strip().split("\n") if l.strip()]
            return "load", f"{type(e).__name__}: {lines[0][:150]} ... {lines[-1][:150]}"
        what = check_graph(ep)
        if what:
            return "schema", what
        counts["nodes"] += sum(n.op == "call_function" and n.target is not __import__("operator").getitem
                               for n in ep.graph.nodes)
        inputs = load_file(os.path.join(folder, "inputs.safetensors"))
        expected = load_file(os.path.join(folder, "expected.safetensors"))
        exact = case.get("group") in ("alias", "random")
        names = [getattr(s.arg, "name", "") for s in ep.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
        looks = case.get("inputs", {})
        first = {"input." + n: v for n, v in inputs.items()}
        first.update({"buffer." + n: v for n, v in ep.named_buffers()})
        try:
            what = compare_values(replay(ep, user_inputs(ep, inputs, looks)), expected, first, exact)
        except Exception as e:
            what = f"{type(e).__name__}: {str(e).strip().splitlines()[0][:200]}"
        if what:
            return "replay", what
        try:
            got = run_module(ep, user_inputs(ep, inputs, looks), names)
            what = compare_values(got, expected, first, exact)
        except Exception as e:
            what = f"{type(e).__name__}: {str(e).strip().splitlines()[0][:200]}"
        if what:
            return "run", what
        what = options.decompositions and decomposed(paths[0], lambda other: compare_values(
            run_module(other, user_inputs(other, inputs, looks), names), expected, first, False))
        if what:
            return "again", what
    counts["passed"] += 1
    return None, None


def check_steps(source, options, counts):
    import torch
    from safetensors.torch import load_file
    steps = load_file(source[:-len("pt2")] + "steps.safetensors")
    with tempfile.TemporaryDirectory() as temp:
        path = os.path.join(temp, "out.pt2")
        run = subprocess.run([options.fnz, "convert", source, "-o", path, "--views", options.views, *options.option],
                             capture_output=True, text=True)
        if run.returncode:
            return "convert", f"exit {run.returncode}: {run.stderr.strip()}"
        what, ep = compare_files(source, path), torch.export.load(path)
        what = what or check_graph(ep)
        if what:
            return "schema", what
        what = run_steps(ep, steps)
        if what:
            return "run", what
        what = options.decompositions and decomposed(path, lambda other: run_steps(other, steps))
        if what:
            return "again", what
    counts["passed"] += 1
    return None, None


def run_steps(ep, steps):
    import torch
    module = ep.module()
    names = [s.arg.name for s in ep.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    listed = {s.target for s in ep.graph_signature.input_specs}
    for k in sorted({int(name.split(".")[0]) for name in steps}):
        with torch.no_grad():
            results = torch.utils._pytree.tree_leaves(module(*(steps[f"{k}.input.{n}"] for n in names)))
        got = {f"output.{i}": v for i, v in enumerate(results)}
        for name in listed.intersection(ep.constants):
            holder, _, leaf = name.rpartition(".")
            got["buffer." + name] = getattr(module.get_submodule(holder), leaf)
        prefix = f"{k}."
        expected = {n[len(prefix):]: v for n, v in steps.items() if n.startswith(prefix) and ".input." not in n}
        expected = {n: v for n, v in expected.items() if not n.startswith("buffer.") or n[len("buffer."):] in listed}
        what = compare_values(got, expected, {}, False)
        if what or set(expected) - set(got):
            return f"step {k}: {what or 'names are missing'}"
    return None


def walk_steps(folders):
    return sorted(os.path.join(r, f[:-len("steps.safetensors")] + "pt2") for d in folders
                  for r, _, files in os.walk(d) for f in files if f.endswith(".steps.safetensors"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fnz", required=True, help="the command to check")
    parser.add_argument("--views", default="copy", choices=["copy", "keep"], help="dialect of the result")
    parser.add_argument("--option", action="append", default=[], help="one more option for fnz convert")
    parser.add_argument("--decompositions", action="store_true", help="also after PyTorch's own decompositions")
    parser.add_argument("--list", action="store_true", help="print a line per case, not only for failures")
    parser.add_argument("dirs", nargs="+", metavar="DIR", help="a case, or a folder of cases")
    options = parser.parse_args()
    options.fnz = os.path.abspath(options.fnz)
    counts, failed = collections.Counter(), collections.Counter()
    steps = walk_steps(options.dirs)
    cases = walk_cases(options.dirs) + steps
    for folder in cases:
        stage, what = (check_steps if folder in steps else check)(folder, options, counts)
        if stage and stage != "refused":
            failed[stage] += 1
            print("FAIL", os.path.basename(folder), stage + ":", what, flush=True)
        elif options.list:
            print("refused" if stage else "ok", os.path.basename(folder), what or "", flush=True)
    print(f"\n{'cases':>10}{'passed':>10}{'refused':>10}" + "".join(f"{s:>10}" for s in failed) + f"{'operators':>12}")
    print(f"{len(cases):>10}{counts['passed']:>10}{counts['refused']:>10}"
          + "".join(f"{n:>10}" for n in failed.values()) + f"{counts['nodes']:>12}")
    return 1 if failed or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
