"""Twin of ``growth.exact``: the best split of a node, along its sorted entries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.page import Layout
from tests.reference.gain import Rule
from tests.reference.split import Candidate, best_of

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


def _borders(
    rows: U32, places: U32, quanta: I64, sums: I64, feature: int, first_place: int
) -> list[tuple[int, int, int, int, int]]:
    """Return the splits behind every bin of a feature's entries, bin by bin.

    Missing values go right, then left if there are any; no child may have a Hessian of 0.
    """
    missing = sums - quanta[rows].sum(axis=0)
    found, left = [], np.zeros(2, np.int64)
    for i, (row, place) in enumerate(zip(rows, places, strict=True)):
        left = left + quanta[row]
        behind_bin = i + 1 == places.size or places[i + 1] != place
        if not behind_bin or left[1] == 0:
            continue
        for direction in (0, 1) if missing[1] > 0 else (0,):
            g, h = left + direction * missing
            found.append((int(g), int(h), feature, int(place) - first_place, direction))
    return found


def best_split_of_entries(
    rows: U32, places: U32, quanta: I64, sum_g: int, sum_h: int, layout: Layout, rule: Rule,
    least: int, *, monotone: U32 | None = None, allowed: npt.NDArray[np.bool_] | None = None,
) -> Candidate | None:  # fmt: skip
    """Return the best split of a node, or None if there is none.

    Parameters
    ----------
    rows, places : uint32 array, shape (n_entries,)
        The present values of the node's rows: row, and index of the bin among the bins of all
        features; sorted by place.
    quanta : int64 array, shape (n_rows, 2)
        Gradient and Hessian of every row.
    sum_g, sum_h : int
        Sums over all rows of the node.
    layout : Layout
    rule : Rule
    least : int
        Least sum of Hessians in a child, in quanta.
    monotone : uint32 array, shape (n_features,), or None
        Constraints: 1 increasing, 2 decreasing, 0 none.
    allowed : bool array, shape (n_features,), or None
        The features to search.

    Notes
    -----
    Ties: lowest feature, then lowest bin, then missing values to the right.
    """
    sums, borders = np.array([sum_g, sum_h], np.int64), []
    for feature in range(layout.n_features):
        if allowed is not None and not allowed[feature]:
            continue
        begin, end = np.searchsorted(places, layout.feature_offset[feature : feature + 2])
        own = slice(int(begin), int(end))
        first_place = int(layout.feature_offset[feature])
        borders += _borders(rows[own], places[own], quanta, sums, feature, first_place)
    table = np.array(borders, np.int64).reshape(-1, 5)
    return best_of(table, sum_g, sum_h, rule, least, monotone)
