#!/usr/bin/env python3
"""Mutation testing: small changes to the sources that some quick test must notice.

    mutate.py [--build DIR] [--seed N] [--count N] [--minutes M] [--jobs N] [--out FILE] [ROOM...]

ROOM is a row of TESTS below: a folder with the folders within it that have no row of their own, or python/fnz (all of
them without one). Each mutant is one change to one line: a comparison, an operator, a constant or the name of a
comparison becomes its neighbour, a condition is negated, a statement is left out, a call whose status is returned is
not made. Only its object is compiled, and linked before the archives of a release build in DIR (default build) with
all test programs and the command, which are one program for this. They run one after the other, last the command with
all goldens, until one fails. A mutant of python/fnz is a copy of the package with the change, and the package's tests
run on it. A mutant that no test notices is written to FILE (default build/survivors.txt), one per line:
FILE:LINE: OLD -> NEW. Sources, objects and archives are read at the start, so that work may go on meanwhile.

A mutant that does not compile, or gives the same object, is none. One that ends in a timeout was noticed. Lines of
tests/mutants.txt, `FILE: OLD -> NEW`, are mutants that change nothing, under the reason why."""
import argparse
import ast
import collections
import concurrent.futures
import glob
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PASS_TESTS = "functionalize_test views_test tidy_test random_test regions_test explain_test tensor_test"
READ_TESTS = "forms_test text_test cbor_test json_test zip_test pt2_test pt2_guards_test safetensors_test pt2_write_test " \
             "vmap_test file_test external_test hostile_test convert_test"
TESTS = {  # in the order in which they are run: the quickest and sharpest first
    "views": "composites_test views_test oracle_test " + PASS_TESTS,
    "mutations": "overlap_test " + PASS_TESTS + " run_test eager_variants_test",
    "functionalize": PASS_TESTS + " original_test hostile_test alike_test fit_test sizes_test ops_test "
                     "boundary_test custom_test pt2_write_test",
    "program": "symbolic_test arithmetic_test doubles_test program_test compare_test content_test limits_test vmap_test "
               "fit_test sizes_test " + READ_TESTS,
    "program/formats": READ_TESTS,
    "program/formats/mlir": "mlir_test numbers_of_mlir_test",
    "engine": "plan_test tile_test plan_random_test engine_test engine_steps_test engine_regions_test engine_numbers_test "
              "engine_operators_test",
    "run": "run_test given_test stack_test slices_test typed_test region_run_test original_test hostile_test "
           "generator_test verify_weights_test variants_test eager_variants_test call_random_test collectives_test "
           "functionalize_test views_test random_test",
    "kernels/cpu": "elements_test kernels_nn_test kernels_conv_test kernels_eager_test kernels_fast_test "
                   "kernels_made_test factor_test fourier_test point_values_test point_rows_test "
                   "point_isa_test strides_test kernels_random_test philox_test reference_test",
    "cli": "cli_test places_test malformed_test",
    "python/fnz": "",
}
# These start the command, so that they are programs of their own.
OUTSIDE = ("cli_test", "places_test", "malformed_test")
# Tested on the stand-in for a GPU, which is not linked here.
WITHOUT = ("engine/device", "engine/values", "engine/cuda")
# All use the last one.
ARCHIVES = ("libfnz_soak.a", "libfnz_native.a", "libfnz_cuda.a", "libfnz.a")
SECONDS = 60  # more is a hang
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" + ", " - "), (" - ", " + "), (" && ", " || "), (" || ", " && "), (" += ", " -= "), (" * ", " + "),
         ("++", "--"), ("--", "++"), ("true", "false"), ("false", "true")]
# Names of comparisons and bounds in the texts and the enumerators of tables.
NAMES = [(".le.", ".lt."), (".lt.", ".le."), (".ge.", ".gt."), (".gt.", ".ge."), ("_LE", "_LT"), ("_LT", "_LE"),
         ("_GE", "_GT"), ("_GT", "_GE"), ("_MIN", "_MAX"), ("_MAX", "_MIN"), (".min.", ".max."), (".max.", ".min.")]
NUMBERS = re.compile(r"(?<![\w.])([01])(?![\w.])")
STATEMENT = re.compile(r"^ +(?!return|break|continue|goto|else|case|default|static|const|enum|struct|typedef)"
                       r"(FNZ_TRY\(.*\)|\w[\w.>\[\]()-]*(\([^;]*\)|( [-+*/|&^]?= |\+\+|--)[^;]*));$")
CONDITION = re.compile(r"^( +(?:else )?if |\} else if | +while )\((.*)\)( \{)?$")
RETURN = re.compile(r"^( +return )(fnzi?_\w+\(.*\)|\w+\(.*\));$")


