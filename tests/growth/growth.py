#!/usr/bin/env python3
"""Counts what the command does per byte of its input, at two sizes of many programs.

Needs valgrind. Run by .ci/run (--quick) and .ci/more.

    growth.py FNZ [--quick] [--turn HEX] [--all] [--shape NAME] [--verb NAME] [--jobs N]
    growth.py --self-test

A program of shapes.py is made at two sizes, the second about four times the first. The cost of
the larger one, per byte and beyond the start of the command, may be MOST times the cost of the
smaller one. Costs are instructions, which Valgrind counts so that each run gives the same number on
any machine, and memory. exceptions.tsv lists the costs that grow faster: name of the shape, of the
verb, of the counted quantity, the growth, and why. An exception that is none any more is a failure too.
--quick takes most shapes once, and of the other verbs those with which something was once wrong; with --turn only
every second of these, which half the last bit of the number says. Refusals by the command are printed; a run that
takes too long, crashes or finds a fault is a failure.

An earlier --quick, of all shapes but those added since, has run to its end: 99 programs and verbs in
244 seconds of CPU time. The full set, some 1,900 of them, has not: expect more than an hour of CPU
time, and exceptions of other verbs than cbor that are not listed yet.
"""
import argparse
import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading

import shapes

SMALL, TIMES, MOST = 500, 4, 1.3
LARGE = 4000  # memory is measured without Valgrind, so on larger programs
MEGABYTE = 1 << 20
LONGEST = 200  # seconds of CPU time for one run: what takes longer is not linear

# The commands; {in} is the program, {out} the start of the names of files for this shape and size.
VERBS = {
    "cbor": "convert {in} --quiet -o {out}.cbor",
    "text": "convert {in} --quiet -o {out}.functional.fnz",
    "pt2": "convert {in} --quiet -o {out}.pt2",
    "json": "convert {in} --quiet -o {out}.json",
    "keep": "convert {in} --quiet --views keep -o {out}.keep.cbor",
    "strided": "convert {in} --quiet --views strided -o {out}.strided.cbor",
    "core": "convert {in} --quiet --decompose core -o {out}.core.cbor",
    "epilogue": "convert {in} --quiet --state epilogue -o {out}.epilogue.cbor",
    "draw": "draw {in} -o {out}.dot",
    "stats": "stats {in}",
    "lint": "lint {in}",
    "explain": "explain {in}",
    "explain_json": "explain {in} --json",
    "verify": "verify {in} --trials 1",
    "plan": "explain {in} --plan",
    "view": "view {in} -o {out}.html",
    "diff_same": "diff {out}.cbor {out}.functional.fnz",
    "diff_original": "diff {in} {out}.cbor",
    "show": "show {in}",
    "read_cbor": "show {out}.cbor",
    "read_pt2": "show {out}.pt2",
    "read_json": "stats {out}.json",
}
NEEDS = {"diff_same": ["cbor", "text"], "diff_original": ["cbor"], "read_cbor": ["cbor"], "read_pt2": ["pt2"],
         "read_json": ["json"]}
FINDS = ("lint", "diff_original")  # they may exit with 1
QUICK = [("unbind", "pt2"), ("batch_norms", "json"), ("inputs", "diff_same"), ("written_inputs", "explain"),
         ("cat_of_slices", "explain"), ("foreach_list", "lint"), ("conds", "explain"), ("guards", "diff_same"),
         ("foreach_functional", "verify"), ("slice_writes", "verify"), ("weights", "diff_same"),
         ("cached_layers", "core"), ("unbind", "read_pt2"), ("pointwise", "read_pt2"), ("pointwise", "read_cbor"),
         ("pointwise", "plan"), ("slice_writes", "plan"), ("foreach_functional", "plan"), ("decode_steps", "plan"),
         ("decode_steps_of_their_own", "plan"), ("decode_steps_that_compute", "plan"),
         ("decode_steps_by_index", "plan"), ("slice_writes", "view"), ("unbind", "view")]

# Shapes that --quick leaves to .ci/more: they take long, or are much like others.
LONG = set("""inputs_that_share symbols unused_symbols same_node dead random asserts collectives
transposes_in_a_row dtype_views_in_a_row t_in_place views_of_one slices_then_writes slice_writes_backwards
overlapping_slice_writes columns foreach_of_columns foreach_out split_out foreach_of_one cats integers
unused_inputs outputs_that_are_an_input numbers_as_outputs operator_calls long_name long_string
sum_of_symbols sums_of_symbols region_that_writes_slices""".split())


