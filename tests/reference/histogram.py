"""Twins of ``growth.histogram`` and ``primitives.histogram``: integer sums, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.page import Layout

I64 = npt.NDArray[np.int64]


def _sums_at(places: npt.NDArray[Any], pairs: npt.NDArray[Any], n_places: int) -> I64:
    """Sum a row's pair at each of the row's places; NumPy adds single numbers five times faster."""
    sums = np.zeros((2, n_places), np.int64)
    for own, column in zip(sums, pairs.astype(np.int64).T, strict=True):
        np.add.at(own, places.ravel(), np.repeat(column, places.shape[1]))
    return np.ascontiguousarray(sums.T)


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
    offsets = layout.feature_offset[: layout.n_features].astype(np.int64)
    return _sums_at(offsets + codes[rows, : layout.n_features], quanta[rows], layout.n_codes)


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
    n_features = codes.shape[1]
    bins = np.minimum(codes[chosen].astype(np.int64), n_bins - 1)
    places = n_bins * np.arange(n_features) + bins
    return _sums_at(places, pairs[chosen], n_features * n_bins).reshape(n_features, n_bins, 2)
