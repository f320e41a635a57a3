"""Cut points of columns, in the form in which XGBoost shows them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.pages.cuts import bin_ends, most_bins

F32 = npt.NDArray[np.float32]


def cut_points(rows: Dataset, max_bin: int) -> tuple[npt.NDArray[np.uint64], F32]:
    """Return where each column's points begin, and the points of all columns.

    A column of n bins has n + 1 points: one below its values, the first value of each further bin,
    and one above its values. A column of categories has its codes. Bins are those of a training.
    """
    points: list[F32] = []
    for feature in range(rows.n_features):
        if feature in rows.categories:
            points.append(np.arange(rows.categories[feature].n_levels, dtype=np.float32))
            continue
        column = _column(rows, feature)
        found = column[~np.isnan(column)]
        values, counts = np.unique(found, return_counts=True)
        most = most_bins(max_bin, some_missing=found.size < rows.n_rows)
        ends = bin_ends(counts.astype(np.int64), most) if values.size else np.zeros(0, np.int64)
        points.append(_around(values, ends))
    starts = np.cumsum([0, *(one.size for one in points)]).astype(np.uint64)
    return starts, np.concatenate([np.empty(0, np.float32), *points]).astype(np.float32)


def _column(rows: Dataset, feature: int) -> F32:
    if rows.sparse is None:
        return rows.values[:, feature]
    own: F32 = rows.sparse.values[rows.sparse.columns == feature]
    return own


def _around(values: F32, ends: npt.NDArray[np.int64]) -> F32:
    """Return the points around bins whose last values stand before ``ends``."""
    edge = np.float32(1e-5)
    if not values.size:
        return np.array([edge, 3 * edge])
    low, high = values[0], values[-1]
    first, last = low - (abs(low) + edge), high + (abs(high) + edge)
    return np.concatenate([[first], values[ends[:-1]], [last]]).astype(np.float32)
