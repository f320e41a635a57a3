"""Cut points: the rules that all sources of counts follow, and the layout of codes they give.

    values    0.5   1   2.5    4   7
    weight      3   1    4     1   1      at most 3 bins, which end
    shares       |      |          |      behind the value that fills its share of the rest
    xgboost     |        |     |          in front of the value that a rank lies in

Counts come from sorted columns (``quantize``, ``columns``), from ranges of keys that the members of
a team count (``column_counts``), or from quantile summaries (``summary_cuts``). The kernel ``cuts``
of ``quantize.cl.mako`` follows the rules on a device, and ``parted_cuts`` the second one where
members of a team have the rows.

``max_bin`` does not decide all bins. A data set holds codes ``0 .. n_levels - 1`` of categories;
the code of a level's bin is the same number, and nothing is merged. A share is a number in 0..1
that changes during a training: its cuts have equal distances. Cut points of a column may be given
with the data set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.pages.page import Layout

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
_LARGEST = float(np.finfo(np.float32).max)
#: A key above those of all numbers.
NO_KEY = np.uint32(0xFFFFFFFF)
#: In place of a first step: the values are codes already; ``quantize.cl.mako`` has the same.
_ARE_CODES = 0xFFFFFFFF
#: Most levels of a feature: codes have 16 bits, and one is that of missing values.
MOST_LEVELS = 65535
#: Rows that tell which bin of given cut points is the fullest.
_FULLEST_ROWS = 65_536
#: Bins of a share.
N_BINS = 32
#: Between the bins of shares; exact in float32.
CUTS = (np.arange(1, N_BINS) / N_BINS).astype(np.float32)


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

    @classmethod
    def none(cls, missing: npt.NDArray[np.bool_], max_bin: int) -> Cuts:
        """Return features without bins, for ``put`` to fill."""
        below, above = np.zeros((2, missing.size, max_bin), np.float32)
        n_bins, fullest = np.zeros((2, missing.size), np.uint32)
        return cls(below, above, n_bins, missing, fullest)

    def widened(self, most: int) -> Cuts:
        """Return a copy with room for so many bins of a feature, or more."""
        n, width = self.below.shape
        below, above = np.zeros((2, n, max(most, width)), np.float32)
        below[:, :width], above[:, :width] = self.below, self.above
        return Cuts(below, above, self.n_bins.copy(), self.missing.copy(), self.fullest.copy())

    def put(self, feature: int, below: F32, above: F32, fullest: int) -> None:
        """Write a feature's cut points: the values on both sides of the end of each bin."""
        n = self.n_bins[feature] = below.size
        self.below[feature, :n], self.above[feature, :n] = below, above
        self.fullest[feature] = fullest


