#!/usr/bin/env python3
"""Runs the tests of the Python package and writes which of its lines ran: {FILE: [LINE, ...]}, for scripts/cover.py. Lines
that OUT.json has from a run before are kept.

    cover_python.py OUT.json        FNZ_LIBRARY and PYTHONPATH as for the tests (python/tests/run.cmake)

Lines of other threads count, too. It needs only Python's own library."""
import collections
import json
import os
import sys
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "python", "fnz") + os.sep
ran: dict = collections.defaultdict(set)


def count(frame, event, _):
    name = frame.f_code.co_filename
    if not name.startswith(PACKAGE):
        return None
    if event in ("line", "call"):
        ran[os.path.relpath(name, ROOT)].add(frame.f_lineno)
    return count


def main():
    threading.settrace(count)
    sys.settrace(count)
    tests = os.path.join(ROOT, "python", "tests")
    result = unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.discover(tests, top_level_dir=tests))
    sys.settrace(None)
    if os.path.exists(sys.argv[1]):
        for path, lines in json.load(open(sys.argv[1])).items():
            ran[path].update(lines)
    json.dump({path: sorted(lines) for path, lines in ran.items()}, open(sys.argv[1], "w"))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
