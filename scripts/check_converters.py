#!/usr/bin/env python3
"""Which converters take exported programs, as PyTorch gives them and as fnz prepares them, and are they right? For developers.

    check_converters.py --setup DIR
    check_converters.py --fnz build/fnz --converters DIR [--targets NAME,...] [--forms NAME,...] [--write TABLE.md] FOLDER...
    check_converters.py ... --transformers
    check_converters.py --self-test

--setup makes the environments of the converters in DIR, from PyPI: DIR/pt has PyTorch, the others see it. A converter
that cannot be installed is "not available".

A case is a folder with program.pt2, inputs.safetensors and expected.safetensors, and inputs.2.safetensors,
expected.2.safetensors and so on for further steps; or NAME.pt2 beside NAME.steps.safetensors. Each goes through each
converter in these forms: A as exported, P after PyTorch's run_decompositions({}), and as fnz writes it: default, keep
(--views keep), core (--decompose core), core+keep, for (--for TARGET). Each pair has a process of its own with a limit
of time and memory. If a converter's result runs, results, final inputs and final state must be within 2e-3 of
PyTorch's, absolute or relative. If results are right and a new value of a state is in no output, it is "state lost".
For a program that keeps state a single step is done twice.

Answers are kept in --cache, a line of JSON each, by digests of the questions; the same question is not repeated, and a
run that was cut off goes on. --write makes the table of all answers to this run's questions. With --transformers the
cases are decoders of transformers over static caches, which scripts/make_static_caches.py makes in --made.

Exit 1 if a form of --must (default: for) is wrong somewhere, or --least programs were not right in it.
"""
import argparse
import collections
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Target -> its environment, and its name in tables.
TARGETS = {
    "executorch": ("conv", "ExecuTorch, to_edge and portable kernels"),
    "onnx": ("conv", "PyTorch's ONNX exporter, ONNX Runtime"),
    "coreml": ("conv", "Core ML tools (converts only)"),
    "openvino": ("conv", "OpenVINO (CPU, f32)"),
    "tvm": ("tvm", "TVM (Relax importer, LLVM)"),
    "torch-mlir": ("tmlir", "torch-mlir (to linalg, converts only)"),
    "iree": ("tmlir", "IREE (llvm-cpu; A, P by torch-mlir)"),
}
ENVIRONMENTS = {
    "pt": ["torch==2.15.0", "numpy==2.4.6"],
    "conv": ["executorch==1.5.1", "coremltools==9.0", "openvino==2026.4.1", "onnx==1.23.2", "onnxruntime==1.32.0",
             "onnxscript==0.7.2", "transformers==5.24.0", "safetensors==0.8.0"],
    "tvm": ["apache-tvm==0.27.0.post1", "safetensors==0.8.0"],
    "tmlir": ["torch-mlir==20261001", "iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", "safetensors==0.8.0"],
}
# Form -> arguments of `fnz convert`, or None where PyTorch makes it.
FORMS = {
    "A": None, "P": None, "default": [], "keep": ["--views", "keep"], "core": ["--decompose", "core"],
    "core+keep": ["--decompose", "core", "--views", "keep"], "for": ["--for", "{target}"],
    "for+io": ["--for", "{target}", "--state", "io"],
}
TITLES = {"A": "A as exported", "P": "P run_decompositions", "default": "fnz default", "keep": "`--views keep`",
          "core": "`--decompose core`", "core+keep": "core and keep", "for": "`--for`", "for+io": "`--for`, `--state io`"}
GOOD, BAD = ("right", "converts"), {"wrong": "wrong", "state lost": "lose state"}
REVISION = 2  # of verdicts: another number repeats all questions
REVISIONS = {"coreml": 3}  # of a target that has another one


# --- cases ------------------------------------------------------------------------------------------------------------
def cases_of(folders):
    """(name, program, case) of each that has expected values."""
    found = []
    for folder in map(pathlib.Path, folders):
        for program in sorted(folder.rglob("*.pt2")):
            case = program.parent
            if program.name == "program.pt2" and (case / "expected.safetensors").exists():
                found.append((case.name, program, case))
            elif program.with_suffix(".steps.safetensors").exists():
                found.append((program.stem, program, program.with_suffix("")))
    return found


def files_of(case):
    """The files of a case besides its program."""
    if case.is_dir():
        return sorted(case.glob("*.safetensors")) + sorted(case.glob("ops.txt"))
    return [case.with_suffix(".steps.safetensors")]


