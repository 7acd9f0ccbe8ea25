"""Consumers of exported programs, and the process that calls them. Runs in the Python of a converter's own
environment.

    converters.py NAME    answers requests (a line of JSON each) on standard output, each by a process of its own

A consumer is a class: `convert` gives something that computes, or None where it only converts. The computing object
takes the user inputs in their order and gives results, each with its place: output.K, buffer.NAME, input.NAME.
check_converters.py sends requests; `judge` lists the fields of a request.
"""
import copy
import importlib
import importlib.metadata
import json
import os
import pathlib
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import types
import warnings

CLOSE = 2e-3  # relative and absolute, of floats
WAIT = 15  # seconds of the clock for one of the processor


class Refused(Exception):
    """A consumer does not take the program. Says why in one line."""


# --- signatures of programs -------------------------------------------------------------------------------------------
class Signature:
    """The inputs and outputs of an exported program, by the names in cases.

    A state that became a plain input is an input whose name is that of a buffer's value in the program that was exported;
    which user output is its new value says the program's metadata."""

    def __init__(self, program, original):
        self.inputs = [spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        known = {spec.arg.name: spec for spec in original.graph_signature.input_specs}
        self.lifted = {arg.name: known[arg.name] for arg in self.inputs
                       if arg.name in known and known[arg.name].kind.name != "USER_INPUT"}
        pairs = (program.graph_module.meta.get("custom") or {}).get("fnz_state", {})
        taken = {number: self.place(name) for name, number in pairs.items()}
        self.user, self.final = [], []
        for spec in program.graph_signature.output_specs:
            if spec.kind.name == "USER_OUTPUT":
                self.user.append(taken.get(len(self.user), "output.%d" % len(self.user)))
            else:
                self.final.append(("input." if spec.kind.name == "USER_INPUT_MUTATION" else "buffer.") + spec.target)

    def place(self, name):
        """The place of an input's value."""
        spec = self.lifted.get(name)
        return "buffer." + spec.target if spec else "input." + name

    def after(self, inputs):
        """Places and values of inputs, which a call may have written."""
        return [("input." + arg.name, value) for arg, value in zip(self.inputs, inputs)
                if arg.name not in self.lifted and hasattr(value, "shape")]

    def places(self, count):
        """The places of so many results: the user's alone, or after all final values."""
        if count == len(self.user):
            return self.user
        if count == len(self.user) + len(self.final):
            return self.final + self.user
        raise Refused("gives %d results, where the program has %d and writes %d"
                      % (count, len(self.user), len(self.final)))


class TextSignature(Signature):
    """The same, from the comments of an MLIR text."""

    def __init__(self, text, original):
        import check_with_iree

        said = check_with_iree.signature(text)
        named = {(KINDS[spec.kind.name], spec.target): spec for spec in original.graph_signature.input_specs if spec.target}
        values = {spec.arg.name: spec for spec in named.values()}
        self.inputs, self.lifted, self.user, self.final = [], {}, [], []
        for kind, name in [(kind, name) for what, kind, name in said if what == "argument"]:
            self.inputs.append(types.SimpleNamespace(name=name))
            if kind != "user" or name in values:
                self.lifted[name] = values[name] if kind == "user" else named[kind, name]
        for kind, name in [(kind, name) for what, kind, name in said if what == "result"]:
            self.user.append(self.place(name) if kind == "user" and not name.isdigit() else
                             check_with_iree.place(kind, name))


KINDS = {"PARAMETER": "parameter", "BUFFER": "buffer", "CONSTANT_TENSOR": "constant"}


def weights_of(program):
    return {**program.constants, **program.state_dict}


def numbers(tensors):
    return [t.detach().contiguous().numpy() if hasattr(t, "numpy") else t for t in tensors]


# --- consumers --------------------------------------------------------------------------------------------------------
class ExecuTorch:
    """to_edge and the portable kernels. The runtime holds state and copies of inputs: its Python shows results alone."""
    packages, modules = ("executorch",), ("executorch.exir", "executorch.runtime")
    hidden = ("buffer.", "input.")

    def convert(self, program, signature, folder):
        from executorch.exir import ExecutorchBackendConfig, to_edge
        from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
        from executorch.runtime import Runtime

        states = [spec.arg.name for spec in program.graph_signature.input_specs
                  if spec.kind.name in ("BUFFER", "CONSTANT_TENSOR")]
        made = to_edge(program).to_executorch(ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(states)]))
        self.program = Runtime.get().load_program(made.buffer)
        method = self.program.load_method("forward")

        def run(inputs):
            return list(zip(signature.user, [result.clone() for result in method.execute(inputs)]))
        return run


