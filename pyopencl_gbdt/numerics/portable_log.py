"""Twin of ``cl_kernels/portable_log.h``: the same operations in the same order, in float32.

Every function takes and returns float32 arrays and works elementwise.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.numerics.portable_math import F, reciprocal, two_sum

_f = np.float32
_TINY = _f(2.0**-126)
_ROOT_HALF = np.uint32(0x3F3504F3)


def portable_log(x: F) -> F:
    """Return ln x within 1 ulp; x is clamped to 2^-126 .. 3.4e38."""
    given = np.asarray(x, _f).view(np.uint32)
    above = np.minimum(given, np.uint32(0x7F7FFFFF))
    low = (given >> 31 != 0) | (given < 0x00800000)
    bits = np.where(low, np.uint32(0x00800000), above)
    shifted = bits + (np.uint32(0x3F800000) - _ROOT_HALF)
    k = ((shifted >> 23).astype(np.int32) - 127).astype(_f)
    f = ((shifted & np.uint32(0x007FFFFF)) + _ROOT_HALF).view(_f) - _f(1.0)
    s = f * reciprocal(_f(2.0) + f)
    z = s * s
    r = np.full_like(z, _f(0.222222224))
    for coefficient in (0.285714298, 0.400000006, 0.666666687):
        r = r * z + _f(coefficient)
    r = r * z
    square = (_f(0.5) * f) * f
    small = s * (square + r) + k * _f(-2.12194442e-4)
    result: F = k * _f(0.693359375) + (f - (square - small))
    return result


def portable_log1p(x: F) -> F:
    """Return ln(1 + x) for x > -1, within 1.5 ulp."""
    x = np.asarray(x, _f)
    hi, lo = two_sum(np.ones_like(x), x)
    rest = lo * reciprocal(np.minimum(np.maximum(hi, _TINY), _f(1e10)))
    result: F = portable_log(hi) + np.where(x < _f(1e9), rest, _f(0.0))
    return result


def portable_rsqrt(x: F) -> F:
    """Return 1 / sqrt(x) for x in 2^-100 .. 2^100, within 1.5 ulp."""
    x = np.asarray(x, _f)
    half_x = _f(0.5) * x
    r: F = (np.uint32(0x5F375A86) - (x.view(np.uint32) >> 1)).view(_f)
    for _ in range(4):
        r = r + r * (_f(0.5) - half_x * (r * r))
    return r
