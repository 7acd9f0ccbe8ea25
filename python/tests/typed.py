"""How a caller with `mypy --strict` uses the package; scripts/wheel.sh --test checks its types."""

from __future__ import annotations

import fnz


def prepare(path: str) -> bytes:
    program: fnz.Program = fnz.load(path)
    functional = program.functionalize(views="keep")
    report: fnz.Report = functional.verify(program)
    if not report:
        raise SystemExit(report.message)
    for finding in program.lint():
        print(finding.what)
    executable: fnz.Executable = functional.compile(threads=1, in_place=True)
    print(executable.state, functional.stats.copies)
    return functional.write("cbor")
