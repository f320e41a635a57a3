"""Twin of ``pages.quantize``: distinct values with weights fill one bin after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import ordered, to_quanta
from pyopencl_gbdt.pages.page import Layout

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class ColumnCuts:
    """The values on both sides of each cut of a feature.

    Attributes
    ----------
    below, above : float32 array, shape (n_bins,)
        Last value of each bin, and first value of the next bin; equal for the last bin.
    missing : bool
        Whether the feature has missing values.
    """

    below: F32
    above: F32
    missing: bool


def whole_weights(weight: F32 | None, n_rows: int) -> I64:
    """Convert weights to integers whose sum stays below 2^61; only weights of 0 become 0.

    Parameters
    ----------
    weight : float32 array, shape (n_rows,), or None
    n_rows : int
    """
    if weight is None:
        return np.ones(n_rows, np.int64)
    top = int(np.frexp(weight)[1].max())
    whole = to_quanta(weight, 61 - top - n_rows.bit_length())
    return np.where(weight > 0, np.maximum(whole, 1), 0)


def fill_bins(weight: I64, most: int) -> list[int]:
    """Return, for each bin, the index of the distinct value after its last one.

    A bin takes values until it reaches its share: the remaining weight over the number of bins
    that may still come.

    Parameters
    ----------
    weight : int64 array, shape (n_distinct,)
        Weight of each distinct value, in ascending order of the values.
    most : int
        Most bins.
    """
    if weight.size <= most:
        return list(range(1, weight.size + 1))
    ends: list[int] = []
    value, rest = 0, int(weight.sum())
    while value < weight.size:
        share = -(-rest // (most - len(ends)))
        taken = 0
        while taken < share:
            taken += int(weight[value])
            value += 1
        rest -= taken
        ends.append(value)
    return ends


def ranked_bins(weight: I64, most: int) -> list[int]:
    """Return, for each bin, the index of the distinct value after its last one, as XGBoost does.

    Arguments are those of ``fill_bins``. Of more values than ``most + 1``, those begin a bin whose
    rows hold the row at one of ``most - 1`` equal parts between the first and the last value.
    """
    n = weight.size
    if n <= most + 1:
        return [*range(1, min(n, most)), n] if n else []
    rows = np.concatenate([[0], np.cumsum(weight)])  # before each value
    ends: list[int] = []
    for part in range(1, most):
        row = int(rows[1]) + part * (int(rows[-2]) - int(rows[1])) // most
        value = int(np.flatnonzero(rows <= row)[-1])
        if value not in ends:
            ends.append(value)
    return [*ends, *([n - 1] if len(ends) < most - 1 else []), n]


def cut_column(column: F32, weight: I64, max_bin: int, rule: str = "shares") -> ColumnCuts:
    """Cut one feature by equal frequency.

    Parameters
    ----------
    column : float32 array, shape (n_rows,)
        NaN means missing.
    weight : int64 array, shape (n_rows,)
        Rows of weight 0 are ignored.
    max_bin : int
        Most bins; 255 instead of 256 if values are missing, so that a byte can hold all codes.
    rule : {"shares", "xgboost"}
        For the second one, missing values take no bin, and thresholds are the upper values.
    """
    missing = np.isnan(column)
    there = ~missing & (weight > 0)
    shares = rule == "shares"
    most = 255 if shares and max_bin == 256 and (missing & (weight > 0)).any() else max_bin
    values, weight = column[there], weight[there]
    keys, first, distinct = np.unique(ordered(values), return_index=True, return_inverse=True)
    last = np.zeros(keys.size, np.int64)
    last[distinct] = np.arange(values.size)  # of equal values (0 and -0) the later row counts
    total = np.zeros(keys.size, np.int64)
    np.add.at(total, distinct, weight)
    ends = np.array((fill_bins if shares else ranked_bins)(total, most), np.int64)
    below = values[last[ends - 1]] if ends.size else values
    above = np.concatenate([values[first[ends[:-1]]], below[-1:]])
    return ColumnCuts(below if shares else above, above, bool(missing.any()))


def cuts(values: F32, weight: F32 | None, max_bin: int, rule: str = "shares") -> list[ColumnCuts]:
    """Return the cuts of every column of float32 values, shape (n_rows, n_features)."""
    whole = whole_weights(weight, values.shape[0])
    return [cut_column(column, whole, max_bin, rule) for column in values.T]


def thresholds(column: ColumnCuts) -> F32:
    """Return a feature's thresholds: midpoints between bins; the last is above all values."""
    result = np.zeros(column.below.size, np.float32)
    for bin_, (below, above) in enumerate(zip(column.below, column.above, strict=True)):
        middle = np.float32((float(below) + float(above)) / 2)
        result[bin_] = middle if middle > below else above
    if result.size:
        top = float(column.below[-1])
        result[-1] = min(top + abs(top) + 1.0, _LARGEST)
    return result


def make_layout(columns: list[ColumnCuts]) -> Layout:
    """Return the layout of codes: each feature's bins, then a code if it has missing values."""
    offset, numbers = [0], []
    for column in columns:
        mine = [*thresholds(column), *([np.float32(0)] if column.missing else [])]
        numbers += mine
        offset.append(offset[-1] + len(mine))
    bins = np.array([column.below.size for column in columns], np.uint32)
    fullest = np.zeros(bins.size, np.uint32)  # the twin's histograms omit no code
    return Layout(bins, np.array(offset, np.uint32), np.array(numbers, np.float32), fullest)


def level_cuts(column: F32, n_levels: int) -> ColumnCuts:
    """Return the bins of a categorical column, one for each level; no value lies between them."""
    nothing = np.zeros(n_levels, np.float32)
    return ColumnCuts(nothing, nothing, bool(np.isnan(column).any()))


def encode(values: F32, layout: Layout) -> npt.NDArray[np.uint32]:
    """Return each value's code: the number of thresholds, without the last, that it reaches.

    A categorical column holds codes already.

    Parameters
    ----------
    values : float32 array, shape (n_rows, n_features)
    layout : Layout

    Returns
    -------
    uint32 array, shape (n_rows, n_features)
    """
    codes = np.zeros(values.shape, np.uint32)
    for feature, column in enumerate(values.T):
        n_bins = int(layout.feature_bins[feature])
        begin = int(layout.feature_offset[feature])
        inner = layout.thresholds[begin : begin + max(n_bins - 1, 0)]
        reached = np.searchsorted(inner, column, side="right")
        if layout.categorical is not None and layout.categorical[feature]:
            reached = np.nan_to_num(column).astype(np.int64)
        codes[:, feature] = np.where(np.isnan(column), n_bins, reached)
    return codes
