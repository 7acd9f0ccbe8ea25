#!/usr/bin/env python3
"""Finds stilted English in comments (.c .h .cc .cu .def .py) and in documents (.md).

    plain.py [--only RULE,...] PATH ...    prints `file:line: rule: sentence`; exit 1 if anything is found
    plain.py --count PATH ...              a table of folders and rules, and findings per 1,000 sentences
    plain.py --allow LIST PATH ...         the gate: each file has exactly as many findings as LIST says
    plain.py --write LIST PATH ...         lowers LIST to today's findings; creates it if there is none

PATH is a file or a folder. In a folder the files that git knows are read, without git all but those of builds;
files named planted_* are left out. Lines of LIST are `count path`. A file with more findings than its line says
fails, and so does one with fewer, until --write lowers the line: the list can only shrink. --write never raises
or adds a line; after a merge of other people's comments, mend them or edit the line by hand.

Code in backquotes and quoted text are not judged. A comment or paragraph that contains `plain: ok` is skipped."""
import argparse
import collections
import io
import os
import re
import signal
import subprocess
import sys
import tokenize

NOUN = (r"(?:is|are|was|were|it|they|one|an?|the|has|have|had|lies|reads|writes|gives|goes|comes|nothing|this|these|"
        r"each)\b")
NOT_OPENED = r"Of (?!course|all\b|interest|(?:the )?[0-9])|What (?!follows:|this means|we )"
RULES = {name: re.compile(pattern, flags) for name, pattern, flags in (
    # A sentence begins with its subject.
    ("opening", r"^(?!\W*--)\W*(?:" + NOT_OPENED + r"|Whoever\b|Who\b|Whose\b|Those (?:of|that|which|who|are|is)\b|"
                r"Such (?:as|is|are)\b)(?!.*\?)", 0),
    # A thing is called by its name, not "what".
    ("what-what", r"\bwhat\b[^?]*\bwhat\b", re.I),
    ("what-noun", r"(?:^|[.;:,] |\b(?:of|to|by|from|with|than|and|or|for|beside|behind|in) )what " + NOUN + r"(?!.*\?)",
     re.I),
    ("of-which", r"\bof (?:which|whom|those|that one)\b|\bof what " + NOUN, re.I),
    # The noun is repeated.
    ("pronoun", r"\bthose (?:that|of|which|who|behind|before|without)\b|\b(?:that|this) one\b|"
                r"\bthe ones? (?:that|which|of)\b", re.I),
    # Verbs of this project that other programmers do not know.
    ("private-verb", r"\b(?:is|are|was|were|been|be|being) (?:told|had|said of|gone through)\b|"
                     r"\btells? (?:what|which|of|it)\b|\bsays? (?:of|so|it)\b|\b(?:be|is|are) asked\b|"
                     r"\basks? (?:for it|it|them|whoever)\b|"
                     r"\bstands? (?:in|at|on|by|there|beside|before|behind|among)\b", re.I),
    # The actor is named.
    ("nobody", r"\b(?:nobody|somebody|whoever|whom)\b", re.I),
    ("but-for", r"\bbut for (?:what|that|those|which|its?|one|some)\b|\b(?:nothing|none) but\b|\ball (?:else|but)\b|"
                r"\bnot but\b", re.I),
    # A condition is "if" or "when".
    ("where-if", r"^\W*(?:Where|But where|And so|So (?:is|are|do|does)|Also (?:of|where)|Nor (?:is|are|do|does|one))\b"
                 r"(?!.*\?)", 0),
)}
LONG_SENTENCE, LONG_PARAGRAPH = 40, 120  # words, in documents
NAMES = [*RULES, "sentence", "paragraph"]
KINDS = (".c", ".h", ".cc", ".cu", ".def", ".py", ".md")
NO_PROSE = ("plain: ok", "Permission is hereby", "Copyright")
WORD = re.compile(r"[A-Za-z][\w'-]*")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|no|approx)\.$", re.I)
C_TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|(?:[ \t]*//[^\n]*(?:\n|$))+', re.S)
C_MARKS = re.compile(r"^[ \t]*(?:/\*\*?|\*(?!/)|//+!?<?)|\*/", re.M)
ITEM = re.compile(r" *(?:[-*+]|\d+\.) ")
ENDS = re.compile(r"(?<=[.!?])[\")]?\s+(?=[A-Z`\"*(])|\n[ \t]*\n|\n[ \t]*(?=(?:needs|keeps|gives)  )|\Z")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def files(paths):
    """Each path that is a file, and below folders the files that are read."""
    for path in paths:
        if os.path.isfile(path):
            yield path
            continue
        git = subprocess.run(["git", "-C", path, "ls-files", "-z"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        names = git.stdout.decode().split("\0") if git.returncode == 0 else [
            os.path.relpath(os.path.join(folder, name), path) for folder, _, some in os.walk(path) for name in some]
        for name in sorted(names):
            if name.endswith(KINDS) and not name.startswith("build") and "planted_" not in name:
                if os.path.exists(os.path.join(path, name)):
                    yield os.path.join(path, name)


def c_comments(text):
    for match in C_TOKENS.finditer(text):
        if match.group().lstrip().startswith(("/*", "//")):
            yield text.count("\n", 0, match.start()) + 1, C_MARKS.sub("", match.group())


def python_comments(text):
    """Docstrings, and comments; comments on adjacent lines are joined."""
    last, run = -2, []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                if run and token.start[0] != last + 1:
                    yield run[0][0], "\n".join(words for _, words in run)
                    run = []
                last = token.start[0]
                run.append((last, token.string.lstrip("#! ")))
            elif token.type == tokenize.STRING and token.string.lstrip("rbuRBU").startswith(('"""', "'''")):
                yield token.start[0], token.string.strip("rbuRBU\"'")
    except (tokenize.TokenError, SyntaxError):
        pass
    if run:
        yield run[0][0], "\n".join(words for _, words in run)


def paragraphs(text):
    """Paragraphs, items of lists, and cells of tables with more than 5 words. Code and headings are left out."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", lambda m: "\n" * m.group().count("\n"), text, flags=re.S | re.M)
    first, block = 0, []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        row, item = line.lstrip().startswith("|"), ITEM.match(line)
        if row or item or not line.strip() or not block and line.startswith(("    ", "\t", "#", "[")):
            if block:
                yield first, "\n".join(block)
            block = []
            if row:
                yield from ((number, cell) for cell in line.split("|") if len(WORD.findall(cell)) > 5)
            elif item:
                first, block = number, [line[item.end():]]
        else:
            first, block = first if block else number, [*block, line]


def sentences(block):
    """(line within the block, sentence)"""
    start = 0
    for end in ENDS.finditer(block):
        raw = block[start:end.start()]
        if ABBREVIATION.search(raw) or len(WORD.findall(raw)) < 3:
            continue  # the next piece belongs to it
        yield block.count("\n", 0, start + len(raw) - len(raw.lstrip())), " ".join(raw.split())
        start = end.end()


def check(path):
    """The number of sentences, and (line, rule, sentence) of each finding."""
    document = path.endswith(".md")
    blocks = paragraphs if document else python_comments if path.endswith(".py") else c_comments
    seen, found = 0, []
    for first, block in blocks(read(path)):
        if any(words in block for words in NO_PROSE):
            continue
        count = len(WORD.findall(block))
        if document and count > LONG_PARAGRAPH:
            found.append((first, "paragraph", f"{count} words: {' '.join(block.split())}"))
        for line, sentence in sentences(block):
            seen += 1
            judged = re.sub(r"`[^`]*`|\"[^\"]*\"", "X", re.sub(r"^[\w./-]+\.\w+ - ", "File ", sentence))
            found += [(first + line, name, sentence) for name, rule in RULES.items() if rule.search(judged)]
            if document and len(WORD.findall(sentence)) > LONG_SENTENCE:
                found.append((first + line, "sentence", f"{len(WORD.findall(sentence))} words: {sentence}"))
    return seen, found


def read_list(path):
    return {name: int(count) for count, name in (line.split(None, 1) for line in read(path).splitlines())}


def write_list(path, found):
    new = {name: len(lines) for name, lines in found.items()}
    if os.path.exists(path):
        new = {name: min(count, new.get(name, 0)) for name, count in read_list(path).items()}
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{new[name]} {name}\n" for name in sorted(new) if new[name])


def against_list(path, found):
    """Yields a line for each difference from the list."""
    allowed = read_list(path)
    for name in sorted({*found, *allowed}):
        has, most = len(found.get(name, [])), allowed.get(name, 0)
        if has > most:
            yield from found[name]
            yield f"{name}: {has} findings, {path} allows {most}"
        elif has < most:
            yield f"{name}: {has} findings, {path} allows {most}: lower it with plain.py --write {path} ."


def print_table(seen, counts):
    counts["all"] = sum(counts.values(), collections.Counter())
    seen["all"] = sum(seen.values())
    counts["per 1,000"] = {n: round(1000 * counts["all"][n] / max(1, seen["all"]), 1) for n in NAMES}
    rows = [("", {n: n for n in NAMES}, "sentences"), *((f, c, seen.get(f, "")) for f, c in counts.items())]
    for folder, count, number in rows:
        print(folder.ljust(14) + str(number).rjust(10) + "".join(str(count.get(n, 0)).rjust(13) for n in NAMES))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--allow", metavar="LIST")
    parser.add_argument("--write", metavar="LIST")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("paths", nargs="+", metavar="PATH")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else NAMES
    seen, counts, found = collections.Counter(), collections.defaultdict(collections.Counter), {}
    for path in files(args.paths):
        number, findings = check(path)
        name = os.path.relpath(path)
        folder = name.split(os.sep)[0] if os.sep in name else "."
        findings = [f for f in findings if f[1] in only]
        seen[folder] += number
        counts[folder].update(rule for _, rule, _ in findings)
        if findings:
            found[name] = [f"{name}:{line}: {rule}: {sentence[:200]}" for line, rule, sentence in findings]
    if not sum(seen.values()):
        sys.exit("no sentence was read: nothing was checked")
    if args.count:
        print_table(seen, counts)
        return 0
    if args.write:
        write_list(args.write, found)
        return 0
    wrong = [*against_list(args.allow, found)] if args.allow else [line for lines in found.values() for line in lines]
    print("\n".join(wrong) or "plain")
    return 1 if wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
