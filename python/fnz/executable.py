"""A program compiled once and called many times; its state is kept from call to call."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, MutableMapping
from ctypes import addressof, byref, c_int64, c_void_p, sizeof
from typing import Any

from . import _structures as s
from ._library import lib
from .arrays import fill, load_arrays, new_arrays
from .calling import Calling
from .checks import INT64, Kept, integer, path as path_of, text
from .errors import argument_error, check, failure
from .handles import Context, Handle, gpu_context
from .inplace import note_written
from .quick import module as _quick, new_caller
from .results import AnyResult, InPlace, Number, Result, end_all, giver_for, result_of
from .tensors import Look, Tensor, tensor_over

_run = lib.fnz_executable_run


def _slots(compiled: Handle, side: int) -> list[s.Slot]:
    return [lib.fnz_executable_slot(compiled.address, side, k)
            for k in range(lib.fnz_executable_count(compiled.address, side))]


class _Input:
    """An INPUT slot: where a call's tensor is looked at, and its place among the inputs of the run."""

    def __init__(self, slot: s.Slot, memory: s.Memory, donated: frozenset[str]):
        self.name = slot.name.decode()
        self.memory, self.donated = memory, self.name in donated
        self.number = None if slot.geometry else c_int64()
        self.look = Look()
        if self.number is None:
            memory.geometry = ctypes.pointer(self.look.view.geometry)
        else:
            memory.data = addressof(self.number)

    def put(self, context: Any, value: Any) -> Any:
        """Looks at an input. The caller keeps the returned object alive until the run has ended."""
        if self.number is not None:
            self.number.value = integer(value, "it", where=f"input `{self.name}`")
            return None
        look = self.look
        kept = look.at(context, value, self.name)
        if self.donated and look.view.read_only:
            raise argument_error("is read-only, and a call may write to it", f"input `{self.name}`")
        self.memory.data = look.memory.data
        return kept


class _Tables:
    """The memories of one call. An input may make another call while it is looked at, as lazy tensors do, and so may
    another thread: each has its own, which are used again when it has ended."""

    __slots__ = ("context", "context_at", "inputs", "results", "execution", "execution_at", "generator", "_memories")

    def __init__(self, compiled: Handle, donated: frozenset[str], places: dict[str, str]):
        self.context = Context()
        self.context_at = c_void_p(self.context.address)
        slots = _slots(compiled, s.SIDE_INPUT)
        given = (s.Memory * max(len(slots), 1))()
        self.inputs = [_Input(slot, given[k], donated) for k, slot in enumerate(slots)]
        slots = _slots(compiled, s.SIDE_OUTPUT)
        asked = (s.Memory * max(len(slots), 1))()
        numbers = {one.name: k for k, one in enumerate(self.inputs)}
        self.results: list[AnyResult] = []
        for k, slot in enumerate(slots):
            name = slot.name.decode()
            if name in places:
                number = numbers[places[name]]
                self.results.append(InPlace(name, asked[k], number, given[number]))
            elif not slot.in_state:
                self.results.append(result_of(slot, asked[k]))
        self.execution = s.Execution(size=sizeof(s.Execution), inputs=addressof(given), outputs=addressof(asked))
        self.execution_at, self._memories = byref(self.execution), (given, asked)
        self.generator: Handle | None = None


class Together:
    """Executables over one state: of one context, so that they run one at a time."""

    def __init__(self) -> None:
        self.context, self.executables = Context(), []  # type: Context, list[Executable]

    def reset(self) -> None:
        first: Handle | None = None
        with self.context.lock:
            for one in self.executables:
                if one._has_state:
                    first = one._new_state() if first is None else one._new_state(first)
                    one._take_state(first)


