"""Twin of how a symmetric tree grows: all nodes of a level have one split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.numerics.portable_math import DF, df_add, df_neg, scale_by
from pyopencl_gbdt.parameters.constraints import RISING
from tests.reference.border_draws import drawn_place
from tests.reference.category_split import level_cells
from tests.reference.gain import (
    Rule,
    breaks_order,
    least_hessian,
    make_rule,
    may_split,
    score,
    weight_in_units,
)  # fmt: skip
from tests.reference.grow import _LEAST_GAIN, Grower, Node, _finite
from tests.reference.split import Candidate
from tests.reference.symmetric_sets import SetBorders, set_borders

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Borders:
    """Borders of all features: those between bins come first, then those between levels.

    Attributes
    ----------
    feature, bins, direction : int64 array, shape (n_borders,)
        Between levels, ``bins`` has places in their order.
    smoothed : bool array, shape (n_borders,)
    code : int64 array, shape (n_numeric,)
        Place of a border's bin in a histogram, of borders between bins alone.
    """

    feature: I64
    bins: I64
    direction: I64
    smoothed: Mask
    code: I64


class SymmetricGrower(Grower):
    """Grows a tree whose levels have one split each; all histograms are built from rows."""

    def grow(self) -> list[Node]:
        """Grow the tree; return its nodes, breadth first."""
        rows = np.arange(self.codes.shape[0], dtype=np.uint32)
        root = Node(rows, self.quanta.sum(axis=0).reshape(-1, 2))
        self._finish(root)
        nodes, begin = [root], 0
        for _ in range(self.params.max_depth):
            level = range(begin, len(nodes))
            found = self._best_of_level([nodes[number] for number in level])
            if found is None:
                break
            begin = len(nodes)
            for number, best in zip(level, found, strict=True):
                gain = _finite(scale_by(best.score[0], self.rule.gain_power)[0])
                nodes += self._split(nodes[number], number, len(nodes), best, gain)
        return nodes

    @property
    def _least(self) -> int:
        return least_hessian(self.params.min_child_weight, self.scale)

    def _idle(self, node: Node, g: Any, h: Any) -> Any:
        """Return whether a side of a node's split has no rows, or too few; by sums of the left."""
        other = node.pair[0] - g, node.pair[1] - h
        return np.logical_not(may_split((g, h), other, self._least, self.rule))

    @cached_property
    def _sets(self) -> dict[int, SetBorders]:
        """The borders between levels of every categorical feature."""
        if self.layout.categorical is None:
            return {}
        root_h = int(self.quanta[:, 1].sum())
        cells = {
            feature: self._cells(self._of_all_rows, feature)
            for feature in np.flatnonzero(self.layout.categorical).tolist()
        }
        return {f: set_borders(self._categories, own, root_h) for f, own in cells.items()}

    def _cells(self, hist: I64, feature: int) -> I64:
        return level_cells(hist, self.layout, feature)

    def _borders(self) -> Borders:
        """Return the borders of all features: those between bins, then those between levels."""
        feature, bins, direction, code = self._numeric_borders()
        sets = self._sets
        sizes = [own.place.size for own in sets.values()]
        smoothed = np.repeat([False, *(own.smoothed for own in sets.values())], [bins.size, *sizes])
        return Borders(
            feature=np.append(feature, np.repeat(np.array([*sets], np.int64), sizes)),
            bins=np.concatenate([bins, *(own.place for own in sets.values())]),
            direction=np.concatenate([direction, *(own.direction for own in sets.values())]),
            smoothed=smoothed,
            code=code,
        )

    def _numeric_borders(self) -> tuple[I64, I64, I64, I64]:
        """Return feature, bin, direction and code of every border between bins."""
        parts = [np.zeros((4, 0), np.int64)]
        for feature, n_bins in enumerate(self.layout.feature_bins.tolist()):
            if feature in self._sets:
                continue
            begin, end = (int(at) for at in self.layout.feature_offset[feature : feature + 2])
            bins = np.arange(n_bins)
            for direction in range(2 if end - begin > n_bins else 1):
                ones = np.ones_like(bins)
                parts.append(np.array([feature * ones, bins, direction * ones, begin + bins]))
        feature, bins, direction, code = np.concatenate(parts, axis=1)
        return feature, bins, direction, code

    def _lefts(self, node: Node, borders: Borders) -> tuple[I64, I64]:
        """Return the sums of a node's left side at every border."""
        code = borders.code
        feature, direction = borders.feature[: code.size], borders.direction[: code.size]
        offset, n_bins = self.layout.feature_offset.astype(np.int64), self.layout.feature_bins
        hist = self._sums(node)
        before = np.concatenate([np.zeros((1, 2), np.int64), hist.cumsum(axis=0)])
        missing_at = np.minimum(offset[feature] + n_bins[feature], len(hist) - 1)
        missing = hist[missing_at] * direction[:, None]
        parts = [before[code + 1] - before[offset[feature]] + missing]
        for number, own in self._sets.items():
            parts.append(own.lefts(self._cells(hist, number), *node.pair))
        left = np.concatenate(parts)
        return left[:, 0], left[:, 1]

    def _gains(self, node: Node, g: I64, h: I64, smoothed: Mask) -> DF:
        """Return what borders gain in a node; 0 where the split is idle.

        Sides of ``smoothed`` borders are scored with ``cat_l2``, too.
        """
        rule, idle = self._rule_of(node), self._idle(node, g, h)
        g, h = np.where(idle, 0, g), np.where(idle, 1, h)  # any that can be scored
        both = self._sides(node, g, h, rule)
        if smoothed.any():
            p = self.params
            more = make_rule(self.scale, p.reg_lambda + p.cat_l2, p.reg_alpha, p.max_delta_step)
            other = self._sides(node, g, h, replace(rule, reg_lambda=more.reg_lambda))
            both = np.where(smoothed, other[0], both[0]), np.where(smoothed, other[1], both[1])
        own = score(node.sums[:, 0], node.sums[:, 1], rule)
        before = df_neg((np.full_like(both[0], own[0][0]), np.full_like(both[1], own[1][0])))
        gain = df_add(both, before)
        zero = np.float32(0)
        return np.where(idle, zero, gain[0]), np.where(idle, zero, gain[1])

    def _sides(self, node: Node, g: I64, h: I64, rule: Rule) -> DF:
        """Return the sums of the scores of both sides."""
        sum_g, sum_h = node.pair
        other = score(sum_g - g, np.maximum(sum_h - h, 1), rule)
        return df_add(score(g, h, rule), other)

    def _out_of_order(self, node: Node, feature: I64, g: I64, h: I64) -> Mask:
        """Return a mask of borders that have a node's children in the wrong order."""
        if self.limits.monotone is None:
            return np.zeros(g.size, np.bool_)
        rule, constraint = self._rule_of(node), self.limits.monotone[feature]
        left = weight_in_units(g, h, rule)
        right = weight_in_units(node.pair[0] - g, node.pair[1] - h, rule)
        broken: npt.NDArray[np.bool_] = breaks_order(constraint, left, right) & ~self._idle(
            node, g, h
        )
        return broken

    def _drawn(self, node: Node, borders: Borders) -> Mask:
        """Return a mask of the borders that may be splits of a node's level."""
        bits = self._draws(node)
        if bits is None:
            return np.ones(borders.feature.size, np.bool_)
        only = drawn_place(bits, np.diff(self.layout.feature_offset.astype(np.int64)) - 1)
        for number, own in self._sets.items():
            place = drawn_place(bits[number], own.visited.size)
            only[number] = own.visited[place] if own.visited.size else 0
        drawn: Mask = borders.bins == only[borders.feature]
        return drawn

    def _best_of_level(self, level: list[Node]) -> list[Candidate] | None:
        """Return the split of every node of a level; None if they gain too little together."""
        borders = self._borders()
        feature, bins, direction = borders.feature, borders.bins, borders.direction
        refused = ~self._allowed(level[0])[feature] | ~self._drawn(level[0], borders)
        total = np.zeros(feature.size, np.float32), np.zeros(feature.size, np.float32)
        lefts = [self._lefts(node, borders) for node in level]
        for node, (g, h) in zip(level, lefts, strict=True):
            if node.pair[1] > 0:
                total = df_add(total, self._gains(node, g, h, borders.smoothed))
                refused = refused | self._out_of_order(node, feature, g, h)
        ranks = -total[1], -total[0]
        noise = self._noise(level[0])
        if noise is not None:
            # borders between levels are numbered by their places among those visited
            own = self._own_scores(level)
            places = self._numbers(borders)
            ranks = (
                np.zeros_like(total[0]),
                -noise.ranks(own + total[0], feature, places, direction),
            )
        order = np.lexsort((direction, bins, feature, *ranks, refused))
        if not order.size:
            return None
        best = int(order[0])
        gain = _finite(scale_by(total[0][best : best + 1], self.rule.gain_power)[0])
        if refused[best] or not (gain > _LEAST_GAIN and gain >= np.float32(self.params.gamma)):
            return None
        facts = int(feature[best]), int(bins[best]), int(direction[best])
        return [
            Candidate(
                self._own_gain(node, g, h, borders.smoothed, best),
                int(g[best]),
                int(h[best]),
                *facts,
            )
            for node, (g, h) in zip(level, lefts, strict=True)
        ]

    def _own_scores(self, level: list[Node]) -> Any:
        """Return the sum of the scores of a level's nodes, float32 (1,)."""
        total = np.zeros(1, np.float32), np.zeros(1, np.float32)
        for node in level:
            if node.pair[1] > 0:
                own = score(node.sums[:, 0], node.sums[:, 1], self._rule_of(node))
                total = df_add(total, own)
        return total[0]

    def _numbers(self, borders: Borders) -> I64:
        """Return the numbers of borders in their features: places among those visited of sets."""
        numbers: I64 = borders.bins.copy()
        for feature, own in self._sets.items():
            of_set = borders.feature == feature
            numbers[of_set] = np.searchsorted(own.visited, numbers[of_set])
        return numbers

    def _own_gain(self, node: Node, g: I64, h: I64, smoothed: Mask, best: int) -> DF:
        if node.pair[1] == 0:
            return np.zeros(1, np.float32), np.zeros(1, np.float32)
        one = slice(best, best + 1)
        return self._gains(node, g[one], h[one], smoothed[one])

    def _right_set(self, node: Node, best: Candidate) -> Mask:
        """Return the codes that go right: those of one set for all nodes of a level."""
        n_levels = int(self.layout.feature_bins[best.feature])
        return self._sets[best.feature].right_set(n_levels, best.bin, best.direction)

    def _children(self, node: Node, number: int, best: Candidate, rows: Any) -> list[Node]:
        """Return a node's children; those of an idle split keep its weight."""
        children = super()._children(node, number, best, rows)
        if not self._idle(node, best.left_g, best.left_h):
            return children
        constraint = 0 if self.limits.monotone is None else self.limits.monotone[best.feature]
        if constraint:
            weight = scale_by(node.weights, -self.rule.weight_power)[0]
            low, high = children if constraint == RISING else children[::-1]
            low.upper = high.lower = weight
        for child in children:
            child.kept_weights = node.weights
        return children

    def _finish(self, node: Node) -> None:
        """Set a node's weights and values as a leaf."""
        super()._finish(node)
        if node.parent == NO_NODE or node.kept_weights is None:
            return
        node.weights = node.kept_weights
        self._shrink(node)
