"""Twin of ``growth.category_split``: splits of categorical features by sets of levels.

Of fewer than ``max_cat_to_onehot`` levels, one level goes right and the others go left. Of more,
levels with rows are put in the order of -G / (H + lambda + cat_smooth); the first ones go right.
Levels of a smaller Hessian than a child's are put in order as if they weighed 0, and stay together.

    levels in order    c  a  e  b  d     a border behind each; at most max_cat_threshold levels on
    right             |c  a| left ..     the smaller side

The rest are missing values and levels without rows, or with too few. They go right or left
together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import df_add, df_div, df_neg, ordered
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.border_draws import Noise, drawn_place
from tests.reference.gain import Rule, in_units, least_hessian, make_rule
from tests.reference.gradients import Scale
from tests.reference.split import Candidate, best_of

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LevelOrder:
    """Levels of a feature in a node, in their order.

    Attributes
    ----------
    codes : int64 array, shape (n_ordered,)
    sums : int64 array, shape (n_ordered, 2)
        Gradients and Hessians of each of these levels.
    one_hot : bool
        Whether a single level goes right.
    borders : bool array, shape (n_ordered,)
        Whether a border lies behind a level; none lies between levels that weigh 0.
    """

    codes: I64
    sums: I64
    one_hot: bool
    borders: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CategoryRule:
    """How a tree's categorical features are split.

    Attributes
    ----------
    params : Parameters
    scale : Scale
    n_rows : int
        All rows of the fit.
    tree_h : int
        Sum of Hessians of the tree's root, in quanta.
    """

    params: Parameters
    scale: Scale
    n_rows: int
    tree_h: int

    def _least(self, rows: float) -> int:
        """Return the Hessian of so many rows, in quanta, at the mean of the tree's rows."""
        return min(math.ceil(rows), self.n_rows) * (self.tree_h // self.n_rows)

    @property
    def least_child(self) -> int:
        """Hessian of a child; a level of less is put in order as if it weighed 0, as in XGBoost."""
        return least_hessian(self.params.min_child_weight, self.scale)

    @property
    def least_group(self) -> int:
        """Hessian of ``min_data_per_group`` rows."""
        return self._least(self.params.min_data_per_group)

    def order(self, cells: I64) -> LevelOrder:
        """Put levels in order, those with enough rows.

        Parameters
        ----------
        cells : int64 array, shape (n_levels, 2)
        """
        p, hessians = self.params, cells[:, 1]
        one_hot = cells.shape[0] < p.max_cat_to_onehot
        ends = np.ones(0, np.bool_)
        least = 1 if one_hot else max(1, self._least(p.cat_smooth))
        codes = np.flatnonzero(hessians >= least)
        if not one_hot:
            extra = make_rule(self.scale, p.reg_lambda + p.cat_smooth, 0.0, 0.0).reg_lambda
            units = in_units(cells[codes, 1])
            both = df_add(units, (np.full_like(units[0], extra[0]), np.zeros_like(units[0])))
            ratio = df_div(in_units(cells[codes, 0]), both)
            light = cells[codes, 1] < self.least_child
            weight = np.where(light, np.float32(0), df_neg(ratio)[0])
            order = np.lexsort((codes, ordered(weight)))
            codes, weight = codes[order], weight[order]
            ends = np.append((weight[:-1] != 0) | (weight[1:] != 0), True)[: codes.size]
        return LevelOrder(codes, cells[codes], one_hot, ends)

    def visited(self, order: LevelOrder) -> I64:
        """Return the places of levels whose borders leave few enough levels on a side."""
        k = np.arange(1, order.codes.size + 1)
        smaller = np.minimum(k, order.codes.size - k)
        return np.flatnonzero(order.one_hot | (smaller <= self.params.max_cat_threshold))

    def best(
        self, cells: I64, sum_g: int, sum_h: int, feature: int, rule: Rule, least: int,
        monotone: npt.NDArray[np.uint32] | None, draws: npt.NDArray[np.uint32] | None = None,
        noise: Noise | None = None,
    ) -> Candidate | None:  # fmt: skip
        """Return a feature's best split; its ``bin`` is the last level, in order, that goes right.

        Parameters
        ----------
        cells : int64 array, shape (n_levels, 2)
            Sums of the node's rows at each level.
        sum_g, sum_h, rule, least, monotone, draws, noise
            As for ``best_split``.
        feature : int
        """
        p, order = self.params, self.order(cells)
        n = order.codes.size
        if n == 0:
            return None
        rest = np.array([sum_g, sum_h]) - order.sums.sum(axis=0)
        k = np.arange(1, n + 1)
        right = order.sums if order.one_hot else order.sums.cumsum(axis=0)
        places = self.visited(order)
        if draws is not None:
            places = places[[drawn_place(draws[feature], places.size)]]
        kept = np.isin(k - 1, places)
        if not order.one_hot:
            kept &= order.borders
            extra = make_rule(self.scale, p.reg_lambda + p.cat_l2, p.reg_alpha, p.max_delta_step)
            rule = replace(rule, reg_lambda=extra.reg_lambda)
            if p.min_data_per_group > 1:
                least = max(least, self.least_group)
        parts = []
        for direction in (0, 1):
            usual = 1 if order.one_hot else (k <= n - k).astype(np.int64)
            some = kept if rest[1] > 0 else kept & (usual == direction)
            gone = right[some] + (1 - direction) * rest
            left = np.array([sum_g, sum_h]) - gone
            facts = (np.full(left.shape[0], feature), order.codes[some])
            parts.append(np.column_stack([left, *facts, np.full(left.shape[0], direction)]))
        borders = np.concatenate(parts)
        return best_of(borders, sum_g, sum_h, rule, least, monotone, noise)

    def right_set(self, cells: I64, best: Candidate) -> npt.NDArray[np.bool_]:
        """Return which codes go right: bool, shape (n_levels + 1,); the last is that of missing."""
        order = self.order(cells)
        at = int(np.flatnonzero(order.codes == best.bin)[0])
        right = np.full(cells.shape[0] + 1, not best.direction)
        right[order.codes] = False
        right[order.codes[at : at + 1] if order.one_hot else order.codes[: at + 1]] = True
        return right


def better(
    one: Candidate | None, other: Candidate | None, noise: Noise | None = None
) -> Candidate | None:
    """Return the candidate of the higher score or rank; of equal ones the lower feature's."""
    if one is None or other is None:
        return other if one is None else one

    def rank(found: Candidate) -> tuple[float, float, int]:
        if noise is not None:
            return found.rank, 0.0, -found.feature
        return float(found.score[0][0]), float(found.score[1][0]), -found.feature

    return max(one, other, key=rank)


def best_category_split(
    hist: I64, sum_g: int, sum_h: int, layout: Layout, rule: Rule, least: int,
    categories: CategoryRule, *, monotone: npt.NDArray[np.uint32] | None = None,
    allowed: npt.NDArray[np.bool_] | None = None, draws: npt.NDArray[np.uint32] | None = None,
    noise: Noise | None = None,
) -> Candidate | None:  # fmt: skip
    """Return the best split of a node's categorical features, or None; see ``best_split``."""
    found = None
    assert layout.categorical is not None
    features = layout.categorical if allowed is None else layout.categorical & allowed
    for feature in np.flatnonzero(features):
        cells = level_cells(hist, layout, int(feature))
        own = categories.best(
            cells, sum_g, sum_h, int(feature), rule, least, monotone, draws, noise
        )
        found = better(found, own, noise)
    return found


def level_cells(hist: I64, layout: Layout, feature: int) -> I64:
    """Return a feature's sums in a histogram, without those of missing values."""
    begin = int(layout.feature_offset[feature])
    return hist[begin : begin + int(layout.feature_bins[feature])]