class Onnx:
    """PyTorch's exporter and ONNX Runtime."""
    packages = ("onnxscript", "onnxruntime")
    modules, hidden = ("torch.onnx", "onnxscript", "onnxruntime"), None

    def convert(self, program, signature, folder):
        import onnxruntime
        import torch

        made = torch.onnx.export(program, dynamo=True, verbose=False, optimize=True)
        path = folder / "model.onnx"
        made.save(str(path), external_data=False)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [given.name for given in session.get_inputs()]

        def run(inputs):
            by_name = dict(zip([arg.name for arg in signature.inputs], numbers(inputs)))
            given = [by_name[name] for name in names] if set(names) <= set(by_name) else list(by_name.values())
            results = session.run(None, dict(zip(names, given)))
            return list(zip(signature.places(len(results)), results))
        return run


class CoreML:
    """Core ML tools: converts alone, for nothing runs Core ML here. Kinds and sizes of results are known."""
    packages, modules, hidden = ("coremltools",), ("coremltools",), None

    def convert(self, program, signature, folder):
        import coremltools

        program.graph.eliminate_dead_code()
        made = coremltools.convert(program, minimum_deployment_target=coremltools.target.iOS18, skip_model_load=True)
        results = list(made._mil_program.functions["main"].outputs)
        self.forms = dict(zip(signature.places(len(results)), map(self.form, results)))

    @staticmethod
    def form(result):
        """(kind of numbers, sizes), None for a size that is not known."""
        from coremltools.converters.mil.mil import types

        name = types.builtin_to_string(result.dtype)
        kind = "bool" if name == "bool" else "int" if "int" in name else "float"
        return kind, [size if str(size).isdigit() else None for size in result.shape]


class OpenVino:
    """OpenVINO on the CPU, in f32."""
    packages, modules, hidden = ("openvino",), ("openvino",), None

    def convert(self, program, signature, folder):
        import openvino

        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
        compiled = openvino.Core().compile_model(openvino.convert_model(program), "CPU", settings)

        def run(inputs):
            given = numbers(inputs)
            results = compiled(given[:len(compiled.inputs)] if len(compiled.inputs) < len(given) else given)
            results = [results[i].copy() for i in range(len(compiled.outputs))]
            return list(zip(signature.places(len(results)), results))
        return run


class Tvm:
    """TVM's importer and its virtual machine, on LLVM."""
    packages, modules, hidden = ("apache-tvm",), ("tvm", "tvm.relax.frontend.torch"), None

    def convert(self, program, signature, folder):
        import tvm
        from tvm import relax
        from tvm.relax.frontend.torch import from_exported_program

        module = from_exported_program(program)
        machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())

        def run(inputs):
            results = machine["main"](*[tvm.runtime.tensor(value) for value in numbers(inputs)])
            results = [results[i].numpy() for i in range(len(results))] if hasattr(results, "__len__") else [results.numpy()]
            return list(zip(signature.places(len(results)), results))
        return run


class TorchMlir:
    """torch-mlir's importer, down to linalg: converts alone."""
    packages, modules, hidden = ("torch-mlir",), ("torch_mlir.fx",), None

    def convert(self, program, signature, folder):
        from torch_mlir import fx

        fx.export_and_import(program, output_type="linalg-on-tensors")


