"""Twin of ``growth.vector_split``: trees of all outputs that split alike, and their vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.numerics.portable_math import DF, df_add, df_neg, finite, not_tiny, scale_by
from tests.reference.gain import score
from tests.reference.grow import _LEAST_GAIN, Node, _finite, breadth_first
from tests.reference.split import Candidate

#: Gains are clamped to it, so that their sum is finite.
_MOST_GAIN = np.float32(2.0**110)


def real_gains(gain: DF, power: int) -> DF:
    """Return gains in real units."""
    hi, lo = finite(scale_by(gain[0], power)), not_tiny(scale_by(gain[1], power))
    large = np.abs(hi) > _MOST_GAIN
    return np.where(large, np.copysign(_MOST_GAIN, hi), hi), np.where(large, np.float32(0), lo)


@dataclass(frozen=True)
class VectorGrower:
    """Grows a tree for each output in step: nodes at a place have the same rows and split.

    Attributes
    ----------
    outputs : list of SymmetricGrower
        One for each output. Their rules for splits that are idle in a node hold here, too.
    """

    outputs: list[Any]

    def __post_init__(self) -> None:
        first = self.outputs[0]
        shared = {feature: self._leader(feature)._sets[feature] for feature in first._sets}
        for own in self.outputs:
            own.__dict__["_sets"] = shared

    def _leader(self, feature: int) -> Any:
        """Return the output in whose order a feature's levels are.

        It is that whose own best set gains most in the tree's root, in real units; the first of
        equal ones.
        """
        gains: list[tuple[Any, Any, int]] = []
        for own in self.outputs:
            root, cells = own.quanta.sum(axis=0), own._cells(own._of_all_rows, feature)
            best = own._categories.best(cells, *root.tolist(), feature, own.rule, own._least, None)
            gain = np.full(1, -np.inf, np.float32), np.zeros(1, np.float32)
            if best is not None:
                before = score(root[:1], root[1:], own.rule)
                gain = real_gains(df_add(best.score, df_neg(before)), own.rule.gain_power)
            gains.append((gain[0][0], gain[1][0], -len(gains)))
        return self.outputs[-max(gains)[2]]

    def grow(self) -> list[list[Node]]:
        """Grow the trees; return the nodes of each, breadth first."""
        first = self.outputs[0]
        rows = np.arange(first.codes.shape[0], dtype=np.uint32)
        nodes = [[Node(rows, own.quanta.sum(axis=0).reshape(-1, 2))] for own in self.outputs]
        for own, (root,) in zip(self.outputs, nodes, strict=True):
            own._finish(root)
        if first.params.leaf_wise and not first.params.symmetric_trees:
            self._by_gain(nodes)
            return [breadth_first(of_tree) for of_tree in nodes]
        number, splits_left = 0, (first.params.max_leaves or 2**62) - 1
        while number < len(nodes[0]):
            width = 1 << nodes[0][number].depth if first.params.symmetric_trees else 1
            place = [of_tree[number : number + width] for of_tree in nodes]
            best = self._best(place) if splits_left else None
            if best is not None:
                self._split(nodes, number, best[0])
                splits_left -= 1
            number += width
        return nodes

    def _by_gain(self, nodes: list[list[Node]]) -> None:
        """Split the open leaf of the highest gain of all outputs, one after another."""
        most = self.outputs[0].params.max_leaves or 2**62
        found = {0: self._best([of_tree[:1] for of_tree in nodes])}
        for _ in range(most - 1):
            gains = {number: best[1] for number, best in found.items() if best is not None}
            if not gains:
                return
            number = max(gains, key=lambda n: (gains[n], -n))
            best = found.pop(number)
            assert best is not None
            left = len(nodes[0])
            self._split(nodes, number, best[0])
            for child in (left, left + 1):
                found[child] = self._best([of_tree[child : child + 1] for of_tree in nodes])

    def _split(self, nodes: list[list[Node]], number: int, found: list[list[Candidate]]) -> None:
        """Split the nodes of each output from ``number`` on."""
        for own, of_tree, splits in zip(self.outputs, nodes, found, strict=True):
            for at, split in enumerate(splits, number):
                gain = _finite(scale_by(split.score[0], own.rule.gain_power)[0])
                of_tree.extend(own._split(of_tree[at], at, len(of_tree), split, gain))

    def _best(self, place: list[list[Node]]) -> tuple[list[list[Candidate]], np.float32] | None:
        """Return the split of each output's nodes and its gain; None if that is too small."""
        first = self.outputs[0]
        if first.params.max_depth and place[0][0].depth >= first.params.max_depth:
            return None
        borders = first._borders()
        feature, bins, direction = borders.feature, borders.bins, borders.direction
        refused = ~first._allowed(place[0][0])[feature]
        total = np.zeros(feature.size, np.float32), np.zeros(feature.size, np.float32)
        every = [
            (own, node, *own._lefts(node, borders))
            for own, nodes in zip(self.outputs, place, strict=True)
            for node in nodes
        ]
        for own, node, g, h in every:
            if node.pair[1] > 0:
                gains = real_gains(own._gains(node, g, h, borders.smoothed), own.rule.gain_power)
                idle, added = own._idle(node, g, h), df_add(total, gains)
                total = np.where(idle, total[0], added[0]), np.where(idle, total[1], added[1])
                refused = refused | own._out_of_order(node, feature, g, h)
        order = np.lexsort((direction, bins, feature, -total[1], -total[0], refused))
        if not order.size or refused[order[0]]:
            return None
        best = int(order[0])
        gain = total[0][best]
        if not (gain > _LEAST_GAIN and gain >= np.float32(first.params.gamma)):
            return None
        facts = int(feature[best]), int(bins[best]), int(direction[best])
        found = [
            Candidate(
                own._own_gain(node, g, h, borders.smoothed, best), int(g[best]), int(h[best]),
                *facts,
            )
            for own, node, g, h in every
        ]  # fmt: skip
        width = len(place[0])
        return [found[at : at + width] for at in range(0, len(found), width)], gain


def of_outputs(trees: list[Tree], n_parallel: int) -> list[Tree]:
    """Return a round's trees with vectors: ``n_parallel`` of them, of the trees of all outputs."""
    return [_joined(trees[first::n_parallel]) for first in range(n_parallel)]


def _joined(trees: list[Tree]) -> Tree:
    """Return a tree of vectors; gains and Hessians are sums in float32, in order of outputs."""
    first, n_nodes = trees[0], trees[0].n_nodes
    gain, hessian = np.zeros((2, n_nodes), np.float32)
    value, weight = np.zeros((2, n_nodes, len(trees)), np.float32)
    for node in range(n_nodes):
        for output, tree in enumerate(trees):
            gain[node] = gain[node] + tree.gain[node] if output else tree.gain[node]
            one = tree.sum_hessian[node]
            hessian[node] = hessian[node] + one if output else one
            value[node, output], weight[node, output] = tree.value[node, 0], tree.weight[node, 0]
    names = (
        "left", "right", "parent", "feature", "threshold", "default_left", "split_kind", "sets",
        "set_begin",
    )  # fmt: skip
    return Tree(
        **{name: getattr(first, name) for name in names}, value=value, weight=weight, gain=gain,
        sum_hessian=hessian,
    )  # fmt: skip
