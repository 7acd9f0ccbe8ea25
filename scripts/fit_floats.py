#!/usr/bin/env python3
"""The polynomials of kernels/rows/floats.h, printed with how far each is off, in 2^-24 of the result.

    scripts/fit_floats.py

Least squares whose weights grow where the error is largest (Lawson 1961) come to the least largest error. Coefficients
are rounded to f32 from the highest power on, and the remaining ones are fitted anew each time. Needs numpy.
"""
import math

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
