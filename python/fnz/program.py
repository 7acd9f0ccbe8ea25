"""Programs: read, rewritten, compared, written."""

from __future__ import annotations

import io
import os
from ctypes import byref, c_char_p, c_ubyte, c_void_p, cast, sizeof
from typing import Any, Iterable, Mapping

from . import _structures as s
from ._library import lib
from ._python import name_of
from .arrays import fill, new_arrays, tensors_of
from .calling import Calling
from .dtypes import DTYPES
from .errors import argument_error, check, last_error
from .executable import Executable
from .graph import Input, Nodes, Output, read_inputs, read_outputs
from .handles import Context, Handle
from .reports import Difference, Finding, Report, Stats
from .tensors import Tensor


def texts(names: Iterable[str]) -> Any:
    """An array of C strings."""
    if isinstance(names, str):
        names = [names]
    encoded = [name.encode() for name in names]
    return (c_char_p * len(encoded))(*encoded)


def _choice(value: str, of: tuple, what: str) -> int:
    if value not in of:
        raise argument_error(f"{what} is one of {', '.join(of)}, not {value!r}")
    return of.index(value)


def _format(name: str) -> int:
    name = {"fnz": "text"}.get(name, name)
    number = lib.fnz_format_find(name.encode())
    if not number and name != "auto":
        raise argument_error(f"there is no format {name!r}; pt2, json, cbor, text, dot and mlir are")
    return number


def load(source: Any, *, format: str = "auto", ops: Iterable[str] = (), aliases: Iterable[str] = ()) -> Program:
    """Reads a program: a path, bytes, or a torch.export.ExportedProgram.

    format   "auto" by content, else "pt2", "json", "cbor" or "text"
    ops      schemas of custom operators: "ns::name(Tensor(a!) x) -> ()"
    aliases  inputs that share memory: "x=y[1:]"
    """
    context = Context()
    number = _format(format)
    for schema in ops:
        with context.lock:
            check(context.address, lib.fnz_op_declare(context.address, schema.encode(), None))
    if type(source).__name__ == "ExportedProgram" and type(source).__module__.startswith("torch.export"):
        source = _exported(source)
    if isinstance(source, (str, os.PathLike)):
        handle = context.make(lib.fnz_program_load, lib.fnz_program_destroy, os.fsencode(source), number)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        held = bytes(source)
        handle = context.make(lib.fnz_program_read, lib.fnz_program_destroy, held, len(held), number)
    else:
        raise argument_error("a program is a path, bytes or a torch.export.ExportedProgram; this is a "
                             f"{name_of(type(source))}")
    for alias in aliases:
        with context.lock:
            check(context.address, lib.fnz_program_alias(context.address, handle.address, alias.encode()))
    return Program(context, handle)


def _exported(program: Any) -> bytes:
    import torch
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


