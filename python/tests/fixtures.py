"""Programs and recorded numbers for the tests, without NumPy."""

import importlib
import json
import math
import struct
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FORMATS = {"F32": "f", "F64": "d", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "?"}


def optional(name: str):
    """A module; None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def read_safetensors(path: str) -> dict:
    """Arrays by name, as memory that has their sizes."""
    data = (FIXTURES / path).read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__" and entry["dtype"] in FORMATS:
            begin, end = entry["data_offsets"]
            found[name] = array(FORMATS[entry["dtype"]], entry["shape"], data[start + begin:start + end])
    return found


def array(form: str, shape: list, data: bytes) -> memoryview:
    """A tensor as Python itself holds it."""
    return memoryview(bytearray(data)).cast("B").cast(form, shape) if 0 not in shape else memoryview(b"").cast(form)


def floats(shape: list, values) -> memoryview:
    return array("f", shape, struct.pack(f"{math.prod(shape)}f", *values))


def integers(shape: list, values) -> memoryview:
    return array("q", shape, struct.pack(f"{math.prod(shape)}q", *values))


def flat(value) -> list:
    """The numbers of a tensor or of memory, in order."""
    value = value.tolist()
    return [one for part in value for one in _flat(part)] if isinstance(value, list) else [value]


def _flat(value) -> list:
    return [one for part in value for one in _flat(part)] if isinstance(value, list) else [value]


def leaves(value) -> list:
    """The tensors of a structure, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    return [one for part in value for one in leaves(part)] if isinstance(value, (tuple, list)) else [value]


def close(got, wanted) -> bool:
    """As far as two ways to add the same numbers agree."""
    got, wanted = flat(got), flat(wanted)
    return len(got) == len(wanted) and all(
        math.isclose(a, b, rel_tol=2e-5, abs_tol=2e-6) or a == b or (a != a and b != b) for a, b in zip(got, wanted))
