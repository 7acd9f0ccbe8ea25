#!/usr/bin/env python3
"""Compiles and runs cases with IREE: is what `fnz convert --to mlir` writes taken, and right?

    check_with_iree.py --fnz build/fnz [--weights KIND] [--state KIND] [--jobs N] [--list] FOLDER...
    check_with_iree.py --texts fixtures/mlir docs/iree
    check_with_iree.py --fnz build/fnz --programs [--most N] [--seed N] FOLDER...

A case is a folder with program.pt2, inputs.safetensors, expected.safetensors and case.json (only its "error" is read:
such a case is to be refused, and left out here); more steps, which go on with the state that the one before has left,
are in inputs.2.safetensors, expected.2.safetensors and so on. Values must be within 1e-5 of the largest magnitude
(1e-2 for f16 and bf16); final values of inputs and buffers are compared as well. A value that is farther off is
"unsteady", not wrong, if `fnz run` is as far off when each number of the inputs is the next one above or below: there
no order of operations is right. Prints a line for each case that is not right, then counts: right, unsteady, refused
by fnz, refused by IREE, wrong. Exit 1 if any is wrong, 77 where IREE is not installed.

With --texts every module in the folders (.mlir, and .want of tests) must compile; one that says "// IREE: MESSAGE" must
fail with that message, or is out of date: it shows a fault of IREE.

With --programs each program in the folders (.pt2, and .fnz of tests) is a case: on random inputs, at sizes that its text
allows, IREE is to give the values of `fnz run --engine interpreter`. Programs that the interpreter refuses on these inputs
are left out. --most ends after so many that were right.

Needs iree-base-compiler and iree-base-runtime from https://pypi.org, and nothing of PyTorch. Each step of a case has
a process and a time limit of its own: a compiler may loop, and a program may crash.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

FLAGS = [
    "--iree-input-type=torch",
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-demote-f64-to-f32=false",
]
# Types of a safetensors file: struct's letter and bytes of an element, IREE's element type, relative tolerance.
TYPES = {
    "BOOL": ("?", 1, "BOOL_8", 0), "U8": ("B", 1, "UINT_8", 0), "I8": ("b", 1, "INT_8", 0),
    "I16": ("h", 2, "INT_16", 0), "I32": ("i", 4, "INT_32", 0), "I64": ("q", 8, "INT_64", 0),
    "F16": ("e", 2, "FLOAT_16", 1e-2), "BF16": ("bf", 2, "BFLOAT_16", 1e-2),
    "F32": ("f", 4, "FLOAT_32", 1e-5), "F64": ("d", 8, "FLOAT_64", 1e-5),
}


KINDS = ("right", "unsteady", "refused by fnz", "refused by IREE", "wrong", "left out")


def load(path):
    """Name -> (dtype, shape, bytes) of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    entries, base = json.loads(data[8:8 + size]), 8 + size
    return {name: (*as_pairs(e["dtype"], e["shape"]), data[base + e["data_offsets"][0]:base + e["data_offsets"][1]])
            for name, e in entries.items() if name != "__metadata__"}


def as_pairs(dtype, shape):
    """Complex numbers are pairs of real ones in the dialect, of the same bytes."""
    return {"C64": ("F32", [*shape, 2]), "C128": ("F64", [*shape, 2])}.get(dtype, (dtype, shape))


