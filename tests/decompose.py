"""Takes the programs of fixtures apart, as far as core operators go, and holds what is left against PyTorch's own.

    decompose.py FNZ FIXTURES

fixtures/decompose/pytorch.tsv, written by scripts/record_decompositions.py, says how many nodes PyTorch leaves of each
.pt2 file. What is left has core operators alone, but those that tests/decompose_left.txt excuses; and it has no more
nodes than PyTorch leaves, or than the functional form has, unless PyTorch leaves other operators.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
import check_decompose as check  # noqa: E402


def main(fnz, fixtures):
    fixtures = pathlib.Path(fixtures)
    kept, known = check.kept_operators(fnz)
    excused = check.excused_operators()
    failures, seen, compared = [], 0, 0
    for name, row in check.counted(fixtures / "decompose/pytorch.tsv").items():
        path = next(p for p in (fixtures / f"{name}.pt2", fixtures / name / "program.pt2") if p.exists())
        command = [fnz, "convert", path, "--to", "text"]
        ops = path.with_suffix(".ops")
        command += ["--ops", ops] if ops.exists() else []
        functional = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if functional.returncode:
            continue  # refused, and nothing of this says so
        seen += 1
        made = subprocess.run(command + ["--decompose", "core"], capture_output=True, text=True, errors="replace")
        if made.returncode:
            failures.append(f"{name}: {made.stderr.strip()}")
            continue
        operators = check.targets(made.stdout)
        foreign = sorted({op for op in operators if op in known and op not in kept and op not in excused})
        if foreign:
            failures.append(f"{name}: left: {', '.join(foreign)}")
        if row[1] == "-" or check.leaves_others(row, known, kept):
            continue
        compared += 1
        if len(operators) > max(int(row[1]), len(check.targets(functional.stdout))):
            failures.append(f"{name}: {len(operators)} nodes, PyTorch leaves {row[1]}")
    print("\n".join(failures))
    print(f"{seen} programs, {compared} compared with PyTorch, {len(failures)} failures")
    return 1 if failures or seen < 35 or compared < 20 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
