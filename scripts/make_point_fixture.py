#!/usr/bin/env python3
"""Asks an installed PyTorch for values of pointwise operators and writes them to
fixtures/point/values.txt, which tests/kernels/point_values_test.c reads. For developers only.

A line is: operator, dtype of the tensors, units in the last place that a result may be off, the
arguments, '=', the result. A tensor is '[ ... ]' of hexadecimal numbers, complex ones as pairs of
parts; an integer is 'i2', a string 's:tanh'."""
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
INF, NAN = float('inf'), float('nan')
WIDE = [-40.0, -7.25, -3.1, -1.0, -0.7, -0.1, 0.0, 0.05, 0.3, 0.9, 1.0, 1.7, 2.5, 6.0, 15.0, 33.0, INF, NAN]
UNIT = [0.0, 0.02, 0.1, 0.25, 0.4, 0.5, 0.62, 0.75, 0.9, 0.99, 1.0, -0.2, 1.3, NAN]
SIGNED = [-1.0, -0.999, -0.8, -0.5, -0.3, -0.01, 0.0, 1e-6, 0.2, 0.45, 0.5001, 0.7, 0.97, 0.9999, 1.0, 1.2, NAN]
GRADIENT = [1.0, -0.5, 2.25, 0.3, -1.75, 0.125, 3.0]
DEGREES = [0, 1, 2, 3, 5, 9, 12, -1]
POINTS = [-1.0, -0.9, -0.35, 0.0, 0.2, 0.6, 1.0, 1.4]


def repeated(values, count):
    return [values[i % len(values)] for i in range(count)]


def grid(values, degrees):
    return [v for v in values for _ in degrees], [d for _ in values for d in degrees]


# operator: arguments, ulps in f32, in f64. In the gradients of gelu what erf and tanh round away
# grows where 1 + erf or 1 + tanh cancels; of the Bessel functions, eager's own are off by so much.
REAL = [
    ('erfinv', (SIGNED,), 1, 2),
    ('i0', (WIDE,), 2, 4), ('special_i0e', (WIDE,), 2, 3), ('special_i1', (WIDE,), 4, 8),
    ('special_i1e', (WIDE,), 4, 4),
    ('special_modified_bessel_i0', (WIDE,), 2, 4), ('special_modified_bessel_i1', (WIDE,), 5, 8),
    ('logaddexp2', (WIDE, repeated(GRADIENT, len(WIDE))), 3, 1),
    ('gelu_backward', (repeated(GRADIENT, len(WIDE)), WIDE), 100, 4),
    ('gelu_backward', (repeated(GRADIENT, len(WIDE)), WIDE, {'approximate': 'tanh'}), 100, 100),
    ('logit_backward', (repeated(GRADIENT, len(UNIT)), UNIT), 1, 1),
    ('logit_backward', (repeated(GRADIENT, len(UNIT)), UNIT, 0.125), 1, 1),
    ('mvlgamma', ([1.6, 2.0, 3.5, 10.0, 40.0], 3), 2, 4),
    ('special_zeta', ([2.0, 1.5, 3.0, 1.0, 0.5, 7.0, 2.0, 4.0], [1.0, 0.5, 2.25, 3.0, 1.0, -1.5, -2.0, 9.0]), 1, 1),
]
for name in 'chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w ' \
        'hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p'.split():
    REAL.append(('special_' + name, grid(POINTS, DEGREES), 0, 0))
    if name.startswith('chebyshev'):
        REAL.append(('special_shifted_' + name, grid(POINTS, DEGREES), 0, 0))

A = [0.3 - 0.7j, -1.2 + 0.4j, 2.0 + 0j, 0.1 + 3.0j, -0.5 - 0.25j, 0j]
B = [0.9 + 0.1j, 0.2 - 1.1j, -2.0 + 1.0j, 1.5 + 0.5j, -0.75 + 2.0j, 1.0 + 1.0j]
ONE = 'abs acos acosh angle asin asinh atan atanh conj_physical cos cosh exp expm1 isfinite isinf isnan log log10 ' \
      'log1p log2 logical_not neg positive reciprocal rsqrt sgn sigmoid silu sin sinh sqrt square tan tanh'.split()
TWO = 'add.Tensor sub.Tensor rsub.Tensor mul.Tensor div.Tensor eq.Tensor ne.Tensor logical_and logical_or ' \
      'logical_xor pow.Tensor_Tensor float_power.Tensor_Tensor'.split()
COMPLEX = [(name, (A,)) for name in ONE] + [(name, (A, B)) for name in TWO] + \
    [('addcmul', (A, B, B)), ('addcdiv', (A, B, B)), ('lerp.Tensor', (A, B, A))]


def number(v):
    parts = (v.real, v.imag) if isinstance(v, complex) else (float(v),)
    return ' '.join(p.hex() for p in parts)


def text(arg):
    if isinstance(arg, torch.Tensor):
        return '[ ' + ' '.join(number(v) for v in arg.tolist()) + ' ]'
    if isinstance(arg, str):
        return 's:' + arg
    return f'i{arg}' if isinstance(arg, int) else 'd' + arg.hex()


def line(name, dtype, ulps, given):
    base, _, overload = name.partition('.')
    args = [torch.tensor(a, dtype=dtype) if isinstance(a, list) else a for a in given if not isinstance(a, dict)]
    named = next((a for a in given if isinstance(a, dict)), {})
    result = getattr(getattr(torch.ops.aten, base), overload or 'default')(*args, **named)
    letters = {torch.float32: 'f32', torch.float64: 'f64', torch.complex64: 'c64', torch.complex128: 'c128'}
    words = [text(a) for a in (*args, *named.values())]
    return f'{name} {letters[dtype]} {ulps} {" ".join(words)} = {text(result)}\n'


def main():
    out = ''
    for name, args, single, double in REAL:
        out += line(name, torch.float32, single, args) + line(name, torch.float64, double, args)
    for name, args in COMPLEX:
        out += line(name, torch.complex64, 4, args) + line(name, torch.complex128, 4, args)
    (ROOT / 'fixtures/point/values.txt').write_text(out)
    print(out.count('\n'), 'lines', len(out), 'bytes')


if __name__ == '__main__':
    main()