def command(verb, program, out):
    return [w.replace("{in}", program).replace("{out}", out) for w in VERBS[verb].split()]


class Refused(Exception):
    pass


class Failed(Exception):
    pass


def check(code, error, verb):
    if code == 2:
        raise Refused(error.strip())
    if code == -signal.SIGXCPU or code == 128 + signal.SIGXCPU:
        raise Failed(f"takes more than {LONGEST} seconds")
    if code != 0 and not (code == 1 and verb in FINDS):
        raise Failed(f"exit {code}: {error.strip()}")


def ran(words, verb):
    """Standard output and error of a command that ends well, and in time."""
    limited = ["bash", "-c", f'ulimit -t {LONGEST}; exec "$@"', "bash", *words]
    try:
        run = subprocess.run(limited, capture_output=True, text=True, errors="replace", timeout=10 * LONGEST)
    except subprocess.TimeoutExpired:
        raise Failed(f"hangs: {10 * LONGEST} seconds") from None
    check(run.returncode, "\n".join(l for l in run.stderr.split("\n") if not l.startswith(("==", "--"))), verb)
    return run.stdout, run.stderr


def instructions(words, verb):
    _, error = ran(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *words],
                   verb)
    return int(re.search(r"I +refs: +([\d,]+)", error)[1].replace(",", ""))


# Starts the command from a small process: Linux counts what a process had before exec() as its own.
PEAK = """
import os, sys
pid = os.fork()
if not pid:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss * 1024)
code = os.waitstatus_to_exitcode(status)
sys.exit(128 - code if code < 0 else code)
"""


def memory(words, verb):
    return int(ran([sys.executable, "-I", "-S", "-c", PEAK, *words], verb)[0])


def growth(small, large, start):
    """How many times as much the large one takes per byte; each is (bytes, count)."""
    per_byte = [max(count - start, 1) / size for size, count in (small, large)]
    return per_byte[1] / per_byte[0]


class Bench:
    def __init__(self, fnz, folder):
        self.fnz, self.folder = os.path.abspath(fnz), folder
        self.starts = {}

    def program(self, shape, n):
        path = f"{self.folder}/{shape}.{n}.fnz"
        if not os.path.exists(path):
            text = shapes.SHAPES[shape](n)
            unfinished = f"{path}.{threading.get_ident()}"
            with open(unfinished, "w") as f:
                f.write(text)
            os.replace(unfinished, path)
        return path

    def count(self, measure, shape, verb, n):
        path = self.program(shape, n)
        for needed in NEEDS.get(verb, []):
            words = command(needed, path, path[:-4])
            if not os.path.exists(words[-1]):
                ran([self.fnz, *words], needed)
        return os.path.getsize(path), measure([self.fnz, *command(verb, path, path[:-4])], verb)

    def start(self, measure, verb):
        key = measure.__name__, verb
        if key not in self.starts:
            self.starts[key] = self.count(measure, "pointwise", verb, 1)[1]
        return self.starts[key]

    def measure(self, shape, verb):
        """[(the counted quantity, growth)], of memory only if it is large; counts that are refused are left out."""
        pairs = [self.count(instructions, shape, verb, n) for n in (SMALL, TIMES * SMALL)]
        found = [("instructions", growth(*pairs, self.start(instructions, verb)))]
        try:
            pairs = [self.count(memory, shape, verb, n) for n in (LARGE, TIMES * LARGE)]
        except Refused as refused:
            return found, f"memory of more: {refused}"
        start = self.start(memory, verb)
        if pairs[1][1] > start + 24 * MEGABYTE:
            pairs[0] = pairs[0][0], max(pairs[0][1], start + 2 * MEGABYTE)
            found.append(("memory", growth(*pairs, start)))
        return found, None


def exceptions(path):
    with open(path) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    return {tuple(row[:3]): (float(row[3]), row[4]) for row in rows}


