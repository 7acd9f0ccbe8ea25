"""Several programs over common weights and one state, in one file: prefill and decode."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Iterable

from . import _structures as s
from ._library import lib
from ._python import name_of
from .checks import Kept, choice, path as path_of, text
from .errors import check, type_error
from .executable import Executable, Together
from .handles import Context, Handle
from .program import Program, declaring


def load_methods(source: Any, *, ops: Iterable[str] = (), reading: str = "map") -> Methods:
    """Reads what Methods.save() or `fnz convert a.pt2 b.pt2 -o model.cbor` wrote: a path, or bytes. A file of one program
    has one method, "main".

    ops      schemas of custom operators: "ns::name(Tensor(a!) x) -> ()"
    reading  of a path: see load()
    """
    context = declaring(ops)
    lib.fnz_context_set_reading(context.address, choice(reading, s.READINGS, "reading"))
    if isinstance(source, (str, os.PathLike)):
        return Methods._of(context, context.load(lib.fnz_methods_load, lib.fnz_methods_destroy,
                                                 path_of(source, "the file"), 0), {})
    if isinstance(source, (bytes, bytearray, memoryview)):
        held = bytes(source)
        return Methods._of(context, context.make(lib.fnz_methods_read, lib.fnz_methods_destroy, held, len(held), 0), {})
    raise type_error(f"a file of methods is a path or bytes; this is of type {name_of(type(source))}")


class Methods(Kept, Mapping[str, Any]):
    """Programs by name. Parameters and buffers of one name are one in all of them, and so is the state that they compile
    to. A set never changes, and any thread may use it.

        methods = fnz.Methods({"prefill": fnz.load("prefill.pt2"), "decode": fnz.load("decode.pt2")})
        methods.functionalize().save("model.cbor")
    """

    _instead = "save() and load_methods() keep it in a file"

    def __init__(self, programs: Mapping[str, Program]):
        """Refused where weights of one name are not the same: see fnz_methods_create()."""
        context = Context()
        for name, program in programs.items():
            if not isinstance(program, Program):
                raise type_error(f"the method {name} must be a fnz.Program, as fnz.load() gives it; this is of type "
                                 f"{name_of(type(program))}")
        given = (s.Method * len(programs))(*[s.Method(text(name, "the name of a method"), program._handle.address)
                                             for name, program in programs.items()])
        handle = context.make(lib.fnz_methods_create, lib.fnz_methods_destroy, given, len(given))
        self._begin(context, handle, {name: program._structure for name, program in programs.items()})

    @classmethod
    def _of(cls, context: Context, handle: Handle, structures: Mapping[str, str | None]) -> Methods:
        made = cls.__new__(cls)
        made._begin(context, handle, structures)
        return made

    def _begin(self, context: Context, handle: Handle, structures: Mapping[str, str | None]) -> None:
        self._context, self._handle, self._programs = context, handle, {}
        for k in range(lib.fnz_methods_count(handle.address)):
            one = lib.fnz_methods_at(handle.address, k)
            name = one.name.decode()
            borrowed = Handle(one.program, _leave, context, handle)
            self._programs[name] = Program(context, borrowed, structures.get(name))

    def __getitem__(self, name: str) -> Program:
        try:
            return self._programs[name]
        except KeyError:
            raise KeyError(f"{name}; the methods are {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)

    def _weights(self) -> list[s.MethodsWeight]:
        return [lib.fnz_methods_weight_at(self._handle.address, k)
                for k in range(lib.fnz_methods_count_weights(self._handle.address))]

    @property
    def state(self) -> tuple[str, ...]:
        """Qualified names of the parameters and buffers that some method changes. Known of functional programs."""
        return tuple(weight.name.decode() for weight in self._weights() if weight.is_state)

    def functionalize(self, **options: Any) -> Methods:
        """Each method functionalized: the options of Program.functionalize()."""
        return Methods({name: program.functionalize(**options) for name, program in self.items()})

    def compile(self, device: str = "cpu", *, threads: int = 0, cache: str | None = None, check: bool = False
                ) -> dict[str, Executable]:
        """All methods as something to call, over one state: each goes on where the last call of any of them ended, and
        reset() of one is that of all. They run one at a time. Options: see Program.compile()."""
        if not all(program._is_functional for program in self.values()):
            return self.functionalize().compile(device, threads=threads, cache=cache, check=check)
        together, held = Together(), self.state if device == "cpu" else ()
        made = {name: program._compiled(device, threads, (), cache, check, held, together)
                for name, program in self.items()}
        together.reset()
        return made

    def write(self) -> bytes:
        """The bytes of CBOR."""
        return self._context.bytes_of(lib.fnz_methods_write, self._handle.address)

    def save(self, path: Any) -> None:
        """Writes CBOR, which appears whole or not at all."""
        context, name = self._context, path_of(path, "the file")
        with context.lock:
            check(context.address, lib.fnz_methods_save(context.address, self._handle.address, name))

    def __repr__(self) -> str:
        return f"<fnz.Methods: {', '.join(self)}; {len(self._weights())} weights, {len(self.state)} in their state>"


def _leave(address: int) -> None:
    """The set ends its programs."""
