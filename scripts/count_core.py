#!/usr/bin/env python3
"""Counts which operators a back end meets after `fnz convert --decompose core`.

    count_core.py --fnz build/fnz --record FILE.tsv FOLDER...        counts the cases of folders, writes FILE.tsv
    count_core.py --fnz build/fnz --page PAGE.md --counts FILE.tsv --fixtures FOLDER... [--check]

A case is program.pt2, or any other .pt2 file, with ops.txt beside it for its custom operators; what fnz refuses is left
out and counted. Each row of FILE.tsv is a target, and for each folder the programs that have it and its nodes.

The second call puts a table between two marks of the page: operators by how many programs of FILE.tsv have them, and
how many of the files in --fixtures, which are counted again. With --check it writes nothing, and fails where the page
has another table. Standard library only.
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from check_decompose import targets  # noqa: E402

BEGIN, END = "<!-- made by scripts/count_core.py -->", "<!-- end -->"


def core_text(fnz, path):
    """The text of a program of core operators, or None where fnz refuses it."""
    ops = path.with_name("ops.txt")
    command = [fnz, "convert", path, "--decompose", "core", "--to", "text", *(["--ops", ops] if ops.exists() else [])]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.stdout if done.returncode == 0 else None


def count(fnz, folder):
    """Counts over the programs below a folder: [programs, refused], and target -> [programs that have it, nodes]."""
    found, programs, refused = collections.defaultdict(lambda: [0, 0]), 0, 0
    for path in sorted(pathlib.Path(folder).rglob("*.pt2")):
        text = core_text(fnz, path)
        if text is None:
            refused += 1
            continue
        programs += 1
        for target, nodes in collections.Counter(targets(text)).items():
            found[target][0] += 1
            found[target][1] += nodes
    return [programs, refused], found


def record(options):
    names = [pathlib.Path(folder).name for folder in options.folders]
    counted = [count(options.fnz, folder) for folder in options.folders]
    lines = ["# operators after --decompose core: per folder, programs that have it and nodes",
             "\t".join(["target", *names])]
    lines.append("\t".join(["(programs, refused)", *("%d %d" % tuple(sizes) for sizes, _ in counted)]))
    for target in sorted({target for _, found in counted for target in found}):
        lines.append("\t".join([target, *("%d %d" % tuple(found[target]) for _, found in counted)]))
    pathlib.Path(options.record).write_text("\n".join(lines) + "\n")


def recorded(path):
    lines = [line.split("\t") for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("#")]
    return lines[0][1:], {line[0]: [tuple(map(int, cell.split())) for cell in line[1:]] for line in lines[1:]}


def made(options):
    """The lines of the table, and what fixtures have that the recorded counts lack."""
    names, counts = recorded(options.counts)
    sizes = counts.pop("(programs, refused)")
    fixtures = collections.Counter()
    for folder in options.fixtures:
        fixtures.update({target: has for target, (has, _) in count(options.fnz, folder)[1].items()})
    head = ["%s (%d)" % (name, programs) for name, (programs, _) in zip(names, sizes)]
    lines = ["| operator | %s | fixtures |" % " | ".join(head), "|---" * (len(names) + 2) + "|"]
    order = sorted(counts, key=lambda target: (-sum(has for has, _ in counts[target]), target))
    for target in order:
        cells = ["%d, %d" % cell if cell[0] else "" for cell in counts[target]]
        lines.append("| `%s` | %s | %s |" % (target, " | ".join(cells), fixtures[target] or ""))
    others = ", ".join(sorted(set(fixtures) - set(counts)))
    refused = ", ".join("%d of %s" % (no, name) for name, (_, no) in zip(names, sizes) if no)
    return [*lines, "", "%d targets. Programs that fnz refuses are not counted: %s." % (len(counts), refused or "none"), "",
            "Only fixtures, which have a case for each odd operator, contain these:", "", "```text",
            *textwrap.wrap(others or "none", 130, break_long_words=False, break_on_hyphens=False), "```"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fnz", default="build/fnz")
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--page")
    parser.add_argument("--counts")
    parser.add_argument("--fixtures", nargs="*", default=[])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    options = parser.parse_args()
    if options.record:
        return record(options)
    page = pathlib.Path(options.page)
    text = page.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    wanted = before + BEGIN + "\n" + "\n".join(made(options)) + "\n" + END + after
    if options.check:
        if wanted != text:
            again = " ".join(word for word in sys.argv if word != "--check")
            sys.exit("%s has another table than programs have now; run %s" % (page, again))
        return None
    page.write_text(wanted)
    return None


if __name__ == "__main__":
    main()
