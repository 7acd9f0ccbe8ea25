#!/usr/bin/env python3
"""Makes seeds for fuzz/pt2 of archives that PyTorch wrote: the same programs in fewer bytes; and for fuzz/external.

    scripts/make_fuzz_seeds.py FOLDER MOST FILE.pt2 ...
    scripts/make_fuzz_seeds.py --pairs FNZ FOLDER MOST FILE ...

--pairs: CBOR and the file of its weights as FNZ writes them, in one (tests/fuzz/pair.h).

Leaves out what no reader needs (sample inputs, module_call_graph, where nodes come from), the
spaces of JSON and the gaps between records; writes FOLDER/NAME unless it has more than MOST bytes.
A file `program.pt2` gets the name of its folder."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile


def smaller(value):
    """Without what only says where something comes from."""
    if isinstance(value, dict):
        return {k: {} if k == "metadata" else [] if k == "module_call_graph" else smaller(v)
                for k, v in value.items()}
    return [smaller(v) for v in value] if isinstance(value, list) else value


def make(source, target, most):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            if "sample_inputs" in entry.filename or "serialization_id" in entry.filename:
                continue
            data = old.read(entry)
            if entry.filename.endswith(".json"):
                data = json.dumps(smaller(json.loads(data)), separators=(",", ":")).encode()
            name = "p/" + entry.filename.split("/", 1)[1]
            new.writestr(zipfile.ZipInfo(name), data)
    if target.stat().st_size > most:
        target.unlink()


def make_pair(fnz, source, target, most):
    with tempfile.TemporaryDirectory() as where:
        program = pathlib.Path(where) / "w.cbor"
        subprocess.run([fnz, "convert", source, "-o", program, "--external-weights"], check=True)
        cbor, weights = program.read_bytes(), program.with_suffix(".safetensors").read_bytes()
    data = struct.pack("<I", len(cbor)) + cbor + weights
    if len(data) <= most:
        target.write_bytes(data)


def main():
    if sys.argv[1] == "--pairs":
        fnz, folder, most = sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
        for file in map(pathlib.Path, sys.argv[5:]):
            make_pair(fnz, file, folder / file.stem, most)
        return
    folder, most = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    for file in map(pathlib.Path, sys.argv[3:]):
        name = file.parent.name if file.stem == "program" else file.stem
        make(file, folder / name, most)


if __name__ == "__main__":
    main()
