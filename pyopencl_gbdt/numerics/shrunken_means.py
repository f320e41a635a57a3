"""Means of counts that are drawn towards a prior, with the same bits on host and devices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import df_add, df_div, df_from_i64

F32 = npt.NDArray[np.float32]


def prior_sum(prior: float, weight: int) -> np.float32:
    """Return what a prior adds to a sum: it counts as ``weight`` rows."""
    found: np.float32 = np.float32(prior) * np.float32(weight)
    return found


def shrunken_mean(sums: npt.ArrayLike, counts: npt.ArrayLike, prior: float, weight: int = 1) -> F32:
    """Return ``(sum + weight * prior) / (count + weight)`` in float32; relative error below 2^-22.

    Parameters
    ----------
    sums, counts : array-like of int, 0..2^62
    prior : float
        What an element without a count gets; rounded to float32, 0..1.
    weight : int, 1..2^24
        The rows that the prior counts as.
    """
    sums, counts = np.asarray(sums, np.int64), np.asarray(counts, np.int64)
    own = np.full(sums.shape, prior_sum(prior, weight), np.float32)
    total = df_add(df_from_i64(sums), (own, np.zeros_like(own)))
    return df_div(total, df_from_i64(counts + weight))[0]