def values(dtype, data):
    letter, width = TYPES[dtype][:2]
    if letter == "bf":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return struct.unpack("<%d%s" % (len(data) // width, letter), data)


def tolerance(want):
    finite = [abs(v) for v in values(want[0], want[2]) if v == v and abs(v) != float("inf")]
    return TYPES[want[0]][3] * max([1.0] + finite)


def distance(a, b):
    """The distance of two numbers; NaN, and equal infinities, have none from each other, else it is without bounds."""
    return 0 if a == b or (a != a and b != b) else abs(a - b) if abs(a - b) >= 0 else float("inf")


def farthest(got, want):
    """The largest distance of two arrays of one shape and type."""
    return max(map(distance, values(want[0], got[2]), values(want[0], want[2])), default=0)


def difference(got, want, allowed):
    """The difference between two arrays, in words, or None."""
    if list(got[1]) != list(want[1]):
        return "shape %s, not %s" % (list(got[1]), list(want[1]))
    if len(got[2]) != len(want[2]):
        return "%d bytes, not %d" % (len(got[2]), len(want[2]))
    for i, (a, b) in enumerate(zip(values(want[0], got[2]), values(want[0], want[2]))):
        if distance(a, b) > allowed:
            return "element %d is %r, not %r" % (i, a, b)
    return None


def signature(text):
    """The signature in the comments of a text: [(argument or result, kind, name or number)]."""
    found = re.findall(r'^// (argument|result|stored) \d+: (\w+)(?: "(.*)"| (\d+))?$', text, re.M)
    return [(what, kind, name or number) for what, kind, name, number in found]


# --- running, in a process of its own ---------------------------------------------------------------------------------
class Program:
    """A compiled module, which may be called again and again. `weights` is a path, or None."""

    def __init__(self, vmfb, weights):
        import iree.runtime as rt

        self.rt, self.config = rt, rt.Config("local-sync")
        instance, modules = self.config.vm_instance, list(self.config.default_vm_modules)
        if weights:
            index = rt.ParameterIndex()
            index.load(str(weights), mmap=False)  # state must not begin in memory that is read-only
            modules.append(rt.create_io_parameters_module(instance, index.create_provider(scope="model")))
        module = rt.VmModule.mmap(instance, str(vmfb))
        self.context = rt.VmContext(instance, modules + [module])
        self.function = module.lookup_function("main")

    def buffer(self, array):
        """An array in the device's memory, which a program may overwrite."""
        import numpy

        rt, (dtype, shape, data) = self.rt, array
        memory = rt.MemoryType.DEVICE_LOCAL | rt.MemoryType.HOST_VISIBLE
        usage = rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING
        bits = numpy.dtype("uint%d" % (8 * TYPES[dtype][1]))
        return self.config.device.allocator.allocate_buffer_copy(
            memory_type=int(memory), allowed_usage=int(usage), device=self.config.device,
            buffer=numpy.frombuffer(data, bits).reshape(shape),
            element_type=int(getattr(rt.HalElementType, TYPES[dtype][2])))

    def array(self, view, dtype):
        """The shape and bytes of a buffer that the program has given or overwritten."""
        import numpy

        mapped = view.map().asarray([view.byte_length], numpy.dtype("uint8"))
        return dtype, list(view.shape), bytes(mapped)

    def call(self, arguments):
        rt = self.rt
        given, results = rt.VmVariantList(len(arguments)), rt.VmVariantList(8)
        for argument in arguments:
            given.push_int(argument) if isinstance(argument, int) else given.push_ref(argument)
        self.context.invoke(self.function, given, results)
        found = [results.get_variant(i) for i in range(results.size)]
        return [item if isinstance(item, (int, float)) else results.get_as_object(i, rt.HalBufferView)
                for i, item in enumerate(found)]


def steps_of(case):
    """Inputs and expected values, step by step; of most cases there is one."""
    yield load(case / "inputs.safetensors"), load(case / "expected.safetensors")
    step = 2
    while (case / ("inputs.%d.safetensors" % step)).exists():
        yield tuple(load(case / ("%s.%d.safetensors" % (name, step))) for name in ("inputs", "expected"))
        step += 1


def place(kind, name):
    """The name of a final value among expected ones."""
    return "%s.%s" % ({"user": "output", "input_mutation": "input"}.get(kind, kind.replace("_mutation", "")), name)


def compare(program, finals, expected, before, allowed):
    """The first wrong value, in words; values that are no result must stay as they were before."""
    given = dict(finals)
    for where, want in expected.items():
        got = given.get(where, before.get(where.partition(".")[2]))
        if got is None and where.startswith("output."):
            return "%s is not among the results" % where
        if got is None or isinstance(got, (int, float)):
            continue
        wrong = difference(got if where not in given else program.array(got, want[0]), want, allowed(where, want))
        if wrong:
            return "%s: %s" % (where, wrong)
    return None


def next_to(array, draw):
    """The array with each of its floats the next one above or below."""
    dtype, shape, data = array
    if dtype not in ("F32", "F64"):
        return array
    letter, width = {"F32": "I", "F64": "Q"}[dtype], TYPES[dtype][1]
    bits = struct.unpack("<%d%s" % (len(data) // width, letter), data)
    return dtype, shape, struct.pack("<%d%s" % (len(bits), letter),
                                     *[b + draw.choice((-1, 1)) if b << 1 & (1 << 8 * width) - 1 else b for b in bits])


def save(path, arrays):
    header, at = {}, 0
    for name, (dtype, shape, data) in arrays.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in arrays.values()))


def spread(folder, case, fnz, inputs, expected):
    """How far each value moves when inputs are rounded in another way: the farthest of four draws."""
    moved, draw = collections.defaultdict(float), random.Random(1)
    for _ in range(4):
        save(folder / "near.safetensors", {name: next_to(array, draw) for name, array in inputs.items()})
        status, said = command([fnz, "run", case / "program.pt2", "--inputs", folder / "near.safetensors", "--outputs",
                                folder / "out.safetensors", "--save-state", folder / "state.safetensors"], 120)
        if status:
            return {}
        for name, array in [*load(folder / "out.safetensors").items(), *load(folder / "state.safetensors").items()]:
            if name in expected and array[1] == expected[name][1]:
                moved[name] = max(moved[name], farthest(array, expected[name]))
    return moved


def judge(program, finals, folder, case, fnz, step):
    """The first wrong value of a step, given its number, inputs and expected values; or None."""
    number, inputs, expected = step
    weights = folder / "case.safetensors"
    before = {**(load(weights) if number == 1 and weights.exists() else {}), **inputs}
    wrong = compare(program, finals, expected, before, lambda where, want: tolerance(want))
    if not wrong or number > 1:
        return wrong and "step %d, %s" % (number, wrong)
    moved = spread(folder, case, fnz, inputs, expected)
    still = compare(program, finals, expected, before,
                    lambda where, want: max(tolerance(want), moved.get(where, 0)))
    moves = moved.get(wrong.partition(": ")[0], 0)
    return still or "unsteady: %s; rounding of the inputs moves it by %.2g" % (wrong, moves)


def run(folder, case, fnz):
    """Runs the module in `folder`, step by step, and compares: prints the first difference, or nothing.

    State that is an argument is the state that the step before has returned, or overwritten. State that a module
    stores in globals of its own is seen only in the results of the next step.
    """
    weights = folder / "case.safetensors"
    said = signature((folder / "case.mlir").read_text())
    program = Program(folder / "case.vmfb", weights if weights.exists() else None)
    state = {name: program.buffer(array) for name, array in (load(weights) if weights.exists() else {}).items()}
    for number, (inputs, expected) in enumerate(steps_of(case), 1):
        arguments = {}
        for kind, name in [(kind, name) for what, kind, name in said if what == "argument"]:
            if name not in (inputs if kind == "user" else state):
                sys.exit("no value for argument %s %s" % (kind, name))
            arguments[name] = program.buffer(inputs[name]) if kind == "user" else state[name]
        results = program.call(list(arguments.values()))
        given = [(kind, name) for what, kind, name in said if what == "result"]
        state.update({name: view for (kind, name), view in zip(given, results) if kind.endswith("_mutation")})
        finals = [(place(kind, name), view) for (kind, name), view in zip(given, results)]
        finals += [(place(kind, name), arguments[name]) for what, kind, name in said
                   if what == "stored" and name in arguments]
        hidden = {place(kind, name) for what, kind, name in said if what == "stored" and name not in arguments}
        seen = {name: want for name, want in expected.items() if name not in hidden}
        wrong = judge(program, finals, folder, case, fnz, (number, inputs, seen))
        if wrong:
            print(wrong)
            return


# --- a case -----------------------------------------------------------------------------------------------------------
def command(words, seconds):
    """Exit status and the last lines that it said; the status is None when it did not end in time."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, "no end in %d s" % seconds
    return done.returncode, (done.stdout + done.stderr).strip()


def told(text):
    """The line of a compiler's output that says why."""
    lines = [line for line in text.splitlines() if "error:" in line] or text.splitlines() or ["nothing said"]
    return re.sub(r"^/\S*/", "", lines[0])[:220]


def check(case, options):
    """(class, why) of a case."""
    case = pathlib.Path(case)
    if json.loads((case / "case.json").read_text()).get("error"):
        return "left out", ""
    ops = ["--ops", case / "ops.txt"] if (case / "ops.txt").exists() else []
    with tempfile.TemporaryDirectory() as where:
        folder = pathlib.Path(where)
        mlir, vmfb = folder / "case.mlir", folder / "case.vmfb"
        status, said = command([options.fnz, "convert", case / "program.pt2", "-o", mlir, "--weights", options.weights,
                                "--state", options.state, *ops], options.seconds)
        if status:
            return "refused by fnz", told(said)
        if options.keep:
            shutil.copy(mlir, pathlib.Path(options.keep) / (case.name + ".mlir"))
        status, said = command([options.compiler, *FLAGS, mlir, "-o", vmfb], options.seconds)
        if status != 0:
            return "refused by IREE", told(said)
        status, said = command([sys.executable, __file__, "--run", folder, case, options.fnz], options.seconds)
        if status != 0:
            return "wrong", "the run failed: " + (said.splitlines() or ["nothing said"])[-1][:200]
        if said.startswith("unsteady: "):
            return "unsteady", said.splitlines()[0][len("unsteady: "):]
        return ("wrong", said.splitlines()[0]) if said else ("right", "")


def check_text(path, options):
    """(class, why) of one module."""
    text = path.read_text()
    fault = re.search(r"^// IREE: (.*)$", text, re.M)
    if "module @module" not in text and not fault:
        return "left out", ""
    with tempfile.TemporaryDirectory() as where:
        mlir = pathlib.Path(where) / "text.mlir"
        mlir.write_text(re.sub(r"^# exit .*$", "", text, flags=re.M))
        status, said = command([options.compiler, *FLAGS, mlir, "-o", mlir.with_suffix(".vmfb")], options.seconds)
    if fault:
        return ("right", "") if status and fault[1] in said else ("wrong", "not refused with: " + fault[1])
    return ("right", "") if status == 0 else ("refused by IREE", told(said))


def texts_of(folders):
    return sorted(path for folder in folders for path in pathlib.Path(folder).iterdir()
                  if path.suffix in (".mlir", ".want"))


def cases_of(folders):
    return sorted(pathlib.Path(at) for folder in folders for at, _, files in os.walk(folder) if "case.json" in files)


# --- programs on random inputs ----------------------------------------------------------------------------------------
ELEMENTS = {"i1": "BOOL", "ui8": "U8", "si8": "I8", "si16": "I16", "si32": "I32", "si64": "I64", "f32": "F32", "f64": "F64"}


def sizes_of(text, draw):
    """Argument -> sizes, for arguments whose sizes are symbolic: of multiples of symbols, at random numbers in
    range."""
    numbers = {}
    for name, least, most in re.findall(r"(%\S+) = torch.symbolic_int .*min_val = (\d+), max_val = (\d+)", text):
        numbers[name] = draw.randint(max(int(least), 2), min(int(most), max(int(least), 2) + 6))
    found = {}
    for name, symbols, shape in re.findall(
            r"torch.bind_symbolic_shape (%[^ ,]+), \[(.*?)\], affine_map<\(\)\[.*?\] -> \((.*?)\)>", text):
        known = {"s%d" % i: numbers[symbol] for i, symbol in enumerate(symbols.split(", "))}
        if not re.fullmatch(r"[s0-9 *+,-]*", shape):
            return None
        found[name] = [eval(size, {"__builtins__": {}}, known) for size in shape.split(", ")]
    return found


def drawn(element, sizes, draw):
    """An array; integers are 0 or 1, which indices may be."""
    count, dtype = 1, ELEMENTS[element]
    for size in sizes:
        count *= size
    numbers = [draw.uniform(0.1, 1) if dtype in ("F32", "F64") else draw.randint(0, 1) for _ in range(count)]
    return dtype, sizes, struct.pack("<%d%s" % (count, TYPES[dtype][0]), *numbers)


def draw_inputs(text, draw):
    """User inputs by name, for the arguments of a module's function; None where one cannot be drawn."""
    head, bound = text.partition("func.func @main(")[2].partition(")\n      -> (")[0], sizes_of(text, draw)
    arguments = re.findall(r"(%[^\s:]+): !torch\.(?:vtensor<\[([^\]]*)\],(\w+)>|tensor<\[([^\]]*)\],(\w+)>|(\w+))", head)
    given = [(kind, name) for what, kind, name in signature(text) if what == "argument"]
    inputs = {}
    for (kind, name), (value, shape, element, *_) in zip(given, arguments):
        if kind != "user":
            continue
        sizes = (bound or {}).get(value) or [int(size) for size in shape.split(",") if size.isdigit()]
        if bound is None or element not in ELEMENTS or len(sizes) != len([s for s in shape.split(",") if s]):
            return None
        inputs[name] = drawn(element, sizes, draw)
    return inputs


def make_case(program, folder, options, draw):
    """A case of a program in the folder; False where there is none."""
    folder.mkdir(parents=True)
    shutil.copy(program, folder / "program.pt2")
    (folder / "case.json").write_text("{}")
    status, _ = command([options.fnz, "convert", program, "-o", folder / "drawn.mlir", "--quiet"], 60)
    inputs = draw_inputs((folder / "drawn.mlir").read_text(), draw) if status == 0 else None
    if inputs is None:
        return False
    save(folder / "inputs.safetensors", inputs)
    status, _ = command([options.fnz, "run", program, "--engine", "interpreter", "--inputs", folder / "inputs.safetensors",
                         "--outputs", folder / "expected.safetensors", "--threads", "1"], 60)
    return status == 0


def programs_of(folders):
    found = [path for folder in folders for path in pathlib.Path(folder).rglob("*")
             if path.suffix == ".pt2" or (path.suffix == ".fnz" and path.stat().st_size < 20000)]
    return sorted(found, key=lambda path: (path.suffix != ".pt2", str(path)))


def check_programs(options):
    """Exit status."""
    counts, draw = collections.Counter(), random.Random(options.seed)
    with tempfile.TemporaryDirectory() as where:
        for number, program in enumerate(programs_of(options.folders)):
            case = pathlib.Path(where) / str(number) / program.stem
            if counts["right"] == options.most:
                break
            kind, why = check(case, options) if make_case(program, case, options, draw) else ("left out", "")
            counts[kind] += 1
            if options.list or kind in ("wrong", "unsteady"):
                print("%s: %s%s" % (program, kind, ": " + why if why else ""), flush=True)
    print(", ".join("%d %s" % (counts[kind], kind) for kind in KINDS))
    return 1 if counts["wrong"] or counts["right"] < max(options.least, 1) else 0


def find_compiler():
    beside = pathlib.Path(sys.executable).with_name("iree-compile")
    return str(beside) if beside.exists() else shutil.which("iree-compile")


def main():
    if sys.argv[1:2] == ["--run"]:
        return run(*map(pathlib.Path, sys.argv[2:5]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fnz", default="build/fnz", type=os.path.abspath)
    parser.add_argument("--texts", action="store_true", help="the folders hold modules, not cases")
    parser.add_argument("--programs", action="store_true", help="the folders hold programs, not cases")
    parser.add_argument("--most", type=int, default=20, help="of programs that are right")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn")
    parser.add_argument("--weights", default="external")
    parser.add_argument("--state", default="outputs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=180, help="for one step of one case")
    parser.add_argument("--least", type=int, default=0, help="fail where fewer are right")
    parser.add_argument("--keep", help="a folder for the texts")
    parser.add_argument("--list", action="store_true", help="a line for each case that is right, too")
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    options = parser.parse_args()
    options.compiler = find_compiler()
    if not options.compiler:
        print("SKIPPED: iree-compile is not installed; pip install iree-base-compiler iree-base-runtime")
        sys.exit(77)
    if options.programs:
        sys.exit(check_programs(options))
    cases, counts = (texts_of if options.texts else cases_of)(options.folders), collections.Counter()
    one = check_text if options.texts else check
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, (kind, why) in zip(cases, pool.map(lambda case: one(case, options), cases)):
            counts[kind] += 1
            if options.list or kind not in ("right", "left out"):
                print("%s/%s: %s%s" % (case.parent.name, case.name, kind, ": " + why if why else ""), flush=True)
    print(", ".join("%d %s" % (counts[kind], kind) for kind in KINDS))
    bad = counts["wrong"] + (counts["refused by IREE"] if options.texts else 0)
    sys.exit(1 if bad or counts["right"] < max(options.least, 1) else 0)


if __name__ == "__main__":
    main()
