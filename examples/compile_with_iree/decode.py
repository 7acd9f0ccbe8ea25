#!/usr/bin/env python3
"""Calls a compiled decoder step by step: decode.py MODULE WEIGHTS CASE. Its state stays in the module."""
import json
import pathlib
import struct
import sys

import iree.runtime as rt
import numpy


def load(path):
    """The f32 arrays of a safetensors file."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    entries = json.loads(data[8:8 + size])
    return {name: numpy.frombuffer(data[8 + size:][slice(*e["data_offsets"])], numpy.float32).reshape(e["shape"])
            for name, e in entries.items() if e["dtype"] == "F32"}


def main(vmfb, weights, case):
    config = rt.Config("local-task")
    index = rt.ParameterIndex()
    index.load(weights, mmap=False)  # mapped memory is read-only, and the state begins there
    parameters = rt.create_io_parameters_module(config.vm_instance, index.create_provider(scope="model"))
    program = rt.VmModule.mmap(config.vm_instance, vmfb)
    decode = rt.load_vm_modules(parameters, program, config=config)[-1].main
    ends = ["safetensors", "2.safetensors", "3.safetensors", "4.safetensors"]
    for step, end in enumerate(ends, 1):
        x, want = load(case / ("inputs." + end))["x"], load(case / ("expected." + end))["output.0"]
        y = decode(x).to_host()
        error = numpy.abs(y - want).max()
        print("step %d: %s differs from PyTorch by %.1e at most" % (step, numpy.round(y[:3], 4), error))
        if not error <= 1e-5:
            sys.exit("wrong")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