class Executable(Kept):
    """The result of Program.compile(). Calling it runs the program once:

        outputs = executable(*inputs, **named_inputs)

    Inputs are tensors of any library that has DLPack, or buffers, on the CPU; they are read where they lie, and may be
    ended or changed as soon as the call returns. Results have the structure that the exported module gives: numbers,
    and tensors of the library of the first input: of PyTorch, NumPy, JAX or CuPy, else fnz.Tensor. They have memory of
    their own, which the executable does not touch again.

    Buffers and parameters that the program changes are its `state`, kept from call to call, and begun anew by reset().
    Final values of inputs that it changes are in `mutated` after a call: the inputs themselves stay as they are, unless
    it was compiled with `in_place`.

    Threads: calls from several threads wait for each other; another() gives one for another thread. An input may itself
    call the executable when it is looked at.
    """

    _instead = "pickle the Program, and compile() that there; another() gives one more, State.save() keeps a state"

    def __init__(self, calling: Calling, compiled: Handle, donated: frozenset[str], check_meaning: Any = None,
                 together: Together | None = None, places: dict[str, str] | None = None):
        """places  names of outputs that lie in the memory of an input, and those inputs"""
        self._calling, self._compiled, self._donated, self._places = calling, compiled, donated, places or {}
        self._check_meaning = check_meaning  # against the program that compile() had to functionalize
        self._together = together
        self._context = together.context if together else Context()
        self._compiled_at = c_void_p(compiled.address)
        self._workspaces: list[Handle] = []  # of no run at the moment: one, unless a run began within a run
        self._spare = [_Tables(compiled, donated, self._places)]
        results = self._spare[0].results
        self._finals = [(k, one.name) for k, one in enumerate(results) if not one.name.startswith("output.")]
        self._by_name = {one.name: k for k, one in enumerate(results)}
        calling.check_results(self._by_name)
        self._is_bare = calling.outputs.kind == "leaf" and "output.0" in self._by_name
        self._flat = calling.flat(self._by_name)
        self._written = [one.input for one in results if type(one) is InPlace and one.is_written]
        self._results, self._caller = results, None  # type: list[AnyResult], Any
        self._quick: Any = self._begin_quick if _quick else None
        self._has_state = lib.fnz_executable_count(compiled.address, s.SIDE_STATE) > 0
        self._state: Handle | None = None
        self._generator: Handle | None = None
        self.mutated: dict[str, Any] = {}
        if together:
            together.executables.append(self)  # which begins the state when it has all
        else:
            self.reset()

    @classmethod
    def compiled(cls, program: Handle, calling: Calling, options: s.CompileOptions, donated: frozenset[str],
                 check_meaning: Any, together: Together | None = None,
                 places: dict[str, str] | None = None) -> Executable:
        context = gpu_context() if options.staging else Context()
        compiled = context.make(lib.fnz_compile, lib.fnz_executable_destroy, program.address, byref(options),
                                keeps=(program,))
        return cls(calling, compiled, donated, check_meaning, together, places)

    def another(self) -> Executable:
        """The same program, compiled already and with the same weights, but with a state of its own: for another
        thread."""
        return Executable(self._calling, self._compiled, self._donated, self._check_meaning, None, self._places)

    # --- Calling ---
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        calling = self._calling
        if calling.is_plain and not kwargs and len(args) == calling.count:
            leaves: Any = args
        else:
            leaves = [value for _, value in calling.bind(args, kwargs)]
        quick = self._quick
        given = NotImplemented if quick is None else quick(leaves)
        if given is NotImplemented:
            given = self._by_ctypes(leaves)
        if self._written:
            for k in self._written:
                note_written(leaves[k])
        if self._finals:
            self.mutated = {name: given[k] for k, name in self._finals}
        if self._is_bare:
            return given[0]
        if self._flat is not None:
            return self._flat(given[:len(given) - len(self._finals)])
        by_name = self._by_name
        return calling.give(lambda name: given[by_name[name]])

    def _begin_quick(self, leaves: Any) -> Any:
        """The first call, if the compiled part of calls is there."""
        names = [slot.name.decode() for slot in _slots(self._compiled, s.SIDE_INPUT)]
        inputs = [(not slot.geometry, name in self._donated)
                  for slot, name in zip(_slots(self._compiled, s.SIDE_INPUT), names)]
        slots, results = _slots(self._compiled, s.SIDE_OUTPUT), iter(self._results)
        outputs = [(slot, None if slot.in_state else next(results)) for slot in slots]
        with self._context.lock:
            if self._caller is None:
                self._caller = new_caller(self._context, self._compiled, self._new_workspace(), inputs, outputs)
                self._caller.set_state(self._state)
                self._caller.set_generator(self._generator)
                self._quick = self._caller.call
        return self._quick(leaves)

    def _by_ctypes(self, leaves: Any) -> list[Any]:
        try:
            tables = self._spare.pop()
        except IndexError:
            tables = _Tables(self._compiled, self._donated, self._places)
        try:
            return self._run(tables, leaves)
        finally:
            self._spare.append(tables)

    def _run(self, tables: _Tables, leaves: Any) -> list[Any]:
        context: Any = tables.context_at
        results = tables.results
        kept = [one.put(context, value) for one, value in zip(tables.inputs, leaves)]
        give = giver_for(leaves)
        try:
            for one in results:
                one.prepare()
            self._execute(tables)
            del kept
            return [give(one, context) if isinstance(one, Result) else one.value if isinstance(one, Number)
                    else leaves[one.input] for one in results]
        except BaseException:
            end_all(results)
            raise

    def _execute(self, tables: _Tables) -> None:
        """One run at a time: results in the workspace are copied before another run begins."""
        with self._context.lock:
            execution, workspaces, generator = tables.execution, self._workspaces, self._generator
            workspace = workspaces.pop() if workspaces else self._new_workspace()
            try:
                execution.workspace = workspace.address
                execution.state = self._state and self._state.address
                if tables.generator is not generator:
                    lib.fnz_context_set_generator(tables.context_at, generator and generator.address)
                    tables.generator = generator
                if _run(tables.context_at, self._compiled_at, tables.execution_at):
                    raise failure(tables.context_at)
                for one in tables.results:
                    one.take()
            finally:
                workspaces.append(workspace)

    def _new_workspace(self) -> Handle:
        return self._context.make(lib.fnz_workspace_create, lib.fnz_workspace_destroy, self._compiled.address,
                                  keeps=(self._compiled,))

    # --- State ---
    @property
    def state(self) -> State:
        """Parameters and buffers that the program changes, by name, where they lie."""
        return State(self._context, self._compiled, self._state)

    def reset(self) -> None:
        """Begins with the program's initial values again, for all methods that share the state. Tensors that `state`
        gave before keep what they have."""
        if self._together:
            self._together.reset()
        elif self._has_state:
            with self._context.lock:
                self._take_state(self._new_state())

    def _take_state(self, state: Handle) -> None:
        """For calls to come; the caller holds the lock."""
        self._state = state
        if self._caller:
            self._caller.set_state(state)

    def _new_state(self, beside: Handle | None = None) -> Handle:
        """A state of its own, or in the memory of another one."""
        function = lib.fnz_executable_state_beside if beside else lib.fnz_executable_state_create
        others = (beside.address,) if beside else ()
        return self._context.make(function, lib.fnz_executable_state_destroy, self._compiled.address, *others,
                                  keeps=(self._compiled,))

    def seed(self, seed: int) -> None:
        """Random operators draw what PyTorch draws on a CPU after torch.manual_seed(seed), and the next call goes on.
        Without, each call draws as after seed 0."""
        number = integer(seed, "the seed", INT64[0], (1 << 64) - 1)
        made = self._context.make(lib.fnz_generator_create, lib.fnz_generator_destroy, number % (1 << 64))
        with self._context.lock:
            self._generator = made
            if self._caller:
                self._caller.set_generator(made)

    def verify(self, *args: Any, **kwargs: Any) -> None:
        """Runs with these inputs, also on memory with gaps and with state, and by the interpreter: an Error with
        status DIFFERENT where one bit is not the same. A program that compile() functionalized is compared with the
        original, too: over hashes, and on these inputs. The state stays as it is."""
        context, named = Context(), dict(self._calling.bind(args, kwargs))
        arrays = fill(context, new_arrays(context), named.items())
        check(context.address, lib.fnz_executable_verify(context.address, self._compiled.address, arrays.address))
        if self._check_meaning:
            self._check_meaning(named)

    def __repr__(self) -> str:
        inputs = ", ".join(slot.name.decode() for slot in _slots(self._compiled, s.SIDE_INPUT))
        return f"<fnz.Executable: inputs {inputs or 'none'}; {len(self.state)} in its state>"


