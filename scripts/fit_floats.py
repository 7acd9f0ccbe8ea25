#!/usr/bin/env python3
"""The polynomials of kernels/rows/floats.h and doubles.h, printed with how far each is off, in 2^-24 of the result.

    scripts/fit_floats.py

Least squares whose weights grow where the error is largest (Lawson 1961) come to the least largest error. Coefficients
are rounded to f32 from the highest power on, and the remaining ones are fitted anew each time. A polynomial of doubles
meets the function at Chebyshev's points. Needs numpy and mpmath.
"""
import math

import mpmath
import numpy as np

POINTS, ROUNDS, SPLIT = 3000, 400, 0.9


def points(low, high):
    return (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)


def best(x, y, weight, powers):
    """Coefficients in doubles that make the largest weighted error small."""
    terms, grown, least = np.stack([x**k for k in powers], 1), np.ones(len(x)), (math.inf, None)
    for _ in range(ROUNDS):
        by = weight * np.sqrt(grown)
        found = np.linalg.lstsq(terms * by[:, None], y * by, rcond=None)[0]
        error = np.abs(terms @ found - y) * weight
        least = min(least, (error.max(), list(found)))
        grown *= error / error.max()
    return least[1]


def fit(name, x, y, weight, degree):
    rounded, rest = [], y.copy()
    for k in range(degree, -1, -1):
        rounded.insert(0, float(np.float32(best(x, rest, weight, range(k + 1))[-1])))
        rest = rest - rounded[0] * x**k
    print(name, ", ".join(f"{c:.9g}" for c in rounded), "error", (np.abs(rest) * weight).max() * 2**24)


x = points(-math.log(2) / 2, math.log(2) / 2)
fit("e^x = 1 + x + x^2 p(x):", x, (np.exp(x) - 1 - x) / x**2, x**2 / np.exp(x), 4)

x = points(1e-4, SPLIT)
ratio = np.array([math.erf(v) / v for v in x])
fit("erf(x) = x + x p(x^2):", x * x, ratio - 1, 1 / ratio, 5)

x = points(SPLIT, 4)
far, near = (np.array([f(v) for v in x]) for f in (math.erfc, math.erf))
fit("erf(x) = 1 - exp(-x - x p(x)):", x, -np.log(far) / x - 1, far * x / near, 5)

x = points(1e-3, 1.0)
fit("tanh(x) = x + x^3 p(x^2):", x * x, (np.tanh(x) / x - 1) / x**2, x**3 / np.tanh(x), 6)

x = points(0.5**0.5 - 1.0001, 2**0.5 - 0.9999)
x = x[abs(x) > 1e-3]
fit("log(1 + x) = x - x^2 / 2 + x^3 p(x):", x, (np.log1p(x) - x + x * x / 2) / x**3, np.abs(x**3 / np.log1p(x)), 7)

x = points(1e-3, 0.5)
fit("atan(x) = x + x^3 p(x^2):", x * x, (np.arctan(x) / x - 1) / x**2, x**3 / np.arctan(x), 5)


def each(function, x):
    return np.array([float(function(mpmath.mpf(v))) for v in x])


mpmath.mp.dps = 40
x = points(1e-3, 0.601)
fit("erfc(x) = 1 - x - x p(x^2):", x * x, each(lambda v: mpmath.erf(v) / v - 1, x), x / each(mpmath.erfc, x), 5)

t = points(-1.4 / 2.6 - 0.0005, 8.2 / 12.2)
y = each(lambda v: mpmath.erfc(v) * mpmath.exp(v * v) * (0.75 + 1.5 * v) - 1, 2 * (1 + t) / (1 - t))
fit("erfc(x) e^(x^2) (0.75 + 1.5 x) = 1 + p((x - 2) / (x + 2)):", t, y, 1 / (1 + y), 8)

x = points(1e-3, 0.5)
fit("asin(x) = x + x^3 p(x^2):", x * x, each(lambda v: (mpmath.asin(v) / v - 1) / v**2, x), x**3 / np.arcsin(x), 4)

x = points(1e-3, math.pi / 4 * 1.008)
fit("sin(x) = x + x^3 p(x^2):", x * x, each(lambda v: (mpmath.sin(v) / v - 1) / v**2, x), x**3 / np.sin(x), 2)
y = each(lambda v: (mpmath.cos(v) - 1 + v * v / 2) / v**4, x)
fit("cos(x) = 1 - x^2 / 2 + x^4 p(x^2):", x * x, y, x**4 / np.cos(x), 2)
fit("tan(x) = x + x^3 p(x^2):", x * x, each(lambda v: (mpmath.tan(v) / v - 1) / v**2, x), x**3 / np.tan(x), 6)


def show(name, of, low, high, count):
    """Coefficients in doubles, from the lowest power on."""
    print(name, ", ".join(mpmath.nstr(c, 17) for c in mpmath.chebyfit(of, [low, high], count)[::-1]))


def scaled_erfc(t):
    x = 2 * (1 + t) / (1 - t)
    return mpmath.erfc(x) * mpmath.exp(x * x) * (1 + 2 * x)


root = mpmath.sqrt
show("in f64, e^x = 1 + x + x^2 p(x):", lambda x: (mpmath.exp(x) - 1 - x) / x**2, mpmath.mpf("-0.347"), mpmath.mpf("0.347"), 11)
show("in f64, erf(x) = x + x p(x^2):", lambda s: mpmath.erf(root(s)) / root(s) - 1, mpmath.mpf("1e-9"), 1, 12)
show("in f64, erfc(x) e^(x^2) (1 + 2 x) = p((x - 2) / (x + 2)):", scaled_erfc, mpmath.mpf(-1) / 3 - mpmath.mpf("0.001"), mpmath.mpf("0.5"), 16)
show("in f64, erfc(x) = 1 - x - x p(x^2):", lambda s: mpmath.erf(root(s)) / root(s) - 1, mpmath.mpf("1e-9"),
     mpmath.mpf("0.3613"), 10)
show("in f64, erfc(x) e^(x^2) (0.75 + 1.5 x) = 1 + p((x - 2) / (x + 2)):", lambda t: scaled_erfc(t) * 3 / 4 - 1,
     mpmath.mpf("-1.4") / mpmath.mpf("2.6") - mpmath.mpf("0.001"), mpmath.mpf("25.3") / mpmath.mpf("29.3"), 24)
show("in f64, tanh(x) = x + x^3 p(x^2):", lambda s: (mpmath.tanh(root(s)) / root(s) - 1) / s, mpmath.mpf("1e-9"), mpmath.mpf("0.3969"), 12)
