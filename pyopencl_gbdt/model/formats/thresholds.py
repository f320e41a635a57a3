"""Thresholds of other libraries as ours, and back: the decisions of all finite float32 are equal.

Here a row goes left if ``x < t``, in float32. LightGBM asks ``x <= b`` in float64, and CatBoost
``x > b`` in float32. Between two neighbouring float32 there is none, so::

    x <= b   is   x < t,  where t is the first float32 above b
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
LOWEST, HIGHEST = np.finfo(np.float32).min, np.finfo(np.float32).max


def first_above(border: npt.NDArray[Any]) -> tuple[F32, npt.NDArray[np.bool_]]:
    """Return the first float32 above each border, and where there is none that is finite.

    Where there is none, every number is at most the border: swap the children, and ask
    ``x < LOWEST``, which is true of no number.

    Parameters
    ----------
    border : float64 array
        No NaN.
    """
    limit = float(HIGHEST)
    near = np.clip(border, -limit, limit).astype(np.float32)
    with np.errstate(over="ignore"):
        threshold = np.where(near > border, near, np.nextafter(near, np.float32(np.inf)))
    threshold = np.where(border < -limit, LOWEST, threshold).astype(np.float32)
    none = np.asarray(border >= limit)
    return np.where(none, LOWEST, threshold).astype(np.float32), none


def last_below(threshold: F32) -> F64:
    """Return the last float32 below each threshold, as float64; -1e300 where there is none."""
    with np.errstate(over="ignore"):
        below = np.nextafter(threshold, np.float32(-np.inf)).astype(np.float64)
    return np.where(np.isinf(below), -1e300, below)
