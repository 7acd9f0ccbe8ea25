#!/usr/bin/env python3
"""Compares random programs with PyTorch itself: eager, against `run`, `run --original` and `verify`, bit for bit.
For developers: needs torch 2.15.

    against_torch.py --seed S --count N [--first K] [--jobs J] [--lib build/libfnz.so] [--out build-torch] [--show I]

Draws the programs S:K to S:K+N-1 (scripts/torch_draws.py), exports them with torch.export, many in one module that is
taken apart again, and compares all outputs and all inputs after the call. Without --first it begins after the last
programs of the seed in tests/ledger.tsv. --show I prints one program and its verdicts.

A difference is a finding, and so is a program that fnz accepts and eager refuses, and a check of fnz's own that fails:
each is made small by dropping lines, printed, and written to OUT/NAME/ as program.pt2, inputs.safetensors,
expected.safetensors and program.py. Programs that fnz refuses and eager accepts are counted by message. A call that
was cut off goes on where it was; OUT has a line for each thousand programs that are done. FNZ_LEDGER=1 adds a line to
tests/ledger.tsv. Exit 1 when something was found."""
import argparse
import collections
import hashlib
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import torch
from torch._export.serde import serialize

import libfnz
import torch_draws
import torch_record

TARGET = "programs against PyTorch"
BATCH, STRETCH = 40, 1000
QUIET = ("same", "nan", "nan seen as bits", "both refuse")
FINDINGS = ("differs", "verify", "accepted", "internal", "crash")


# --- from programs to model.json, many at a time --------------------------------------------------------------------------
class Batch(torch.nn.Module):
    """The programs one after the other. Bad lines that tracing itself refuses are noted and left out."""

    class Seen:
        """Lies outside the module, whose attributes tracing puts back."""
        counts, refused = [], set()

    def __init__(self, programs):
        super().__init__()
        self.programs, self.seen = programs, Batch.Seen()

    def forward(self, *inputs):
        left, outputs, seen = list(inputs), [], self.seen
        seen.counts, seen.refused = [], set()
        for k, program in enumerate(self.programs):
            env = {name: left.pop(0) for name in program.inputs}
            mine = program.run(env)
            if program.bad:
                try:
                    exec(torch_draws.compiled(program.bad), env)
                    target = torch_draws.assigned(program.bad)
                    mine += [env[target]] if target else []
                except Exception:
                    seen.refused.add(k)
            seen.counts.append(len(mine))
            outputs += mine
        return tuple(outputs)


def export(module):
    programs = module.programs
    args = tuple(t for p in programs for t in p.copied_inputs().values())
    with torch.no_grad():
        return torch.export.export(module, args, strict=False)


def names_in(value, out):
    """The names of all values that an argument of a node mentions."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("name", "as_name") and isinstance(item, str):
                out.add(item)
            else:
                names_in(item, out)
    elif isinstance(value, list):
        for item in value:
            names_in(item, out)
    return out


class Groups:
    """Which program a value belongs to: the one whose inputs it comes from, or its first reader's."""

    def __init__(self):
        self.up = {}

    def root(self, name):
        while self.up.setdefault(name, name) != name:
            self.up[name] = self.up[self.up[name]]
            name = self.up[name]
        return name

    def join(self, names):
        names = list(names)
        for other in names[1:]:
            self.up[self.root(other)] = self.root(names[0])


def taken_apart(module, exported):
    """For each program the bytes of a model.json and the names of its inputs, or None where it needs constants."""
    if exported.constants or exported.state_dict:
        raise ValueError("constants")
    written = serialize.ExportedProgramSerializer(None, None).serialize(exported).exported_program
    whole = json.loads(json.dumps(serialize._dataclass_to_dict(written)))
    graph, groups, used = whole["graph_module"]["graph"], Groups(), []
    for node in graph["nodes"]:
        used.append(names_in([[a["arg"] for a in node["inputs"]], node["outputs"]], set()))
        groups.join(used[-1])
    inputs, outputs, models = list(graph["inputs"]), list(graph["outputs"]), []
    for program, count in zip(module.programs, module.seen.counts):
        mine, results = inputs[:len(program.inputs)], outputs[:count]
        del inputs[:len(mine)], outputs[:count]
        groups.join({"of " + str(len(models))} | names_in(mine + results, set()))
        models.append((mine, results))
    return [part(whole, groups, used, k, *model) for k, model in enumerate(models)]


