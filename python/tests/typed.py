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


def as_functions(program: fnz.Program, x: object) -> object:
    functional: fnz.Program = fnz.functionalize(program, views="keep")
    core: fnz.Program = fnz.decompose(functional, "core")
    report: fnz.Report = fnz.verify(core, program, trials=1)
    for finding in fnz.lint(program):
        print(finding.kind)
    explanation: fnz.Explanation = fnz.explain(program)
    for cost in explanation.costs:
        print(cost.bytes, cost.why, cost.remedy)
    for reason in explanation.reasons:
        print(reason.reason, reason.place)
    return fnz.run(core, x, scale=1) if report else None
