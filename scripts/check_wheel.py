#!/usr/bin/env python3
"""Tries an installed wheel of fnz, by the Python that it is installed in; scripts/wheel.sh --test calls this.

    check_wheel.py [--core] FIXTURES

Runs the block of python/README.md on a program of FIXTURES, the command beside this Python, and, if this Python has
PyTorch, a convolution and a product in turns with PyTorch's, whose OpenMP and oneDNN are in the same process, and
torch.compile(), which finds the backend by its name.
--core: the wheel is fnz-core, which must say by name that it cannot compile."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

import fnz


def say(what):
    print("ok: " + what)


def try_readme(fixtures, readme):
    """The README's own lines, where model.pt2 is a program with a cache."""
    block = re.search(r"```python\n(.*?)```", readme.read_text(), re.S).group(1)
    block = block.replace('"model.pt2"', repr(str(fixtures / "pt2" / "kv_cache.pt2")))
    block = block.replace("executable(x)", "executable(x, pos=numpy.array([0]))")
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        known = {"x": numpy.ones((1, 1, 16), "float32"), "numpy": numpy}
        exec(block, known)
        os.chdir(before)
    assert known["outputs"].shape == (1, 1, 16), known["outputs"].shape
    say("the lines of python/README.md")


def try_core(fixtures):
    functional = fnz.load(str(fixtures / "pt2" / "kv_cache.pt2")).functionalize()
    assert functional.verify(fnz.load(str(fixtures / "pt2" / "kv_cache.pt2")))
    try:
        functional.compile()
    except NotImplementedError as error:
        assert "libfnz_core" in str(error), error
        say("fnz-core functionalizes and verifies, and says that it cannot compile")
    else:
        sys.exit("fnz-core compiles")


def try_command(fixtures):
    command = pathlib.Path(sys.executable).parent / "fnz"
    said = subprocess.run([command, "run", fixtures / "pt2" / "kv_cache.pt2", "--inputs",
                           fixtures / "pt2" / "kv_cache.inputs.safetensors"], check=True, capture_output=True, text=True)
    assert said.stdout.startswith("output.0"), said.stdout
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    assert version == "fnz " + fnz.__version__, version
    say("the command, " + version)


def try_materials():
    """The bill of materials names a package for each licence beside it."""
    folder = pathlib.Path(fnz.__file__).parent / "licenses"
    packages = json.loads((folder / "fnz.spdx.json").read_text())["packages"]
    bundled = {one["externalRefs"][0]["referenceLocator"].split("/")[-1].split("@")[0] for one in packages if "externalRefs" in one}
    missing = {path.name for path in folder.iterdir()} - bundled - {"LICENSE", "NOTICE", "fnz.spdx.json"}
    assert packages[0]["versionInfo"] == fnz.__version__ and not missing, missing
    say(f"a bill of {len(packages)} materials")


def try_calls():
    """The compiled part of calls is in the wheel, for Python 3.11 and newer."""
    from fnz import quick
    assert (quick.module is not None) == (sys.version_info >= (3, 11)), quick.module
    say("calls by " + ("the compiled module" if quick.module else "ctypes"))


def try_gpu(fixtures):
    """libfnz opens libfnz_cuda beside it: a plan for a GPU needs no GPU."""
    plan = fnz.load(str(fixtures / "pt2" / "kv_cache.pt2")).functionalize().plan("sm_90")
    assert "for sm_90: " in plan, plan
    say("a plan for sm_90")


def try_torch():
    """Both libraries compute in turns, with their own threads, in one process."""
    try:
        import torch
    except ImportError:
        return print("not tried: no PyTorch beside it")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 16, 3)
            self.linear = torch.nn.Linear(16 * 30 * 30, 64)

        def forward(self, x):
            return self.linear(torch.relu(self.conv(x)).flatten(1))

    torch.manual_seed(0)
    model, x = Model().eval(), torch.randn(4, 3, 32, 32)
    with torch.no_grad():
        executable = fnz.load(torch.export.export(model, (x,))).functionalize().compile(threads=2)
        for turn in range(20):
            wanted, got = model(x + turn), executable(x + turn)
            assert torch.allclose(wanted, torch.as_tensor(got), atol=1e-4), turn
        compiled = torch.compile(model, backend="fnz")
        assert torch.allclose(compiled(x), model(x), atol=1e-4)
    say("convolution and product in turns with PyTorch " + torch.__version__ + ", and its compiler")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--core", action="store_true")
parser.add_argument("fixtures", type=lambda path: pathlib.Path(path).resolve())
arguments = parser.parse_args()
try_materials()
if arguments.core:
    try_core(arguments.fixtures)
else:
    try_readme(arguments.fixtures, pathlib.Path(__file__).resolve().parent.parent / "python" / "README.md")
    try_command(arguments.fixtures)
    try_calls()
    try_gpu(arguments.fixtures)
    try_torch()
