#!/usr/bin/env python3
"""Two CDDL tools that know nothing of fnz hold what fnz writes against docs/fnz.cddl.

    validate.py FNZ CDDL EVERY FOLDER...

Each program in the folders, or of every so many one, that `fnz convert` takes is written as CBOR, with its weights inside and beside it, and
validated by zcbor and by cddl-verifier, which share nothing. Both must refuse what the grammar forbids: each of a
few changes to a good file. Files of several programs are among them.

scripts/cddl_tools.sh makes a Python that has both. Exit 77, which ctest shows as skipped, where a tool is missing;
1 if FNZ_NEED_TOOLS is set."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

TOOLS_PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build-cddl/bin/python")

try:
    import cbor2
    import cddl_verifier
    import zcbor
except ImportError as missing:
    if os.path.exists(TOOLS_PYTHON) and sys.prefix == sys.base_prefix:
        os.execv(TOOLS_PYTHON, [TOOLS_PYTHON, *sys.argv])
    print(f"skipped: {missing}; scripts/cddl_tools.sh installs it")
    sys.exit(1 if os.environ.get("FNZ_NEED_TOOLS") else 77)


def programs(folders):
    for folder in folders:
        for here, _, files in sorted(os.walk(folder)):
            yield from (os.path.join(here, f) for f in sorted(files) if f.endswith((".fnz", ".pt2", ".json", ".cbor")))


def written(fnz, path, words):
    """The CBOR of a program; None where fnz refuses it."""
    with tempfile.TemporaryDirectory() as room:
        out = os.path.join(room, "x.cbor")
        done = subprocess.run([fnz, "convert", path, "-o", out, *words], capture_output=True)
        if done.returncode:
            return None
        with open(out, "rb") as file:
            return file.read()


class Zcbor:
    """Says what is wrong with data; None if nothing is."""

    def __init__(self, grammar):
        self.start = zcbor.DataTranslator.from_cddl(grammar, default_max_qty=1 << 40).my_types["fnz"]

    def __call__(self, data):
        try:
            self.start.validate_str(data)
        except zcbor.CddlValidationError as error:
            return f"zcbor: {str(error)[:200]}"
        return None


class CddlVerifier:
    def __init__(self, grammar):
        self.start = cddl_verifier.Validator(grammar)

    def __call__(self, data):
        result = self.start.validate(data, "fnz")
        return None if result.valid else f"cddl-verifier: {result.errors[:1]}"


GRAMMAR, TOOLS = sys.argv[2], []


def against(data):
    """Errors of the tools for the data. They read the grammar once in each process."""
    if not TOOLS:
        sys.setrecursionlimit(20000)
        with open(GRAMMAR) as file:
            text = file.read()
        TOOLS.extend((Zcbor(text), CddlVerifier(text)))
    return [tool(data) for tool in TOOLS]


# Each turns a good program into one that the grammar forbids.
def other_magic(p): p[0] = "cbor"
def other_version(p): p[1] = 2
def text_for_graph(p): p[2][7][0] = "graph"
def no_outputs(p): del p[2][9]
def unknown_key(p): p[2][99] = 0
def other_dtype(p): p[2][6].append([21, [], [], 0, 0])
def short_node(p): p[2][7][0][4].append([0, 0, 0, []])
def other_tag(p): p[2][7][0][2].append([18, 0])
def other_kind(p): p[2][8].append([8, "x", 0])
def text_in_blobs(p): p[2][11].append("bytes")
def short_digest(p): p[2][13] = ["w.safetensors", 8, b"digest"]


CHANGES = (other_magic, other_version, text_for_graph, no_outputs, unknown_key, other_dtype, short_node, other_tag,
           other_kind, text_in_blobs, short_digest)


# The same of a file of several programs.
def other_methods(p): p[0] = "methods"
def no_name(p): p[2][0] = []
def empty_name(p): p[2][0][0] = ""
def number_for_name(p): p[2][0][0] = 1
def blobs_of_one(p): p[2][1][0][11] = []
def file_of_one(p): p[2][1][0][13] = ["w.safetensors", 8, bytes(32)]
def no_graphs(p): del p[2][1][1][7]
def sizes_for_blobs(p): p[2][2][0] = 8
def no_blobs(p): del p[2][2]


METHOD_CHANGES = (other_methods, no_name, empty_name, number_for_name, blobs_of_one, file_of_one, no_graphs,
                  sizes_for_blobs, no_blobs)


def pairs(folders):
    """Programs over one state, and what makes them one file."""
    for folder in folders:
        here = os.path.join(folder, "methods")
        if os.path.isdir(here):
            yield os.path.join(here, "prefill.pt2"), (os.path.join(here, "look.pt2"),)
            yield os.path.join(here, "prefill.pt2"), (os.path.join(here, "decode.pt2"), "--share", "embedding=words")


def main():
    fnz, every, folders = sys.argv[1], int(sys.argv[3]), sys.argv[4:]
    jobs = [(path, words) for path in programs(folders) for words in ((), ("--external-weights",))]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda job: written(fnz, *job), jobs)
        files = list({data: (path, data) for (path, _), data in zip(jobs, made) if data}.values())[::every]
    several = [(path, written(fnz, path, words)) for path, words in pairs(folders)]
    changes = [(change, files[0][1]) for change in CHANGES] + [(change, several[0][1]) for change in METHOD_CHANGES]
    files, bad = several + files, []
    for change, data in changes:
        program = cbor2.loads(data)
        change(program)
        bad.append(cbor2.dumps(program))
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(against, [data for _, data in files], chunksize=16))
        said_bad = [against(data) for data in bad]
    wrong = [f"{path}: {line}" for (path, _), lines in zip(files, said) for line in lines if line]
    wrong += [f"tool {k + 1} takes {change.__name__}" for (change, _), lines in zip(changes, said_bad)
              for k, line in enumerate(lines) if not line]
    print("\n".join(wrong + [f"{len(files)} files and {len(changes)} bad ones, by {len(TOOLS)} tools"]))
    sys.exit(len(files) * every < 100 or bool(wrong))


if __name__ == "__main__":
    main()
