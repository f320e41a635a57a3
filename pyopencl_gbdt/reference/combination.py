"""Twin of codes of combinations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.parts import Combination, Rows, combined_keys


def combination_codes(
    rows: Rows, parts: Combination, sizes: tuple[int, ...]
) -> npt.NDArray[np.uint32]:
    """Return the code of every row, uint32 (n_rows,); the number of rows where one is missing."""
    keys = combined_keys(rows, parts, sizes)
    codes = np.searchsorted(np.unique(keys[keys >= 0]), keys)
    return np.where(keys >= 0, codes, keys.size).astype(np.uint32)


def share_codes(
    shares: npt.NDArray[np.float32], cuts: npt.NDArray[np.float32]
) -> npt.NDArray[np.int64]:
    """Return how many cuts are at or below each number; ``cuts.size + 1`` for NaN."""
    found = np.searchsorted(cuts, shares, side="right")
    return np.where(np.isnan(shares), cuts.size + 1, found)
