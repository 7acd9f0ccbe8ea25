"""Runs examples/run_cbor.py as a module: its results must be close to arrays of the same names.

    cbor_reader.py EXAMPLES PROGRAM.cbor INPUTS.safetensors... --want WANT.safetensors
"""

import sys

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import run_cbor  # noqa: E402


def load(paths):
    return {name: array for path in paths for name, array in run_cbor.safetensors(open(path, "rb").read())}


def main(program, *paths):
    at = paths.index("--want")
    wanted, results = load(paths[at + 1:]), run_cbor.run(run_cbor.read(program), load(paths[:at]))
    for name, array in wanted.items():
        if not np.allclose(results[name], array, rtol=1e-5, atol=1e-6):
            sys.exit(f"{name} is not as wanted")
    print(f"{len(wanted)} as wanted")


if __name__ == "__main__":
    main(*sys.argv[2:])
