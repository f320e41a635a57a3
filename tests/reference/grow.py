"""Twin of how a tree grows, by every policy; all histograms are built from rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.numerics.portable_math import (
    F,
    as_margin,
    df_add,
    df_neg,
    finite,
    not_tiny,
    scale_by,
)
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.parameters.constraints import RISING, Constraints
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import DEEPEST_LEVEL
from tests.reference.approx import merge_bins
from tests.reference.border_draws import Noise, border_draws, noise_of_tree
from tests.reference.category_split import CategoryRule, best_category_split, better, level_cells
from tests.reference.feature_mask import chosen, may_follow
from tests.reference.forced_splits import below, forced_split
from tests.reference.gain import (
    Rule,
    least_hessian,
    make_rule,
    node_weight,
    real_hessian,
    real_weight,
    score_of_pairs,
    weight_above,
    weight_in_units,
)
from tests.reference.gradients import Scale, sum_of_squares
from tests.reference.histogram import histogram
from tests.reference.linear_leaves import LeafTerms
from tests.reference.partition import goes_left, partition
from tests.reference.split import Candidate, best_split

I64 = npt.NDArray[np.int64]
_ZERO = np.float32(0)
_LARGEST = np.finfo(np.float32).max
#: A split needs a larger gain than this (XGBoost's ``kRtEps``).
_LEAST_GAIN = np.float32(1e-6)


def _finite(number: np.float32) -> np.float32:
    """Clamp a number to the finite float32 range."""
    clamped: np.float32 = finite(np.array([number], np.float32))[0]
    return clamped


def leaf_values(weights: F, rate: np.float32) -> F:
    """Return the values of a leaf, which are added to margins."""
    return as_margin(not_tiny(np.array([rate])) * weights)


def _no_outputs() -> F:
    return np.zeros(0, np.float32)


@dataclass
class Node:
    """A node with its rows; it is a leaf until it is split.

    It carries a pair of sums, a weight and a value for each output of its tree. Searches of splits
    know trees of one output alone.

    Attributes
    ----------
    sums : int64 array, shape (n_outputs, 2)
        Gradients and Hessians of its rows, in quanta.
    weights, shrunk_weights, values : float32 array, shape (n_outputs,)
        The optimal weights, those times the learning rate, and what a leaf adds to margins.
    kept_weights : float32 array, shape (n_outputs,), or None
        Its parent's, below an idle split of a symmetric tree.
    above_weight : float32 array, shape (1,), or None
        Its parent's weight; None in a root.
    terms : LeafTerms
        A leaf's linear function.
    forced : int
        Index of the split that is given for it; -1: none is.
    """

    rows: npt.NDArray[np.uint32]
    sums: I64
    parent: int = NO_NODE
    left: int = NO_NODE
    depth: int = 0
    path: int = 1
    above: frozenset[int] = frozenset()
    lower: np.float32 = -_LARGEST
    upper: np.float32 = _LARGEST
    feature: int = 0
    bin: int = 0
    default_left: bool = False
    gain: np.float32 = field(default=_ZERO)
    weights: F = field(default_factory=_no_outputs)
    shrunk_weights: F = field(default_factory=_no_outputs)
    right_set: npt.NDArray[np.bool_] | None = None
    values: F = field(default_factory=_no_outputs)
    hessian: np.float32 = field(default=_ZERO)
    kept_weights: F | None = None
    above_weight: F | None = None
    terms: LeafTerms = field(default_factory=LeafTerms)
    forced: int = -1

    @property
    def pair(self) -> tuple[int, int]:
        """The sums of a node of one output."""
        ((g, h),) = self.sums.tolist()
        return g, h

    @property
    def weight(self) -> np.float32:
        """The weight of a node of one output."""
        weight: np.float32 = self.weights[0]
        return weight

    @property
    def value(self) -> np.float32:
        """The value of a node of one output."""
        value: np.float32 = self.values[0]
        return value

    @value.setter
    def value(self, value: np.float32) -> None:
        self.values = np.array([value], np.float32)


#: Returns the rank of an open leaf whose split gains so much: the highest rank splits next.
Rank = Callable[[Node, np.float32], Any]


def by_gain(node: Node, gain: np.float32) -> Any:
    """Rank a leaf by what its split gains: best first."""
    return gain


@dataclass(frozen=True)
class Grower:
    """The data and parameters that all nodes of a tree share.

    Attributes
    ----------
    codes : integer array, shape (n_rows, n_features)
    quanta : int64 array, shape (n_rows, 2)
    scale : Scale
    layout : Layout
    params : Parameters
    tree : (int, int)
        The round, and the tree within it.
    limits : Constraints
    rank : callable or None
        Which open leaf splits next; None is what the parameters ask for: best first, or level by
        level.
    """

    codes: npt.NDArray[Any]
    quanta: I64
    scale: Scale
    layout: Layout
    params: Parameters
    tree: tuple[int, int] = (0, 0)
    limits: Constraints = field(default_factory=Constraints)
    rank: Rank | None = None

    @property
    def rule(self) -> Rule:
        """The regularisation parameters in the tree's units."""
        p = self.params
        return make_rule(self.scale, p.reg_lambda, p.reg_alpha, p.max_delta_step)

    def _rule_of(self, node: Node) -> Rule:
        rule = replace(self.rule, lower=node.lower, upper=node.upper)
        return self._smoothing(rule, node.weights)

    def _smoothing(self, rule: Rule, weight: F | None) -> Rule:
        """Return a rule for nodes below one of this weight."""
        strength = np.array([*self.params.smoothing.values()], np.float32)
        if weight is None or not strength.size:
            return rule
        return replace(rule, smoothing=strength, above=weight_above(weight, rule))

    def _allowed(self, node: Node) -> npt.NDArray[np.bool_]:
        """Return a mask of the features that a node may split on."""
        n, limits = self.layout.n_features, self.limits
        drawn = chosen(self.params, n, limits.feature_weights, self.tree, node.depth, node.path)
        return drawn & may_follow(n, limits.interactions, node.above)

    def _bits(self, node: Node) -> npt.NDArray[np.uint32]:
        n_features = self.layout.n_features
        return border_draws(self.params.random_state, self.tree, node.path, n_features)

    def _draws(self, node: Node) -> npt.NDArray[np.uint32] | None:
        """Return random bits for every feature, where a border of each is drawn."""
        return self._bits(node) if self.params.extra_trees else None

    @cached_property
    def _noise_unit(self) -> F:
        squares, sum_h = sum_of_squares(self.quanta), int(self.quanta[:, 1].sum())
        return noise_of_tree(self.params, len(self.quanta), self.tree[0], squares, sum_h)

    def _noise(self, node: Node) -> Noise | None:
        """Return the noise of a node's borders, where scores get some."""
        if self.params.random_strength == 0:
            return None
        return Noise(self._bits(node), self._noise_unit)

    def _children(self, node: Node, number: int, best: Candidate, rows: Any) -> list[Node]:
        """Return a node's children, with the bounds of their weights."""
        left = np.stack([best.left_g, best.left_h], axis=-1).reshape(-1, 2)
        sums = left, node.sums - left
        children = [
            Node(
                part, own, number, depth=node.depth + 1, path=2 * node.path + side,
                above=node.above | {best.feature}, lower=node.lower, upper=node.upper,
                above_weight=node.weights,
            )
            for side, (part, own) in enumerate(zip(rows, sums, strict=True))
        ]  # fmt: skip
        constraint = 0 if self.limits.monotone is None else self.limits.monotone[best.feature]
        if constraint:
            half = np.float32(0.5)
            rule = self._rule_of(node)
            (one,), (other,) = (weight_in_units(own[:, 0], own[:, 1], rule) for own in sums)
            low, high = children if constraint == RISING else children[::-1]
            low.upper = high.lower = half * one + half * other
        return children

    def grow(self) -> list[Node]:
        """Grow the tree; return its nodes, breadth first."""
        rows = np.arange(self.codes.shape[0], dtype=np.uint32)
        root = Node(rows, self.quanta.sum(axis=0).reshape(-1, 2))
        root.forced = 0 if self.limits.forced else -1
        self._finish(root)
        rank = self.rank or (by_gain if self.params.leaf_wise else None)
        if rank is not None:
            return breadth_first(self._by_rank(root, rank))
        nodes, begin = [root], 0
        n_leaves, most = 1, self.params.max_leaves or 2**62
        while begin < len(nodes):
            level = range(begin, len(nodes))
            begin = len(nodes)
            for number in level:
                searched = n_leaves < most and nodes[number].depth < DEEPEST_LEVEL
                best = self._best(nodes[number]) if searched else None
                if best is not None:
                    nodes += self._split(nodes[number], number, len(nodes), *best)
                    n_leaves += 1
        return nodes

    def _by_rank(self, root: Node, rank: Rank) -> list[Node]:
        """Grow leaf by leaf, of equal ranks the first; return the nodes in order of creation."""
        nodes, found = [root], {0: self._best(root)}
        for _ in range(self.params.max_leaves - 1 if self.params.max_leaves else 2**62):
            ranks = {
                n: (best[0].forced, not best[0].forced and rank(nodes[n], best[1]))
                for n, best in found.items() if best is not None
            }  # fmt: skip
            if not ranks:
                break
            number = max(ranks, key=lambda n: (ranks[n], -n))
            best = found.pop(number)
            assert best is not None
            left = len(nodes)
            nodes += self._split(nodes[number], number, left, *best)
            found |= {child: self._best(nodes[child]) for child in (left, left + 1)}
        return nodes

    def _finish(self, node: Node) -> None:
        """Set a node's weights and values as a leaf."""
        rule = replace(self.rule, lower=node.lower, upper=node.upper)
        rule = self._smoothing(rule, node.above_weight)
        node.weights = node_weight(node.sums[:, 0], node.sums[:, 1], rule)
        if self.params.smooths:
            node.weights = real_weight(weight_above(node.weights, rule), rule)
        self._shrink(node)
        node.hessian = real_hessian(node.sums[:1, 1], self.scale)[0]

    def _shrink(self, node: Node) -> None:
        rate = np.float32(self.params.learning_rate) / np.float32(self.params.num_parallel_tree)
        node.values = node.shrunk_weights = leaf_values(node.weights, rate)

    @cached_property
    def _of_all_rows(self) -> I64:
        rows = np.arange(self.codes.shape[0], dtype=np.uint32)
        return histogram(self.codes, self.quanta, rows, self.layout)

    def _sums(self, node: Node) -> I64:
        """Return the sums of a node's rows for the bins that its splits lie between."""
        hist = histogram(self.codes, self.quanta, node.rows, self.layout)
        if self.params.search != "approx":
            return hist
        deciding = hist if self.params.proposal == "local" else self._of_all_rows
        return merge_bins(hist, deciding, self.layout, self.params.max_bin)

    @cached_property
    def _categories(self) -> CategoryRule:
        n_rows, tree_h = self.codes.shape[0], int(self.quanta[:, 1].sum())
        return CategoryRule(self.params, self.scale, n_rows, tree_h)

    def _best_of_all(self, hist: I64, node: Node, least: int) -> Candidate | None:
        """Return the best split by a number or by a set of levels."""
        layout, allowed = self.layout, self._allowed(node)
        args = (hist, *node.pair, layout, self._rule_of(node), least)
        own: dict[str, Any] = {"monotone": self.limits.monotone, "draws": self._draws(node)}
        own["noise"] = self._noise(node)
        if layout.categorical is None:
            return best_split(*args, allowed=allowed, **own)
        numeric = best_split(*args, allowed=allowed & ~layout.categorical, **own)
        of_sets = best_category_split(*args, self._categories, allowed=allowed, **own)
        return better(numeric, of_sets, own["noise"])

    def _right_set(self, node: Node, best: Candidate) -> npt.NDArray[np.bool_]:
        """Return the codes that go right at a split of a categorical feature."""
        cells = level_cells(self._sums(node), self.layout, best.feature)
        return self._categories.right_set(cells, best)

    def gain(self, node: Node, best: Candidate) -> np.float32:
        """Return the loss reduction of a split, at most the largest float32."""
        loss = df_add(best.score, df_neg(score_of_pairs(node.sums, self._rule_of(node))))
        return _finite(scale_by(loss[0], self.rule.gain_power)[0])

    def _best(self, node: Node) -> tuple[Candidate, np.float32] | None:
        """Return the best split of a node and its gain; None if the gain is too small."""
        p = self.params
        if p.max_depth and node.depth >= p.max_depth:
            return None
        least = least_hessian(p.min_child_weight, self.scale)
        sums = self._sums(node)
        if node.forced >= 0:
            rule = self._rule_of(node)
            given = forced_split(self.limits, node.forced, sums, node.pair, self.layout, rule)
            if given is not None and self._is_enough(gain := self.gain(node, given)):
                return given, gain
        best = self._best_of_all(sums, node, least)
        if best is None:
            return None
        gain = self.gain(node, best)
        return (best, gain) if self._is_enough(gain) else None

    def _is_enough(self, gain: np.float32) -> bool:
        return bool(gain > _LEAST_GAIN and gain >= np.float32(self.params.gamma))

    def _split(
        self, node: Node, number: int, left: int, best: Candidate, gain: np.float32
    ) -> list[Node]:
        """Split a node; return its children, of which the left one has the id ``left``."""
        node.left, node.gain, node.values = left, gain, np.zeros_like(node.values)
        node.feature, node.bin, node.default_left = best.feature, best.bin, bool(best.direction)
        n_bins = int(self.layout.feature_bins[best.feature])
        codes = self.codes[node.rows, best.feature]
        if self.layout.categorical is not None and self.layout.categorical[best.feature]:
            node.right_set = self._right_set(node, best)
            rows = partition(node.rows, ~node.right_set[codes])
        else:
            rows = partition(node.rows, goes_left(codes, best.bin, n_bins, node.default_left))
        children = self._children(node, number, best, rows)
        for side, child in enumerate(children):
            self._finish(child)
            child.forced = below(self.limits, node.forced, side) if best.forced else -1
        return children


def breadth_first(nodes: list[Node]) -> list[Node]:
    """Return nodes in breadth-first order, renumbered."""
    order, level = [0], [0]
    while level:
        lefts = [nodes[n].left for n in level if nodes[n].left != NO_NODE]
        level = [child for left in lefts for child in (left, left + 1)]
        order += level
    new = {old: number for number, old in enumerate(order)} | {NO_NODE: NO_NODE}
    moved = (nodes[number] for number in order)
    return [replace(node, left=new[node.left], parent=new[node.parent]) for node in moved]
