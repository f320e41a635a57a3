"""Compute thresholds, the layout of codes and search tables from cut points, on the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.page import Layout

F32 = npt.NDArray[np.float32]
U32 = npt.NDArray[np.uint32]
_LARGEST = float(np.finfo(np.float32).max)
#: A key above those of all numbers.
_NO_KEY = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True)
class Cuts:
    """Cut points of every feature, as the values on both sides of each.

    Attributes
    ----------
    below, above : float32 array, shape (n_features, max_bin)
        Last value of each bin, and first value of the next. For the last bin they are equal.
    n_bins : uint32 array, shape (n_features,)
    missing : bool array, shape (n_features,)
        Whether any row's value is missing.
    fullest : uint32 array, shape (n_features,)
        The bin with the most rows; ``n_bins`` if more rows are missing than are in any bin.
    """

    below: F32
    above: F32
    n_bins: U32
    missing: npt.NDArray[np.bool_]
    fullest: U32


def midpoints(below: F32, above: F32) -> F32:
    """Return thresholds half-way between values; the upper value where no float32 lies between."""
    middle = ((below.astype(np.float64) + above) / 2).astype(np.float32)
    return np.where(middle > below, middle, above)


def tops(values: F32) -> F32:
    """Return thresholds above columns' largest values."""
    wide = values.astype(np.float64)
    return np.minimum(wide + np.abs(wide) + 1.0, _LARGEST).astype(np.float32)


def make_layout(cuts: Cuts) -> Layout:
    """Put thresholds half-way between the values on both sides; number all features' codes.

    The last threshold of a feature is above all its values: it separates values from missing ones.
    """
    used = np.arange(cuts.below.shape[1]) < cuts.n_bins[:, None]
    below, above = (np.where(used, side, np.float32(0)) for side in (cuts.below, cuts.above))
    middle = midpoints(below, above)
    n_bins = cuts.n_bins.astype(np.int64)
    offset = np.zeros(n_bins.size + 1, np.int64)
    np.cumsum(n_bins + cuts.missing, out=offset[1:])
    thresholds = np.zeros(int(offset[-1]), np.float32)
    places = offset[:-1, None] + np.arange(used.shape[1])
    thresholds[places[used]] = middle[used]
    filled = np.flatnonzero(n_bins)
    thresholds[offset[filled] + n_bins[filled] - 1] = tops(below[filled, n_bins[filled] - 1])
    fullest = np.minimum(cuts.fullest, np.maximum(n_bins + cuts.missing, 1) - 1)
    return Layout(cuts.n_bins, offset.astype(np.uint32), thresholds, fullest.astype(np.uint32))


def ordered(values: F32) -> U32:
    """Return integer keys in the order of the values, as ``portable_math.h`` does; not for NaN."""
    bits = values.view(np.uint32)
    keys = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return np.where(bits << 1 == 0, np.uint32(1 << 31), keys)


def search_tables(layout: Layout) -> U32:
    """Return the tables in which kernels search for codes, as one uint32 array.

    It holds the number of bins of every feature, then the first step of every feature's search,
    then the index of every feature's first key, then the keys. A feature's keys are those of its
    thresholds without the last one, which is above all values. A search halves its step until it
    is 1, so a feature has ``2 * first_step - 1`` keys; unused ones are above all values.
    """
    n_features = layout.n_features
    bins = layout.feature_bins.astype(np.int64)
    inner = np.maximum(bins - 1, 0)
    step = np.array([1 << int(n).bit_length() >> 1 for n in inner], np.int64)
    length = np.maximum(2 * step - 1, 0)
    begin = np.zeros(n_features, np.int64)
    np.cumsum(length[:-1], out=begin[1:])
    begin += 3 * n_features
    tables = np.full(3 * n_features + int(length.sum()), _NO_KEY, np.uint32)
    tables[: 3 * n_features] = np.concatenate([bins, step, begin])
    place = np.arange(int(inner.sum())) - np.repeat(np.cumsum(inner) - inner, inner)
    mine = layout.thresholds[np.repeat(layout.feature_offset[:-1], inner) + place]
    tables[np.repeat(begin, inner) + place] = ordered(mine)
    return tables
