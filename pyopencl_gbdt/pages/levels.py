"""Bins that ``max_bin`` does not decide: those of levels, of shares, and of given cut points.

A data set holds codes ``0 .. n_levels - 1`` of categories; the code of a level's bin is the same
number, and nothing is merged. A share is a number in 0..1 that changes during a training: its cuts
have equal distances. Cut points of a column may be given with the data set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.pages.cuts import Cuts, make_layout
from pyopencl_gbdt.pages.page import Layout

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Most levels of a feature: codes have 16 bits, and one is that of missing values.
MOST_LEVELS = 65535
#: Rows that tell which bin of given cut points is the fullest.
_FULLEST_ROWS = 65_536
#: Bins of a share.
N_BINS = 32
#: Between the bins of shares; exact in float32.
CUTS = (np.arange(1, N_BINS) / N_BINS).astype(np.float32)


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
        Of all columns but those that ``cut_features`` leaves out.
    data : Dataset
        Its ``values`` hold codes in categorical columns.
    add_up : callable
        Returns the sum of every team member's counts, where each has a part of the rows.
    """
    cuts = cuts.widened(most_levels(data))
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
