"""Twins of ``pages.tiles`` and of histograms from tiles, row by row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.page import Layout

I64 = npt.NDArray[np.int64]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]


def tile(codes: npt.NDArray[Any], layout: Layout, begins: U32) -> tuple[U16, U32]:
    """Return the cells of dense codes, and where the cells of every row begin in every tile.

    Parameters
    ----------
    codes : integer array, shape (n_rows, n_features)
        Code ``layout.feature_bins[f]`` is missing.
    layout : Layout
    begins : uint32 array, shape (n_tiles + 1,)
        First feature of every tile, then the number of features.

    Returns
    -------
    cells : uint16 array, shape (n_entries,)
    row_begin : uint32 array, shape (n_tiles, n_rows + 1)
    """
    cells: list[int] = []
    row_begin = np.zeros((begins.size - 1, len(codes) + 1), np.uint32)
    for number, (first, behind) in enumerate(pairwise(begins)):
        for row, own in enumerate(codes):
            row_begin[number, row] = len(cells)
            for feature in range(first, behind):
                if own[feature] < layout.feature_bins[feature]:
                    begin = layout.feature_offset[feature] - layout.feature_offset[first]
                    cells.append(int(begin) + int(own[feature]))
        row_begin[number, -1] = len(cells)
    return np.array(cells, np.uint16), row_begin


def tiled_histogram(
    cells: U16,
    row_begin: U32,
    quanta: I64,
    rows: npt.NDArray[Any],
    layout: Layout,
    begins: U32,
) -> I64:
    """Sum the gradients and Hessians of some rows, per feature and bin, from tiles.

    Parameters
    ----------
    cells, row_begin
        As ``tile`` returns them.
    quanta : int64 array, shape (n_rows, 2)
    rows : integer array
        The rows to sum.
    layout : Layout
    begins : uint32 array, shape (n_tiles + 1,)

    Returns
    -------
    int64 array, shape (n_codes, 2)
        0 at the codes of missing values.
    """
    sums = np.zeros((layout.n_codes, 2), np.int64)
    for number, first in enumerate(begins[:-1]):
        for row in rows:
            own = cells[row_begin[number, row] : row_begin[number, row + 1]]
            sums[layout.feature_offset[first] + own.astype(np.int64)] += quanta[row]
    return sums
