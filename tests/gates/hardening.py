#!/usr/bin/env python3
"""Hardening by compiler, linker and libc against faults that are not found yet: each installed file has it.

    hardening.py FILE ...

It checks these: a position independent file, a stack that cannot be executed, addresses that are written once and then
protected (RELRO, and all of them looked up at the start), only the system's folders searched for libraries, canaries
in frames, and functions of libc that know the size of their targets. On x86-64 also the marks on targets of jumps, in
the code itself: the note on the whole file is lost with the first archive that has none."""
import re
import subprocess
import sys


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def is_marked(path):
    """There are more marks than the two or three that every shared file has. The marks after the tenth are not read:
    code of millions of instructions takes objdump ten seconds."""
    seen = 0
    with subprocess.Popen(["objdump", "-d", "--section=.text", "--no-show-raw-insn", path], stdout=subprocess.PIPE,
                          text=True) as reader:
        for line in reader.stdout:
            seen += "\tendbr64" in line
            if seen == 10:
                reader.terminate()
                return True
    if reader.returncode:
        raise subprocess.CalledProcessError(reader.returncode, reader.args)
    return False


def wrong(path):
    head, program, dynamic = readelf("-h", path), readelf("-l", path), readelf("-d", path)
    names = set(re.findall(r"\bUND (\w+)", readelf("--dyn-syms", path)))
    if not re.search(r"Type:\s+DYN", head):
        yield "it is not position independent"
    if not re.search(r"GNU_STACK.* RW ", program):
        yield "its stack can be executed"
    if "GNU_RELRO" not in program:
        yield "no part of it is protected after the start (-z relro)"
    if not re.search(r"BIND_NOW|Flags:.*\bNOW\b", dynamic):
        yield "addresses are looked up late, in memory that stays writable (-z now)"
    for folders in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic):
        yield f"libraries are looked for in \"{folders}\""
    if "__stack_chk_fail" not in names:
        yield "frames have no canaries (-fstack-protector-strong)"
    if not any(re.fullmatch(r"__\w+_chk", n) and n != "__stack_chk_fail" for n in names):
        yield "functions of libc do not know sizes (_FORTIFY_SOURCE)"
    if "X86-64" in head and not is_marked(path):
        yield "targets of jumps are not marked (-fcf-protection)"


def main():
    found = [f"{path}: {w}" for path in sys.argv[1:] for w in wrong(path)]
    if len(sys.argv) < 2:
        found = ["no file was named: nothing was checked"]
    for f in found:
        print(f, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
