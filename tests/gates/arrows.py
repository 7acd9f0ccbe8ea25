#!/usr/bin/env python3
"""The arrows of the source tree: which module uses which, by includes and by the linker's symbols.

    arrows.py LIST ROOT OBJECT ...

A module is a folder below ROOT, or a file that LIST names: the top of its folder. OBJECTs are what CMake made of the
sources: their symbols say which file calls which. LIST has lines

    MODULE: MODULE ...       a module, and the modules that it may use
    FILE -> FILE: WHY        an arrow that is there against these lines, or closes a circle, and why

and the last kind only becomes fewer: an exception that is not needed fails as well. No files may use each other in a
circle, except by the arrows that are listed. A module that may use include/fnz may call the public functions, fnz_*, of any
file; in circles these calls count as well."""
import collections
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+[.](?:h|cuh))"', re.M)  # a table (.def) is data, which any module may read
SOURCES = (".c", ".cc", ".h", ".def", ".cu", ".cuh")


def read_list(path):
    modules, excepted = {}, set()
    for line in open(path):
        line = line.split("#")[0].strip()
        if "->" in line:
            excepted.add(tuple(line.split(":")[0].replace("->", " ").split()))
        elif line:
            module, may_use = line.split(":")
            modules[module] = set(may_use.split())
    return modules, excepted


def included(root, modules):
    """(file, file) of each include between files of the tree."""
    for module in modules:
        for name in sorted(os.listdir(os.path.join(root, module)) if not module.endswith(".c") else []):
            if name.endswith(SOURCES):
                path = os.path.join(module, name)
                for target in INCLUDE.findall(open(os.path.join(root, path)).read()):
                    yield path, target


def source_of(name):
    """CMake's CMakeFiles/TARGET.dir/FILE.o is made of FILE."""
    return os.path.normpath(re.sub(r"^.*CMakeFiles/[^/]*\.dir/|\.o$", "", name))


def symbols_of(objects):
    """(file, symbol, kind) of each line of nm."""
    text = subprocess.run(["nm", "-A", "--format=posix", *objects], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in text.splitlines():
        name, rest = line.split(": ", 1)
        symbol, kind = rest.split()[:2]
        yield source_of(name), symbol, kind


def defined(objects):
    """(file, symbol) of each external symbol that an object defines."""
    return [(path, symbol) for path, symbol, kind in symbols_of(objects) if kind.isupper() and kind != "U"]


def linked(objects):
    """{file: {file: symbols}}: the symbols of others that each file uses."""
    gives, takes = {}, collections.defaultdict(set)
    for path, symbol, kind in symbols_of(objects):
        if kind == "U":
            takes[path].add(symbol)
        elif kind.isupper():
            gives[symbol] = path
    arrows = collections.defaultdict(dict)
    for path, symbols in takes.items():
        for symbol in sorted(symbols):
            target = gives.get(symbol)
            if target and target != path and "/" in path and "/" in target:  # not what is generated
                arrows[path].setdefault(target, []).append(symbol)
    return arrows


def circles(arrows):
    """The sets of files that reach each other: Tarjan's strongly connected components, without recursion."""
    number, low, stack, done = {}, {}, [], set()
    for start in sorted(arrows):
        work = [(start, iter(arrows[start]))] if start not in number else []
        while work:
            path, left = work[-1]
            if path not in number:
                number[path] = low[path] = len(number)
                stack.append(path)
            for target in left:
                if target not in number:
                    work.append((target, iter(arrows.get(target, ()))))
                    break
                if target not in done:
                    low[path] = min(low[path], number[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[path])
                if low[path] == number[path]:
                    ring = stack[stack.index(path):]
                    del stack[-len(ring):]
                    done.update(ring)
                    if len(ring) > 1:
                        yield sorted(ring)


def main():
    list_path, root, *objects = sys.argv[1:]
    modules, excepted = read_list(list_path)
    wrong, needed = [], set()

    def module_of(path):
        return path if path in modules else os.path.dirname(path)

    def hold(path, target, how):
        module, other = module_of(path), module_of(target)
        if module == other or module not in modules or other in modules[module]:
            return
        needed.add((path, target))
        if (path, target) not in excepted:
            wrong.append(f"{path} {how} {target}: {module} may not use {other}, see {list_path}")

    seen = 0
    for path, target in included(root, modules):
        seen += 1
        if "/" in target and os.path.exists(os.path.join(root, target)):
            hold(path, target, "includes")
    arrows = linked(objects)
    for path in sorted(arrows):
        if module_of(path) not in modules:
            wrong.append(f"{path} is in no module of {list_path}")
        for target, symbols in arrows[path].items():
            if "include/fnz" in modules.get(module_of(path), ()):
                symbols = [s for s in symbols if not s.startswith("fnz_")]
            if symbols:
                hold(path, target, "calls " + " ".join(symbols) + " of")
    rings = list(circles(arrows))
    needed.update(arrow for arrow in excepted for ring in rings if set(arrow) <= set(ring))
    for ring in circles({p: [t for t in ts if (p, t) not in excepted] for p, ts in arrows.items()}):
        wrong.append("these files use each other in a circle: " + " ".join(ring))
    wrong += [f"{a} -> {b} needs no exception any more: strike it from {list_path}" for a, b in sorted(excepted - needed)]
    if seen < 10 or sum(map(len, arrows.values())) < 2:
        wrong.append(f"{seen} includes and hardly a call were found: nothing was checked")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