class Iree:
    """IREE on the CPU: what PyTorch exported by way of torch-mlir's importer, fnz's MLIR as it is."""
    packages, modules, hidden = ("iree-base-compiler", "torch-mlir"), ("torch_mlir.fx", "iree.runtime"), None

    def compiled(self, text, folder):
        import check_with_iree

        compiler = pathlib.Path(sys.executable).with_name("iree-compile")
        done = subprocess.run([compiler, *check_with_iree.FLAGS, text, "-o", folder / "case.vmfb"], capture_output=True,
                              text=True)
        if done.returncode:
            raise Refused(check_with_iree.told(done.stderr))
        weights = text.with_suffix(".safetensors")
        return check_with_iree.Program(folder / "case.vmfb", weights if weights.exists() else None)

    def convert(self, program, signature, folder):
        from torch_mlir import fx

        text = folder / "case.mlir"
        module = fx.export_and_import(program, output_type="raw", experimental_support_mutation=True)
        text.write_text(module.operation.get_asm())
        made = self.compiled(text, folder)

        def run(inputs):
            views = [made.buffer(packed(value)) for value in inputs]
            results = [unpacked(made, view) for view in made.call(views)]
            return [*signature.after([unpacked(made, view) for view in views]), *zip(signature.places(len(results)), results)]
        return run

    def convert_text(self, text, signature, folder):
        """Converts the MLIR that fnz wrote."""
        made = self.compiled(text, folder)

        def run(inputs):
            views = [made.buffer(packed(value)) for value in inputs]
            results = [unpacked(made, view) for view in made.call(views)]
            return [*signature.after([unpacked(made, view) for view in views]), *zip(signature.user, results)]
        return run


def packed(value):
    """A tensor as an array of safetensors; a number as it is."""
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    bits = value.detach().contiguous().reshape(-1).view(torch.uint8) if value.numel() else b""
    names = {str(getattr(torch, torch_name)): name for name, torch_name in ELEMENTS.items()}
    return names[str(value.dtype)], list(value.shape), bytes(bits.numpy()) if value.numel() else b""


def unpacked(made, view):
    """A buffer of IREE's as a tensor; a number as it is."""
    import check_with_iree
    import torch

    if isinstance(view, (int, float)):
        return view
    kinds = {int(getattr(made.rt.HalElementType, row[2])): name for name, row in check_with_iree.TYPES.items()}
    name, shape, data = made.array(view, kinds[int(view.element_type)])
    dtype = getattr(torch, ELEMENTS[name])
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)


ELEMENTS = {"BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
            "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}
CONSUMERS = {"executorch": ExecuTorch, "onnx": Onnx, "coreml": CoreML, "openvino": OpenVino, "tvm": Tvm,
             "torch-mlir": TorchMlir, "iree": Iree}


def version_of(consumer):
    """Names and versions of its packages; None where one is missing."""
    try:
        return ", ".join("%s %s" % (name, importlib.metadata.version(name)) for name in consumer.packages)
    except importlib.metadata.PackageNotFoundError:
        return None


# --- cases ------------------------------------------------------------------------------------------------------------
def steps_of(case):
    """[(inputs, expected)] of a folder, or of NAME.pt2 with NAME.steps.safetensors."""
    from safetensors.torch import load_file

    case, steps = pathlib.Path(case), []
    if case.is_dir():
        while True:
            end = "safetensors" if not steps else "%d.safetensors" % (len(steps) + 1)
            if not (case / ("expected." + end)).exists():
                return steps
            steps.append((load_file(case / ("inputs." + end)), load_file(case / ("expected." + end))))
    values = load_file(case.with_suffix(".steps.safetensors"))
    for k in range(1 + max(int(name.split(".")[0]) for name in values)):
        own = {name.partition(".")[2]: value for name, value in values.items() if name.startswith("%d." % k)}
        steps.append(({name[6:]: value for name, value in own.items() if name.startswith("input.")},
                      {name: value for name, value in own.items() if not name.startswith("input.")}))
    return steps


def placed(tensor, looks):
    """A copy with the strides that the case says the input had."""
    import torch

    strides = looks["stride"] if looks else torch.empty(tensor.shape).stride()
    try:
        return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype).copy_(tensor)
    except RuntimeError:  # elements that share memory
        return tensor.clone()


