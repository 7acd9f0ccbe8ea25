"""The shared library: where it is, whether it is of this version, and the functions of it that are called."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any, Callable

from . import _structures as s

VERSION = "0.1.0"  # of the library that this package is made for, and of the package
ABI = 1000  # FNZ_ABI_VERSION of <fnz/api.h>, which says which libraries fit
_SHORT = ".".join(VERSION.split(".")[:2])  # libraries of one of these have one interface
_NAME = f"libfnz.so.{_SHORT}"
_CORE = f"libfnz_core.so.{_SHORT}"  # of the wheel fnz-core

# Result and parameters of each function: v void, i int or an enum, b bool, I uint32_t, l int64_t, L uint64_t,
# z size_t, s const char *, p any other pointer, and by value the structures of _TYPES.
SIGNATURES = {
    # status.h, context.h
    "fnz_class_name": "s i", "fnz_context_create": "i pp", "fnz_context_destroy": "v p", "fnz_last_error": "p p",
    "fnz_context_peak_bytes": "z p", "fnz_context_set_reading": "v pi",
    "fnz_context_set_progress": "v ppp", "fnz_version": "s", "fnz_abi_version": "i", "fnz_buffer_free": "v pp",
    # types.h, operator.h
    "fnz_dtype_get_info": "p i", "fnz_op_declare": "i psp", "fnz_op_count": "z",
    "fnz_op_at": "p z", "fnz_op_find": "p ps", "fnz_op_name": "s p", "fnz_op_schema": "s p", "fnz_op_kind": "s p",
    "fnz_op_functional_twin": "p p", "fnz_op_is_view": "b p", "fnz_op_is_mutating": "b p", "fnz_op_tags": "s p",
    "fnz_op_param_count": "z p", "fnz_op_param": "P pz", "fnz_cpu_has_kernel": "b p", "fnz_op_suggest": "i psp",
    # program.h
    "fnz_program_destroy": "v p", "fnz_program_stats": "F p", "fnz_program_torch_version": "s p",
    "fnz_program_module_call_graph": "s p", "fnz_graph_count": "z p", "fnz_node_count": "z pz",
    "fnz_node_metadata": "s pzz", "fnz_node_module": "E pzzz",
    "fnz_program_node": "D pzz", "fnz_graph_inputs": "p pzp", "fnz_graph_outputs": "p pzp", "fnz_node_write": "i ppzzbp",
    "fnz_value_name": "s pzL", "fnz_value_geometry": "p pzL", "fnz_program_symbol": "Y pI",
    "fnz_program_weight": "W ps", "fnz_program_rename_weight": "i ppss",
    "fnz_program_input": "N pz", "fnz_program_output": "O pz",
    # lend.h
    "fnz_program_lend_weights": "i pppz",
    # methods.h
    "fnz_methods_create": "i ppzp", "fnz_methods_destroy": "v p", "fnz_methods_count": "z p", "fnz_methods_at": "H pz",
    "fnz_methods_count_weights": "z p", "fnz_methods_weight_at": "U pz", "fnz_methods_read": "i ppzip",
    "fnz_methods_load": "i psip", "fnz_methods_write": "i ppp", "fnz_methods_save": "i pps",
    # formats.h, mlir.h
    "fnz_format_find": "i s", "fnz_program_read": "i ppzip", "fnz_program_load": "i psip",
    "fnz_program_write": "i ppip", "fnz_program_save": "i ppis", "fnz_program_save_external": "i pps",
    "fnz_mlir_save": "i ppps", "fnz_file_write": "i pspz",
    # functionalize.h, explain.h, decompose.h, targets.h, compare.h
    "fnz_functionalize": "i pppp", "fnz_program_alias": "i pps", "fnz_verify_hashes": "i ppppp",
    "fnz_program_check_types": "i pppp", "fnz_verify": "i pppppp", "fnz_run": "i pppppp",
    "fnz_lint": "i pppp", "fnz_findings_destroy": "v p", "fnz_findings_count": "z p", "fnz_findings_at": "p pz",
    "fnz_findings_no_run": "s p", "fnz_cost_kind_name": "s i",
    "fnz_finding_kind_name": "s i", "fnz_origins_destroy": "v p", "fnz_origins_at": "p pzz", "fnz_reason_name": "s i",
    "fnz_reason_words": "s i", "fnz_source_place": "G s",
    "fnz_plan_write": "i pppp", "fnz_decompose": "i pppp",
    "fnz_decomposition_why_left": "s pp", "fnz_target_find": "p s", "fnz_target_at": "p z",
    "fnz_page_write": "i pppp",
    "fnz_program_compare": "i pppp", "fnz_difference_destroy": "v p", "fnz_program_hash": "i ppbp",
    # arrays.h, backend.h, random.h
    "fnz_arrays_create": "i pp", "fnz_arrays_destroy": "v p", "fnz_arrays_count": "z p", "fnz_arrays_at": "p pz",
    "fnz_arrays_add": "i psiIpp", "fnz_arrays_load": "i psp", "fnz_arrays_save": "i pps",
    "fnz_cpu_backend_create": "i pip", "fnz_backend_destroy": "v p", "fnz_generator_create": "i pLp",
    "fnz_generator_destroy": "v p", "fnz_generator_set_seed": "v pL", "fnz_context_set_generator": "v pp",
    # engine.h
    "fnz_lint_run": "i ppppp", "fnz_costs_find": "i pppp", "fnz_costs_destroy": "v p", "fnz_costs_count": "z p",
    "fnz_costs_at": "p pz", "fnz_costs_sizes": "s p",
    "fnz_compile": "i pppp", "fnz_executable_destroy": "v p", "fnz_executable_count": "z pi",
    "fnz_executable_slot": "S piz", "fnz_executable_run": "i ppp", "fnz_executable_verify": "i ppp",
    "fnz_workspace_create": "i ppp", "fnz_workspace_destroy": "v p", "fnz_executable_state_create": "i ppp",
    "fnz_executable_state_destroy": "v p", "fnz_executable_state_find": "M ps", "fnz_executable_state_read": "i ppp",
    "fnz_executable_state_write": "i ppp", "fnz_executable_state_beside": "i pppp",
    # dlpack.h
    "fnz_dlpack_look": "i ppp", "fnz_dlpack_make": "i pppp", "fnz_dlpack_make_unversioned": "i ppp",
}

_TYPES = {
    "v": None, "i": ctypes.c_int, "b": ctypes.c_bool, "I": ctypes.c_uint32, "l": ctypes.c_int64, "L": ctypes.c_uint64,
    "z": ctypes.c_size_t, "s": ctypes.c_char_p, "p": ctypes.c_void_p, "M": s.Memory, "S": s.Slot, "N": s.InputSpec,
    "O": s.OutputSpec, "Y": s.Symbol, "P": s.Param, "F": s.Stats, "D": s.NodeInfo, "W": s.Weight, "H": s.Method,
    "U": s.MethodsWeight, "G": s.Place, "E": s.Module,
}


def _candidates() -> list[str]:
    """Paths at which the library may be, best first; a bare name is searched by the loader."""
    named = os.environ.get("FNZ_LIBRARY")
    if named:
        return [named]
    package = Path(__file__).resolve().parent
    found = [package / _NAME, package / _CORE]
    for folder in list(package.parents)[:4]:  # PREFIX/lib/python3/dist-packages, or of a virtual environment
        found += [folder / _NAME, *folder.glob(f"*-linux-gnu/{_NAME}")]
    tree = package.parent.parent  # of the sources: python/fnz beside build/
    if (tree / "include" / "fnz" / "api.h").is_file():
        found.append(tree / "build" / _NAME)
    return [str(path) for path in found if path.is_file()] + [_NAME]


def _blas_core() -> str:
    """The loops of OpenBLAS for this processor, as cli/main.c chooses them. Empty: OpenBLAS chooses."""
    try:
        with open("/proc/cpuinfo", encoding="ascii") as file:
            flags = next((set(line.split()) for line in file if line.startswith("flags")), set())
    except (OSError, ValueError):
        return ""
    if flags >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"}:
        return "SkylakeX"
    return "Haswell" if flags >= {"avx2", "fma"} else ""


def _open() -> ctypes.CDLL:
    tried = _candidates()
    problem, core = "", _blas_core()
    chooses = core and "OPENBLAS_CORETYPE" not in os.environ
    if chooses:
        os.environ["OPENBLAS_CORETYPE"] = core  # which OpenBLAS reads when it is loaded
    try:
        for path in tried:
            try:
                return ctypes.CDLL(path)
            except OSError as error:
                problem = str(error)
    finally:
        if chooses:
            del os.environ["OPENBLAS_CORETYPE"]
    raise ImportError(f"fnz: the library cannot be loaded ({problem}); install libfnz {_SHORT}, or set FNZ_LIBRARY to "
                      f"the path of {_NAME}")


def _bind(library: ctypes.CDLL) -> ctypes.CDLL:
    """Checks the version, then gives each function its types."""
    try:
        library.fnz_version.restype = ctypes.c_char_p
        version, abi = library.fnz_version().decode(), library.fnz_abi_version()
    except AttributeError:
        raise ImportError(f"fnz: {library._name} is not libfnz; set FNZ_LIBRARY to the path of {_NAME}") from None
    if abi // 1000 != ABI // 1000 or abi < ABI:
        raise ImportError(f"fnz: {library._name} is libfnz {version} with the interface {abi}, this package is for {VERSION} "
                          f"with {ABI}; install one version of both, or set FNZ_LIBRARY")
    for name, types in SIGNATURES.items():
        result, _, parameters = types.partition(" ")
        try:
            function = getattr(library, name)
        except AttributeError:
            setattr(library, name, _missing(library._name, version, name))
            continue
        function.restype = _TYPES[result]
        function.argtypes = [_TYPES[one] for one in parameters]
    return library


def _missing(path: str, version: str, name: str) -> Callable[..., Any]:
    """In place of a function that the library has not: it is libfnz_core, or older."""
    def fail(*_: object) -> None:
        raise NotImplementedError(f"fnz: {path} (libfnz {version}) has no {name}: it is libfnz_core, or older than "
                                  f"this package; install libfnz {VERSION} (the wheel fnz in place of fnz-core)")
    return fail


lib = _bind(_open())
