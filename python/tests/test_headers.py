"""The package declares the library's functions, structures and numbers as the public headers do."""

import ctypes
import re
import unittest
from pathlib import Path

from fnz import _library, _structures, errors

HEADERS = Path(__file__).resolve().parents[2] / "include" / "fnz"
BY_VALUE = {"fnz_method": "H", "fnz_module": "E", "fnz_place": "G", "fnz_methods_weight": "U",
            "fnz_memory": "M", "fnz_slot": "S", "fnz_input_spec": "N", "fnz_output_spec": "O", "fnz_symbol": "Y",
            "fnz_param": "P", "fnz_stats": "F", "fnz_node_info": "D", "fnz_weight": "W"}
LETTERS = {"void": "v", "int": "i", "bool": "b", "uint32_t": "I", "int64_t": "l", "uint64_t": "L", "size_t": "z",
           **BY_VALUE}
NUMBERS = {"int": ctypes.c_int, "bool": ctypes.c_bool, "size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32,
           "int64_t": ctypes.c_int64, "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16,
           "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double, "char": ctypes.c_char,
           "long": ctypes.c_long}
STRUCTURES = {value.__doc__: value for value in vars(_structures).values()
              if isinstance(value, type) and issubclass(value, ctypes.Structure) and value.__module__ == "fnz._structures"}


def read_headers() -> str:
    text = "\n".join(path.read_text() for path in sorted(HEADERS.glob("*.h")))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return text.replace("\\\n", " ")


TEXT = read_headers()
ENUMS = set(re.findall(r"typedef enum (\w+)", TEXT)) | set(re.findall(r"typedef enum \{[^}]*\} (\w+)", TEXT))


def letter(declared: str, is_parameter: bool) -> str:
    """The letter of _library.SIGNATURES for a parameter, name and all, or for a result."""
    words = declared.replace("*", " * ").split()
    if "*" in words or "[" in declared:
        plain = [word for word in words if word != "*"][: len(words) - words.count("*") - is_parameter]
        return "s" if plain == ["const", "char"] and words.count("*") == 1 else "p"
    kind = [word for word in words if word not in ("const", "struct", "unsigned")] or ["int"]
    return "i" if kind[0] in ENUMS else LETTERS.get(kind[0], f"<{kind[0]}>")


def prototypes() -> dict:
    found = {}
    for result, name, parameters in re.findall(r"FNZ_API\s+([\w\s*]+?)\s*\b(fnz_\w+)\(([^;{}]*?)\);", TEXT):
        parameters = [] if parameters.strip() in ("void", "") else parameters.split(",")
        taken = "".join(letter(one.strip(), True) for one in parameters)
        found[name] = f"{letter(result, False)} {taken}".strip()
    return found


def enumerators(name: str) -> list:
    body = re.search(rf"typedef enum {name} \{{(.*?)\}}", TEXT, re.S).group(1)
    return re.findall(r"\b(FNZ_\w+)", body)


def rows(name: str, column: int) -> list:
    body = re.search(rf"#define {name}\(ROW\)(.*?)\n", TEXT).group(1)
    return [row.split(",")[column].strip().strip('"') for row in re.findall(r"ROW\(([^)]*)\)", body)]


def fields_of(name: str) -> list:
    """(name, ctypes type or "pointer", length) of each field."""
    body = re.search(rf"typedef struct (?:{name} )?\{{([^{{}}]*(?:\{{[^{{}}]*\}}[^{{}}]*)?)\}} {name};", TEXT).group(1)
    body = re.sub(r"union \{[^}]*\} (\w+)", r"fnz_arg_union \1", body)
    found = []
    for field in filter(None, (one.strip() for one in body.split(";"))):
        pointer = re.search(r"\(\*(\w+)\)", field)
        if pointer:
            found.append((pointer.group(1), "pointer", 1))
            continue
        kind, declared = re.match(r"((?:const |struct )*\w+)\s*(.*)", field, re.S).groups()
        for one in declared.split(","):
            word = re.search(r"(\w+)\s*(?:\[(\w+)\])?$", one.strip())
            length = word.group(2) or "1"
            length = int(length) if length.isdigit() else _structures.MAX_RANK
            found.append((word.group(1), "pointer" if "*" in one else kind.split()[-1], length))
    return found


