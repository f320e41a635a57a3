"""Twin of joint codes: the codes of columns that share one, and each column's share of its sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def joint_codes(codes: npt.NDArray[Any], sizes: Sequence[int]) -> npt.NDArray[np.uint8]:
    """Return the joint codes of some columns.

    Parameters
    ----------
    codes : integer array, shape (n_rows, n_columns)
    sizes : sequence of int
        Codes of each column; their product is at most 256.
    """
    joint: npt.NDArray[np.uint8] = np.ravel_multi_index(codes.T, sizes).astype(np.uint8)
    return joint


def marginals(cells: npt.NDArray[np.int64], sizes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
    """Return the histogram of each column from the histogram of their joint codes.

    Parameters
    ----------
    cells : int64 array, shape (n_cells, 2)
    sizes : sequence of int
    """
    by_digit = cells.reshape(*sizes, 2)
    others = [tuple(k for k in range(len(sizes)) if k != own) for own in range(len(sizes))]
    return [by_digit.sum(axis=axes) for axes in others]