def judge(key, grown, known):
    """The fault, or None."""
    if grown > MOST and key not in known:
        return f"{grown:.2f} times as much per byte at {TIMES} times the size; at most {MOST}"
    if grown > MOST and grown > 1.2 * known[key][0]:
        return f"grew by {grown:.2f}; the exception says {known[key][0]}"
    if grown <= MOST and key in known:
        return f"grows by {grown:.2f} only: take it out of the exceptions"
    return None


def unused(known, measured, pairs):
    """Exceptions for pairs that should have been measured, but were not, or for no shape or verb."""
    return [k for k in known if k not in measured
            and (k[:2] in pairs or k[0] not in shapes.SHAPES or k[1] not in VERBS)]


def self_test():
    line, square = [(n, 1000 + 50 * n) for n in (10, 40)], [(n, 1000 + n * n) for n in (10, 40)]
    key = ("shape", "verb", "instructions")
    assert judge(key, growth(*line, 1000), {}) is None
    assert judge(key, growth(*square, 1000), {})
    assert judge(key, growth(*square, 1000), {key: (4.0, "")}) is None
    assert judge(key, growth(*square, 1000), {key: (2.0, "")})
    assert judge(key, growth(*line, 1000), {key: (4.0, "")})
    assert unused({key: (4.0, "")}, set(), [])
    assert LONG <= set(shapes.SHAPES) and {v for _, v in QUICK} <= set(VERBS)
    key = ("pointwise", "cbor", "memory")
    assert unused({key: (4.0, "")}, set(), [key[:2]]) and not unused({key: (4.0, "")}, {key}, [key[:2]])
    assert not unused({key: (4.0, "")}, set(), [])
    raises(Refused, 2, "cbor")
    for code, verb in ((1, "verify"), (3, "cbor"), (5, "cbor"), (-11, "cbor"), (128 + signal.SIGXCPU, "cbor")):
        raises(Failed, code, verb)
    check(1, "", "lint")
    print("self-test passed")


def raises(kind, code, verb):
    try:
        check(code, "", verb)
    except kind:
        return
    raise AssertionError(f"exit {code} of {verb} is no {kind.__name__}")


def one_job(job):
    """The shape, the verb, the counts, why the command refuses it, the error."""
    bench, shape, verb = job
    try:
        return shape, verb, *bench.measure(shape, verb), None
    except Refused as refused:
        return shape, verb, [], str(refused), None
    except Failed as failed:
        return shape, verb, [], None, str(failed)


def jobs_of(options):
    if options.shape or options.verb:
        return [(s, v) for s in ([options.shape] if options.shape else shapes.SHAPES)
                for v in ([options.verb] if options.verb else VERBS)]
    if options.quick:
        quick = [(s, "cbor") for s in shapes.SHAPES if s not in LONG] + QUICK
        return quick if options.turn is None else quick[int(options.turn, 16) % 2::2]
    return [(s, v) for s in shapes.SHAPES for v in VERBS if v != "plan" or (s, v) in QUICK]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fnz", nargs="?")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--turn")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--shape")
    parser.add_argument("--verb")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    known = exceptions(os.path.join(os.path.dirname(os.path.abspath(__file__)), "exceptions.tsv"))
    pairs = jobs_of(options)
    measured, refused, wrong = set(), 0, []

    def failed(shape, verb, what, why):
        wrong.append((shape, verb, what))
        print(f"{shape}\t{verb}\t{what}\t{why}", flush=True)

    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        bench = Bench(options.fnz, folder)
        for shape, verb, found, why, error in pool.map(one_job, [(bench, s, v) for s, v in pairs]):
            if why is not None:
                refused += 1
                print(f"{shape}\t{verb}\trefused\t{why.splitlines()[0]}", flush=True)
            if error is not None:
                failed(shape, verb, "run", error)
            for what, grown in found:
                measured.add((shape, verb, what))
                if options.all:
                    print(f"{shape}\t{verb}\t{what}\t{grown:.2f}", flush=True)
                problem = judge((shape, verb, what), grown, known)
                if problem:
                    failed(shape, verb, what, problem)
    for key in unused(known, measured, pairs):
        failed(*key, "was not measured: take it out of the exceptions")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(measured)} counted, {refused} refused by the command, {len(known)} exceptions, {len(wrong)} wrong; "
          f"{used.ru_utime + used.ru_stime:.0f} seconds of CPU time")
    return bool(wrong) or not measured


if __name__ == "__main__":
    sys.exit(main())
