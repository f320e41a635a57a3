"""Twins of ``growth.histogram`` and ``primitives.histogram``: integer sums, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.page import Layout

I64 = npt.NDArray[np.int64]


def histogram(codes: npt.NDArray[Any], quanta: I64, rows: npt.NDArray[Any], layout: Layout) -> I64:
    """Sum the gradients and Hessians of some rows, per feature and code.

    Parameters
    ----------
    codes : integer array, shape (n_rows, n_features)
    quanta : int64 array, shape (n_rows, 2)
    rows : integer array
        The rows to sum.
    layout : Layout

    Returns
    -------
    int64 array, shape (n_codes, 2)
        Feature f's codes begin at ``layout.feature_offset[f]``.
    """
    sums = np.zeros((layout.n_codes, 2), np.int64)
    for feature in range(layout.n_features):
        place = layout.feature_offset[feature].astype(np.int64) + codes[rows, feature]
        np.add.at(sums, place, quanta[rows])
    return sums


def feature_histogram(
    codes: npt.NDArray[Any],
    pairs: npt.NDArray[Any],
    n_bins: int,
    rows: npt.NDArray[Any] | None = None,
) -> I64:
    """Sum pairs per feature and bin; ``rows`` may list a row several times.

    Parameters
    ----------
    codes : integer array, shape (n_rows, n_features)
        Codes above ``n_bins - 1`` count as ``n_bins - 1``.
    pairs : integer array, shape (n_rows, 2)
    n_bins : int
    rows : integer array, optional
        The rows to sum; default: all.

    Returns
    -------
    int64 array, shape (n_features, n_bins, 2)
    """
    chosen = np.arange(len(codes)) if rows is None else rows
    sums = np.zeros((codes.shape[1], n_bins, 2), np.int64)
    for feature in range(codes.shape[1]):
        bins = np.minimum(codes[chosen, feature].astype(np.int64), n_bins - 1)
        np.add.at(sums[feature], bins, pairs[chosen])
    return sums
