#!/usr/bin/env python3
"""Whatever fnz writes it reads again, as the same program.

    again.py FNZ EVERY FOLDER...

Takes each EVERYth program in the folders that fnz reads. Its printed text is printed again alike; its functional form
in each format that can hold it is read again; in CBOR and text as the same program, which can be functionalized again.
A .pt2 file does not declare operators."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile


def run(*words):
    return subprocess.run(words, capture_output=True)


def check(fnz, path, room):
    """The faults of one program."""
    shown = run(fnz, "show", path)
    if shown.returncode:
        return []
    wrong, text = [], os.path.join(room, "shown")
    with open(text, "wb") as out:
        out.write(shown.stdout)
    again = run(fnz, "show", text)
    if again.stdout != shown.stdout:
        wrong.append(f"show: {again.stderr.decode()[:200]}")
    first = os.path.join(room, "first")
    if run(fnz, "convert", path, "--to", "cbor", "-o", first).returncode:
        return wrong
    for form in ("cbor", "text", "json", "pt2"):
        written = os.path.join(room, form)
        if run(fnz, "convert", path, "--to", form, "-o", written).returncode:
            continue
        exact = form in ("cbor", "text")
        again = run(fnz, "show", "--functional", written) if exact else run(fnz, "show", written)
        if again.returncode and b"declare it with --ops" not in again.stderr:
            wrong.append(f"{form}: {again.stderr.decode()[:200]}")
        elif form == "text" and run(fnz, "diff", first, written).returncode:
            wrong.append(f"{form}: another program than cbor")
    return wrong


def main():
    fnz, every, paths = sys.argv[1], int(sys.argv[2]), []
    for folder in sys.argv[3:]:
        for here, _, files in os.walk(folder):
            paths += [os.path.join(here, f) for f in files if f.endswith((".fnz", ".pt2"))]
    paths = sorted(paths)[::every]

    def one(path):
        with tempfile.TemporaryDirectory() as room:
            return check(fnz, path, room)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(zip(paths, pool.map(one, paths)))
    for path, wrong in results:
        for line in wrong:
            print(f"{path}: {line}")
    print(f"{len(paths)} programs")
    sys.exit(len(paths) < 10 or any(wrong for _, wrong in results))


main()