def code_lines(path):
    """(number, line) of the lines that hold code only."""
    text = open(path).read()
    blank = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", "\0", m.group(0)), text, flags=re.S)
    for number, line in enumerate(blank.split("\n"), 1):
        if "\0" not in line and line.strip() and not line.lstrip().startswith("#") and line[0] in " }":
            yield number, line


def strings(line):
    return [(m.start(), m.end()) for m in re.finditer(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'', line)]


def changes(line):
    """The mutants of a line."""
    inside = strings(line)
    for old, new in SWAPS:
        for m in re.finditer(re.escape(old), line):
            word = old.isalpha() and (line[m.start() - 1].isalnum() or line[m.end():m.end() + 1].isalnum())
            if not word and not any(a <= m.start() < b for a, b in inside):
                yield line[:m.start()] + new + line[m.end():]
    for old, new in NAMES:
        for m in re.finditer(re.escape(old) + ("" if old[0] == "." else r"(?![A-Za-z_])"), line):
            yield line[:m.start()] + new + line[m.end():]
    for m in NUMBERS.finditer(line):
        if not any(a <= m.start() < b for a, b in inside):
            yield line[:m.start()] + str(1 - int(m.group(1))) + line[m.end():]
    if CONDITION.match(line):
        yield CONDITION.sub(r"\1(!(\2))\3", line)
    if STATEMENT.match(line):
        yield re.match(" +", line).group(0) + ";"
    if RETURN.match(line):
        yield RETURN.sub(r"\1FNZ_OK;", line)


Mutant = collections.namedtuple("Mutant", "path line old new")


def room_of(path):
    """The row of TESTS that a file belongs to; None."""
    rooms = [room for room in (*TESTS, *WITHOUT) if path.startswith(room + "/")]
    room = max(rooms, key=len, default=None)
    return None if room in WITHOUT else room


def sources_of(room):
    """The files of a room, without the rooms within it."""
    for folder, _, names in sorted(os.walk(os.path.join(ROOT, room))):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if name.endswith((".c", ".py")) and room_of(path) == room:
                yield path


def mutants_of(room):
    for path in sources_of(room):
        lines = python_lines if path.endswith(".py") else code_lines
        change = python_changes if path.endswith(".py") else changes
        for number, line in lines(os.path.join(ROOT, path)):
            for new in dict.fromkeys(change(line)):
                yield Mutant(path, number, line, new)


def python_lines(path):
    """(number, line) of the lines on which a statement begins, but docstrings and imports."""
    text = open(path).read()
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and not is_text and not isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node.lineno, lines[node.lineno - 1]


def python_changes(line):
    inside = strings(line)
    for old, new in [*SWAPS[:10], (" and ", " or "), (" or ", " and "), ("True", "False"), ("False", "True"),
                     (" is not ", " is "), (" not in ", " in ")]:
        for m in re.finditer(re.escape(old), line):
            if not any(a <= m.start() < b for a, b in inside):
                yield line[:m.start()] + new + line[m.end():]
    for m in NUMBERS.finditer(line):
        if not any(a <= m.start() < b for a, b in inside):
            yield line[:m.start()] + str(1 - int(m.group(1))) + line[m.end():]
    m = re.match(r"( *(?:el)?if )(.*):$", line)
    if m:
        yield f"{m.group(1)}not ({m.group(2)}):"
    m = re.match(r"( *)return \S.*[\w)\]}]$", line)
    if m:
        yield m.group(1) + "return None"
    m = re.match(r"( *)(?!return|if|elif|else|for|while|with|def|class|try|except|raise|pass|@)[\w.\[\]]+"
                 r"( [-+|]?= |\().*[\w)\]}\"']$", line)
    if m:
        yield m.group(1) + "pass"


