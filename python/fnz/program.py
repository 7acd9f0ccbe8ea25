"""Programs: read, rewritten, compared, written."""

from __future__ import annotations

import io
import itertools
import os
from ctypes import byref, c_char_p, c_ubyte, c_void_p, cast, sizeof
from typing import Any, Callable, Iterable, Mapping

from . import _structures as s
from ._library import lib
from ._python import name_of
from .arrays import fill, new_arrays, tensors_of
from .calling import Calling
from .checks import an, choice, flag, integer, named, path as path_of, text, text_of_sizes, texts
from .dtypes import DTYPES
from .errors import Error, argument_error, check, failure, type_error
from .executable import Executable, Together
from .graph import Input, Nodes, Output, read_inputs, read_outputs
from .handles import Context, Handle
from .inplace import written_inputs
from .progress import Function
from .reports import Difference, Finding, Findings, Report, Stats
from .tensors import Tensor


_MOST_THREADS, _MOST_TRIALS = 4096, 1_000_000


def _array(names: list[bytes]) -> Any:
    """An array of C strings."""
    return (c_char_p * len(names))(*names)


def refuse_module(value: Any) -> None:
    """Refuses a module of PyTorch, which has no graph yet. PyTorch is not imported for it."""
    if any(kind.__name__ == "Module" and kind.__module__ == "torch.nn.modules.module" for kind in type(value).__mro__):
        raise type_error(f"{name_of(type(value))} is a module, which is not traced yet: give torch.export.export(model, args), "
                         "with an example of its arguments")


def _format_of(path: bytes) -> str:
    """The format that the name of a file ends with."""
    ending = os.path.splitext(os.fsdecode(path))[1].lstrip(".")
    if not ending:
        raise argument_error("the name says no format; give format=: pt2, json, cbor, text, dot or mlir", os.fsdecode(path))
    return ending


def _format(name: str) -> int:
    name = {"fnz": "text"}.get(name, name) if isinstance(name, str) else name
    number: int = lib.fnz_format_find(text(name, "the format"))
    if not number and name != "auto":
        raise argument_error(f"there is no format {name!r}; pt2, json, cbor, text, dot and mlir are")
    return number


def declaring(ops: Iterable[str]) -> Context:
    """A context that knows custom operators by their schemas."""
    context = Context()
    for schema in texts(ops, "the schemas of operators"):
        with context.lock:
            check(context.address, lib.fnz_op_declare(context.address, schema, None))
    return context


def load(source: Any, *, format: str = "auto", ops: Iterable[str] = (), aliases: Iterable[str] = (),
         renamed: Mapping[str, str] | None = None, reading: str = "map", progress: Function | None = None) -> Program:
    """Reads a program: a path, bytes, or a torch.export.ExportedProgram.

    format   "auto" by content, else "pt2", "json", "cbor" or "text"
    ops      schemas of custom operators: "ns::name(Tensor(a!) x) -> ()"
    aliases  inputs that share memory: "x=y[1:]"
    renamed  other names of parameters and buffers, by qualified name: {"kv.cache": "cache"}
    reading  of a path: "map": weights stay pages of the file, which all processes share; if it is written over, each use
             of them is an Error. "map_late": without a check of their checksums, for which all of them are read. "copy":
             the file may change
    progress  called with a Progress, at most ten times a second, if it takes long; False cancels
    """
    context = declaring(ops)
    lib.fnz_context_set_reading(context.address, choice(reading, s.READINGS, "reading"))
    number, shared = _format(format), texts(aliases, "the aliases")
    if type(source).__name__ == "ExportedProgram" and type(source).__module__.startswith("torch.export"):
        source = _exported(source)
    if isinstance(source, (str, os.PathLike)):
        with context.followed(progress):
            handle = context.load(lib.fnz_program_load, lib.fnz_program_destroy, path_of(source, "the program"), number)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        held = bytes(source)
        handle = context.make(lib.fnz_program_read, lib.fnz_program_destroy, held, len(held), number)
    else:
        refuse_module(source)
        if hasattr(source, "read"):
            raise type_error(f"a {name_of(type(source))} is an open file: give its path, or the bytes of its read()")
        raise type_error("a program is a path, bytes or a torch.export.ExportedProgram; this is of type "
                         f"{name_of(type(source))}; torch.export.export(model, args) makes one of a model")
    for alias in shared:
        with context.lock:
            check(context.address, lib.fnz_program_alias(context.address, handle.address, alias))
    for old, new in dict(renamed or {}).items():
        names = text(old, "the name of a weight"), text(new, "its other name")
        with context.lock:
            check(context.address, lib.fnz_program_rename_weight(context.address, handle.address, *names))
    return Program(context, handle)