def digest(*parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(part.read_bytes() if isinstance(part, pathlib.Path) else str(part).encode())
        total.update(b"\0")
    return total.hexdigest()[:32]


# --- asking -----------------------------------------------------------------------------------------------------------
class Converter:
    """The process that asks one converter; it has its packages imported, and makes a process for each request."""

    def __init__(self, target, options):
        python = options.converters / TARGETS[target][0] / "bin" / "python"
        self.process, self.version = None, None
        if python.exists():
            self.process = subprocess.Popen([python, HERE / "converters.py", target], stdin=subprocess.PIPE, text=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.version = json.loads(self.process.stdout.readline() or "{}").get("version")

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


class Answers:
    """Answers of this run and of earlier ones."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path.exists():
            for line in path.read_text().splitlines():
                answer = json.loads(line)
                self.known[answer["key"]] = answer

    def add(self, key, answer):
        self.known[key] = {"key": key, **answer}
        with self.path.open("a") as file:
            file.write(json.dumps(self.known[key]) + "\n")


def prepared(target, form, program, case, folder, options):
    """(the file that the converter gets, None), or (None, why fnz refuses)."""
    if FORMS[form] is None:
        return program, None
    out = folder / ("case.mlir" if target == "iree" else "case.pt2")
    words = [word.format(target=target) for word in FORMS[form]]
    ops = ["--ops", case / "ops.txt"] if (case / "ops.txt").exists() else []
    try:
        done = subprocess.run([options.fnz, "convert", program, "-o", out, *words, *ops], capture_output=True, text=True,
                              timeout=options.seconds)
    except subprocess.TimeoutExpired:
        return None, "fnz: no end in %d s" % options.seconds
    if done.returncode:
        return None, ("fnz: " + (done.stderr.strip().splitlines() or ["nothing said"])[0].split(": ", 1)[-1])[:200]
    return out, None


def answer_of(converter, target, form, case, answers, options):
    """The verdict on a case in a form."""
    name, program, files = case
    with tempfile.TemporaryDirectory() as where:
        file, why = prepared(target, form, program, files, pathlib.Path(where), options)
        if why:
            return {"verdict": "refused", "why": why}
        weights = file.with_suffix(".safetensors") if file.suffix == ".mlir" else None
        key = digest(REVISIONS.get(target, REVISION), target, converter.version, form == "P", program, file, *files_of(files),
                     *([weights] if weights and weights.exists() else []))
        if options.cached:
            return answers.known.get(key)
        if key not in answers.known or options.again and answers.known[key]["verdict"] in options.again.split(","):
            request = {"program": str(program), "file": str(file), "case": str(files), "decompose": form == "P",
                       "fnz": options.fnz, "seconds": options.seconds, "gigabytes": options.gigabytes}
            answers.add(key, {"target": target, "form": form, "case": name, **converter.ask(request)})
        return answers.known[key]


def ask_all(cases, options):
    """(target -> version or None, {(target, form, case name): answer})."""
    answers, versions, found = Answers(options.cache), {}, {}
    for target in options.targets:
        converter = Converter(target, options)
        versions[target] = converter.version
        for case in cases if converter.version else []:
            for form in options.forms:
                answer = answer_of(converter, target, form, case, answers, options)
                if answer:
                    found[target, form, case[0]] = answer
                if answer and options.list:
                    print(target, form, case[0], answer["verdict"], answer["why"], flush=True)
        converter.close()
    return versions, found


# --- saying -----------------------------------------------------------------------------------------------------------
def counted(found, target, form):
    """Verdict -> programs."""
    return collections.Counter(answer["verdict"] for (t, f, _), answer in found.items() if (t, f) == (target, form))


def cell(counts):
    if not counts:
        return "not asked"
    good = sum(counts[verdict] for verdict in GOOD)
    bad = ["%d %s" % (counts[verdict], says) for verdict, says in BAD.items() if counts[verdict]]
    return "%d of %d%s" % (good, sum(counts.values()), " (%s)" % ", ".join(bad) if bad else "")


def totals(found, versions, options):
    """Lines of the table that has a row for each target, and a column for each form that was asked."""
    forms = [form for form in options.forms if any(key[1] == form for key in found)]
    yield "| consumer | %s |" % " | ".join(TITLES[form] for form in forms)
    yield "|---|%s" % ("---|" * len(forms))
    for target in options.targets:
        if not versions[target]:
            yield "| %s: not available |%s" % (TARGETS[target][1], " |" * len(forms))
            continue
        counts = [counted(found, target, form) for form in forms]
        yield "| %s | %s |" % (TARGETS[target][1], " | ".join(map(cell, counts)))


def reasons(found, target, options):
    """Lines of a target's table: each reason with the number of programs in each form, and one of them by name."""
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    for (t, form, case), answer in found.items():
        if t == target and answer["verdict"] not in GOOD:
            why = {"wrong": "**wrong**: " + answer["why"], "state lost": "new values of state are lost"}.get(
                answer["verdict"], answer["why"])
            rows[(answer["verdict"] == "wrong" and case, why)][form].append(case)
    if not rows:
        yield "Nothing is refused or wrong."
        return
    yield "| reason | %s | for example |" % " | ".join(options.forms)
    yield "|---|%s---|" % ("---|" * len(options.forms))
    for (_, why), row in sorted(rows.items(), key=lambda item: -sum(map(len, item[1].values()))):
        cases = [case for form in options.forms for case in row.get(form, [])]
        counts = [str(len(row[form])) if form in row else "" for form in options.forms]
        yield "| %s | %s | `%s` |" % (why.replace("|", "/"), " | ".join(counts), cases[0])


HEAD = """# Exported programs by way of converters

Made by `scripts/check_converters.py --forms %s --write` on %s with %s.

Each cell counts the programs that the consumer takes and computes right, out of all that were asked. Right is
within 2e-3 of PyTorch, final inputs and state as well. Nothing here runs Core ML and torch-mlir, which convert them; of Core ML
the sizes of results and their kinds of numbers are compared. `A` is the program as exported, `P` after PyTorch's
`run_decompositions({})`. "Lose state": results are right, and some new value of a cache, buffer or input is in no output."""
# Folder of cases -> words for the table.
SAYS = {
    "models": "Caches, training steps, LSTM and ring buffer in place, vision, language.",
    "sample": "Programs of several folders of cases, drawn by chance.",
    "static_caches": "Decoders of transformers over static caches, tiny and with random weights "
                     "(`scripts/make_static_caches.py`): a prefill\nof four tokens, or four steps of one token in a row.",
}


def group_of(case):
    """The name of its folder of cases."""
    return case[1].parent.parent.name if case[1].name == "program.pt2" else case[1].parent.name


def report(found, versions, cases, options):
    """The text that --write writes: a table for each folder of cases, then reasons for each target."""
    tree = subprocess.run([options.fnz, "--version"], capture_output=True, text=True).stdout.strip()
    yield HEAD % (",".join(options.forms), datetime.date.today().strftime("%-d %B %Y"), options.tree or tree)
    groups = {}
    for case in cases:
        groups.setdefault(group_of(case), set()).add(case[0])
    for group, names in groups.items():
        own = {key: answer for key, answer in found.items() if key[2] in names}
        yield "\n## %s: %d programs\n" % (group, len(names))
        if group in SAYS:
            yield SAYS[group] + "\n"
        yield from totals(own, versions, options)
    for target in options.targets:
        if versions[target]:
            yield "\n## %s: reasons\n\n%s.\n" % (target, versions[target])
            yield from reasons(found, target, options)


def self_test():
    """Holds what counts and says against answers that are made up. Exit status; needs no converter."""
    import converters

    options = argparse.Namespace(forms=["A", "for"], targets=["onnx", "tvm"])
    answers = {("onnx", "A", "x"): ("wrong", "output.0: off by 1"), ("onnx", "A", "y"): ("state lost", "buffer.k"),
               ("onnx", "A", "z"): ("refused", "no a|b"), ("onnx", "for", "x"): ("right", ""),
               ("onnx", "for", "y"): ("converts", ""), ("onnx", "for", "z"): ("refused", "no a|b")}
    found = {key: {"verdict": verdict, "why": why} for key, (verdict, why) in answers.items()}
    versions = {"onnx": "onnx 1", "tvm": None}
    said = [*totals(found, versions, options), *reasons(found, "onnx", options)]
    name = TARGETS["onnx"][1]
    checks = {
        "a row of totals": "| %s | 0 of 3 (1 wrong, 1 lose state) | 2 of 3 |" % name in said,
        "a converter that is not there": any(line.startswith("| %s: not available" % TARGETS["tvm"][1]) for line in said),
        "a reason in two forms": "| no a/b | 1 | 1 | `z` |" in said,
        "a form that is wrong fails": failed(found, versions, argparse.Namespace(**vars(options), must="A", least=0)),
        "one that is right does not": not failed(found, versions, argparse.Namespace(**vars(options), must="for", least=2)),
        "one that is right too seldom fails": failed(found, versions, argparse.Namespace(**vars(options), must="for", least=3)),
        "reasons without what differs": converters.plain("no add_12 at 0x7f of [2, 3]") == converters.plain(
            "no add_7 at 0x8e of [4]") == "no add at ADDRESS of [SIZES]",
    }
    for what in [what for what, holds in checks.items() if not holds]:
        print("does not hold: " + what)
    return 0 if all(checks.values()) else 1


# --- environments -----------------------------------------------------------------------------------------------------
def set_up(folder):
    """Makes the environments and prints what is missing. Returns the exit status."""
    for name, packages in ENVIRONMENTS.items():
        home = folder / name
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        site = next((home / "lib").glob("python3*")) / "site-packages"
        if name != "pt":
            (site / "pt.pth").write_text("%s\n" % next((folder / "pt" / "lib").glob("python3*/site-packages")).resolve())
        done = subprocess.run([home / "bin" / "pip", "install", "--quiet", *packages])
        if done.returncode:
            print("%s: not available, for pip cannot install %s" % (name, ", ".join(packages)))
            if name == "pt":
                return 1
    return 0


def names(text, known):
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            sys.exit("there is no %s; there are %s" % (name, ", ".join(known)))
    return chosen


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--setup", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--fnz", default="build/fnz", type=os.path.abspath)
    parser.add_argument("--converters", default="build/converters", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--targets", default=",".join(TARGETS), type=lambda text: names(text, TARGETS))
    parser.add_argument("--forms", default="A,P,default,core,for", type=lambda text: names(text, FORMS))
    parser.add_argument("--cache", default="build/converters.jsonl", type=pathlib.Path)
    parser.add_argument("--cached", action="store_true", help="asks nothing: the table of what is known")
    parser.add_argument("--again", help="verdicts that are asked for again")
    parser.add_argument("--seconds", type=int, default=120, help="of processor time, for one form of one case")
    parser.add_argument("--gigabytes", type=float, default=12, help="for one form of one case")
    parser.add_argument("--only", help="names of cases")
    parser.add_argument("--transformers", action="store_true", help="decoders over static caches are cases, too")
    parser.add_argument("--made", default="build/static_caches", type=pathlib.Path, help="where these are made")
    parser.add_argument("--write", type=pathlib.Path, metavar="TABLE.md")
    parser.add_argument("--tree", help="what the table says that was measured")
    parser.add_argument("--must", default="for", help="the form that may not be wrong")
    parser.add_argument("--least", type=int, default=0, help="programs that must be right in it, for each target")
    parser.add_argument("--list", action="store_true", help="a line for each answer")
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    return parser.parse_args()


def failed(found, versions, options):
    """Whether the form that must be right is wrong, or right too seldom, in a target that is there."""
    bad = False
    for target in [target for target in options.targets if versions[target] and options.must in options.forms]:
        counts = counted(found, target, options.must)
        bad |= any(counts[verdict] for verdict in BAD) or sum(counts[verdict] for verdict in GOOD) < options.least
    return bad


def main():
    options = options_of()
    if options.self_test:
        sys.exit(self_test())
    if options.setup:
        sys.exit(set_up(options.setup))
    if options.transformers:
        python = options.converters / "conv" / "bin" / "python"
        subprocess.run([python, HERE / "make_static_caches.py", options.made], check=True)
        options.folders.append(options.made)
    cases = cases_of(options.folders)
    if options.only:
        cases = [case for case in cases if case[0] in options.only.split(",")]
    if not cases:
        sys.exit("no case in %s" % ", ".join(map(str, options.folders)))
    options.cache.parent.mkdir(parents=True, exist_ok=True)
    versions, found = ask_all(cases, options)
    text = "\n".join(report(found, versions, cases, options)) + "\n"
    if options.write:
        options.write.write_text(text)
    else:
        print(text, end="")
    sys.exit(1 if failed(found, versions, options) else 0)


if __name__ == "__main__":
    main()
