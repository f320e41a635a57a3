"""Quantiles of float32 values with integer weights: the same bits on every machine.

The definitions are those of XGBoost 3.2, ``src/common/stats.h`` (``Quantile``,
``WeightedQuantile``); for the interpolation see the NIST/SEMATECH e-Handbook, 7.2.6.2.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import finite

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


def _finite(x: np.float32) -> np.float32:
    """Return the nearest finite number; 0 for one that devices disagree on."""
    clamped: np.float32 = finite(np.array([x]))[0]
    return clamped


def quantile(values: F32, weights: I64 | None, alpha: float) -> np.float32 | None:
    """Return the alpha-quantile; None if no value has a weight.

    Without weights, the quantile is the sorted value at position ``alpha * (n + 1)``, counted from
    1 and interpolated between neighbours. With weights, it is the smallest value whose cumulative
    weight reaches ``alpha`` times the total weight; that threshold is rounded to float32.

    Parameters
    ----------
    values : float32 array, shape (n,)
        Finite values.
    weights : int64 array, shape (n,), or None
        Weights >= 0 with a sum below 2^62.
    alpha : float
        0 to 1.
    """
    mantissa, shift = fraction_of(alpha)
    order = np.argsort(values, kind="stable")
    ranked = values[order] + np.float32(0)  # turns -0 into +0
    if weights is not None:
        sums = np.cumsum(weights[order])
        if not values.size or not sums[-1]:
            return None
        rank = _weighted_rank(int(sums[-1]), mantissa, shift)
        least: np.float32 = ranked[np.searchsorted(sums, rank)]
        return least
    n = values.size
    if not n:
        return None
    rank, below = divmod((n + 1) * mantissa, 1 << shift)
    low: np.float32 = ranked[min(max(rank, 1), n) - 1]
    part = np.float32((below << 1 >> (shift - 23)) * 2.0**-24)
    if not 1 <= rank < n or not part:
        return low
    with np.errstate(over="ignore"):
        between: np.float32 = low + _finite(part * _finite(ranked[rank] - low))
    return _finite(between)


def _of_24_bits(x: int) -> tuple[int, int]:
    """Return (kept, shift): kept * 2^shift is the nearest 24-bit number, ties to even."""
    shift = max(0, x.bit_length() - 24)
    kept, below = divmod(x, 1 << shift)
    return kept + (2 * below + (kept & 1) > 1 << shift), shift


def _weighted_rank(total: int, mantissa: int, shift: int) -> int:
    kept, up = _of_24_bits(total)
    product, more = _of_24_bits(kept * mantissa)
    exponent = up + more - shift
    threshold = product << exponent if exponent >= 0 else -(-product >> -exponent)
    return min(max(threshold, 1), total)


def fraction_of(alpha: float) -> tuple[int, int]:
    """Return (mantissa, shift) with float32(alpha) = mantissa / 2^shift; alpha < 2^-36 gives 0.

    ``alpha``: 0 to 1.

    Returns
    -------
    mantissa, shift : int
        The mantissa has at most 24 bits, shift lies in 23..60.
    """
    mantissa, exponent = math.frexp(float(np.float32(alpha)))
    shift = 24 - exponent
    return (0, 24) if shift > 60 else (int(mantissa * 2**24), shift)
