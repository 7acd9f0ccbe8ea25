#!/usr/bin/env python3
"""Each `fnz ...` that README.md shows can be run.

    readme.py FNZ ROOT

Commands are the lines of indented blocks that begin with "fnz ", and the words between backticks in the table of the
command. They run one after another, in the order of the page, in a folder where model.pt2 is a program with a cache and
in.safetensors has its inputs. A command may answer "no" (exit 1), as diff does; any other exit fails."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

LEAST = 15  # a page without commands would pass otherwise


def commands(page):
    for match in re.finditer(r"^ {4}(fnz .*)$|^\|[^|]*\|(.*)\|$", page, re.M):
        if match.group(1):
            yield match.group(1).split("#")[0].strip()
        else:
            yield from (word for word in re.findall(r"`([^`]+)`", match.group(2)) if word.startswith("fnz "))


def main():
    fnz, root = sys.argv[1:]
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        shown = list(commands(file.read()))
    wrong = [] if len(shown) >= LEAST else [f"README.md shows {len(shown)} commands, fewer than {LEAST}"]
    with tempfile.TemporaryDirectory() as folder:
        kv_cache = os.path.join(root, "fixtures", "pt2", "kv_cache")
        shutil.copy(kv_cache + ".pt2", os.path.join(folder, "model.pt2"))
        shutil.copy(kv_cache + ".inputs.safetensors", os.path.join(folder, "in.safetensors"))
        for line in shown:
            done = subprocess.run([fnz, *line.split()[1:]], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, text=True)
            if done.returncode not in (0, 1):
                wrong.append(f"{line}: exit {done.returncode}: {done.stderr.strip()}")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