def arguments(case, signature, inputs, state):
    """The user inputs in order: a step's, and the state that is passed."""
    path = pathlib.Path(case) / "case.json"
    looks = json.loads(path.read_text()).get("inputs", {}) if path.exists() else {}
    given = []
    for arg in signature.inputs:
        if signature.place(arg.name) in state:
            given.append(state[signature.place(arg.name)])
        elif arg.name in inputs:
            given.append(placed(inputs[arg.name], looks.get(arg.name)))
        else:
            given.append(getattr(arg, "value", None))
    return given


def eager_again(original, case, steps):
    """One more step with the inputs of the last: what PyTorch gives when it computes the exported graph again."""
    import torch

    held = copy.deepcopy({name: value.detach() for name, value in weights_of(original).items()})  # shares what is shared
    signature, said = Signature(original, original), None
    for inputs, _ in [*steps, steps[-1]]:
        given = iter(arguments(case, signature, inputs, {}))
        values = [next(given) if spec.kind.name == "USER_INPUT" else held[spec.target]
                  for spec in original.graph_signature.input_specs]
        with torch.no_grad():
            said = torch.fx.Interpreter(original.graph_module).run(*values)
            for spec, value in zip(original.graph_signature.output_specs, said):  # of a functional program
                if spec.kind.name in ("BUFFER_MUTATION", "PARAMETER_MUTATION"):
                    held[spec.target].copy_(value)
    user = [value for spec, value in zip(original.graph_signature.output_specs, said) if spec.kind.name == "USER_OUTPUT"]
    return {"output.%d" % k: value for k, value in enumerate(user) if isinstance(value, torch.Tensor)}


def with_all_steps(original, case):
    """A case's steps. A single one of a program that keeps state is done twice, so that what it kept is seen."""
    steps, weights = steps_of(case), weights_of(original)
    kept = [weights[place[7:]].equal(value) for place, value in steps[0][1].items()
            if place.startswith("buffer.") and place[7:] in weights]
    if len(steps) > 1 or all(kept):
        return steps
    return [*steps, (steps[-1][0], eager_again(original, case, steps))]


# --- comparing --------------------------------------------------------------------------------------------------------
def difference(got, want):
    """The difference between two values, in words, or None."""
    import torch

    got = torch.as_tensor(got)
    if got.dtype == torch.bfloat16 or got.shape != want.shape and got.numel() == want.numel() == 1:
        got = got.reshape(want.shape)
    if got.shape != want.shape:
        return "shape %s, not %s" % (list(got.shape), list(want.shape))
    kind = torch.complex128 if want.is_complex() else torch.float64
    got, want = got.to(kind), want.to(kind)
    if torch.allclose(got, want, rtol=CLOSE, atol=CLOSE, equal_nan=True):
        return None
    return "off by %.2g where the largest is %.2g" % ((got - want).abs().nan_to_num(posinf=9e99).max(),
                                                      want.abs().nan_to_num(posinf=9e99).max())


def compare(finals, step, before, hidden):
    """(verdict, why) of the values of a step; `before` is what inputs and states were, which may stay."""
    lost = []
    for place, want in step[1].items():
        if hidden and place.startswith(hidden) and place not in finals:
            continue
        got = finals.get(place, before.get(place))
        wrong = "it is not among the results" if got is None else difference(got, want)
        if wrong and place not in finals and place in before:
            lost.append(place)
        elif wrong:
            return "wrong", "%s: %s" % (place, wrong)
    return ("state lost", "new values are lost, such as that of " + lost[0]) if lost else ("right", "")


