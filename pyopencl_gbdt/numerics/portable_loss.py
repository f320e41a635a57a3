"""Twin of ``portable_loss.h``, ``portable_survival.h`` and ``portable_gamma.h``, in float32.

Every function takes and returns float32 arrays, works elementwise and runs the same operations.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.numerics.portable_math import (
    F,
    horner,
    portable_exp,
    portable_log,
    portable_log1p,
    portable_rsqrt,
    reciprocal,
)

_f = np.float32
_LEAST_SQUARE = _f(2.0**-100)


def minus_log1p(t: F) -> F:
    """Return t - ln(1 + t) for t > -1, within 5 ulp."""
    t = np.asarray(t, _f)
    s = t * reciprocal(_f(2.0) + t)
    z = s * s
    q = horner(
        z, 0.0588235296, 0.0666666701, 0.0769230798, 0.0909090936, 0.111111112, 0.142857149,
        0.200000003, 0.333333343,
    )  # fmt: skip
    near = s * (t - (z + z) * q)
    far = t - portable_log1p(t)
    return np.where((t < _f(-0.5)) | (t > _f(1.0)), far, near)


def divergence(d: F, a: F, b: F) -> F:
    """Return a - b - b ln(a / b) for a >= 0 and b in 2^-120 .. 2^120; ``d`` is a - b."""
    r = reciprocal(b)
    ratio = a * r
    near = b * minus_log1p(np.minimum(np.maximum(d * r, _f(-0.5)), _f(1.0)))
    far = d - b * portable_log(ratio)
    return np.where((ratio < _f(0.5)) | (ratio > _f(2.0)), far, near)


def portable_sqrt(x: F) -> F:
    """Return the square root of x in 2^-100 .. 2^100, within 2.5 ulp; 0 for smaller x."""
    x = np.asarray(x, _f)
    r = portable_rsqrt(np.maximum(x, _LEAST_SQUARE))
    return np.where(x < _LEAST_SQUARE, _f(0.0), x * r)


_MILLS = (
    1.07675944e-4, 1.21460413e-3, -2.02610064e-3, -6.39714487e-3, 0.0302276649, -0.0481636673,
    -4.48414416e-4, 0.176971644, -0.467846423, 1.31649578,
)  # fmt: skip
_DECAY = (
    -2.75573192e-7, 2.75573192e-6, -2.48015873e-5, 1.98412698e-4, -1.38888889e-3, 8.33333333e-3,
    -4.16666667e-2, 0.166666667, -0.5, 1.0,
)  # fmt: skip


def mills_right(x: F) -> F:
    """Return the normal (1 - Phi(x)) / phi(x) for x >= 0, relative error below 4e-7."""
    t = (x - _f(3.75)) * reciprocal(x + _f(3.75))
    ratio: F = horner(t, -1.35691371e-4, *_MILLS) * reciprocal(x + _f(1.5))
    return ratio


def mills_ratio(x: F) -> F:
    """Return Mills' ratio, relative error below 1e-5; below -11 the value at -11."""
    c = np.maximum(x, _f(-11.0))
    right = mills_right(np.abs(c))
    square = (_f(0.5) * c) * c
    top = _f(2.50662827) * portable_exp(np.minimum(square, _f(61.0)))
    return np.where(c < 0, top - right, right)


def mills_rest(x: F, r: F) -> F:
    """Return 1 - x r, where r is Mills' ratio of x."""
    near = _f(1.0) - np.maximum(x, _f(-11.0)) * r
    once = reciprocal(np.maximum(x, _f(12.0)))
    z = once * once
    far = horner(z, 945.0, -105.0, 15.0, -3.0, 1.0) * z
    rest: F = np.where(x < _f(12.0), near, far)
    return rest


def bernoulli(x: F) -> F:
    """Return x / (e^x - 1) for x >= 0, relative error below 1e-6; 0 above 60."""
    c = np.minimum(x, _f(60.0))
    series = horner(c * c, 3.30687835e-5, -1.38888892e-3, 0.0833333358, 1.0)
    small = series - _f(0.5) * c
    large = c * reciprocal(portable_exp(np.maximum(c, _f(0.5))) - _f(1.0))
    quotient: F = np.where(c < _f(0.5), small, np.where(x > _f(60.0), _f(0.0), large))
    return quotient


def bernoulli_rest(x: F, q: F) -> F:
    """Return q + x - 1, where q is ``bernoulli`` of x, relative error below 1e-6."""
    c = np.minimum(x, _f(0.5))
    series = horner(c * c, 3.30687835e-5, -1.38888892e-3, 0.0833333358)
    small = (series * c + _f(0.5)) * c
    rest: F = np.where(x < _f(0.5), small, q + (x - _f(1.0)))
    return rest


def mean_decay(x: F) -> F:
    """Return (1 - e^-x) / x for x in 0 .. 1, relative error below 2e-7."""
    return horner(x, *_DECAY)


def decay(x: F) -> F:
    """Return 1 - e^-x for x >= 0, relative error below 3e-7."""
    near = x * mean_decay(np.minimum(x, _f(1.0)))
    share: F = np.where(x < _f(1.0), near, _f(1.0) - portable_exp(-x))
    return share


def minus_log_decay(x: F) -> F:
    """Return -ln(1 - e^-x) for x > 0, relative or absolute error below 5e-7."""
    near = x * mean_decay(np.minimum(x, _f(1.0)))
    far = -portable_log1p(-portable_exp(-np.maximum(x, _f(1.0))))
    loss: F = np.where(x < _f(1.0), -portable_log(near), far)
    return loss


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
    return horner(r * r, *coefficients) * r
