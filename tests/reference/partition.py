"""Twin of ``growth.partition``: two selections that keep the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.uint32]


def goes_left(
    codes: npt.NDArray[Any], bin_: int, n_bins: int, default_left: bool
) -> npt.NDArray[np.bool_]:
    """Return which rows go left.

    Parameters
    ----------
    codes : integer array, shape (n_rows,)
        Codes of the split's feature; ``n_bins`` stands for missing.
    bin_ : int
        Last bin that goes left.
    n_bins : int
        Bins of the feature.
    default_left : bool
        Whether missing values go left.
    """
    return np.where(codes == n_bins, default_left, codes <= bin_)


def partition(rows: Rows, left: npt.NDArray[np.bool_]) -> tuple[Rows, Rows]:
    """Return the rows that go left and those that go right, each in the order before.

    Parameters
    ----------
    rows : uint32 array, shape (n,)
    left : bool array, shape (n,)
    """
    return rows[left], rows[~left]