def kind_of(tensor):
    return "bool" if str(tensor.dtype) == "torch.bool" else "float" if tensor.is_floating_point() else "int"


def compare_forms(forms, want):
    """(verdict, why) of the kinds of numbers and sizes of results: {place: (kind, sizes)}. Core ML has no results that are
    truth, and gives a number as a tensor of one element."""
    for place, (kind, sizes) in forms.items():
        if place not in want:
            continue
        known, expected = kind_of(want[place]), list(want[place].shape)
        same = len(sizes) == len(expected) and all(a in (None, b) for a, b in zip(sizes, expected))
        if kind != known and known != "bool" or not same and (expected or sizes != [1]):
            return "wrong", "%s: %s of %s, not %s of %s" % (place, kind, sizes, known, expected)
    return "converts", ""


def twins_of(original):
    """Place -> the places that share its memory: exported programs list some states twice."""
    places = {}
    for name, value in weights_of(original).items():
        places.setdefault((value.data_ptr(), value.shape, value.stride()), []).append("buffer." + name)
    return {place: group for group in places.values() for place in group}


def run_steps(run, case, signature, original, hidden):
    """(verdict, why) of a consumer's program, run through the steps of a case."""
    weights, steps = weights_of(original), with_all_steps(original, case)
    state = {"buffer." + spec.target: weights[spec.target].detach().clone() for spec in signature.lifted.values()}
    before, twins = {"buffer." + name: value.detach() for name, value in weights.items()}, twins_of(original)
    for number, step in enumerate(steps, 1):
        given = dict(run(arguments(case, signature, step[0], state)))
        finals = {twin: value for place, value in given.items() for twin in twins.get(place, [place])}
        before.update({"input." + name: value for name, value in step[0].items()})
        verdict, why = compare(finals, step, before, hidden)
        if verdict != "right":
            return verdict, why if number == 1 else "step %d, %s" % (number, why)
        for place, value in finals.items():
            if place in state:
                state[place] = as_tensor(value, state[place])
    return "right", ""


def as_tensor(value, like):
    import torch

    return torch.as_tensor(value).to(like.dtype).reshape(like.shape).clone()


