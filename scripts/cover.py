#!/usr/bin/env python3
"""Branch coverage of the rooms, and the floor that it may not fall below.

    cover.py [--build DIR] [--raise] [--missing [FOLDER]]

DIR (default build-cover) is a build of the preset `cover` whose tests have run with LLVM_PROFILE_FILE in DIR/profiles;
scripts/cover.sh does that. tests/coverage.txt holds a line per room: a folder with the folders within it that have no
line of their own, and the least percentage of branches. A room below fails; --raise writes the percentage that was
reached, if that is more. --missing lists the branches that were never taken, as FILE:LINE: LINE OF CODE. Branches that
end in a failed allocation are taken by the walks over all allocations, so they count like any other.

For python/fnz, whose tests run in a Python that counts, it is lines, not branches: DIR/python.json has for each file
the lines that ran."""
import argparse
import collections
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FLOOR = os.path.join(ROOT, "tests/coverage.txt")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def merged_branches(branches):
    """[(line, taken, not taken)]: a function of a header is one, not one for each file that includes it."""
    places = collections.defaultdict(lambda: [0, 0])
    for b in branches:
        places[tuple(b[:4])][0] += b[4]
        places[tuple(b[:4])][1] += b[5]
    return [(place[0], taken, other) for place, (taken, other) in places.items()]


def measure(build):
    """{file: [(line, taken, not taken)]} of the library's files."""
    merged = os.path.join(build, "all.profdata")
    # A check that limits the size of files may have cut its own profile.
    run("llvm-profdata-14", "merge", "-sparse", "-failure-mode=all", "-o", merged, *glob.glob(os.path.join(build, "profiles/*.profraw")))
    # All of the library is in the shared one; tests link the same objects, whose counters have the same names.
    library = os.path.join(build, "libfnz.so")
    text = run("llvm-cov-14", "export", "-instr-profile", merged, "-skip-functions", library,
               "-object", os.path.join(build, "fnz"))
    found = {}
    for entry in json.loads(text)["data"][0]["files"]:
        path = os.path.relpath(entry["filename"], ROOT)
        if not path.startswith(("..", "build")):
            found[path] = merged_branches(entry["branches"])
    return found


def room_of(path, rooms):
    """The longest folder of `rooms` that the file lies in; its own folder where there is none."""
    return max((room for room in rooms if path.startswith(room + "/")), key=len, default=os.path.dirname(path))


def measure_package(build):
    """{file: [(line, ran, ran)]} of the Python package: a line counts as a branch taken both ways, or neither."""
    counted = os.path.join(build, "python.json")
    ran = json.load(open(counted)) if os.path.exists(counted) else {}
    found = {}
    for path in sorted(glob.glob("python/fnz/*.py", root_dir=ROOT)):
        lines = set(ran.get(path, []))
        found[path] = [(line, line in lines, line in lines) for line in lines_of(os.path.join(ROOT, path))]
    return found


def lines_of(path):
    """The lines on which code begins."""
    codes, lines = [compile(open(path).read(), path, "exec")], set()
    while codes:
        code = codes.pop()
        lines |= {line for _, _, line in code.co_lines() if line}
        codes += [const for const in code.co_consts if hasattr(const, "co_lines")]
    return sorted(lines)


def floors():
    lines = [line.split() for line in open(FLOOR) if line.strip() and line[0] != "#"]
    return {folder: float(percent) for folder, percent in lines}


def write(reached, old):
    head = [line for line in open(FLOOR) if line[0] == "#"]
    rows = [f"{folder} {max(old[folder], int(10 * reached[folder]) / 10):.1f}\n" for folder in old]
    open(FLOOR, "w").writelines(head + rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build-cover"))
    parser.add_argument("--raise", dest="is_raised", action="store_true")
    parser.add_argument("--missing", nargs="?", const="", metavar="FOLDER")
    options = parser.parse_args()
    branches, old = {**measure(options.build), **measure_package(options.build)}, floors()
    wanted = [] if options.missing is None else [options.missing] if options.missing else old
    sums = collections.defaultdict(lambda: [0, 0])
    for path, found in sorted(branches.items()):
        for line, taken, other in found:
            room = room_of(path, old)
            sums[room][0] += (taken > 0) + (other > 0)
            sums[room][1] += 2
            if room in wanted and not (taken and other):
                text = open(os.path.join(ROOT, path)).read().split("\n")[line - 1].strip()
                print(f"{path}:{line}: {'never' if not taken else 'always'}: {text}")
    reached = {folder: 100 * hit / total for folder, (hit, total) in sums.items() if total}
    failed = False
    for folder, least in old.items():
        now = reached.get(folder, 0)
        failed |= now < least
        print(f"{folder}: {now:.1f} % of {sums[folder][1]} branches, at least {least}{' FAILED' * (now < least)}")
    if options.is_raised:
        write(reached, old)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