def part(whole, groups, used, k, inputs, outputs):
    graph, root = whole["graph_module"]["graph"], groups.root("of " + str(k))
    mine = {key: {n: v for n, v in values.items() if groups.root(n) == root} if isinstance(values, dict) else values
            for key, values in graph.items()}
    mine |= {"inputs": inputs, "outputs": outputs,
             "nodes": [n for n, names in zip(graph["nodes"], used) if names and groups.root(next(iter(names))) == root]}
    signature = {"input_specs": [{"user_input": {"arg": a}} for a in inputs], "output_specs": [{"user_output": {"arg": a}} for a in outputs]}
    text = json.dumps(mine)
    model = whole | {"graph_module": whole["graph_module"] | {"graph": mine, "signature": signature, "module_call_graph": []},
                     "range_constraints": {s: v for s, v in whole["range_constraints"].items() if f"'{s}'" in text}}
    return json.dumps(model).encode(), [a["as_tensor"]["name"] for a in inputs]


def models_of(programs):
    """[(program, model, input names, refused by tracing)]; a program that cannot be exported has no model."""
    module = Batch(programs)
    try:
        exported = export(module)
        return [(p, *m, k in module.seen.refused) for k, (p, m) in enumerate(zip(programs, taken_apart(module, exported)))]
    except Exception as error:
        if len(programs) == 1:
            return [(programs[0], None, plain(str(error).split("\n")[0]), False)]
        at = len(module.seen.counts)  # the traced program
        if at < len(programs):
            return models_of(programs[at:at + 1]) + models_of(programs[:at] + programs[at + 1:])
        half = len(programs) // 2
        return models_of(programs[:half]) + models_of(programs[half:])


def make_export_quick():
    """Nodes need no source lines here, and no order of their own; what tracing refuses is no news."""
    logging.disable(logging.ERROR)
    serialize.canonicalize = lambda program, *rest: program
    torch.utils._traceback.CapturedTraceback.summary = lambda self: traceback.StackSummary()


# --- one program ------------------------------------------------------------------------------------------------------------
def plain(message):
    """A message without what is different each time."""
    message = re.sub(r"%\w+|`[^`]*`|\"[^\"]*\"", "_", message)
    return re.sub(r"\[[\d, x_-]*\]", "[]", re.sub(r"-?\d+(\.\d+)?", "N", message))[:150]


def differs(got, want):
    """None, "nan" when only bits of NaNs differ, or how."""
    if got == want:
        return None
    if got[:2] != want[:2]:
        return f"{got[0]}{list(got[1])}, want {want[0]}{list(want[1])}"
    dtype = torch.float32 if want[0].is_complex else want[0]
    a, b = (torch.frombuffer(bytearray(x[2]), dtype=dtype) for x in (got, want))
    if dtype.is_floating_point:
        bits = torch_draws.BITS[dtype]
        other = (a.view(bits) != b.view(bits)) & ~(a.isnan() & b.isnan())
        if not other.any():
            return "nan"
    else:
        other = a != b
    at = int(other.nonzero()[0])
    return f"element {at} of {list(want[1])} is {a[at].item()!r}, want {b[at].item()!r}"


def bits_of(tensor):
    return tensor.dtype, tuple(tensor.shape), libfnz.raw(tensor)


class Eager:
    """The results of eager PyTorch: outputs and inputs after the call. With a model, also the operators that it
    called."""

    def __init__(self, program, recorded=False):
        env = program.copied_inputs()
        names = list(env)
        self.before, self.model = [bits_of(t) for t in env.values()], None
        if recorded:
            outputs, self.model = torch_record.Recorder(env).run(program, env)
        else:
            with torch.no_grad():
                outputs = program.run(env)
        self.outputs = [bits_of(t) for t in outputs]
        self.after = [bits_of(env[n]) for n in names]
        self.tensors = {n: env[n] for n in names}
        self.has_nan = any(isinstance(t, torch.Tensor) and t.isnan().any() for t in env.values())
        self.results = [env[n] for n in program.outputs]


def compared(got, eager, names):
    """(where, how) of the first difference that is more than bits of NaNs, else of the first that is bits of NaNs."""
    first = None
    pairs = [(f"output.{k}", got.get(f"output.{k}"), want) for k, want in enumerate(eager.outputs)]
    pairs += [(f"input.{k}", got.get(f"input.{name}", before), want)
              for k, (name, before, want) in enumerate(zip(names, eager.before, eager.after))]
    for where, have, want in pairs:
        how = "is missing" if have is None else differs(have, want)
        if how and how != "nan":
            return where, how
        first = first or (how and (where, how))
    return first