def described(kind) -> tuple:
    """The same of a field of ctypes."""
    if hasattr(kind, "_length_"):
        return kind._type_, kind._length_
    is_pointer = kind in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(kind, "contents")
    return ("pointer" if is_pointer else kind), 1


class Headers(unittest.TestCase):
    def test_functions(self):
        known = prototypes()
        self.assertGreater(len(known), 150)
        for name, types in _library.SIGNATURES.items():
            self.assertIn(name, known)
            self.assertEqual(types, known[name], name)

    def test_structures(self):
        self.assertGreater(len(STRUCTURES), 25)
        for name, structure in STRUCTURES.items():
            wanted = []
            for field, kind, length in fields_of(name):
                kind = ctypes.c_int if kind in ENUMS else NUMBERS.get(kind, kind)
                kind = _structures.ArgUnion if kind == "fnz_arg_union" else STRUCTURES.get(kind, kind)
                wanted.append((field, (kind, length)))
            self.assertEqual([(field, described(kind)) for field, kind in structure._fields_], wanted, name)

    def test_numbers(self):
        self.assertEqual([f"FNZ_{name}" for name in errors.STATUSES], enumerators("fnz_status"))
        self.assertEqual([f"FNZ_ARG_{name}" for name in _structures.TAGS], enumerators("fnz_tag"))
        self.assertEqual([f"FNZ_VIEWS_{name.upper()}" for name in _structures.VIEWS], enumerators("fnz_views"))
        self.assertEqual([f"FNZ_STATE_{name.upper()}" for name in _structures.STATES], enumerators("fnz_state"))
        self.assertEqual([f"FNZ_READING_{name.upper()}" for name in _structures.READINGS], enumerators("fnz_reading"))
        self.assertEqual(["FNZ_SIDE_INPUT", "FNZ_SIDE_OUTPUT", "FNZ_SIDE_STATE"], enumerators("fnz_side"))
        self.assertEqual([f"FNZ_{name.upper()}" for name in _structures.MEMORY_FORMATS.values()],
                         enumerators("fnz_memory_format"))
        self.assertEqual(list(_structures.INPUT_KINDS), rows("FNZ_INPUT_KIND_ROWS", 1))
        self.assertEqual(list(_structures.OUTPUT_KINDS), rows("FNZ_OUTPUT_KIND_ROWS", 1))
        self.assertIn(f"#define FNZ_MAX_RANK {_structures.MAX_RANK}", TEXT)
        self.assertIn(f"FNZ_HASH_BYTES = {_structures.HASH_BYTES}", TEXT)
        devices = dict(re.findall(r"(kDL\w+) = (\d+)", TEXT))
        self.assertEqual([_structures.CPU, _structures.CUDA, _structures.CUDA_HOST, _structures.CUDA_MANAGED],
                         [int(devices[f"kDL{name}"]) for name in ("CPU", "CUDA", "CUDAHost", "CUDAManaged")])
        version = re.findall(r"#define FNZ_VERSION_\w+ (\d+)", TEXT)
        self.assertEqual(_library.VERSION, ".".join(version))
        self.assertIn(f"#define FNZ_ABI_VERSION {_library.ABI}\n", TEXT)

    def test_it_can_fail(self):
        self.assertNotEqual(letter("const char *name", True), letter("const char *const *names", True))
        self.assertEqual(letter("fnz_view *x", True), "p")
        self.assertEqual([field for field, _, _ in fields_of("fnz_arg")], ["tag", "flags", "count", "u"])


if __name__ == "__main__":
    unittest.main()
