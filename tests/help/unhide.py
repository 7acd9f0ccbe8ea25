#!/usr/bin/env python3
"""Makes functions and tables of an object file visible whose names begin with PREFIX: a shared library that is linked of it
shows them to tests. Objects are compiled once, with hidden names, and serve all libraries.

    unhide.py OBJECT PREFIX

OBJECT is changed in place: a relocatable ELF file of 64 bits, little-endian."""
import struct
import sys

SYMTAB, LOCAL, HIDDEN = 2, 0, 2
SECTION, SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


def sections(data):
    """[(type, offset, size, link)]; a file with many sections has their number in the first one."""
    start, = struct.unpack_from("<Q", data, 0x28)
    count = struct.unpack_from("<H", data, 0x3C)[0] or SECTION.unpack_from(data, start)[5]
    for i in range(count):
        _, kind, _, _, offset, size, link, *_ = SECTION.unpack_from(data, start + i * SECTION.size)
        yield kind, offset, size, link


def unhide(data, prefix):
    """The number of names that became visible."""
    all_sections, changed = list(sections(data)), 0
    for kind, offset, size, link in all_sections:
        if kind != SYMTAB:
            continue
        names = all_sections[link][1]
        for at in range(offset, offset + size, SYMBOL.size):
            name, info, other, *_ = SYMBOL.unpack_from(data, at)
            if info >> 4 != LOCAL and other & 3 == HIDDEN and data.startswith(prefix, names + name):
                data[at + 5] = other & ~3
                changed += 1
    return changed


def main():
    path, prefix = sys.argv[1:]
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        if data[:6] != b"\x7fELF\x02\x01" or not unhide(data, prefix.encode()):
            return f"{path}: no object of 64 bits with hidden names that begin with {prefix}"
        file.seek(0)
        file.write(data)


if __name__ == "__main__":
    sys.exit(main())