def refusal(error):
    step = "internal" if error.kind == "INTERNAL" else "verify" if error.kind == "DIFFERENT" else "refused"
    what = f"{error.step}: {error.kind}: {plain(error.message)}"
    return step, what if step == "refused" else str(error)


def judged(library, program, model, names, eager):
    """[(verdict, what)]: "same", "nan", "refused" or a finding for each of the ways to run it."""
    inputs = dict(zip(names, program.inputs.values()))
    made, verdicts = [], []
    try:
        made.append(library.read(model, libfnz.JSON))
        verdicts.append(one_run(library, program, made[0], inputs, eager, names, True))
        made.append(library.functionalize(made[0], program.views, program.state))
        verdicts.append(one_run(library, program, made[1], inputs, eager, names, False))
        if not program.bad:
            library.verify(made[0], made[1], inputs)
    except libfnz.Refused as error:
        verdicts.append(refusal(error))
    finally:
        library.destroy(*made)
    return accepted(program, verdicts) if program.bad else verdicts


def one_run(library, program, form, inputs, eager, names, original):
    way = "run --original" if original else "run"
    try:
        got = library.run(form, inputs, original)
    except libfnz.Refused as error:
        return refusal(error)
    found = compared(got, eager, names)
    if not found:
        return "same", way
    if found[1] == "nan" and not torch_draws.only_moves(program):
        return "nan", way
    if eager.has_nan and torch_draws.nan_as_bits(program):
        return "nan seen as bits", way
    return "differs", f"{way}: {found[0]}: {found[1]}"


def accepted(program, verdicts):
    """For a program that eager refuses: both interpreters must refuse it as well."""
    ran = [what for verdict, what in verdicts if verdict not in ("refused", "internal")]
    if any(verdict == "internal" for verdict, _ in verdicts):
        return verdicts
    if not ran:
        return [("both refuse", "")]
    if "not implemented for" in program.error or "not supported" in program.error:
        return [("eager has no kernel", plain(program.error))]
    return [("accepted", f"{ran[0].split(':')[0]} accepts what eager refuses: {program.error}")]


def verdicts_of(library, row):
    program, model, names, refused = row
    if model is None:
        return [("not exported", names)]
    if refused:
        return [("tracing refuses", plain(program.error))]
    return judged(library, program, model, names, Eager(program))


def recorded(library, program):
    """The verdicts of a program without an export, or None where that cannot be."""
    try:
        eager = Eager(program, True)
    except torch_record.Unrecorded:
        return None
    except Exception:
        if program.bad:  # neither tensors nor what stands for them in tracing
            return [("tracing refuses", plain(program.error))]
        raise
    return judged(library, program, eager.model, list(program.inputs), eager)


def finding(verdicts):
    return next((v for v in verdicts if v[0] in FINDINGS), None)


# --- smaller ------------------------------------------------------------------------------------------------------------------
def without(program, k):
    """The program without line k, or None when it does not run then."""
    import copy
    other = copy.copy(program)
    other.lines = program.lines[:k] + program.lines[k + 1:]
    return runs(other)


def runs(other):
    try:
        env = other.copied_inputs()
        with torch.no_grad():
            known = other.outputs
            other.outputs = []
            other.run(env)
            other.outputs = [n for n in known if n in env]
            if other.bad:
                try:
                    exec(torch_draws.compiled(other.bad), env)
                    return None
                except Exception:
                    pass
        return other if other.outputs else None
    except Exception:
        return None


def shrunk(library, program, kind):
    """Drops lines and outputs while there is still a finding of this kind."""
    import copy
    changed = True
    while changed:
        changed = False
        others = [without(program, k) for k in reversed(range(len(program.lines)))]
        for k in range(len(program.outputs) if len(program.outputs) > 1 else 0):
            other = copy.copy(program)
            other.outputs = program.outputs[:k] + program.outputs[k + 1:]
            others.append(other)
        for other in filter(None, others):
            found = finding(verdicts_of(library, models_of([other])[0]))
            if found and found[0] == kind:
                program, changed = other, True
                break
    torch_draws.drop_unused(program)
    return program