# --- one request ------------------------------------------------------------------------------------------------------
def reason_of(error):
    """The first cause, in one line that is the same for each program: without addresses, numbers of values, sizes."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    first = seen[-1]
    lines = [line.strip() for line in re.sub(r"\x1b\[[\d;]*m", "", str(first)).splitlines() if line.strip()]
    lines = [line for line in lines if not re.match(r"Check '|FrontEnd API failed", line)] or lines  # OpenVINO's heads
    telling = [line for line in lines if re.search(r"error:|Error|not supported|unsupported|missing", line)]
    said = lines[0] if lines and lines[0].endswith(":") else (telling or lines or ["nothing said"])[0]
    return plain("%s: %s" % (type(first).__name__, said))


def plain(text):
    """The text without what differs from program to program."""
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", text)
    text = re.sub(r"https?://\S+", "URL", text)
    text = re.sub(r"(/[\w.+-]+){2,}/?", "PATH", text)
    text = re.sub(r"InputInfo\(.*?kind=<InputKind\.(\w+).*", r"\1", text)
    text = re.sub(r": %.*", "", text)
    text = re.sub(r"[\[(][-\d, ]*\d[-\d, ]*[\])]", "[SIZES]", text)
    text = re.sub(r"(?<=[a-z])_\d+\b", "", text)
    return re.sub(r"\b\d{2,}\b", "N", text).replace("|", "/")[:200]


def original_of(request):
    """The program as exported; where PyTorch cannot load it, what fnz makes of it has the same signature and weights."""
    import torch

    try:
        return torch.export.load(request["program"])
    except Exception:
        if request["file"] == request["program"]:
            raise
    with tempfile.TemporaryDirectory() as where:
        made, ops = pathlib.Path(where) / "original.pt2", pathlib.Path(request["case"]) / "ops.txt"
        known = ["--ops", ops] if ops.exists() else []
        subprocess.run([request["fnz"], "convert", request["program"], "-o", made, *known], check=True, capture_output=True)
        return torch.export.load(made)


def opened(request):
    """(program as exported, the form of it that the consumer gets)."""
    import torch

    original = original_of(request)
    if request["file"] != request["program"]:
        return original, torch.export.load(request["file"])
    return original, original.run_decompositions({}) if request["decompose"] else torch.export.load(request["program"])


def converted(consumer, request, folder):
    """(the program as exported, signature of the program that the consumer gets, the consumer's result)."""
    if request["file"].endswith(".mlir"):
        original, text = original_of(request), pathlib.Path(request["file"])
        signature = TextSignature(text.read_text(), original)
        return original, signature, consumer.convert_text(text, signature, folder)
    original, program = opened(request)
    signature = Signature(program, original)
    return original, signature, consumer.convert(program, signature, folder)


def judge(consumer, request):
    """(verdict, why) of a request: `program` as exported, the `file` that the consumer gets, whether PyTorch is to
    `decompose` it first, the `case` with inputs and expected values, and the command `fnz`."""
    with tempfile.TemporaryDirectory() as where:
        try:
            original, signature, run = converted(consumer, request, pathlib.Path(where))
        except Exception as error:
            return "refused", reason_of(error)
        if run is None:
            return compare_forms(getattr(consumer, "forms", {}), steps_of(request["case"])[0][1])
        try:
            return run_steps(run, request["case"], signature, original, consumer.hidden)
        except Exception as error:
            return "refused", "when it runs: " + reason_of(error)


def answer(consumer, request, pipe):
    """In a process of its own: writes what became of a request."""
    os.setsid()
    limit = int(request["gigabytes"] * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"] + 5))
    said = tempfile.TemporaryFile()
    os.dup2(said.fileno(), 1), os.dup2(said.fileno(), 2)
    try:
        verdict, why = judge(consumer, request)
    except BaseException as error:
        verdict, why = "refused", reason_of(error)
    if why.endswith(":"):  # it has said the reason elsewhere
        said.seek(0)
        told = [line for line in said.read().decode(errors="replace").splitlines() if "error: " in line]
        why += " " + plain(told[0].partition("error: ")[2]) if told else ""
    os.write(pipe, json.dumps({"verdict": verdict, "why": why}).encode())
    os._exit(0)


def asked(consumer, request):
    """The answer to a request, within its processor time, and on a busy machine within a longer time of the clock."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        answer(consumer, request, write)
    os.close(write)
    started, said = time.monotonic(), b""
    while True:
        left = WAIT * request["seconds"] - (time.monotonic() - started)
        ready = left > 0 and select.select([read], [], [], left)[0]
        part = os.read(read, 65536) if ready else None
        if not part:
            break
        said += part
    if part is None:
        os.killpg(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    os.close(read)
    if part is None or not said and status & 127 in (signal.SIGXCPU, signal.SIGKILL):
        return {"verdict": "timed out", "why": "no end in %d s of processor time" % request["seconds"]}
    if not said:
        return {"verdict": "refused", "why": "crash: %s" % signal.Signals(status & 127).name if status & 127 else "ended"}
    return json.loads(said)


def main():
    consumer = CONSUMERS[sys.argv[1]]
    warnings.filterwarnings("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print is no answer
    version = version_of(consumer)
    if version:
        import torch
        import safetensors.torch

        torch.set_num_threads(1)
        version += ", torch " + torch.__version__.partition("+")[0]
        for module in consumer.modules:
            importlib.import_module(module)
    print(json.dumps({"version": version}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(asked(consumer(), json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
