#!/usr/bin/env python3
"""Counts what the command does per byte of its input, at two sizes of many programs.

Needs valgrind. Run by .ci/run (--quick) and .ci/more.

    growth.py FNZ [--quick] [--shape NAME] [--verb NAME] [--jobs N]
    growth.py --self-test

A program of shapes.py is made at two sizes, the second about four times the first. What the larger
one takes per byte beyond the start of the command may be MOST times what the smaller one takes, in
instructions, which Valgrind counts so that each run gives the same number on any machine, and in
memory. exceptions.tsv lists what grows faster: name of the shape, of the verb, of what is counted,
the growth, and why. An exception that is none any more is a failure too. --quick takes each shape
once, and of the other verbs those with which something was once wrong.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import shapes

SMALL, TIMES, MOST = 500, 4, 1.3
MEMORY_TIMES = 8  # memory is measured without Valgrind, so on larger programs
MEGABYTE = 1 << 20
LONGEST = 300  # seconds for one run: what takes longer is not linear

# What is run; {in} is the program, {out} what the files of this shape and size begin with.
VERBS = {
    "cbor": "convert {in} --quiet -o {out}.cbor",
    "text": "convert {in} --quiet -o {out}.functional.fnz",
    "pt2": "convert {in} --quiet -o {out}.pt2",
    "json": "convert {in} --quiet -o {out}.json",
    "keep": "convert {in} --quiet --views keep -o {out}.keep.cbor",
    "strided": "convert {in} --quiet --views strided -o {out}.strided.cbor",
    "epilogue": "convert {in} --quiet --state epilogue -o {out}.epilogue.cbor",
    "draw": "draw {in} -o {out}.dot",
    "stats": "stats {in}",
    "lint": "lint {in}",
    "explain": "explain {in}",
    "explain_json": "explain {in} --json",
    "verify": "verify {in} --trials 1",
    "diff_same": "diff {out}.cbor {out}.functional.fnz",
    "diff_original": "diff {in} {out}.cbor",
    "show": "show {in}",
    "read_cbor": "show {out}.cbor",
    "read_pt2": "show {out}.pt2",
    "read_json": "stats {out}.json",
}
NEEDS = {"diff_same": ["cbor", "text"], "diff_original": ["cbor"], "read_cbor": ["cbor"], "read_pt2": ["pt2"],
         "read_json": ["json"]}
QUICK = [("unbind", "pt2"), ("batch_norms", "pt2"), ("inputs", "diff_same"), ("written_inputs", "explain"),
         ("cat_of_slices", "explain"), ("foreach_list", "lint"), ("conds", "explain"), ("guards", "diff_same"),
         ("foreach_functional", "verify"), ("slice_writes", "verify"), ("weights", "diff_same"),
         ("unbind", "read_pt2"), ("pointwise", "read_pt2"), ("pointwise", "read_cbor")]


def command(verb, program, out):
    return [w.replace("{in}", program).replace("{out}", out) for w in VERBS[verb].split()]


class Refused(Exception):
    pass


def check(code, error):
    if code in (2, 3):  # 3: what it reads could not be made
        raise Refused(error.strip())
    if code not in (0, 1):
        raise RuntimeError(f"exit {code}: {error.strip()}")


def instructions(words):
    run = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                          *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LONGEST)
    check(run.returncode, "\n".join(l for l in run.stderr.split("\n") if not l.startswith(("==", "--"))))
    return int(re.search(r"I +refs: +([\d,]+)", run.stderr)[1].replace(",", ""))


def memory(words):
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        check(process.returncode, errors.read())
    return usage.ru_maxrss * 1024


def growth(small, large, start):
    """How many times as much the large one takes per byte; each is (bytes, count)."""
    per_byte = [max(count - start, 1) / size for size, count in (small, large)]
    return per_byte[1] / per_byte[0]


class Bench:
    def __init__(self, fnz, folder):
        self.fnz, self.folder = fnz, folder
        self.starts = {}

    def program(self, shape, n):
        path = f"{self.folder}/{shape}.{n}.fnz"
        if not os.path.exists(path):
            with open(path, "w") as f:
                f.write(shapes.SHAPES[shape](n))
        return path

    def count(self, measure, shape, verb, n):
        path = self.program(shape, n)
        for needed in NEEDS.get(verb, []):
            words = command(needed, path, path[:-4])
            if not os.path.exists(words[-1]):
                memory([self.fnz, *words])
        return os.path.getsize(path), measure([self.fnz, *command(verb, path, path[:-4])])

    def start(self, measure, verb):
        key = measure.__name__, verb
        if key not in self.starts:
            try:
                self.starts[key] = self.count(measure, "pointwise", verb, 1)[1]
            except Refused:
                self.starts[key] = 0
        return self.starts[key]

    def measure(self, shape, verb):
        """[(what is counted, growth)]; of memory only where there is much."""
        found = []
        pairs = [self.count(instructions, shape, verb, n) for n in (SMALL, TIMES * SMALL)]
        found.append(("instructions", growth(*pairs, self.start(instructions, verb))))
        sizes = (MEMORY_TIMES * SMALL, MEMORY_TIMES * TIMES * SMALL)
        pairs = [self.count(memory, shape, verb, n) for n in sizes]
        start = self.start(memory, verb) + 8 * MEGABYTE
        if pairs[1][1] > start + 24 * MEGABYTE and pairs[0][1] > start:
            found.append(("memory", growth(*pairs, start)))
        return found


def exceptions(path):
    with open(path) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    return {tuple(row[:3]): (float(row[3]), row[4]) for row in rows}


def judge(key, grown, known):
    """What is wrong, or None."""
    if grown > MOST and key not in known:
        return f"{grown:.2f} times as much per byte at {TIMES} times the size; at most {MOST}"
    if grown > MOST and grown > 1.2 * known[key][0]:
        return f"grew by {grown:.2f}; the exception says {known[key][0]}"
    if grown <= MOST and key in known:
        return f"grows by {grown:.2f} only: take it out of the exceptions"
    return None


def self_test():
    line, square = [(n, 1000 + 50 * n) for n in (10, 40)], [(n, 1000 + n * n) for n in (10, 40)]
    key = ("shape", "verb", "instructions")
    assert judge(key, growth(*line, 1000), {}) is None
    assert judge(key, growth(*square, 1000), {})
    assert judge(key, growth(*square, 1000), {key: (4.0, "")}) is None
    assert judge(key, growth(*square, 1000), {key: (2.0, "")})
    assert judge(key, growth(*line, 1000), {key: (4.0, "")})
    print("self-test passed")


def one_job(job):
    bench, shape, verb = job
    try:
        return shape, verb, bench.measure(shape, verb), None
    except Refused as refused:
        return shape, verb, [], str(refused)
    except subprocess.TimeoutExpired:
        return shape, verb, [("instructions", float("inf"))], None


def jobs_of(options):
    if options.shape or options.verb:
        return [(s, v) for s in ([options.shape] if options.shape else shapes.SHAPES)
                for v in ([options.verb] if options.verb else VERBS)]
    if options.quick:
        return [(s, "cbor") for s in shapes.SHAPES if s != "inputs_that_share"] + QUICK
    return [(s, v) for s in shapes.SHAPES for v in VERBS]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fnz", nargs="?")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--shape")
    parser.add_argument("--verb")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    known = exceptions(os.path.join(os.path.dirname(os.path.abspath(__file__)), "exceptions.tsv"))
    counted = failed = refused = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        bench = Bench(options.fnz, folder)
        jobs = [(bench, s, v) for s, v in jobs_of(options)]
        for shape, verb, found, why in pool.map(one_job, jobs):
            refused += why is not None
            for what, grown in found:
                counted += 1
                wrong = judge((shape, verb, what), grown, known)
                if wrong:
                    failed += 1
                    print(f"{shape}\t{verb}\t{what}\t{wrong}", flush=True)
    print(f"{counted} counted, {refused} refused by the command, {len(known)} exceptions, {failed} wrong")
    return failed > 0 or counted == 0


if __name__ == "__main__":
    sys.exit(main())
