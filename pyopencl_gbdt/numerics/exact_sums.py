"""Sums of float32 numbers without rounding; the result is the same in any order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Rows summed at a time: their temporaries fit into a processor's cache.
_CHUNK = 1 << 15
_WHOLE = np.float32(1 << 24)
#: Exponents of the last bit of a product of two float32 numbers: 2 (-148 - 24) .. 2 (128 - 24).
_LOWEST, _N_PLACES = -344, 553


def exact_mean(values: F32, weight: F32 | None) -> Fraction:
    """Return the (weighted) mean.

    Parameters
    ----------
    values, weight : float32 array, shape (n_rows,)
        Finite values and weights >= 0, not all 0.
    """
    total = exact_sum(values, weight)
    count = Fraction(values.size) if weight is None else exact_sum(weight, None)
    return total / count


def exact_sum(values: F32, weight: F32 | None) -> Fraction:
    """Return the (weighted) sum; parameters as for ``exact_mean``."""
    high, low = np.zeros(_N_PLACES, np.int64), np.zeros(_N_PLACES, np.int64)
    whole, others = 0, 0
    for begin in range(0, values.size, _CHUNK):
        rows = slice(begin, begin + _CHUNK)
        if weight is None and _are_whole(values[rows]):
            whole += int(values[rows].sum(dtype=np.float64))
            continue
        others += 1
        mantissa, exponent = _decompose(values[rows])
        if weight is not None:
            other, shift = _decompose(weight[rows])
            mantissa, exponent = mantissa * other, exponent + shift  # at most 48 bits
        place = exponent - _LOWEST
        # Each half has 24 bits, so the float64 sums of a chunk are exact.
        high += _by_place(place, mantissa >> 24)
        low += _by_place(place, mantissa & 0xFFFFFF)
    if not others:
        return Fraction(whole)
    pairs = zip(high.tolist(), low.tolist(), strict=True)
    total = sum(((h << 24) + lo) << i for i, (h, lo) in enumerate(pairs) if h or lo)
    return whole + Fraction(total) * Fraction(2) ** _LOWEST


def _are_whole(values: F32) -> bool:
    """Tell whether a chunk holds whole numbers below 2^24, whose float64 sums are exact.

    Classes and counts are such numbers: 1 M labels take 1 ms instead of 6.
    """
    return bool((np.abs(values) < _WHOLE).all()) and bool((values == np.rint(values)).all())


def _by_place(place: npt.NDArray[Any], half: I64) -> I64:
    return np.bincount(place, half.astype(np.float64), _N_PLACES).astype(np.int64)


def _decompose(values: F32) -> tuple[I64, npt.NDArray[Any]]:
    fraction, exponent = np.frexp(values)
    return (fraction * np.float32(2.0**24)).astype(np.int64), exponent - 24
