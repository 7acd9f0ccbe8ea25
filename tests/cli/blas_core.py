"""blas_core.py FNZ LIBRARY PACKAGE - the command and the Python package choose the same loops of OpenBLAS. The environment
may name others. The package leaves nothing in the environment."""
import os
import subprocess
import sys

fnz, library, package = sys.argv[1:]
IMPORT = "import os, fnz, fnz._library as l; print('chosen', l._blas_core() or 'none', os.environ.get('OPENBLAS_CORETYPE'))"


def said(*command, **environment):
    names = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    done = subprocess.run(command, env={**names, "OPENBLAS_VERBOSE": "2", "FNZ_LIBRARY": library, "PYTHONPATH": package, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = done.stdout.splitlines()
    core = [line.split()[1] for line in lines if line.startswith("Core: ")]
    chosen = [line.split()[1:] for line in lines if line.startswith("chosen ")]
    if done.returncode or len(core) != 1:
        sys.exit(f"{command[0]}: exit {done.returncode}: {done.stdout}")
    return core[0], chosen[0] if chosen else None


by_command, _ = said(fnz, "--version")
by_package, (chosen, left) = said(sys.executable, "-c", IMPORT)
if chosen not in ("none", by_package) or by_command != by_package or left != "None":
    sys.exit(f"the command takes {by_command}, the package {by_package}, for which it chose {chosen}; it left {left}")
for command in ((fnz, "--version"), (sys.executable, "-c", IMPORT)):
    if said(*command, OPENBLAS_CORETYPE="Prescott")[0] != "Prescott":
        sys.exit(f"{command[0]} does not take the loops that the environment names")