class Bench:
    """A copy of the build, in which mutants are compiled, linked and run."""

    def __init__(self, build, folders, kept):
        self.build, self.kept = os.path.abspath(build), kept
        self.package = shutil.copytree(ROOT + "/python", kept + "/python")
        folders = [folder for folder in folders if folder != "python/fnz"]
        entries = json.load(open(os.path.join(self.build, "compile_commands.json")))
        self.compile = {os.path.relpath(e["file"], ROOT): e for e in entries}
        self.sources = {path: open(os.path.join(ROOT, path)).read().split("\n")
                        for path in self.compile if room_of(path) in folders}
        commands = self.links()
        names = dict.fromkeys(name for folder in folders for name in TESTS[folder].split())
        names = [name for name in names if name not in OUTSIDE]
        self.command = self.one_program(commands, [*names, "fnz"]) if folders else []

    def links(self):
        text = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "all"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        found = {}
        for line in text.splitlines():
            m = re.search(r" -o (?:tests/(\w+_test)|fnz) ", line)
            if m:
                found[m.group(1) or "fnz"] = line.removeprefix(": && ").split(" && ")[0]
        return found

    def own(self, path, name):
        """A copy of an object, in which main has another name."""
        copy = os.path.join(self.kept, f"{name}.{os.path.basename(path)}")
        subprocess.run(["objcopy", "--redefine-sym", f"main=main_{name}", os.path.join(self.build, path), copy],
                       check=True)
        return copy

    def one_program(self, commands, names):
        """The command that links a program which is all of these, by its first argument."""
        objects, options = {}, []
        for name in names:
            words = commands[name].split()
            for path in (word for word in words if word.endswith(".o")):
                # A file that several tests share is compiled for each of them.
                objects.setdefault("fnz." * (name == "fnz") + os.path.basename(path), self.own(path, name))
            options += [word for word in words[words.index("-o") + 2:] if word not in options]
        main = os.path.join(self.kept, "main.c")
        lines = [f'  if (!strcmp(argv[1], "{name}")) return main_{name}(argc - 1, argv + 1);' for name in names]
        open(main, "w").write("\n".join(["#include <string.h>", *(f"int main_{name}();" for name in names),
                                         "int main(int argc, char **argv) {", *lines, "  return 99;", "}"]))
        subprocess.run(["cc", "-c", "-w", main, "-o", main + ".o"], check=True)
        for archive in ARCHIVES:
            shutil.copy(os.path.join(self.build, archive), self.kept)
        linker = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
        archives = [os.path.join(self.kept, archive) for archive in ARCHIVES]
        return ["c++", *linker, main + ".o", *objects.values(), *archives,
                *(word for word in options if not os.path.basename(word).startswith("libfnz"))]

    def object(self, mutant, folder, changed):
        """Compiles the file, changed or not; its path, or None when it does not compile."""
        source = os.path.join(folder, "mutant.c")
        lines = list(self.sources[mutant.path])
        if changed:
            lines[mutant.line - 1] = mutant.new
        open(source, "w").write("\n".join(lines))
        entry = self.compile[mutant.path]
        words = shlex.split(entry["command"])
        words = words[1:] if words[0] == "ccache" else words
        out = os.path.join(folder, "mutant.o" if changed else "same.o")
        words[words.index("-o") + 1] = out
        words[words.index("-c") + 1] = source
        beside = os.path.dirname(os.path.join(ROOT, mutant.path))
        done = subprocess.run(words + ["-w", "-iquote", beside], cwd=entry["directory"], stderr=subprocess.DEVNULL)
        return out if done.returncode == 0 else None

    def link(self, mutant, new, folder):
        """The program with the mutant's object: in place of the command's own, else before the archives, which then keep
        theirs. Without a mutant, the program as it is."""
        program = os.path.join(folder, "tests")
        at = self.command.index(os.path.join(self.kept, ARCHIVES[0]))
        words = [*self.command[:at], *([new] if new else []), *self.command[at:]]
        if mutant and mutant.path.startswith("cli/"):
            words.remove(os.path.join(self.kept, f"fnz.{os.path.basename(mutant.path)}.o"))
            subprocess.run(["objcopy", "--redefine-sym", "main=main_fnz", new], check=True)
        subprocess.run([*words, "-o", program], check=True, cwd=self.build)
        open(program + ".sh", "w").write(f'#!/bin/sh\nexec {program} fnz "$@"\n')
        os.chmod(program + ".sh", 0o755)
        return program