def signature(program, found):
    """A key that two findings of one cause often share."""
    words = re.findall(r"\.(\w+)\(|(\]) ?[-+*]?=", "\n".join(program.lines + [program.bad or ""]))
    dtypes = sorted({str(t.dtype)[6:] for t in program.inputs.values()})
    return " ".join([found[0], found[1].split(":")[0], *[a or "[]=" for a, b in words], *dtypes])


# --- a stretch of programs, in a process of its own --------------------------------------------------------------------------
class Stretch:
    """Programs first to end, and reports of them by say()."""

    def __init__(self, options, say):
        self.options, self.say, self.library = options, say, libfnz.Library(options.lib)
        self.counts, self.refusals, self.seen = collections.Counter(), collections.Counter(), collections.Counter()

    def all(self, first, end):
        waiting = []  # for an export
        for at in range(first, end):
            if at % self.options.batch == 0:
                self.say({"begin": at})
            program = torch_draws.draw(self.options.seed, at)
            verdicts = self.tried(lambda: recorded(self.library, program))
            if verdicts:
                self.count(program, verdicts)
            if not verdicts or at % self.options.export == 0:
                waiting.append((program, verdicts))
            if len(waiting) >= self.options.batch or at == end - 1:
                self.export(waiting)
                waiting = []
        self.say({"counts": self.counts, "refusals": self.refusals})

    def tried(self, judge):
        try:
            return judge()
        except Exception as error:  # eager behaves differently when it runs again
            return [("eager fails", plain(str(error).split("\n")[0]))]

    def export(self, waiting):
        """Programs that were recorded before are counted only if export makes a difference."""
        before = {id(program): verdicts for program, verdicts in waiting}
        for row in models_of([program for program, _ in waiting]) if waiting else []:
            verdicts = self.tried(lambda: verdicts_of(self.library, row))
            if not before[id(row[0])]:
                self.count(row[0], verdicts)
            elif finding(verdicts) and not finding(before[id(row[0])]):
                self.count(row[0], [("exported " + v, what) if v in FINDINGS else (v, what) for v, what in verdicts])

    def count(self, program, verdicts):
        found = finding(verdicts)
        verdict = found or max(verdicts, key=lambda v: v[0] != "same")
        self.counts[verdict[0]] += 1
        for kind, what in verdicts:
            if kind not in (*QUIET, *FINDINGS):
                self.refusals[f"{kind}: {what}"] += 1
        if found:
            report(self.options, self.library, program, found, self.seen, self.say)


def report(options, library, program, found, seen, say):
    seen[found[0]] += 1
    if seen[found[0]] <= options.shrink:
        program = shrunk(library, program, found[0])
        found = finding(verdicts_of(library, models_of([program])[0])) or found
    say({"finding": [program.index, found[0], found[1], signature(program, found), program.text()]})
    write_case(options.out / f"{program.seed}-{program.index}", program)


def write_case(folder, program):
    from safetensors.torch import save_file
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.py").write_text(program.text() + "\n")
    try:
        exported = export(Batch([program]))
        names = [s.arg.name for s in exported.graph_signature.input_specs]
        eager = Eager(program)
    except Exception as error:
        (folder / "error.txt").write_text(str(error))
        return
    torch.export.save(exported, folder / "program.pt2")
    save_file({n: libfnz.dense(t).clone() for n, t in zip(names, program.inputs.values())}, folder / "inputs.safetensors")
    if not program.bad:
        expected = {f"output.{k}": libfnz.dense(t).clone() for k, t in enumerate(eager.results)}
        expected |= {f"input.{n}": libfnz.dense(t).clone() for n, t in zip(names, eager.tensors.values())}
        save_file(expected, folder / "expected.safetensors")


class Child:
    """A stretch that is tried in a process of its own, which says by a file how far it is."""

    def __init__(self, options, first, end):
        self.first, self.end = first, end
        self.path = options.out / f".{options.seed}-{first}"
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                with open(self.path, "w") as f:
                    Stretch(options, lambda told: print(json.dumps(told), file=f, flush=True)).all(first, end)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)

    def told(self):
        """All that it has said, as one."""
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        self.path.unlink()
        out = {"first": self.first, "end": self.end, "counts": {}, "refusals": {}, "findings": [], "begin": self.first}
        for line in lines:
            out["findings"] += [line.pop("finding")] if "finding" in line else []
            out |= line
        return out


