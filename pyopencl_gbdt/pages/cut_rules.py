"""Rules of cut points: which values bins end at, and where thresholds lie between them.

    weight     3   1    4     1   1
    shares         |      |          |   a bin ends behind the value that fills its share
    xgboost    |        |     |          a bin ends in front of the value that a rank lies in

Sources of counts ask one of these (see ``cuts``); ``quantize.cl.mako`` follows both, and
``rank_counts`` follows the second one where members of a team have the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages import cuts

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


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
            Of each distinct value, ascending; above 0.
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
        return cuts.most_bins(max_bin, some_missing=some_missing)

    def bin_ends(self, weight: I64, most: int) -> I64:
        """Return the index behind every bin's last value."""
        return cuts.bin_ends(weight, most)

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
        most : int
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
