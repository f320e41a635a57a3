"""Twin of ``growth.split``: every cut of every feature, with missing values on either side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import DF, df_add
from pyopencl_gbdt.pages.page import Layout
from tests.reference.border_draws import Noise, drawn_place
from tests.reference.gain import Rule, breaks_order, may_split, score, weight_in_units

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Candidate:
    """A split: bins ``0 .. bin`` of ``feature`` go left; ``direction`` places missing values.

    Attributes
    ----------
    score : pair of float32 arrays, shape (1,)
        Score of the left child plus score of the right child.
    left_g, left_h : int
        Sums of the left child, in quanta.
    feature, bin : int
    direction : int
        1 if missing values go left.
    rank : float
        With noise in scores: what splits are compared by.
    forced : bool
        Whether the split is given, whatever others score.
    """

    score: DF
    left_g: int
    left_h: int
    feature: int
    bin: int
    direction: int
    rank: float = 0.0
    forced: bool = False


def _borders(hist: I64, layout: Layout, feature: int, draws: U32 | None = None) -> I64:
    """Return (left_g, left_h, feature, bin, direction) of all cuts that differ.

    A cut after an empty bin separates the same rows as the cut before it. With ``draws``, there is
    one cut.
    """
    n_bins = int(layout.feature_bins[feature])
    begin, end = (int(offset) for offset in layout.feature_offset[feature : feature + 2])
    cells = hist[begin : begin + n_bins]
    missing = hist[begin + n_bins : end].sum(axis=0)  # of one code, or of none
    bins = np.flatnonzero(cells[:, 1])
    if draws is not None:
        bins = np.array([drawn_place(draws[feature], end - begin - 1)])
    left = cells.cumsum(axis=0)[bins]
    parts = []
    for direction in (0, 1) if missing[1] > 0 else (0,):
        sums = left + direction * missing
        facts = [np.full_like(bins, feature), bins, np.full_like(bins, direction)]
        parts.append(np.column_stack([sums, *facts]))
    return np.concatenate(parts)


def best_split(
    hist: I64, sum_g: int, sum_h: int, layout: Layout, rule: Rule, least: int,
    *, monotone: npt.NDArray[np.uint32] | None = None, allowed: npt.NDArray[np.bool_] | None = None,
    draws: U32 | None = None, noise: Noise | None = None,
) -> Candidate | None:  # fmt: skip
    """Return the best split of a node, or None if there is none.

    Parameters
    ----------
    hist : int64 array, shape (n_codes, 2)
        Sums over the node's rows, in quanta.
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
    draws : uint32 array, shape (n_features,), or None
        Bits that draw the one border of a feature that may be a split; None: all may.
    noise : Noise or None
        Noise in scores.

    Notes
    -----
    Ties: lowest feature, then lowest bin, then missing values to the right.
    """
    features = np.arange(layout.n_features)
    features = features if allowed is None else features[allowed]
    if not features.size:
        return None
    borders = np.concatenate([_borders(hist, layout, int(f), draws) for f in features])
    return best_of(borders, sum_g, sum_h, rule, least, monotone, noise)


def best_of(
    borders: I64, sum_g: int, sum_h: int, rule: Rule, least: int,
    monotone: npt.NDArray[np.uint32] | None = None, noise: Noise | None = None,
) -> Candidate | None:  # fmt: skip
    """Return the best of some splits of a node, or None; parameters as for ``best_split``.

    Parameters
    ----------
    borders : int64 array, shape (n, 5)
        ``left_g``, ``left_h``, feature, bin and direction of every split.
    """
    left = borders[:, 0], borders[:, 1]
    borders = borders[may_split(left, (sum_g - left[0], sum_h - left[1]), least, rule)]
    if monotone is not None:
        borders = borders[_keep_order(borders, sum_g, sum_h, rule, monotone)]
    left_g, left_h, feature, bins, direction = borders.T
    both = df_add(score(left_g, left_h, rule), score(sum_g - left_g, sum_h - left_h, rule))
    ranks = -both[1], -both[0]
    if noise is not None:
        ranks = -noise.ranks(both[0], feature, bins, direction), np.zeros_like(both[0])
    order = np.lexsort((direction, bins, feature, *ranks))
    if order.size == 0:
        return None
    best = order[:1]
    facts = [int(number) for number in borders[best[0]]]
    left_g, left_h, feature, bins, direction = facts
    found = Candidate((both[0][best], both[1][best]), left_g, left_h, feature, bins, direction)
    return found if noise is None else replace(found, rank=-float(ranks[0][best[0]]))


def _keep_order(
    borders: I64, sum_g: int, sum_h: int, rule: Rule, monotone: npt.NDArray[np.uint32]
) -> npt.NDArray[np.bool_]:
    """Return a mask of cuts between different weights that satisfy monotone constraints."""
    left = weight_in_units(borders[:, 0], borders[:, 1], rule)
    right = weight_in_units(sum_g - borders[:, 0], sum_h - borders[:, 1], rule)
    kept: npt.NDArray[np.bool_] = (left != right) & ~breaks_order(
        monotone[borders[:, 2]], left, right
    )
    return kept
