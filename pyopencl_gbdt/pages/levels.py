"""Levels of categorical features as bins: one bin a level, whatever ``max_bin`` is.

A data set holds codes ``0 .. n_levels - 1`` as float32; the code of a level's bin is the same
number. So the cut points lie at ``k + 0.5``, and nothing is merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.pages.cuts import Cuts, make_layout
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.shares import N_BINS, with_shares

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Most levels of a feature: codes have 16 bits, and one is that of missing values.
MOST_LEVELS = 65535


def most_levels(data: Dataset) -> int:
    """Return the most bins of features whose bins ``max_bin`` does not limit; 0 if none is such."""
    shares = N_BINS if data.n_shares else 0
    return max((levels.n_levels for levels in data.categories.values()), default=shares)


def cut_features(data: Dataset) -> npt.NDArray[np.uint32]:
    """Return the features whose values are to be cut into bins, ascending; others need no sort."""
    last = data.n_features - data.n_shares
    numeric = set(range(last)) - data.categories.keys()
    return np.array(sorted(numeric), np.uint32)


def _own(counts: I64) -> I64:
    return counts


def layout_of(cuts: Cuts, data: Dataset, add_up: Callable[[I64], I64] = _own) -> Layout:
    """Return the layout of codes, with a bin for every level of a categorical column.

    Parameters
    ----------
    cuts : Cuts
        Of all columns but those that ``cut_features`` leaves out.
    data : Dataset
        Its ``values`` hold codes in categorical columns.
    add_up : callable
        Returns the sum of every team member's counts, where each has a part of the rows.
    """
    cuts = with_shares(cuts, data.n_shares)
    if not data.categories:
        return make_layout(cuts)
    categorical = np.zeros(data.n_features, np.bool_)
    categorical[list(data.categories)] = True
    return replace(make_layout(_level_cuts(cuts, data, add_up)), categorical=categorical)


def _level_cuts(cuts: Cuts, data: Dataset, add_up: Callable[[I64], I64]) -> Cuts:
    """Replace the cut points of categorical columns by those between levels."""
    width = max(cuts.below.shape[1], most_levels(data))
    below, above = (np.zeros((data.n_features, width), np.float32) for _ in range(2))
    below[:, : cuts.below.shape[1]], above[:, : cuts.above.shape[1]] = cuts.below, cuts.above
    n_bins, missing, fullest = cuts.n_bins.copy(), cuts.missing.copy(), cuts.fullest.copy()
    for column, levels in data.categories.items():
        rows, n = data.level_counts(column), levels.n_levels
        n_bins[column], codes = n, np.arange(n, dtype=np.float32)
        below[column, :n], above[column, :n] = codes, np.minimum(codes + 1, n - 1)
        rows = add_up(rows)
        missing[column] = rows[n] > 0  # a level that the model does not know is missing
        fullest[column] = rows.argmax()
    return Cuts(below, above, n_bins, missing, fullest)
