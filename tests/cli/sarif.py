"""Validates what `fnz lint --sarif` prints by OASIS's schema of SARIF 2.1.0.

    sarif.py FNZ ROOT

The schema is in the file that FNZ_SARIF_SCHEMA names, or in build/sarif-schema-2.1.0.json, where .ci/more puts it: it has 110 kB
and belongs to OASIS. Without it the test is skipped; without python3-jsonschema too, unless FNZ_NEED_TOOLS is set."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
PROGRAMS = ["fixtures/why/*.fnz", "fixtures/boundary/*.fnz", "fixtures/cli/*.fnz", "fixtures/pt2/*.pt2", "fixtures/compilers/*.pt2"]
LEAST = 40  # findings in all, of
# The one kind that no fixture has.
LOST = ("fnz 1 program(%x: f32[2], %y: f32[2]) { %n: f32[2] = neg(%x)\n"
        "  None = _has_compatible_shallow_copy_type(%n, %y) at 'a b.py:7'\n  return %n }")
KINDS = {"refused", "scatter", "copy", "dead-write", "alias", "lost-assignment", "written-constant", "sizes"}


def missing(what):
    if os.environ.get("FNZ_NEED_TOOLS"):
        sys.exit(f"{what} is missing")
    print(f"skipped: {what} is missing")
    sys.exit(SKIPPED)


def check(fnz, program, validator, seen):
    """Lists the faults of the answer about a program."""
    done = subprocess.run([fnz, "lint", program, "--sarif"], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return []  # no program, for example one of another version
    answer = json.loads(done.stdout)
    seen += [result["ruleId"] for result in answer["runs"][0]["results"]]
    return [f"{program}: {'/'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(answer)]


def main():
    fnz, root = sys.argv[1], Path(sys.argv[2])
    path = Path(os.environ.get("FNZ_SARIF_SCHEMA") or root / "build" / "sarif-schema-2.1.0.json")
    if not path.is_file():
        print(f"skipped: {path} is missing")
        sys.exit(SKIPPED)
    try:
        from jsonschema import Draft4Validator
    except ImportError:
        missing("python3-jsonschema")
    validator, wrong, seen = Draft4Validator(json.loads(path.read_text(encoding="utf-8"))), [], []
    with tempfile.TemporaryDirectory() as folder:
        lost = Path(folder) / "lost.fnz"
        lost.write_text(LOST, encoding="utf-8")
        for program in [lost, *(found for pattern in PROGRAMS for found in sorted(root.glob(pattern)))]:
            wrong += check(fnz, program, validator, seen)
    if validator.is_valid({"version": "2.1.0", "runs": [{"tool": {}}]}):
        wrong.append("the schema takes a tool without a driver")
    if len(seen) < LEAST or not KINDS <= set(seen):
        wrong.append(f"{len(seen)} findings of {sorted(set(seen))}: of {sorted(KINDS)} there are to be all, {LEAST} in number")
    print("\n".join(wrong) or f"{len(seen)} findings are SARIF")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
