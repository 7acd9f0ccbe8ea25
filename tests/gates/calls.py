#!/usr/bin/env python3
"""The call graph of a binary: no recursion, no deep stack, no stack that grows at run time.

    calls.py [--circles FILE] [--frame BYTES --depth BYTES] [--least N] BINARY

Reads the disassembly of an x86-64 ELF file with its symbols. Fails when

  - functions call each other in a circle, unless all of them are on one line of FILE, under the reason why the depth
    of the input does not decide how often they go round. (A debug build has every call in it; in a release build
    a call at the end may be a jump, or be gone.) The standard library's own circles are its business;
  - one function takes more than --frame bytes of stack, or as many as it decides at run time;
  - the deepest chain of calls, a circle counted once, takes more than --depth bytes;
  - a line of FILE is not needed.

Calls through pointers are not seen here; pointers.py lists those."""
import argparse
import collections
import os
import re
import subprocess
import sys

HEAD = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
TARGET = re.compile(r"^(?:call|j[a-z]+)q?\s+([0-9a-f]+) <([^>+]+)>$")  # a jump into a function is none to it
TAKES = re.compile(r"^sub\s+\$0x([0-9a-f]{1,8}),%rsp$")
# -fstack-clash-protection takes large frames page by page: in a row, or in a loop down to an address.
TAKES_PAGES = re.compile(r"^lea\s+-0x([0-9a-f]{4,8})\(%rsp\),%r11$")
PAGE = 4096
TAKES_128 = re.compile(r"^add\s+\$0xffffffffffffff80,%rsp$")
TAKES_ANY = re.compile(r"^sub\s+%r[a-z0-9]+,%rsp$")
SUFFIX = re.compile(r"\.(part|constprop|isra|cold|lto_priv|localalias)\b.*$")
RETURN_ADDRESS = 8


class Function:
    def __init__(self, name, address):
        self.name, self.address = name, address
        self.calls, self.pushed, self.taken = set(), set(), 0
        self.pages, self.in_loop = 0, False
        self.is_dynamic = False

    def take(self, bytes):
        if bytes != PAGE:
            self.taken = max(self.taken, self.pages + bytes)
            self.pages = 0
            return
        self.pages += 0 if self.in_loop else PAGE
        self.in_loop = False
        self.taken = max(self.taken, self.pages)

    def frame(self):
        return RETURN_ADDRESS + 8 * len(self.pushed) + self.taken


def plain(name):
    """The name in the source of a part that the compiler cut out, or of a copy."""
    return SUFFIX.sub("", name.replace("@plt", "").replace("@@Base", ""))


def disassemble(binary):
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", binary], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    functions, now = [], None
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            now = Function(head.group(2), int(head.group(1), 16))
            if not now.name.endswith("@plt"):
                functions.append(now)
        elif now and "\t" in line:
            read(now, line.split("\t", 1)[1].strip().removeprefix("notrack ").removeprefix("bnd "))
    return functions


def read(f, code):
    target = TARGET.match(code)
    if target:
        f.calls.add((target.group(2), int(target.group(1), 16)))
    elif code.startswith("push"):
        f.pushed.add(code)
    elif TAKES.match(code):
        f.take(int(TAKES.match(code).group(1), 16))
    elif TAKES_PAGES.match(code):
        f.pages, f.in_loop = int(TAKES_PAGES.match(code).group(1), 16), True
    elif TAKES_128.match(code):
        f.taken = max(f.taken, 128)
    elif TAKES_ANY.match(code):
        f.is_dynamic = True


def resolve(functions):
    """The graph: function -> functions. A part cut out of a function (NAME.cold) belongs to it."""
    by_address = {f.address: f for f in functions}
    by_name = collections.defaultdict(list)
    for f in functions:
        by_name[f.name].append(f)
    part_of = {}
    for f in functions:
        for symbol, address in f.calls:
            to = by_address.get(address)
            if to and ".cold" in symbol and plain(symbol) == plain(f.name) and ".cold" not in f.name:
                part_of[to] = f
    graph = collections.defaultdict(set)
    for f in functions:
        whole = part_of.get(f, f)
        if whole is not f:
            whole.taken = max(whole.taken, f.taken)
        graph[whole] |= set()
        for symbol, address in f.calls:
            to = by_address.get(address)
            targets = by_name[symbol.removesuffix("@plt")] if symbol.endswith("@plt") else [to] if to else []
            graph[whole] |= {to for to in targets if to not in part_of}
    return graph