def notices(bench, program, test, log):
    words = [os.path.join(bench.build, "tests", test)] if test in OUTSIDE else [program, test]
    env = dict(os.environ, CK_FORK="yes" if test in OUTSIDE else "no", FNZ_PROGRAMS="400", FNZ_SHRINK="0", FNZ_WRONG="1",
               CK_TIMEOUT_MULTIPLIER="10" if test in OUTSIDE else "1", FNZ_COMMAND=program + ".sh")
    try:
        done = subprocess.run(words, env=env, timeout=SECONDS * (4 if test in OUTSIDE else 1), stdout=log, stderr=log)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def golden_differs(program, want):
    path = want.removesuffix(".want") + ".fnz"
    name = os.path.basename(want).removesuffix(".want")
    words = ["ops", name]
    if os.path.exists(path):
        words = [*shlex.split(open(path).readline().removeprefix("# run:")), name + ".fnz"]
    # A folder without a driver of a GPU, as CTest has it.
    env = dict(os.environ, LD_LIBRARY_PATH=ROOT + "/build/tests/cuda/absent/no_driver")
    done = subprocess.run([program, "fnz", *words], cwd=os.path.dirname(path), timeout=SECONDS, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = done.stdout + (b"# stderr\n" + done.stderr if done.stderr else b"") + b"# exit %d\n" % done.returncode
    return got != open(want, "rb").read()


def goldens_notice(program):
    try:
        wanted = sorted(glob.glob(ROOT + "/fixtures/*/*.want"))
        return any(golden_differs(program, want) for want in wanted
                   if os.path.exists(want.removesuffix(".want") + ".fnz") or "/fixtures/ops/" in want)
    except subprocess.TimeoutExpired:
        return True


def package_notices(package, build, log):
    env = dict(os.environ, FNZ_LIBRARY=os.path.join(build, "libfnz.so"), PYTHONPATH=package, PYTHONDONTWRITEBYTECODE="1")
    words = [sys.executable, "-W", "error", "-m", "unittest", "discover", "-f", "-s", ROOT + "/python/tests"]
    try:
        return subprocess.run(words, env=env, timeout=SECONDS, stdout=log, stderr=log).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def try_package(bench, mutant, folder, log):
    package = shutil.copytree(bench.package, folder + "/python")
    path = os.path.join(folder, mutant.path)
    lines = open(path).read().split("\n")
    lines[mutant.line - 1] = mutant.new
    open(path, "w").write("\n".join(lines))
    try:
        compile("\n".join(lines), path, "exec")
    except SyntaxError:
        return "none"
    return "python" if package_notices(package, bench.build, log) else "survived"


def try_mutant(bench, mutant):
    """'none', 'survived', or the test that noticed it."""
    with tempfile.TemporaryDirectory(prefix="fnz-mutant-") as folder, open(os.devnull, "w") as log:
        if mutant.path.endswith(".py"):
            return try_package(bench, mutant, folder, log)
        out = bench.object(mutant, folder, True)
        same = out and bench.object(mutant, folder, False)
        if not out or digest(out) == digest(same):
            return "none"
        return noticed_by(bench, bench.link(mutant, out, folder), room_of(mutant.path), log)


def noticed_by(bench, program, room, log):
    for test in TESTS[room].split():
        if notices(bench, program, test, log):
            return test
    return "goldens" if goldens_notice(program) else "survived"


def unchanged(bench, room, log):
    """The test that fails without any change, or 'survived'."""
    if room == "python/fnz":
        return "python" if package_notices(bench.package, bench.build, log) else "survived"
    return noticed_by(bench, bench.link(None, None, bench.kept), room, log)


def digest(path):
    code = subprocess.run(["objcopy", "-O", "binary", "--strip-debug", path, path + ".bin"])
    name = path + ".bin" if code.returncode == 0 else path
    return hashlib.sha256(open(name, "rb").read()).hexdigest()


def excused():
    path = os.path.join(ROOT, "tests/mutants.txt")
    lines = open(path).read().splitlines() if os.path.exists(path) else []
    return {line for line in lines if line and line[0] != "#"}


def in_words(mutant):
    return f"{mutant.old.strip()} -> {mutant.new.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", default="build/survivors.txt")
    parser.add_argument("folders", nargs="*", default=list(TESTS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fnz-mutate-") as kept:
        measure(options, Bench(options.build, options.folders, kept))
    return 0


def measure(options, bench):
    known, ends = excused(), time.time() + 60 * options.minutes
    with open(os.devnull, "w") as log:
        for folder in options.folders:
            noticed = unchanged(bench, folder, log)
            if noticed != "survived":
                sys.exit(f"{noticed} fails without any change")
    chosen = [m for folder in options.folders for m in mutants_of(folder)]
    print(f"{len(chosen)} mutants in {' '.join(options.folders)}")
    random.Random(options.seed).shuffle(chosen)
    chosen = [m for m in chosen if f"{m.path}: {in_words(m)}" not in known][:options.count]
    scores = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.out, "w", buffering=1) as out:
        def one(mutant):
            return mutant, try_mutant(bench, mutant) if time.time() < ends else None

        for mutant, result in pool.map(one, chosen):
            if result is None or result == "none":
                continue
            scores[room_of(mutant.path)]["survived" if result == "survived" else "noticed"] += 1
            if result == "survived":
                print(f"{mutant.path}:{mutant.line}: {in_words(mutant)}", file=out)
    for folder, score in scores.items():
        total = sum(score.values())
        print(f"{folder}: {score['noticed']} of {total} noticed, {100 * score['noticed'] / total:.0f} %")


if __name__ == "__main__":
    sys.exit(main())