def _target(name: str) -> s.Target:
    found = lib.fnz_target_find(text(name, "the target"))
    if not found:
        addresses = itertools.takewhile(bool, map(lib.fnz_target_at, itertools.count()))
        known = ", ".join(s.Target.from_address(address).name.decode() for address in addresses)
        raise argument_error(f"there is no target {name!r}; {known} are")
    return s.Target.from_address(found)


def _exported(program: Any) -> bytes:
    import torch

    from .pytorch.subclasses import plain
    file = io.BytesIO()
    torch.export.save(plain(program), file)
    return file.getvalue()


def _unpickled(data: bytes, structure: str | None) -> Program:
    program = load(data)
    return Program(program._context, program._handle, structure)


class Program:
    """A traced program, or one derived from it. It never changes, and any thread may use it."""

    def __init__(self, context: Context, handle: Handle, structure: str | None = None):
        """structure  of inputs and outputs, where the library has none of it"""
        self._context, self._handle = context, handle
        own = lib.fnz_program_module_call_graph(handle.address)
        self._structure = own.decode() if own else structure

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled as the bytes of CBOR, weights and all, and the structure, which CBOR has no place for."""
        return _unpickled, (self.write("cbor"), self._structure)

    def __copy__(self) -> Program:
        return self

    def __deepcopy__(self, memo: Any) -> Program:
        return self

    # --- What is made of it ---
    def functionalize(self, *, views: str | None = None, state: str | None = None, deny: Iterable[str] = (),
                      target: str | None = None, progress: Function | None = None) -> Program:
        """The same program without writes and, unless `views` is "keep", without aliases.

        views   "copy", the default, "keep" or "strided"
        state   final values are "outputs", the default, an "epilogue" writes them, or "io": the state is
                 plain inputs and outputs, which the caller holds. "buffers": as "io", but buffers stay
        deny    operators that the result must not have. See fnz_functionalize()
        target  the reader of the result, "executorch", "coreml", "openvino", "onnx", "tvm", "torch-mlir" or "iree": it
                decides views and state that are not given; operators that it lacks are taken apart. See left()
        progress  see load()
        """
        if target is not None:
            wanted = _target(target)
            views = s.VIEWS[wanted.views] if views is None else views
            state = s.STATES[wanted.state] if state is None else state
            made = self.functionalize(views=views, state=state, deny=deny, progress=progress)
            return made.decompose(wanted.set.decode(), views=views, progress=progress)
        views, state = "copy" if views is None else views, "outputs" if state is None else state
        names = _array(texts(deny, "the operators that are denied"))
        options = s.FunctionalizeOptions(
            sizeof(s.FunctionalizeOptions), choice(views, s.VIEWS, "views"), choice(state, s.STATES, "state"),
            cast(names, c_void_p), len(names), cast(lib.fnz_verify_hashes, c_void_p),
            cast(lib.fnz_program_check_types, c_void_p), None)
        return self._made(lib.fnz_functionalize, byref(options), progress)

    def decompose(self, set: str = "core", *, decompose: Iterable[str] = (), keep: Iterable[str] = (),
                  views: str = "copy", progress: Function | None = None) -> Program:
        """Operators of a functional program as steps of others: of the set "core", "prims", "runnable", "mlir"."""
        more = _array(texts(decompose, "the operators to take apart"))
        kept = _array(texts(keep, "the operators to keep"))
        options = s.DecomposeOptions(sizeof(s.DecomposeOptions), text(set, "the set"), cast(more, c_void_p), len(more),
                                     cast(kept, c_void_p), len(kept), choice(views, s.VIEWS, "views"))
        return self._made(lib.fnz_decompose, byref(options), progress)

    def left(self, target: str) -> dict[str, str]:
        """Operators of the program that a target does not take, each with why it could not be taken apart."""
        options = s.DecomposeOptions(sizeof(s.DecomposeOptions), _target(target).set)
        found = {}
        for graph in range(lib.fnz_graph_count(self._handle.address)):
            for node in range(lib.fnz_node_count(self._handle.address, graph)):
                info = lib.fnz_program_node(self._handle.address, graph, node)
                why = lib.fnz_decomposition_why_left(byref(options), info.op) if info.op else None
                if why:
                    found[info.target.decode()] = why.decode()
        return found

    def _made(self, function: Any, options: Any, progress: Function | None) -> Program:
        with self._context.followed(progress):
            handle = self._context.make(function, lib.fnz_program_destroy, self._handle.address, options)
        return Program(self._context, handle, self._structure)

    def compile(self, device: str = "cpu", *, threads: int = 0, donated: Iterable[str] = (), cache: str | None = None,
                check: bool = False, in_place: bool = False) -> Executable:
        """The program as something to call: see Executable. One with writes or views is functionalized before.

        device    "cpu", "cuda", "cuda:1"; inputs and results are memory of the CPU in any case
        threads   of one call; 0: as many as there are cores, at most 4096. Changes no result
        donated   inputs, by graph name, whose memory a call may overwrite
        cache     a folder where kernels for a GPU are kept
        check     a plan that is not proved fails
        in_place  inputs that the program changes are changed, as by eager PyTorch; after a failure they have any values
        """
        return self._compiled(device, threads, donated, cache, check, in_place=in_place)

    def _compiled(self, device: str, threads: int, donated: Iterable[str], cache: str | None, check: bool,
                  held: Iterable[str] = (), together: Together | None = None, in_place: bool = False) -> Executable:
        """held  parameters and buffers that are in the state although the program only reads them"""
        program = self if self._is_functional else self.functionalize()
        given = texts(donated, "the names of donated inputs")
        places: dict[str, str] = {}
        if flag(in_place, "in_place"):
            written, places = written_inputs(program._handle)
            given += [name.encode() for name in written if name.encode() not in given]
            places.update((f"input.{name}", name) for name in written)
        names, place = _array(given), text(device, "the device")
        kept = _array(texts(held, "the names of the state"))
        options = s.CompileOptions(
            sizeof(s.CompileOptions), integer(threads, "threads", 0, _MOST_THREADS), cast(names, c_void_p), len(names),
            None, flag(check, "check"), False, place, None if cache is None else path_of(cache, "the cache"),
            not place.startswith(b"cpu"), cast(kept, c_void_p), len(kept), in_place)
        owners = frozenset(name.decode() for name in given)
        check_meaning = None if program is self else program._check_meaning(self)
        return Executable.compiled(program._handle, program._calling(), options, owners, check_meaning, together,
                                   places)

    def _calling(self) -> Calling:
        return Calling(self._handle, self._structure)

    @property
    def _is_functional(self) -> bool:
        """It means values: nothing is written, no view is taken, and nothing goes by strides of memory."""
        stats = self.stats
        return not (stats.mutations or stats.views or any(
            lib.fnz_program_node(self._handle.address, graph, node).target.startswith(b"as_strided")
            for graph in range(lib.fnz_graph_count(self._handle.address))
            for node in range(lib.fnz_node_count(self._handle.address, graph))))

    def _check_meaning(self, original: Program) -> Callable[[dict[str, Any]], None]:
        """Raises when this program differs from the original on inputs by name."""
        def check_on(inputs: dict[str, Any]) -> None:
            report = self.verify(original, inputs=inputs)
            if not report:
                raise Error("DIFFERENT", "DIFFERENT", "", f"functionalized, the program differs: {report.message}")
        return check_on

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """One call, by the interpreter: a functional program as such, any other one on memory that aliases, as
        eager PyTorch runs it. The inputs stay as they are."""
        calling = self._calling()
        outputs = self.run_arrays(dict(calling.bind(args, kwargs)))
        calling.check_results(outputs)
        numbers = {f"output.{k}" for k, one in enumerate(calling.results) if one.meta is None}
        return calling.give(lambda name: outputs[name].item() if name in numbers else outputs[name])

    def run_arrays(self, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
        """The same by name: inputs, and weights to replace; "output.0", "buffer.cache", ... of fnz_run().
        Numbers are tensors without dimensions."""
        context = Context()
        given = fill(context, new_arrays(context), named(inputs, "the inputs"))
        results = new_arrays(context)
        options = s.RunOptions(sizeof(s.RunOptions), not self._is_functional, False)
        backend = context.make(lib.fnz_cpu_backend_create, lib.fnz_backend_destroy, 0)
        with context.lock:
            check(context.address, lib.fnz_run(context.address, self._handle.address, backend.address, given.address,
                                               byref(options), results.address))
        return tensors_of(results)

    # --- Checking and comparing ---
    def verify(self, original: Program, *, inputs: Mapping[str, Any] | None = None, trials: int = 2,
               ignore_weights: bool = False, allow_narrower: bool = False,
               ignore_memory: bool = False, progress: Function | None = None) -> Report:
        """Whether this program means what the original means: for all values of these shapes, over hashes; and on
        `inputs`, by graph name, if some are given. The report is true if it does. `allow_narrower`: this program may
        refuse sizes that the original takes. `ignore_memory`: in which memory outputs lie does not count."""
        first = an(original, Program, "the original")
        report = s.VerifyReport(size=sizeof(s.VerifyReport))
        options = s.VerifyOptions(sizeof(s.VerifyOptions), integer(trials, "trials", 1, _MOST_TRIALS),
                                  flag(ignore_weights, "ignore_weights"), flag(allow_narrower, "allow_narrower"),
                                  flag(ignore_memory, "ignore_memory"))
        context = self._context
        given = None
        if inputs is not None:
            given = fill(context, new_arrays(context), named(inputs, "the inputs"))
        with context.followed(progress):
            status = lib.fnz_verify(context.address, first._handle.address, self._handle.address,
                                    given.address if given else None, byref(options), byref(report))
            return Report.of(context.address, status, report)

    def diff(self, other: Program) -> Difference | None:
        """The first difference, whatever values are called and in whatever order nodes are; None: the same."""
        out, second = c_void_p(), an(other, Program, "the other program")
        context = self._context
        with context.lock:
            status = lib.fnz_program_compare(context.address, self._handle.address, second._handle.address, byref(out))
            try:
                if status and not out.value:
                    raise failure(context.address)
                return Difference.of(s.Difference.from_address(out.value)) if out.value else None
            finally:
                lib.fnz_difference_destroy(out)

    def hash(self, *, weights: bool = True) -> str:
        """The hash of the content, as 64 hexadecimal digits, in whatever format it is: docs/hash.md."""
        out = (c_ubyte * s.HASH_BYTES)()
        with self._context.lock:
            check(self._context.address, lib.fnz_program_hash(self._context.address, self._handle.address,
                                                              flag(weights, "weights"), out))
        return bytes(out).hex()

    def lint(self, *, sizes: Mapping[str, int] | None = None) -> Findings:
        """All that functionalizing refuses, and the copies of a run. If the engine has no plan, `no_run` of the list says
        why, and copies are of the text of the functional form. `sizes`: numbers of symbols, {"s0": 128}, instead of the
        recorded ones."""
        context, address = self._context, self._handle.address
        plan = s.PlanOptions(size=sizeof(s.PlanOptions), sizes=text_of_sizes(sizes))
        try:
            made = context.make(lib.fnz_lint_run, lib.fnz_findings_destroy, address, None, byref(plan))
        except NotImplementedError:  # libfnz_core has no engine
            made = context.make(lib.fnz_lint, lib.fnz_findings_destroy, address, None)
        findings = Findings(Finding.of(s.Finding.from_address(lib.fnz_findings_at(made.address, k)))
                            for k in range(lib.fnz_findings_count(made.address)))
        findings.no_run = (lib.fnz_findings_no_run(made.address) or b"").decode(errors="replace")
        return findings

    # --- Writing ---
    def __str__(self) -> str:
        return self.write("text").decode(errors="replace")

    def __repr__(self) -> str:
        n = self.stats
        return f"<fnz.Program: {n.nodes} nodes, {n.views} views, {n.mutations} mutations, {n.weights} weights>"

    def write(self, format: str) -> bytes:
        """The program as "pt2", "json", "cbor", "text", "dot" or "mlir"."""
        return self._context.bytes_of(lib.fnz_program_write, self._handle.address, _format(format))

    def save(self, path: Any, *, format: str = "", external_weights: bool = False, progress: Function | None = None) -> None:
        """A file that appears whole or not at all, in the format that its name ends with: .pt2, .json, .cbor, .fnz,
        .dot, .mlir (with its weights beside it). external_weights: of .cbor, weights beside it, too."""
        name, beside = path_of(path, "the file"), flag(external_weights, "external_weights")
        number = _format(format or _format_of(name))
        context, program = self._context, self._handle.address
        with context.followed(progress):
            if beside:
                status = lib.fnz_program_save_external(context.address, program, name)
            elif number == _format("mlir"):
                status = lib.fnz_mlir_save(context.address, program, None, name)
            else:
                status = lib.fnz_program_save(context.address, program, number, name)
            check(context.address, status)

    def plan(self, device: str | None = None, *, json: bool = False) -> str:
        """The engine's plan of a functional program, step by step, with the reason of each copy."""
        options = s.PlanOptions(sizeof(s.PlanOptions), flag(json, "json"),
                                None if device is None else text(device, "the device"))
        return self._context.bytes_of(lib.fnz_plan_write, self._handle.address, byref(options)).decode()

    # --- Reading ---
    @property
    def stats(self) -> Stats:
        """Figures over all graphs."""
        out = lib.fnz_program_stats(self._handle.address)
        return Stats(*(getattr(out, name) for name in Stats._fields))

    @property
    def nodes(self) -> Nodes:
        return self.graph(0)

    def graph(self, index: int) -> Nodes:
        """The nodes of a graph: 0 is the program itself, others are bodies."""
        number, count = integer(index, "the number of the graph"), lib.fnz_graph_count(self._handle.address)
        if not 0 <= number < count:
            raise argument_error(f"there is no graph {number}; the program has {count}")
        return Nodes(self._handle, number)

    @property
    def inputs(self) -> list[Input]:
        return read_inputs(self._handle)

    @property
    def outputs(self) -> list[Output]:
        return read_outputs(self._handle)

    @property
    def torch_version(self) -> str:
        """The version in the file; "" if the file has none."""
        version: bytes = lib.fnz_program_torch_version(self._handle.address)
        return version.decode()

    @property
    def parameters(self) -> dict[str, Tensor]:
        """By qualified name, where they lie: they are read-only. Weights without data in the file are left out."""
        return self._weights("parameter")

    @property
    def buffers(self) -> dict[str, Tensor]:
        return self._weights("buffer")

    @property
    def constants(self) -> dict[str, Tensor]:
        return self._weights("constant")

    def _weights(self, kind: str) -> dict[str, Tensor]:
        found = {}
        for one in self.inputs:
            if one.kind != kind or not one.target:
                continue
            weight = lib.fnz_program_weight(self._handle.address, one.target.encode())
            if weight.data:
                geometry = weight.geometry[0]
                row, rank = DTYPES[geometry.dtype], geometry.rank
                found[one.target] = Tensor(weight.data + geometry.offset * row.bytes, row,
                                           tuple(geometry.sizes[:rank]), tuple(geometry.strides[:rank]), self._handle,
                                           read_only=True)
        return found