def circles(graph):
    """Groups of functions that reach each other (Tarjan's algorithm, with a stack of its own)."""
    order, low, stack, on, found = {}, {}, [], set(), []
    for root in graph:
        if root in order:
            continue
        work = [(root, iter(graph[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on.add(root)
        while work:
            f, rest = work[-1]
            to = next(rest, None)
            if to is not None:
                if to not in order:
                    order[to] = low[to] = len(order)
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(graph[to])))
                elif to in on:
                    low[f] = min(low[f], order[to])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[f])
            if low[f] == order[f]:
                group = []
                while not group or group[-1] is not f:
                    group.append(stack.pop())
                    on.discard(group[-1])
                if len(group) > 1 or f in graph[f]:
                    found.append(group)
    return found


def merge(graph, groups):
    """The graph with each circle made one function, which takes what all of it take."""
    stands_for = {f: f for f in graph}
    for group in groups:
        whole = Function("(" + " ".join(sorted(f.name for f in group)) + ")", 0)
        whole.taken = sum(f.frame() for f in group)
        stands_for.update((f, whole) for f in group)
    merged = collections.defaultdict(set)
    for f, targets in graph.items():
        merged[stands_for[f]] |= {stands_for[to] for to in targets} - {stands_for[f]}
    return merged


def deepest(graph):
    """The chain of direct calls that takes most stack; the graph has no circle."""
    total, via = {}, {}
    for root in graph:
        work = [root]
        while work:
            f = work[-1]
            open_ones = [g for g in graph[f] if g not in total]
            if f not in total and open_ones:
                work.extend(open_ones)
                continue
            work.pop()
            if f not in total:
                via[f] = max(graph[f], key=total.get, default=None)
                total[f] = f.frame() + (total[via[f]] if via[f] else 0)
    f = max(total, key=total.get)
    chain = [f]
    while via[chain[-1]]:
        chain.append(via[chain[-1]])
    return total[f], chain


class Circles:
    """The lines of a file that are no comments; each must be needed."""

    def __init__(self, path):
        self.path, self.used = path, set()
        lines = open(path).read().splitlines()
        self.lines = {n: set(line.split()) for n, line in enumerate(lines, 1) if line and line[0] != "#"}

    def has(self, names):
        found = {n for n, line in self.lines.items() if names <= line}
        self.used |= found
        return bool(found)

    def idle(self):
        return [f"{self.path}:{n}: not needed any more" for n in self.lines if n not in self.used]


def is_ours(f):
    """Not what the compiler and the linker add, nor C++'s library."""
    return not f.name.startswith(("_ZSt", "_ZNSt", "_ZNKSt", "_ZN9__gnu_cxx", "__", "asan."))


def check_circles(graph, allowed):
    groups = circles(graph)
    for group in groups:
        names = {plain(f.name) for f in group}
        if any(is_ours(f) for f in group) and not allowed.has(names):
            yield f"these call each other, and {allowed.path} does not say why they may: {' '.join(sorted(names))}"


def check_stack(graph, frame, depth):
    most = max(graph, key=Function.frame)
    for f in sorted(graph, key=lambda f: f.name):
        if f.frame() > frame:
            yield f"{f.name} takes {f.frame()} bytes of stack, more than {frame}"
        if f.is_dynamic and is_ours(f):
            yield f"{f.name} takes as much stack as it computes"
    taken, chain = deepest(merge(graph, circles(graph)))
    text = " > ".join(f"{f.name} {f.frame()}" for f in chain)
    if taken > depth:
        yield f"a chain of calls takes {taken} bytes of stack, more than {depth}: {text}"
    print(f"largest frame {most.frame()} bytes: {most.name}; deepest chain {taken} bytes: {text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frame", type=int)
    parser.add_argument("--depth", type=int)
    parser.add_argument("--least", type=int, default=1, help="fewer functions than this are an error")
    parser.add_argument("--circles")
    parser.add_argument("binary")
    options = parser.parse_args()
    graph = resolve(disassemble(options.binary))
    allowed = Circles(options.circles or os.devnull)
    wrong = list(check_circles(graph, allowed)) + allowed.idle()
    if options.frame:
        wrong += check_stack(graph, options.frame, options.depth)
    if len(graph) < options.least:
        wrong.append(f"only {len(graph)} functions were found: nothing was checked")
    print(f"{options.binary}: {len(graph)} functions, {sum(map(len, graph.values()))} calls from one to another")
    for w in wrong:
        print(w, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
