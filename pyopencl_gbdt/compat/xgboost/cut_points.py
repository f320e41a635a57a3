"""Cut points of columns, in the form in which XGBoost 3.2 shows them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.numerics.weights import whole
from pyopencl_gbdt.pages.columns import entries_of
from pyopencl_gbdt.pages.cuts import CUT_RULES

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: The rule of bins that trainings of this layer follow.
CUT_RULE = "xgboost"
#: Beyond the values on both sides; a float32 that is added to doubles.
_EDGE = float(np.float32(1e-5))


def cut_points(rows: Dataset, max_bin: int) -> tuple[npt.NDArray[np.uint64], F32]:
    """Return where each column's points begin, and the points of all columns.

    A column of n bins has n + 1 points: one below its values, the first value of each further bin,
    and one above its values. A column of categories has its codes. Bins are those of a training.
    """
    points: list[F32] = []
    weight = np.ones(rows.n_rows, np.int64)
    if rows.weight is not None:
        weight = whole(rows.weight.astype(np.float64))
    for feature, (values, own) in enumerate(_columns(rows, weight)):
        if feature in rows.categories:
            points.append(np.arange(rows.categories[feature].n_levels, dtype=np.float32))
        else:
            points.append(_points(values, own, max_bin))
    starts = np.cumsum([0, *(one.size for one in points)]).astype(np.uint64)
    return starts, np.concatenate([np.empty(0, np.float32), *points]).astype(np.float32)


def _columns(rows: Dataset, weight: I64) -> Iterator[tuple[F32, I64]]:
    """Yield the values of every column that are present in rows that count, and their weights."""
    if rows.sparse is not None:
        entries = entries_of(rows.sparse)
        for begin, end in zip(entries.starts[:-1], entries.starts[1:], strict=True):
            own = weight[entries.rows[begin:end]]
            yield entries.values[begin:end][own > 0], own[own > 0]
        return
    for column in rows.values.T:
        counts = ~np.isnan(column) & (weight > 0)
        yield column[counts], weight[counts]


def _points(values: F32, weight: I64, max_bin: int) -> F32:
    """Return the points of a column of so many bins at most."""
    if not values.size:
        return np.array([_EDGE, 3 * _EDGE], np.float32)
    order = np.argsort(values, kind="stable")
    values = values[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    ends = CUT_RULES[CUT_RULE].bin_ends(np.add.reduceat(weight[order], first), max_bin)
    low, high = float(values[0]), float(values[-1])
    around = low - abs(low) - _EDGE, high + (abs(high) + _EDGE)
    return np.concatenate([around[:1], values[first[ends[:-1]]], around[1:]]).astype(np.float32)
