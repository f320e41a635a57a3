"""Sums of float32 numbers without any rounding, hence the same in any order and on any machine."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


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
    mantissa, exponent = _decompose(values)
    if weight is not None:
        other, shift = _decompose(weight)
        mantissa, exponent = mantissa * other, exponent + shift  # at most 48 bits
    low = int(exponent.min())
    place = (exponent - low).astype(np.int64)
    # halves of 24 bits: float64 sums of up to 2^29 of them are exact
    high_sum = np.bincount(place, weights=(mantissa >> 24).astype(np.float64))
    low_sum = np.bincount(place, weights=(mantissa & 0xFFFFFF).astype(np.float64))
    total = sum(
        ((int(h) << 24) + int(lo)) << i
        for i, (h, lo) in enumerate(zip(high_sum, low_sum, strict=True))
    )
    return Fraction(total) * Fraction(2) ** low


def _decompose(values: F32) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    fraction, exponent = np.frexp(values)
    return (fraction * np.float32(2.0**24)).astype(np.int64), exponent - 24
