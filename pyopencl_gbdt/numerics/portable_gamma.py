"""Twin of ``portable_gamma.h``: the same operations, in float32.

Every function takes and returns float32 arrays and works elementwise.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.numerics.portable_math import F, portable_log, reciprocal

_f = np.float32


def digamma_rest(x: F) -> F:
    """Return x (ln x - digamma(x)) for x in 2^-100 .. 2^100; absolute error below 2e-6."""
    far, r = _raised(x)
    series = (-4.16666688e-3, 3.96825399e-3, -8.33333377e-3, 0.0833333358)
    rest = _series(r, series) + _f(0.5)
    total = reciprocal(x + _f(1.0)) + reciprocal(x + _f(2.0))
    total = total + reciprocal(x + _f(3.0))
    logs = portable_log(far * reciprocal(x))
    d = (total + rest * r) - logs
    found: F = np.where(x < _f(4.0), _f(1.0) + x * d, rest)
    return found


def trigamma_rest(x: F) -> F:
    """Return x (x trigamma(x) - 1) for x in 2^-100 .. 2^100; absolute error below 2e-6."""
    _, r = _raised(x)
    rest = _series(r, (-0.0333333351, 0.0238095243, -0.0333333351, 0.166666672)) + _f(0.5)
    one, two, three = (x * reciprocal(x + _f(k)) for k in (1.0, 2.0, 3.0))
    four = x * r
    total = (one * one + two * two) + three * three
    total = total + (four * four) * rest
    found: F = np.where(x < _f(4.0), _f(1.0) + (total - four * _f(4.0)), rest)
    return found


def gamma_rest(x: F) -> F:
    """Return ln gamma(x) - x ln x + x + ln(x) / 2 for x in 2^-100 .. 2^100.

    The error is below 3e-6, relative for x below 1.
    """
    far, r = _raised(x)
    series = (-5.95238118e-4, 7.93650805e-4, -2.77777785e-3, 0.0833333358)
    rest = _series(r, series) + _f(0.918938518)
    log_far, log_x = portable_log(far), portable_log(x)
    small = np.where(x < _f(4.0), x, _f(4.0))
    log_abc = portable_log(((small + _f(1.0)) * (small + _f(2.0))) * (small + _f(3.0)))
    total = (rest - _f(4.0)) + (far - _f(0.5)) * log_far
    found: F = np.where(x < _f(4.0), (total - log_abc) - (x + _f(0.5)) * log_x, rest)
    return found


def _raised(x: F) -> tuple[F, F]:
    """Return x, or x + 4 if x is below 4, and its reciprocal."""
    far = np.where(x < _f(4.0), x + _f(4.0), x)
    return far, reciprocal(far)


def _series(r: F, coefficients: tuple[float, ...]) -> F:
    z, s = r * r, np.full_like(r, _f(coefficients[0]))
    for coefficient in coefficients[1:]:
        s = s * z + _f(coefficient)
    return s * r
