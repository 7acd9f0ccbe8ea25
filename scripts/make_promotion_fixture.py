#!/usr/bin/env python3
"""Asks an installed PyTorch for the result dtypes of every pointwise operator and writes them to
fixtures/promotion/results.txt, which tests/schema/promotion_test.c reads. For developers only.

An operator is called with all combinations of its first two operands (positional tensors and numbers), the others like
the second one: tensors of every dtype, of one dimension and of none, and numbers bool, int, float and complex. Each
answer is one character: the letter of the first result's dtype, or '-' where eager refuses. Operators with the same
answers share a line."""
import re
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
LETTERS = {torch.bool: 'b', torch.uint8: 'B', torch.int8: 'c', torch.int16: 's', torch.int32: 'i',
           torch.int64: 'l', torch.float16: 'h', torch.bfloat16: 'y', torch.float32: 'f',
           torch.float64: 'd', torch.complex64: 'F', torch.complex128: 'D'}
ANSWERS = LETTERS | {torch.complex32: 'H'}
# `where` gives places and `equal` no tensor; a mask of native_dropout_backward must be bool here.
NOT_ASKED = ('where', 'equal', 'native_dropout_backward')
NUMBERS = [True, 2, 0.5, 0.5 + 0.5j]


def canonical(name, aliases):
    """The canonical operator of an alias."""
    if name in aliases and ('.' in name or '.' in aliases[name]):
        return aliases[name]
    base = name.split('.')[0]
    return aliases.get(base, base) + name[len(base):]


def names():
    """The operators that are tagged pointwise, have a promotion of their own, or a pointwise kernel, and their aliases."""
    aliases = dict(re.findall(r'^ALIAS\("([^"]+)", "([^"]+)"\)', (ROOT / 'schema/facts/aliases.def').read_text(), re.M))
    bases = set(re.findall(r'^OP\("(\w+)[^"]*", PROMOTES', (ROOT / 'schema/facts/facts.def').read_text(), re.M))
    kernels = set(re.findall(r'^POINT\((\w+)\)', (ROOT / 'kernels/kernels.def').read_text(), re.M))
    for line in (ROOT / 'schema/aten.tsv').read_text().splitlines()[1:]:
        name, kind, view, _, tags = line.split('\t')[:5]
        name = name.removeprefix('aten::')
        if kind != 'functional' or view != '-' or name in NOT_ASKED:
            continue
        other = canonical(name, aliases)
        if 'pointwise' in tags.split(',') or other.split('.')[0] in bases or other.replace('.', '__') in kernels:
            yield name


def overload(name):
    base, _, which = name.partition('.')
    return getattr(getattr(torch.ops.aten, base), which or 'default')


def is_operand(arg):
    kind = str(arg.type).removeprefix('Optional[').rstrip(']')
    return not arg.kwarg_only and kind in ('Tensor', 'number')


def candidates(arg):
    if 'Tensor' not in str(arg.type):
        return NUMBERS
    return [torch.ones(shape, dtype=d) for shape in ((1,), ()) for d in LETTERS]


def filler(arg):
    """An argument that is not an operand and has no default."""
    return {'int': 1, 'float': 0.5, 'bool': True, 'str': 'floor', 'Optional[str]': 'floor'}[str(arg.type)]


def like(operand, arg, first):
    """The operand, or a value that an argument can take in its place."""
    if 'Tensor' in str(arg.type):
        return operand if isinstance(operand, torch.Tensor) else first
    return 0.5 if isinstance(operand, torch.Tensor) else operand


def answer(op, first, second):
    values, named, seen = [], {}, 0
    for arg in op._schema.arguments:
        if is_operand(arg):
            values.append(like(second if seen else first, arg, first))
            seen += 1
        elif not arg.kwarg_only:
            values.append(arg.default_value if arg.has_default_value() else filler(arg))
        elif not arg.has_default_value():
            named[arg.name] = filler(arg)
    try:
        result = op(*values, **named)
    except (RuntimeError, TypeError, ValueError):
        return '-'
    return ANSWERS[(result[0] if isinstance(result, (tuple, list)) else result).dtype]


def ask(op):
    """All answers; empty when the operator has no operands."""
    operands = [a for a in op._schema.arguments if is_operand(a)]
    if not operands:
        return ''
    seconds = candidates(operands[1]) if len(operands) > 1 else [None]
    return ''.join(answer(op, x, y) for x in candidates(operands[0]) for y in seconds)


def main():
    lines = {}
    for name in sorted(set(names())):
        answers = ask(overload(name))
        if set(answers) - {'-'}:
            lines.setdefault(answers, []).append(name)
    text = ''.join(f'{answers} {" ".join(ops)}\n' for answers, ops in sorted(lines.items()))
    (ROOT / 'fixtures/promotion/results.txt').write_text(text)
    print(len(lines), 'lines', sum(map(len, lines.values())), 'operators')


if __name__ == '__main__':
    main()