class Program:
    """A traced program, or what was made of one. It never changes, and any thread may use it."""

    def __init__(self, context: Context, handle: Handle):
        self._context, self._handle = context, handle

    # --- What is made of it ---
    def functionalize(self, *, views: str = "copy", state: str = "outputs", deny: Iterable[str] = ()) -> Program:
        """The same program without writes and, unless `views` is "keep", without aliases.

        views  "copy", "keep" or "strided"; state: final values are "outputs", or an "epilogue" writes them; deny:
        operators that the result must not have. See fnz_functionalize().
        """
        names = texts(deny)
        options = s.FunctionalizeOptions(
            sizeof(s.FunctionalizeOptions), _choice(views, s.VIEWS, "views"), _choice(state, s.STATES, "state"),
            cast(names, c_void_p), len(names), cast(lib.fnz_verify_hashes, c_void_p),
            cast(lib.fnz_program_check_types, c_void_p), None)
        return self._made(lib.fnz_functionalize, byref(options))

    def decompose(self, set: str = "core", *, decompose: Iterable[str] = (), keep: Iterable[str] = (),
                  views: str = "copy") -> Program:
        """Operators of a functional program as steps of others: of the set "core", "prims", "runnable", "mlir"."""
        more, kept = texts(decompose), texts(keep)
        options = s.DecomposeOptions(sizeof(s.DecomposeOptions), set.encode(), cast(more, c_void_p), len(more),
                                     cast(kept, c_void_p), len(kept), _choice(views, s.VIEWS, "views"))
        return self._made(lib.fnz_decompose, byref(options))

    def _made(self, function: Any, options: Any) -> Program:
        handle = self._context.make(function, lib.fnz_program_destroy, self._handle.address, options)
        return Program(self._context, handle)

    def compile(self, device: str = "cpu", *, threads: int = 0, donated: Iterable[str] = (), cache: str | None = None,
                check: bool = False) -> Executable:
        """A functional program as something to call: see Executable.

        device   "cpu", "cuda", "cuda:1"; inputs and results are memory of the CPU in any case
        threads  of one call; 0: as many as there are cores. Changes no result
        donated  inputs, by graph name, whose memory a call may overwrite
        cache    a folder where kernels for a GPU are kept
        check    a plan that is not proved fails
        """
        names = texts(donated)
        options = s.CompileOptions(
            sizeof(s.CompileOptions), threads, cast(names, c_void_p), len(names), None, check, False, device.encode(),
            os.fsencode(cache) if cache else None, not device.startswith("cpu"))
        return Executable.compiled(self._handle, options, frozenset(donated))

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """One call, by the interpreter: a functional program as such, any other one on memory that aliases, as
        eager PyTorch runs it. The inputs stay as they are."""
        calling = Calling(self._handle)
        outputs = self.run_arrays(dict(calling.bind(args, kwargs)))
        return calling.give(outputs.__getitem__)

    def run_arrays(self, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
        """The same by name: inputs, and weights to replace; "output.0", "buffer.cache", ... of fnz_run()."""
        context = Context()
        given = fill(context, new_arrays(context), inputs.items())
        results = new_arrays(context)
        stats = self.stats
        options = s.RunOptions(sizeof(s.RunOptions), bool(stats.mutations or stats.views), False)
        backend = context.make(lib.fnz_cpu_backend_create, lib.fnz_backend_destroy, 0)
        with context.lock:
            check(context.address, lib.fnz_run(context.address, self._handle.address, backend.address, given.address,
                                               byref(options), results.address))
        return tensors_of(results)

    # --- Checking and comparing ---
    def verify(self, original: Program, *, inputs: Mapping[str, Any] | None = None, trials: int = 2,
               ignore_weights: bool = False, allow_narrower: bool = False) -> Report:
        """Whether this program means what the original means: for all values of these shapes, over hashes; and on
        `inputs`, by graph name, if some are given. The report is true if it does. `allow_narrower`: this program may
        refuse sizes that the original takes."""
        report = s.VerifyReport(size=sizeof(s.VerifyReport))
        options = s.VerifyOptions(sizeof(s.VerifyOptions), trials, ignore_weights, allow_narrower)
        context = self._context
        given = None
        if inputs is not None:
            given = fill(context, new_arrays(context), inputs.items())
        with context.lock:
            status = lib.fnz_verify(context.address, original._handle.address, self._handle.address,
                                    given.address if given else None, byref(options), byref(report))
            return Report.of(context.address, status, report)

    def diff(self, other: Program) -> Difference | None:
        """The first difference, whatever values are called and in whatever order nodes are; None: the same."""
        out = c_void_p()
        context = self._context
        with context.lock:
            status = lib.fnz_program_compare(context.address, self._handle.address, other._handle.address, byref(out))
            try:
                if status and not out.value:
                    raise last_error(context.address)
                return Difference.of(s.Difference.from_address(out.value)) if out.value else None
            finally:
                lib.fnz_difference_destroy(out)

    def hash(self, *, weights: bool = True) -> str:
        """Of the content, as 64 hexadecimal digits, in whatever format it is: docs/hash.md."""
        out = (c_ubyte * s.HASH_BYTES)()
        with self._context.lock:
            check(self._context.address, lib.fnz_program_hash(self._context.address, self._handle.address, weights, out))
        return bytes(out).hex()

    def lint(self) -> list[Finding]:
        """All that functionalizing refuses, and what costs copies."""
        context = self._context
        findings = context.make(lib.fnz_lint, lib.fnz_findings_destroy, self._handle.address, None)
        return [Finding.of(s.Finding.from_address(lib.fnz_findings_at(findings.address, k)))
                for k in range(lib.fnz_findings_count(findings.address))]

    # --- Writing ---
    def __str__(self) -> str:
        return self.write("text").decode(errors="replace")

    def __repr__(self) -> str:
        n = self.stats
        return f"<fnz.Program: {n.nodes} nodes, {n.views} views, {n.mutations} mutations, {n.weights} weights>"

    def write(self, format: str) -> bytes:
        """The program as "pt2", "json", "cbor", "text", "dot" or "mlir"."""
        return self._context.bytes_of(lib.fnz_program_write, self._handle.address, _format(format))

    def save(self, path: Any, *, format: str = "", external_weights: bool = False) -> None:
        """A file that appears whole or not at all, in the format that its name ends with: .pt2, .json, .cbor, .fnz,
        .dot, .mlir (with its weights beside it). external_weights: of .cbor, weights beside it, too."""
        name = os.fsencode(path)
        number = _format(format or os.path.splitext(os.fsdecode(path))[1].lstrip(".") or "no ending")
        context, program = self._context, self._handle.address
        with context.lock:
            if external_weights:
                status = lib.fnz_program_save_external(context.address, program, name)
            elif number == _format("mlir"):
                status = lib.fnz_mlir_save(context.address, program, None, name)
            else:
                status = lib.fnz_program_save(context.address, program, number, name)
            check(context.address, status)

    def plan(self, device: str | None = None, *, json: bool = False) -> str:
        """What the engine does with a functional program, step by step, and why what is copied is."""
        options = s.PlanOptions(sizeof(s.PlanOptions), json, device.encode() if device else None)
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
        if not 0 <= index < lib.fnz_graph_count(self._handle.address):
            raise argument_error(f"there is no graph {index}")
        return Nodes(self._handle, index)

    @property
    def inputs(self) -> list[Input]:
        return read_inputs(self._handle)

    @property
    def outputs(self) -> list[Output]:
        return read_outputs(self._handle)

    @property
    def torch_version(self) -> str:
        """Of the file; "" when it did not say."""
        return lib.fnz_program_torch_version(self._handle.address).decode()

    @property
    def parameters(self) -> dict[str, Tensor]:
        """By qualified name, where they lie: they are read-only. What the file has no data for is left out."""
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