# --- all ------------------------------------------------------------------------------------------------------------------------
class Run:
    def __init__(self, options):
        self.options, self.began, self.stopped = options, time.time(), False
        self.log = options.out / f"{options.seed}.jsonl"
        self.counts, self.refusals, self.findings = collections.Counter(), collections.Counter(), []
        self.done = {}
        if self.log.exists():
            for line in self.log.read_text().splitlines():
                told = json.loads(line)
                self.done[told["first"], told["end"]] = told

    def add(self, told):
        self.counts.update(told["counts"])
        self.refusals.update(told["refusals"])
        self.findings += told["findings"]

    def note(self, told):
        with open(self.log, "a") as f:
            print(json.dumps(told), file=f)
        for index, kind, what, _, text in told["findings"]:
            print(f"--- {self.options.seed}:{index} {kind}: {what}\n{text}\n", flush=True)
        self.add(told)
        tried, seconds = sum(self.counts.values()), time.time() - self.began
        print(f"{tried} programs, {len(self.findings)} findings, {tried / seconds:.0f} a second", file=sys.stderr)

    def ended(self, child, status):
        """A process that was killed by a signal: the batch it was at is a finding, and it goes on behind it."""
        told = child.told()
        if status == 0:
            self.note(told)
            return []
        at = told["begin"]
        told["findings"].append([at, "crash", f"status {status} in {at} to {at + self.options.batch - 1}", f"crash {status}", ""])
        told["end"] = min(at + self.options.batch, child.end)
        told["counts"] = {"lost": told["end"] - child.first}
        self.note(told)
        return [(told["end"], child.end)] if told["end"] < child.end else []

    def all(self):
        first, end = self.options.first, self.options.first + self.options.count
        todo = [(k, min(k + STRETCH, end)) for k in range(first, end, STRETCH)]
        for part in [p for p in todo if p in self.done]:
            self.add(self.done[part])
        todo = [p for p in todo if p not in self.done]
        running = {}
        while (todo and not self.stopped) or running:
            while todo and not self.stopped and len(running) < self.options.jobs:
                child = Child(self.options, *todo.pop(0))
                running[child.pid] = child
            try:
                pid, status = os.wait()
            except InterruptedError:
                continue
            if not self.stopped:
                todo = self.ended(running[pid], status) + todo
            del running[pid]

    def stop(self, *_):
        self.stopped = True
        raise KeyboardInterrupt


def table(title, rows, most=40):
    if rows:
        print(title)
        for what, count in collections.Counter(rows).most_common(most):
            print(f"{count:8} {what}")


def ledger(options, run):
    tried = sum(n for kind, n in run.counts.items() if kind not in ("not exported", "eager fails", "lost"))
    line = ["add", TARGET, "-", f"{options.seed}:{options.first}-{options.first + sum(run.counts.values())}", tried,
            int(time.time() - run.began), len(run.findings)]
    print("ledger:", *line)
    if os.environ.get("FNZ_LEDGER") == "1":
        subprocess.run([sys.executable, str(libfnz.ROOT / "scripts/ledger.py"), *map(str, line)], check=True)


def show(options):
    program = torch_draws.draw(options.seed, options.show)
    print(program.text())
    row = models_of([program])[0]
    library = libfnz.Library(options.lib)
    for verdict in verdicts_of(library, row):
        print(*verdict, sep=": ")
    write_case(options.out / f"{options.seed}-{options.show}", program)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int)
    parser.add_argument("--count", type=int, default=STRETCH)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--lib", default=libfnz.ROOT / "build/libfnz.so", type=Path)
    parser.add_argument("--out", default=libfnz.ROOT / "build-torch", type=Path)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--export", type=int, default=100, help="of how many programs one is exported as well")
    parser.add_argument("--shrink", type=int, default=10, help="of each kind and stretch, how many findings are made small")
    parser.add_argument("--show", type=int)
    options = parser.parse_args()
    if options.first is None:
        said = subprocess.run([sys.executable, str(libfnz.ROOT / "scripts/ledger.py"), "next", TARGET], stdout=subprocess.PIPE, text=True, check=True)
        seed, first = map(int, said.stdout.split())
        options.first = first if seed == options.seed else 0
    return options


def main():
    options = parsed()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    make_export_quick()
    if options.show is not None:
        return show(options)
    models_of([torch_draws.draw(0, 0)])  # what PyTorch does at its first export is done once
    run = Run(options)
    signal.signal(signal.SIGTERM, run.stop)
    try:
        run.all()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    table("verdicts", run.counts)
    table("refusals", run.refusals)
    table("findings", collections.Counter(f[3] for f in run.findings))
    ledger(options, run)
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