class State(Kept, MutableMapping[str, Any]):
    """The state of an executable: "buffer.cache" (or "cache") to a tensor over that very memory, which may be read and
    written between calls."""

    _instead = "save() and load() keep it in a file; dict(state) has its tensors"

    def __init__(self, context: Context, compiled: Handle, state: Handle | None):
        self._context, self._compiled, self._state = context, compiled, state

    def __getitem__(self, name: str) -> Tensor:
        if self._state is not None and isinstance(name, str):
            memory = lib.fnz_executable_state_find(self._state.address, text(name, "the name"))
            if memory.data:
                return tensor_over(memory, self._state)
        raise KeyError(f"{name}; the state has {', '.join(self) or 'nothing'}")

    def __iter__(self) -> Iterator[str]:
        return iter([slot.name.decode() for slot in _slots(self._compiled, s.SIDE_STATE)] if self._state else [])

    def __len__(self) -> int:
        return lib.fnz_executable_count(self._compiled.address, s.SIDE_STATE) if self._state else 0

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        raise argument_error("a state has the memories that the program has; none can be taken away")

    def update(self, values: Any = (), /, **more: Any) -> None:
        """Takes the elements of tensors by their names: all, or none after a failure."""
        named = {**dict(values), **more}
        for name in named:
            text(name, "the name of a part of the state")
        full = [(name if "." in name and name in self else self._full(name), value) for name, value in named.items()]
        self._read(fill(self._context, new_arrays(self._context), full))

    def _full(self, name: str) -> str:
        return next((full for full in self if full.split(".", 1)[1] == name), name)

    def load(self, path: Any) -> None:
        """Takes what save() wrote, a safetensors file."""
        self._read(load_arrays(self._context, path_of(path, "the file")))

    def _read(self, arrays: Handle) -> None:
        if self._state is None:
            raise argument_error("the program has no state")
        context = self._context
        with context.lock:
            check(context.address, lib.fnz_executable_state_read(context.address, self._state.address, arrays.address))

    def save(self, path: Any) -> None:
        """Writes a safetensors file, which appears whole or not at all."""
        if self._state is None:
            raise argument_error("the program has no state")
        name, context = path_of(path, "the file"), self._context
        arrays = new_arrays(context)
        with context.lock:
            check(context.address,
                  lib.fnz_executable_state_write(context.address, self._state.address, arrays.address))
            check(context.address, lib.fnz_arrays_save(context.address, arrays.address, name))

    def __repr__(self) -> str:
        return f"<fnz.State: {', '.join(f'{name} {tensor!r}' for name, tensor in self.items())}>"
