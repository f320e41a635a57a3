"""Arithmetic that gives the same bits everywhere: in float32 as kernels do it, and exact sums.

Twin of ``portable_math.h`` and ``portable_log.h``: the same operations in order, in float32.

Every function takes and returns float32 (or int64) arrays and works elementwise. A pair
``(hi, lo)`` is one number stored as the sum of two floats.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

F = npt.NDArray[np.float32]
I = npt.NDArray[np.int64]  # noqa: E741
DF = tuple[F, F]

_f = np.float32


def two_sum(a: F, b: F) -> DF:
    """Return a + b without error."""
    s = a + b
    c = s - a
    d = s - c
    return s, (a - d) + (b - c)


def fast_two_sum(a: F, b: F) -> DF:
    """Return a + b without error for |a| >= |b|."""
    s = a + b
    return s, b - (s - a)


def _parts(a: F) -> DF:
    c = _f(4097.0) * a
    high = c - (c - a)
    return high, a - high


def two_prod(a: F, b: F) -> DF:
    """Return a * b without error."""
    p = a * b
    (ah, al), (bh, bl) = _parts(a), _parts(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def df_add(a: DF, b: DF) -> DF:
    """Return a + b."""
    s = two_sum(a[0], b[0])
    t = two_sum(a[1], b[1])
    s = fast_two_sum(s[0], s[1] + t[0])
    return fast_two_sum(s[0], s[1] + t[1])


def df_neg(a: DF) -> DF:
    """Return -a."""
    return -a[0], -a[1]


def df_mul(a: DF, b: DF) -> DF:
    """Return a * b."""
    p = two_prod(a[0], b[0])
    return fast_two_sum(p[0], p[1] + (a[0] * b[1] + a[1] * b[0]))


def df_less(a: DF, b: DF) -> npt.NDArray[np.bool_]:
    """Return a < b."""
    less: npt.NDArray[np.bool_] = (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
    return less


def power_of_two(k: int) -> np.float32:
    """Return 2^k, k clamped to -126..127."""
    power: np.float32 = _f(2.0 ** min(max(int(k), -126), 127))
    return power


def scale_by(x: F, k: int) -> F:
    """Return x * 2^k, in several steps so that every factor is in range."""
    c = min(max(int(k), -252), 254)
    first = int(c / 2)
    scaled: F = (x * power_of_two(first)) * power_of_two(c - first)
    return scaled


def reciprocal(x: F) -> F:
    """Return 1 / x for x in 2^-120..2^120, within 1.5 ulp."""
    x = np.asarray(x, _f)
    r: F = (np.uint32(0x7EF311C7) - x.view(np.uint32)).view(_f)
    for _ in range(4):
        r = r + r * (_f(1.0) - x * r)
    return r


def df_div(a: DF, b: DF) -> DF:
    """Return a / b; relative error below 2^-44."""
    zero = np.zeros_like(a[0])
    r = reciprocal(b[0])
    q1 = a[0] * r
    rest = df_add(a, df_neg(df_mul(b, (q1, zero))))
    q2 = rest[0] * r
    rest = df_add(rest, df_neg(df_mul(b, (q2, zero))))
    q3 = rest[0] * r
    q = fast_two_sum(q1, q2)
    return fast_two_sum(q[0], q[1] + q3)


def df_from_i64(v: I) -> DF:
    """Return an integer of up to 63 bits as a pair of floats."""
    v = np.asarray(v, np.int64)
    top = (v >> 42).astype(_f) * _f(2.0**42)
    middle = ((v >> 21) & 0x1FFFFF).astype(_f) * _f(2.0**21)
    bottom = (v & 0x1FFFFF).astype(_f)
    a = two_sum(top, middle)
    b = two_sum(a[1], bottom)
    c = two_sum(a[0], b[0])
    return fast_two_sum(c[0], c[1] + b[1])


def not_tiny(x: F, least: float = 2.0**-125) -> F:
    """Return x, with the zero of its sign instead of numbers nearer to 0 than ``least``."""
    kept: F = x * (np.abs(x) >= _f(least))
    return kept


def _clamped(x: F) -> F:
    most = np.finfo(_f).max
    kept: F = np.maximum(np.where(x <= most, x, most), -most).astype(_f)
    return kept


def finite(x: F) -> F:
    """Return x, with infinities replaced by the largest number of that sign, NaN by the largest.

    Numbers nearer to 0 than 2^-125 become 0, as devices disagree on them.
    """
    return not_tiny(_clamped(x))


def as_margin(x: F) -> F:
    """Return numbers that are added to margins: finite, and 0 if nearer to 0 than 2^-101.

    All are multiples of 2^-125, and so are their sums: no sum is subnormal, and a subnormal label
    is too small to change its difference from one that is not 0.
    """
    return not_tiny(_clamped(x), 2.0**-101)


def horner(x: F, *coefficients: float) -> F:
    """Return the value of a polynomial; the coefficient of the highest power is the first."""
    s = np.full_like(x, _f(coefficients[0]))
    for coefficient in coefficients[1:]:
        s = s * x + _f(coefficient)
    return s


def portable_exp(x: F) -> F:
    """Return e^x for x clamped to -80..80, within 2 ulp."""
    c = np.minimum(np.maximum(np.asarray(x, _f), _f(-80.0)), _f(80.0))
    n = (c * _f(1.44269502) + _f(12582912.0)) - _f(12582912.0)
    r = (c - n * _f(0.693359375)) - n * _f(-2.12194442e-4)
    s = horner(
        r, 1.98412701e-4, 1.38888892e-3, 8.33333377e-3, 4.16666679e-2, 1.66666672e-1, 0.5, 1.0, 1.0
    )
    scaled: F = s * np.ldexp(_f(1.0), n.astype(np.int32)).astype(_f)
    return scaled


def portable_sigmoid(x: F) -> F:
    """Return 1 / (1 + e^-x), x clamped to -50..50."""
    c = np.minimum(np.maximum(np.asarray(x, _f), _f(-50.0)), _f(50.0))
    return reciprocal(_f(1.0) + portable_exp(-c))


def to_quanta(x: F, s: int) -> I:
    """Return round(x * 2^s), ties to even; subnormal x count as 0, results stay below 2^62."""
    bits = np.asarray(x, _f).view(np.uint32)
    exponent = ((bits >> 23) & 0xFF).astype(np.int64)
    mantissa = ((bits & 0x7FFFFF) | 0x800000).astype(np.float64)
    # float64 holds the shifted mantissa exactly; from 2^53 on the result is an integer anyway.
    size = np.rint(np.ldexp(mantissa, np.clip(exponent - 150 + int(s), -26, 38))).astype(np.int64)
    return np.where(exponent == 0, 0, np.where(bits >> 31, -size, size))


def ordered(x: F) -> npt.NDArray[np.uint32]:
    """Return unsigned keys in the order of the floats; -0 and +0 have the same key."""
    bits = np.asarray(x, _f).view(np.uint32)
    signs = (bits.view(np.int32) >> 31).view(np.uint32)  # all bits of a negative number
    keys = bits ^ (signs | np.uint32(0x80000000))
    found: npt.NDArray[np.uint32] = keys + (keys == 0x7FFFFFFF)  # the key of -0 would be less
    return found


def is_missing(x: F) -> npt.NDArray[np.bool_]:
    """Return a mask of NaN, tested by their bits."""
    missing: npt.NDArray[np.bool_] = (np.asarray(x, _f).view(np.uint32) & 0x7FFFFFFF) > 0x7F800000
    return missing


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
    r = horner(z, 0.222222224, 0.285714298, 0.400000006, 0.666666687) * z
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


#: Rows summed at a time: their temporaries fit into a processor's cache.
_CHUNK = 1 << 15
#: Bits below its largest number that float64 adds up exactly in a chunk: 2^15 numbers of 37 bits.
_NEAR = 37
#: Exponents of the last bit of a product of two float32 numbers: 2 (-148 - 24) .. 2 (128 - 24).
_LOWEST, _N_PLACES = -344, 553


def exact_mean(values: F, weight: F | None) -> Fraction:
    """Return the (weighted) mean.

    Parameters
    ----------
    values, weight : float32 array, shape (n_rows,)
        Finite values and weights >= 0, not all 0.
    """
    total = exact_sum(values, weight)
    count = Fraction(values.size) if weight is None else exact_sum(weight, None)
    return total / count


def exact_sum(values: F, weight: F | None) -> Fraction:
    """Return the (weighted) sum; parameters as for ``exact_mean``."""
    if weight is not None:
        return _sum_by_places(values, weight)
    total, rest = 0, []
    for begin in range(0, values.size, _CHUNK):
        chunk = values[begin : begin + _CHUNK].astype(np.float64)
        largest = max(-float(chunk.min()), float(chunk.max()))
        if not math.isfinite(largest):
            rest.append(chunk)
            continue
        place = math.frexp(largest)[1] - _NEAR
        big = math.ldexp(1.5, place + 52)  # added, it rounds to multiples of 2^place
        near = chunk + big
        near -= big
        total += int(math.ldexp(float(near.sum()), -place)) << (place - _LOWEST)
        chunk -= near
        if chunk.any():
            rest.append(chunk[chunk != 0])  # what small numbers have below 2^place
    found = Fraction(total) * Fraction(2) ** _LOWEST
    if rest:
        found += _sum_by_places(np.concatenate(rest).astype(np.float32), None)
    return found


def _sum_by_places(values: F, weight: F | None) -> Fraction:
    """Return the (weighted) sum of numbers of all sizes, by sums for every exponent."""
    high, low = np.zeros(_N_PLACES, np.int64), np.zeros(_N_PLACES, np.int64)
    for begin in range(0, values.size, _CHUNK):
        rows = slice(begin, begin + _CHUNK)
        mantissa, exponent = _decompose(values[rows])
        if weight is not None:
            other, shift = _decompose(weight[rows])
            mantissa, exponent = mantissa * other, exponent + shift  # at most 48 bits
        place = exponent - _LOWEST
        # Each half has 24 bits, so the float64 sums of a chunk are exact.
        high += _by_place(place, mantissa >> 24)
        low += _by_place(place, mantissa & 0xFFFFFF)
    pairs = zip(high.tolist(), low.tolist(), strict=True)
    total = sum(((h << 24) + lo) << i for i, (h, lo) in enumerate(pairs) if h or lo)
    return Fraction(total) * Fraction(2) ** _LOWEST


def _by_place(place: npt.NDArray[Any], half: I) -> I:
    return np.bincount(place, half.astype(np.float64), _N_PLACES).astype(np.int64)


def _decompose(values: F) -> tuple[I, npt.NDArray[Any]]:
    fraction, exponent = np.frexp(values)
    return (fraction * np.float32(2.0**24)).astype(np.int64), exponent - 24
