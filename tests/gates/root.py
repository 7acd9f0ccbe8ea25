#!/usr/bin/env python3
"""A list has all files and folders at the root of the repository.

    root.py LIST ROOT

Files and folders that git has there, or without git all that begin with a letter or are named in the list, but for
builds. A commit that adds one adds its name; a note that was left behind has none."""
import os
import subprocess
import sys


def main():
    names, root = sys.argv[1:]
    with open(names, encoding="utf-8") as file:
        listed = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    git = subprocess.run(["git", "-C", root, "ls-files"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if git.returncode == 0 and git.stdout:
        there = {path.split("/")[0] for path in git.stdout.splitlines()}
    else:
        there = {n for n in os.listdir(root) if n in listed or n[0].isalpha() and not n.startswith("build")}
    wrong = [f"{name} lies at the root, and {names} does not name it" for name in sorted(there - listed)]
    if not there & listed:
        wrong.append("nothing of the list is there")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
