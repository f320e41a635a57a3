"""Twin of ``cl_kernels/portable_loss.h``: the same operations in the same order, in float32.

Every function takes and returns float32 arrays and works elementwise.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.numerics.portable_log import portable_log, portable_log1p, portable_rsqrt
from pyopencl_gbdt.numerics.portable_math import F, reciprocal

_f = np.float32
_LEAST_SQUARE = _f(2.0**-100)


def minus_log1p(t: F) -> F:
    """Return t - ln(1 + t) for t > -1, within 5 ulp."""
    t = np.asarray(t, _f)
    s = t * reciprocal(_f(2.0) + t)
    z = s * s
    q = np.full_like(z, _f(0.0588235296))
    for coefficient in (
        0.0666666701,
        0.0769230798,
        0.0909090936,
        0.111111112,
        0.142857149,
        0.200000003,
        0.333333343,
    ):
        q = q * z + _f(coefficient)
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
