"""Twin of ``growth.forced_splits``: splits that are given for the top of every tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.parameters.constraints import Constraints
from tests.reference.gain import Rule
from tests.reference.split import I64, Candidate, best_of


def forced_split(
    limits: Constraints, number: int, hist: I64, pair: tuple[int, int], layout: Layout, rule: Rule
) -> Candidate | None:
    """Return the split that is given for a node, or None if it leaves a child without rows.

    Parameters
    ----------
    limits : Constraints
        A split that breaks a monotone constraint is left out, too.
    number : int
        Which of the forced splits.
    hist : int64 array, shape (n_codes, 2)
        Sums over the node's rows.
    pair : (int, int)
        Sums of the node.
    layout : Layout
    rule : Rule
        Of the node; its least rows do not count.
    """
    split = limits.forced[number]
    begin, end = (int(o) for o in layout.feature_offset[split.feature : split.feature + 2])
    n_bins = int(layout.feature_bins[split.feature])
    place = int((layout.thresholds[begin : begin + n_bins - 1] < split.threshold).sum())
    cells = hist[begin:end]
    left = cells[: place + 1].sum(axis=0) + cells[n_bins:].sum(axis=0)  # with missing values
    border = np.array([[*left, split.feature, place, 1]], np.int64)
    best = best_of(border, *pair, replace(rule, least_rows=0), 1, limits.monotone)
    return None if best is None else replace(best, forced=True)


def below(limits: Constraints, above: int, side: int) -> int:
    """Return the index of the split that is given for a child; -1: none is."""
    found = [n for n, one in enumerate(limits.forced) if (one.parent, one.side) == (above, side)]
    return found[0] if found else -1
