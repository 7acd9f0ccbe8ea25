#!/usr/bin/env python3
"""Mutation testing: small changes to the sources that some quick test must notice.

    mutate.py [--build DIR] [--seed N] [--count N] [--minutes M] [--jobs N] [--out FILE] [FOLDER...]

FOLDER is views, mutations, functionalize or program/formats (all of them without one). Each mutant is one change to
one line: a comparison, an operator or a constant becomes its neighbour, a condition is negated, a statement is left
out, a call whose status is returned is not made. Only its object is compiled, and linked before the archive of a
release build in DIR (default build) with all test programs and the command, which are one program for this. They run
one after the other, last the command with all goldens, until one fails. What none of them notices is written to FILE
(default build/survivors.txt), one per line: FILE:LINE: what it was -> what it became. Sources, objects and the archive
are read when it starts, so that one may go on working meanwhile.

A mutant that does not compile, or gives the same object, is none. One that ends in a timeout was noticed. Lines of
tests/mutants.txt, `FILE: OLD -> NEW`, are mutants that change nothing, under the reason why."""
import argparse
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
TESTS = {  # in the order in which they are run: the quickest and sharpest first
    "views": "composites_test views_test oracle_test " + PASS_TESTS,
    "mutations": "overlap_test " + PASS_TESTS + " run_test eager_variants_test",
    "functionalize": PASS_TESTS + " original_test hostile_test alike_test fit_test sizes_test ops_test "
                     "boundary_test custom_test pt2_write_test",
    "program/formats": "text_test cbor_test json_test zip_test pt2_test safetensors_test pt2_write_test vmap_test "
                       "file_test hostile_test convert_test",
}
SECONDS = 60  # more is a hang
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
         (" + ", " - "), (" - ", " + "), (" && ", " || "), (" || ", " && "), (" += ", " -= "), (" * ", " + "),
         ("++", "--"), ("--", "++"), ("true", "false"), ("false", "true")]
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
    """Lines that this one may become."""
    inside = strings(line)
    for old, new in SWAPS:
        for m in re.finditer(re.escape(old), line):
            word = old.isalpha() and (line[m.start() - 1].isalnum() or line[m.end():m.end() + 1].isalnum())
            if not word and not any(a <= m.start() < b for a, b in inside):
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


def mutants_of(folder):
    for name in sorted(os.listdir(os.path.join(ROOT, folder))):
        if name.endswith(".c"):
            path = f"{folder}/{name}"
            for number, line in code_lines(os.path.join(ROOT, path)):
                for new in dict.fromkeys(changes(line)):
                    yield Mutant(path, number, line, new)


class Bench:
    """What compiling, linking and running a mutant needs."""

    def __init__(self, build, folders, kept):
        self.build, self.kept = os.path.abspath(build), kept
        entries = json.load(open(os.path.join(self.build, "compile_commands.json")))
        self.compile = {os.path.relpath(e["file"], ROOT): e for e in entries}
        self.sources = {path: open(os.path.join(ROOT, path)).read().split("\n")
                        for path in self.compile if os.path.dirname(path) in folders}
        commands = self.links()
        names = dict.fromkeys(name for folder in folders for name in TESTS[folder].split())
        self.command = self.one_program(commands, [*names, "fnz"])

    def links(self):
        text = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "all"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        found = {}
        for line in text.splitlines():
            m = re.search(r" -o (?:tests/(\w+_test)|fnz) ", line)
            if m:
                found[m.group(1) or "fnz"] = line.removeprefix(": && ").removesuffix(" && :")
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
                objects.setdefault(os.path.basename(path), self.own(path, name))
            options += [word for word in words[words.index("-o") + 2:] if word not in options]
        main = os.path.join(self.kept, "main.c")
        lines = [f'  if (!strcmp(argv[1], "{name}")) return main_{name}(argc - 1, argv + 1);' for name in names]
        open(main, "w").write("\n".join(["#include <string.h>", *(f"int main_{name}();" for name in names),
                                         "int main(int argc, char **argv) {", *lines, "  return 99;", "}"]))
        subprocess.run(["cc", "-c", "-w", main, "-o", main + ".o"], check=True)
        for archive in ("libfnz.a", "libfnz_soak.a"):
            shutil.copy(os.path.join(self.build, archive), self.kept)
        linker = ["-fuse-ld=lld"] if shutil.which("ld.lld") else []
        # The archive of what is drawn needs the library's, so it comes first.
        archives = [os.path.join(self.kept, "libfnz_soak.a"), os.path.join(self.kept, "libfnz.a")]
        return ["c++", *linker, main + ".o", *objects.values(), *archives,
                *(word for word in options if not word.startswith("libfnz"))]

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

    def link(self, objects, folder):
        """The program with the mutant before the archive, which then keeps its own object."""
        program = os.path.join(folder, "tests")
        at = self.command.index(os.path.join(self.kept, "libfnz_soak.a"))
        subprocess.run([*self.command[:at], *objects, *self.command[at:], "-o", program], check=True,
                       cwd=self.build, stderr=subprocess.DEVNULL)
        return program


def notices(program, test, log):
    env = dict(os.environ, CK_FORK="no", FNZ_PROGRAMS="400", FNZ_SHRINK="0", FNZ_WRONG="1",
               CK_TIMEOUT_MULTIPLIER="1")
    try:
        done = subprocess.run([program, test], env=env, timeout=SECONDS, stdout=log, stderr=log)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def golden_differs(program, want):
    path = want.removesuffix(".want") + ".fnz"
    name = os.path.basename(want).removesuffix(".want")
    words = ["ops", name]
    if os.path.exists(path):
        words = [*shlex.split(open(path).readline().removeprefix("# run:")), name + ".fnz"]
    done = subprocess.run([program, "fnz", *words], cwd=os.path.dirname(path), timeout=SECONDS,
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


def try_mutant(bench, mutant):
    """'none', 'survived', or the test that noticed it."""
    with tempfile.TemporaryDirectory(prefix="fnz-mutant-") as folder, open(os.devnull, "w") as log:
        out = bench.object(mutant, folder, True)
        same = out and bench.object(mutant, folder, False)
        if not out or digest(out) == digest(same):
            return "none"
        return noticed_by(bench.link([out], folder), os.path.dirname(mutant.path), log)


def noticed_by(program, folder, log):
    for test in TESTS[folder].split():
        if notices(program, test, log):
            return test
    return "goldens" if goldens_notice(program) else "survived"


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
            noticed = noticed_by(bench.link([], bench.kept), folder, log)
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
            scores[os.path.dirname(mutant.path)]["survived" if result == "survived" else "noticed"] += 1
            if result == "survived":
                print(f"{mutant.path}:{mutant.line}: {in_words(mutant)}", file=out)
    for folder, score in scores.items():
        total = sum(score.values())
        print(f"{folder}: {score['noticed']} of {total} noticed, {100 * score['noticed'] / total:.0f} %")


if __name__ == "__main__":
    sys.exit(main())
