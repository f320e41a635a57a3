"""Checks of label bounds, for times that are only partly known (censored)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.targets import check_vector
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import Source, show

F32 = NDArray[np.float32]
LOWER, UPPER = "label_lower_bound", "label_upper_bound"


def check_bounds(lower: Any, upper: Any, n_rows: int) -> tuple[F32 | None, F32 | None]:
    """Check bounds of labels.

    Parameters
    ----------
    lower, upper : None, or (n_rows,) or (n_rows, 1) array-like
        Give both or neither. ``0 <= lower <= upper`` and ``0 < upper``; upper may be infinite.
    n_rows : int
        The number of rows of the matrix.

    Returns
    -------
    lower, upper : (n_rows,) float32 array, contiguous, or None

    Raises
    ------
    DataError
        A shape, length, dtype or value cannot be used; the message names the row.
    """
    if lower is None and upper is None:
        return None, None
    if lower is None or upper is None:
        there, missing = (UPPER, LOWER) if lower is None else (LOWER, UPPER)
        raise DataError(
            f"{there} without {missing}: expected both; if one is unknown, give 0 as lower bound "
            "or infinity as upper bound"
        )
    low = check_vector(lower, n_rows, LOWER)
    high = check_vector(upper, n_rows, UPPER, infinity=True)
    _refuse(low < 0, low, LOWER, "a number >= 0", "give 0 where there is no bound")
    _refuse(high <= 0, high, UPPER, "a number > 0", "give infinity where there is no bound")
    _refuse(high < low, high, UPPER, f"{LOWER} or more", "swap them, if they were mixed up")
    return low, high


def _refuse(wrong: NDArray[np.bool_], values: F32, name: str, expected: str, move: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        place = Source(name, is_vector=True).place(row, 0)
        raise DataError(f"{name} holds {show(values[row])} at {place}: expected {expected}; {move}")
