#!/usr/bin/env python3
"""Writes schema/facts/mlir.def anew: the operators that the torch dialect of an installed IREE compiler registers.

    mlir_names.py [--check] [schema/facts/mlir.def]

Needs iree-base-compiler (https://pypi.org/project/iree-base-compiler/). Candidates are the strings of the compiler's
library that look like names of the dialect's operators; the compiler itself decides whether each is registered.
--check writes nothing and fails where the file differs.
"""
import argparse
import pathlib
import re
import sys

HEAD = """\
/* mlir.def - operators of the torch dialect, as IREE %s registers them.
 *
 * MLIR_VERSION(version of IREE)
 * MLIR_OP(name without "torch.")
 *
 * Sorted by name (strcmp). Written by scripts/mlir_names.py: not to be edited. */
"""


def registered(path):
    """Names in the library at `path` that the compiler has registered."""
    from iree.compiler import ir

    found = re.findall(rb"(?<=\0)torch\.((?:aten|prim|prims|torchvision)\.[A-Za-z0-9_.]+)(?=\0)", path.read_bytes())
    with ir.Context() as context:
        context.load_all_available_dialects()
        return sorted({name.decode() for name in found if context.is_registered_operation("torch." + name.decode())})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where the file differs")
    parser.add_argument("table", nargs="?", default="schema/facts/mlir.def", type=pathlib.Path)
    options = parser.parse_args()

    from importlib.metadata import version

    from iree.compiler import _mlir_libs

    library = pathlib.Path(_mlir_libs.__file__).parent / "libIREECompiler.so"
    names = registered(library)
    if len(names) < 500:
        sys.exit("only %d names found in %s: is it another kind of library?" % (len(names), library))
    release = version("iree-base-compiler")
    text = HEAD % release + 'MLIR_VERSION("%s")\n' % release + "".join('MLIR_OP("%s")\n' % name for name in names)
    if not options.check:
        options.table.write_text(text)
        print("%d names" % len(names))
    elif options.table.read_text() != text:
        sys.exit("%s is not what IREE %s registers; write it anew" % (options.table, release))


if __name__ == "__main__":
    main()
