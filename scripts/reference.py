#!/usr/bin/env python3
"""The reference of the public headers, as HTML, by Doxygen and docs/Doxyfile.

    scripts/reference.py [FOLDER]      writes FOLDER/html (build/reference), and fails if a public function has no comment
    scripts/reference.py --filter H    prints the header H as Doxygen reads it: how comments of fnz look stays in the headers

A comment stands above a declaration, or above several without a blank line between them, which all have it. Comments of
fields are behind them."""
import os
import re
import subprocess
import sys

DECLARATION = re.compile(r"^(FNZ_MUST_CHECK )?FNZ_API ")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def spread(lines):
    """Repeats the comment above a function for the functions that follow it directly."""
    comment, out, inside = [], [], False
    for line in lines:
        if inside or line.startswith("/**"):
            comment = comment + [line] if inside else [line]
            inside = not line.rstrip().endswith("*/")
        elif DECLARATION.match(line) and out and re.search(r";( .*\*/)?$", out[-1].rstrip()):
            out += comment
        elif not line.strip():
            comment = []
        out.append(line)
    return out


def filtered(path):
    text = open(path, encoding="utf-8").read()
    text = re.sub(r"\A/\* (\w+\.h) - ", r"/** @file \1\n * ", text)
    text = re.sub(r"^/\* ", "/** ", text, flags=re.M)
    text = re.sub(r"([;,]) +/\* ", r"\1 /**< ", text)
    text = re.sub(r"([@&])(?=\w)(?!file )", r"\\\1", text)  # @file is the only command
    return "".join(spread(text.splitlines(keepends=True)))


def make(folder):
    os.makedirs(folder, exist_ok=True)
    config = open("docs/Doxyfile", encoding="utf-8").read() + f'OUTPUT_DIRECTORY = "{folder}"\n'
    done = subprocess.run(["doxygen", "-"], input=config, text=True, stderr=subprocess.PIPE, check=False)
    warnings = sorted(set(done.stderr.splitlines()))
    # Fields and constants whose names say all need no comment; a function does, and so does all that Doxygen cannot read.
    bad = [line for line in warnings if not (line.endswith(" is not documented.") and "(function)" not in line)]
    print("\n".join(bad) or f"{folder}/html/index.html")
    return 1 if bad or done.returncode else 0


def main(arguments):
    if arguments[:1] == ["--filter"]:
        sys.stdout.write(filtered(arguments[1]))
        return 0
    folder = os.path.abspath(arguments[0] if arguments else os.path.join(ROOT, "build", "reference"))
    os.chdir(ROOT)
    return make(folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