# -- the rules -----------------------------------------------------------------------------
def share_end(total: I64, done: int, left: int) -> tuple[int, int]:
    """Return the weight at which the next bin is full, and the index of the count that reaches it.

    A bin takes values until it reaches its share: the remaining weight over the number of bins that
    may still come.

    Parameters
    ----------
    total : int64 array, shape (n,)
        Running sums of the weights of ascending values, or ranges of values.
    done : int
        The weight of the bins before.
    left : int
        The most bins that may follow.
    """
    full = done + -(-(int(total[-1]) - done) // left)
    return full, int(total.searchsorted(full))  # half the time of NumPy's function


def run_begins(keys: npt.NDArray[np.integer]) -> I64:
    """Return the index of the first of each run of equal keys."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])


# -- thresholds and the layout of codes ------------------------------------------------------
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
    n_bins = cuts.n_bins.astype(np.int64)
    offset = np.zeros(n_bins.size + 1, np.int64)
    np.cumsum(n_bins + cuts.missing, out=offset[1:])
    used = np.arange(cuts.below.shape[1]) < n_bins[:, None]
    below, ends = cuts.below[used], np.cumsum(n_bins)
    thresholds, last = midpoints(below, cuts.above[used]), ends[n_bins > 0] - 1
    thresholds[last] = tops(below[last])
    if cuts.missing.any():  # a code without a threshold
        places = np.arange(below.size) + np.repeat(offset[:-1] - (ends - n_bins), n_bins)
        inner, thresholds = thresholds, np.zeros(int(offset[-1]), np.float32)
        thresholds[places] = inner
    fullest = np.minimum(cuts.fullest, np.maximum(n_bins + cuts.missing, 1) - 1)
    return Layout(cuts.n_bins, offset.astype(np.uint32), thresholds, fullest.astype(np.uint32))


def search_tables(layout: Layout) -> U32:
    """Return the tables in which kernels search for codes, as one uint32 array.

    It holds the number of bins of every feature, then the first step of every feature's search,
    then the index of every feature's first key, then the keys. A feature's keys are those of its
    thresholds without the last one, which is above all values. A search halves its step until it
    is 1, so a feature has ``2 * first_step - 1`` keys; unused ones are above all values. Codes of
    categories are not searched, and have no keys.
    """
    n_features = layout.n_features
    bins = layout.feature_bins.astype(np.int64)
    inner = np.maximum(bins - 1, 0)
    if layout.categorical is not None:
        inner[layout.categorical] = 0
    step = np.array([1 << int(n).bit_length() >> 1 for n in inner], np.int64)
    length = np.maximum(2 * step - 1, 0)
    begin = np.zeros(n_features, np.int64)
    np.cumsum(length[:-1], out=begin[1:])
    begin += 3 * n_features
    if layout.categorical is not None:
        step[layout.categorical] = _ARE_CODES
    tables = np.full(3 * n_features + int(length.sum()), NO_KEY, np.uint32)
    tables[: 3 * n_features] = np.concatenate([bins, step, begin])
    place = np.arange(int(inner.sum())) - np.repeat(np.cumsum(inner) - inner, inner)
    mine = layout.thresholds[np.repeat(layout.feature_offset[:-1], inner) + place]
    tables[np.repeat(begin, inner) + place] = ordered(mine)
    return tables


class CutRule(ABC):
    """A rule that makes bins of ascending values and their weights.

    Attributes
    ----------
    name : str
        A value of the parameter ``cut_rule``.
    ranked : bool
        Whether goals are ranks in all values, and bins end in front of the values that reach them.
    """

    name: str
    ranked: bool

    @abstractmethod
    def most_bins(self, max_bin: int, *, some_missing: bool) -> int:
        """Return the most bins of a column's values."""

    @abstractmethod
    def bin_ends(self, weight: I64, most: int) -> I64:
        """Return the index behind every bin's last value; each value is a bin if they are few.

        Parameters
        ----------
        weight : int64 array, shape (n,)
            The weight of each distinct value, by ascending values; above 0.
        most : int
            Most bins.
        """

    @abstractmethod
    def lower_sides(self, below: F32, above: F32) -> F32:
        """Return the values of which, and of ``above``, thresholds are the midpoints.

        Parameters
        ----------
        below, above : float32 array, shape (n_bins,)
            Last value of each bin, and first value of the next; equal for the last bin.
        """


class Shares(CutRule):
    """A bin takes values until it has its share of the weight that remains."""

    name, ranked = "shares", False

    def most_bins(self, max_bin: int, *, some_missing: bool) -> int:
        """Return ``max_bin``; one of a byte's 256 codes is for missing values."""
        return 255 if max_bin == 256 and some_missing else max_bin

    def bin_ends(self, weight: I64, most: int) -> I64:
        """Return the index behind every bin's last value."""
        if weight.size <= most:
            return np.arange(1, weight.size + 1)
        total, ends, done = np.cumsum(weight), [0], 0
        while ends[-1] < weight.size:
            ends.append(share_end(total, done, most + 1 - len(ends))[1] + 1)
            done = int(total[ends[-1] - 1])
        return np.array(ends[1:], np.int64)

    def lower_sides(self, below: F32, above: F32) -> F32:
        """Return ``below``: thresholds lie half-way between values."""
        return below


class Ranks(CutRule):
    """XGBoost's rule for columns with at most ``8 * max_bin`` distinct values.

    Thresholds are values: the first of a bin. With one value more than bins, the last two values
    share a bin. With more values, ranks lie at equal distances between the first value's rows and
    the last value's, and each value that contains one begins a bin; so does the last value, unless
    there are ``max_bin`` bins without it. ``src/common/quantile.cc`` and ``quantile.h`` of
    XGBoost 3.2 prune a summary of the values to ``max_bin + 1`` entries in this way.
    """

    name, ranked = "xgboost", True

    def most_bins(self, max_bin: int, *, some_missing: bool) -> int:
        """Return ``max_bin``, whether or not values are missing."""
        return max_bin

    def bin_ends(self, weight: I64, most: int) -> I64:
        """Return the index behind every bin's last value."""
        if weight.size <= most:
            return np.arange(1, weight.size + 1)
        if weight.size == most + 1:
            return np.append(np.arange(1, most), weight.size)
        return np.append(self.inner_ends(np.cumsum(weight), most), weight.size)

    @staticmethod
    def inner_ends(total: I64, most: int) -> I64:
        """Return the indices of the values that begin the bins after the first.

        Parameters
        ----------
        total : int64 array, shape (n,)
            Running sums of the weights of ascending values, or of ranges between the first and
            the last value; n > ``most + 1``.
        """
        first, between = int(total[0]), int(total[-2]) - int(total[0])
        goals = np.array([first + part * between // most + 1 for part in range(1, most)], np.int64)
        ends = np.unique(total.searchsorted(goals))
        return ends if ends.size == most - 1 else np.append(ends, total.size - 1)

    def lower_sides(self, below: F32, above: F32) -> F32:
        """Return ``above``: thresholds are the first values of bins."""
        return above


#: By the values of the parameter ``cut_rule``.
CUT_RULES: dict[str, CutRule] = {rule.name: rule for rule in (Shares(), Ranks())}
SHARES = CUT_RULES["shares"]


def most_levels(data: Dataset) -> int:
    """Return the most bins of features whose bins ``max_bin`` does not limit; 0 if none is such."""
    levels = (levels.n_levels for levels in data.categories.values())
    given = (points.size + 1 for points in data.cut_points.values())
    return max([N_BINS if data.n_shares else 0, *levels, *given])


def cut_features(data: Dataset) -> npt.NDArray[np.uint32]:
    """Return the features whose values are to be cut into bins, ascending; others need no sort."""
    last = data.n_features - data.n_shares
    numeric = set(range(last)) - data.categories.keys() - data.cut_points.keys()
    return np.array(sorted(numeric), np.uint32)


def _put_given(cuts: Cuts, column: int, points: F32, values: F32) -> None:
    """Write a column's given cut points; some of its rows tell which bin is the fullest."""
    present = values[~np.isnan(values)]
    top = np.append(points[-1:], present).max(initial=np.float32(-1))
    ends = np.append(points, top).astype(np.float32)
    some = values[:: max(1, values.size // _FULLEST_ROWS)]
    codes = np.where(np.isnan(some), ends.size, np.searchsorted(points, some, side="right"))
    cuts.put(column, ends, ends, int(np.bincount(codes).argmax()))
    cuts.missing[column] = present.size < values.size


def _own(counts: I64) -> I64:
    return counts


def layout_of(cuts: Cuts, data: Dataset, add_up: Callable[[I64], I64] = _own) -> Layout:
    """Return the layout of codes, with a bin for every level of a categorical column.

    Parameters
    ----------
    cuts : Cuts
        The cuts of all columns but those that ``cut_features`` leaves out.
    data : Dataset
        Its ``values`` hold codes in categorical columns.
    add_up : callable
        Returns the sum of every team member's counts, where each has a part of the rows.
    """
    levels_or_points = most_levels(data)
    if not levels_or_points:
        return make_layout(cuts)
    cuts = cuts.widened(levels_or_points)
    for column, levels in data.categories.items():
        n, rows = levels.n_levels, add_up(data.level_counts(column))
        nothing = np.zeros(n, np.float32)  # no value lies between two levels
        cuts.put(column, nothing, nothing, int(rows.argmax()))
        cuts.missing[column] = rows[n] > 0  # a level that the model does not know is missing
    for column, points in data.cut_points.items():
        _put_given(cuts, column, points, data.values[:, column])
    ends = np.append(CUTS, np.float32(1))
    for column in range(data.n_features - data.n_shares, data.n_features):
        cuts.put(column, ends, ends, N_BINS)
        cuts.missing[column] = True
    layout = make_layout(cuts)
    if not data.categories:
        return layout
    categorical = np.zeros(data.n_features, np.bool_)
    categorical[list(data.categories)] = True
    return replace(layout, categorical=categorical)
