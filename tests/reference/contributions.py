"""Twin of contributions: row by row, tree by tree, one recursion through the nodes.

Constants are computed in float64 and rounded to float32 once; what depends on a row is float32, in
the written order: products on the way down, sums on the way up, points in their order, then one
rounding to quanta for each node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.tree import NO_NODE, Tree
from pyopencl_gbdt.numerics.quadrature import Points, points_for
from tests.reference.predict import _level_goes_left, leaf_of

F32 = npt.NDArray[np.float32]
f32 = np.float32


def goes_right(tree: Tree, node: int, x: F32) -> bool:
    """Return whether a row goes right at an inner node."""
    value = x[tree.feature[node]]
    if tree.split_kind[node]:
        return not _level_goes_left(tree, node, value)
    return not (tree.default_left[node] if np.isnan(value) else value < tree.threshold[node])


@dataclass
class Game:
    """A tree, and which part of what reaches a node goes on to each child.

    Attributes
    ----------
    tree : Tree
    share : dict of int to float
        By the child; 1 for the root.
    """

    tree: Tree
    share: dict[int, float]

    @classmethod
    def of_covers(cls, tree: Tree) -> Game:
        share, cover = {0: 1.0}, [float(c) for c in tree.sum_hessian]
        for child in range(1, tree.n_nodes):
            above = cover[tree.parent[child]]
            share[child] = cover[child] / above if above > 0 else 0.5
        return cls(tree, share)

    @classmethod
    def of_row(cls, tree: Tree, x: F32) -> Game:
        share = {0: 1.0}
        for node in np.flatnonzero(tree.left != NO_NODE).tolist():
            right = goes_right(tree, node, x)
            share[int(tree.left[node])], share[int(tree.right[node])] = 1.0 - right, 0.0 + right
        return cls(tree, share)

    def mean(self, node: int = 0) -> float:
        left, right = int(self.tree.left[node]), int(self.tree.right[node])
        if left == NO_NODE:
            return float(self.tree.value[node, 0])
        return self.share[left] * self.mean(left) + self.share[right] * self.mean(right)

    def paths(self, node: int = 0) -> Iterator[tuple[int, list[int]]]:
        """Yield the leaves, each with its features."""
        if self.tree.left[node] == NO_NODE:
            yield node, []
            return
        for child in (int(self.tree.left[node]), int(self.tree.right[node])):
            for leaf, features in self.paths(child):
                yield leaf, [int(self.tree.feature[node]), *features]


def bits_of(ensemble: Ensemble) -> int:
    """Return k of the quantum 2^-k, by fractions."""
    sums = [abs(Fraction(score)) for score in each(ensemble.base_margin)]
    for index, tree in enumerate(ensemble.trees):
        output = index // ensemble.n_parallel % ensemble.n_outputs
        largest = Fraction(float(np.abs(tree.value).max()))
        sums[output] += largest * (2 * int(tree.depth.max()) + 1)
    return 52 - math.frexp(float(max(sums)))[1]


def points_of(ensemble: Ensemble) -> Points:
    """Return the points for the most distinct features of a path."""
    games = [Game.of_covers(tree) for tree in ensemble.trees]
    return points_for(max((len(set(f)) for game in games for _, f in game.paths()), default=0))


class Walk:
    """A row's walk through a tree; ``single`` and ``pairs`` have the sums in quanta."""

    def __init__(self, game: Game, x: F32, points: Points, index: int, bits: int) -> None:
        self.game, self.x, self.bits = game, x, bits
        self.t, self.s = points.t[index], points.s[index]
        self.single: dict[int, int] = {}
        self.pairs: dict[tuple[int, int], int] = {}
        self._visit(0, points.weight[index].astype(f32), {})

    def _visit(self, node: int, product: F32, states: dict[int, tuple[float, bool]]) -> F32:
        """Return the sum of the leaves below; ``states``: z, and whether the row stays."""
        tree = self.game.tree
        if tree.left[node] == NO_NODE:
            leaf: F32 = product * f32(math.ldexp(float(tree.value[node, 0]), self.bits))
            return leaf
        feature, right = int(tree.feature[node]), goes_right(tree, node, self.x)
        first = feature not in states
        z, stays = states.get(feature, (1.0, True))
        before = 1.0 if first else z * self.s + self.t
        last = 0.0 if first else (1 - z) / before
        sums, terms = [], []
        for side, child in enumerate((int(tree.left[node]), int(tree.right[node]))):
            share = self.game.share[child]
            mine, there = z * share, stays and side == right
            factor = mine * self.s + self.t
            step = (factor if there else mine * self.s) / before if stays else share + 0 * self.s
            below = {**states, feature: (mine, there)}
            sums.append(self._visit(child, product * step.astype(f32), below))
            own = ((1 - mine) / factor if there else -1 / self.s) - last if stays else 0 * self.s
            terms.append(own.astype(f32) * sums[-1])
        change = terms[0] + terms[1]
        _add(self.single, feature, change, f32(1))
        for other, (other_z, other_stays) in states.items():
            if other != feature:
                apart = (1 - other_z) / (other_z * self.s + self.t) if other_stays else -1 / self.s
                pair = min(feature, other), max(feature, other)
                _add(self.pairs, pair, apart.astype(f32) * change, f32(0.5))
        return sums[0] + sums[1]


def _add(sums: dict[Any, int], key: Any, points: F32, factor: np.float32) -> None:
    total = points[0]
    for point in points[1:]:
        total = total + point
    sums[key] = sums.get(key, 0) + round(float(total * factor))


def brute_force(game: Game, x: F32) -> tuple[dict[int, float], dict[tuple[int, int], float]]:
    """Return Shapley values and interactions by their definition, over all sets of features."""
    tree = game.tree
    features = sorted(set(tree.feature[tree.left != NO_NODE].tolist()))
    value = {
        known: _value(game, x, 0, frozenset(known))
        for n in range(len(features) + 1)
        for known in combinations(features, n)
    }
    n, single = len(features), dict.fromkeys(features, 0.0)
    pairs: dict[tuple[int, int], float] = {}
    for known, without in value.items():
        size = len(known)
        for i in set(features) - set(known):
            weight = 1 / (n * math.comb(n - 1, size))
            single[i] += weight * (value[tuple(sorted((*known, i)))] - without)
        for i, j in combinations(sorted(set(features) - set(known)), 2):
            weight = 1 / (2 * (n - 1) * math.comb(n - 2, size))
            both, one, other = (tuple(sorted((*known, *a))) for a in ((i, j), (i,), (j,)))
            change = value[both] - value[one] - value[other] + without
            pairs[i, j] = pairs.get((i, j), 0.0) + weight * change
    return single, pairs


def _value(game: Game, x: F32, node: int, known: frozenset[int]) -> float:
    tree = game.tree
    left, right = int(tree.left[node]), int(tree.right[node])
    if left == NO_NODE:
        return float(tree.value[node, 0])
    if int(tree.feature[node]) in known:
        return _value(game, x, right if goes_right(tree, node, x) else left, known)
    return sum(game.share[c] * _value(game, x, c, known) for c in (left, right))


def quanta(ensemble: Ensemble, values: F32) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return contributions and interactions in quanta, before the rest goes to the largest.

    Returns
    -------
    (int64 array (n_rows, n_outputs, n_features + 1),
    int64 array (n_rows, n_outputs, n_features, n_features))
        The base is the mean of the trees. Interactions are 0 on the diagonal.
    """
    n, bits, points = ensemble.n_tree_features, bits_of(ensemble), points_of(ensemble)
    single = np.zeros((len(values), ensemble.n_outputs, n + 1), np.int64)
    pairs = np.zeros((len(values), ensemble.n_outputs, n, n), np.int64)
    for index, tree in enumerate(ensemble.trees):
        output = index // ensemble.n_parallel % ensemble.n_outputs
        game = Game.of_covers(tree)
        single[:, output, n] += round(math.ldexp(game.mean(), bits))
        for row, x in enumerate(values):
            for walk in range(points.n_walks):
                found = Walk(game, x, points, walk, bits)
                for feature, own in found.single.items():
                    single[row, output, feature] += own
                for (i, j), own in found.pairs.items():
                    pairs[row, output, i, j] += own
                    pairs[row, output, j, i] += own
    return single, pairs


def path_quanta(ensemble: Ensemble, values: F32) -> npt.NDArray[np.int64]:
    """Return the changes of the means along paths in quanta; shape as the first of ``quanta``."""
    n, bits = ensemble.n_tree_features, bits_of(ensemble)
    found = np.zeros((len(values), ensemble.n_outputs, n + 1), np.int64)
    for index, tree in enumerate(ensemble.trees):
        output, game = index // ensemble.n_parallel % ensemble.n_outputs, Game.of_covers(tree)
        mean = [round(math.ldexp(game.mean(node), bits)) for node in range(tree.n_nodes)]
        found[:, output, n] += mean[0]
        for row, x in enumerate(values):
            node = leaf_of(tree, x)
            while node:
                above = int(tree.parent[node])
                found[row, output, tree.feature[above]] += mean[node] - mean[above]
                node = above
    return found


def linear_parts(ensemble: Ensemble, x: F32) -> npt.NDArray[np.float64]:
    """Return what the linear functions of a row's leaves add to contributions.

    Returns
    -------
    float64 array, shape (n_outputs, n_features)
    """
    found = np.zeros((ensemble.n_outputs, ensemble.n_features))
    for index, tree in enumerate(ensemble.trees):
        output = index // ensemble.n_parallel % ensemble.n_outputs
        leaf = leaf_of(tree, x)
        if tree.linear is None:
            continue
        number = int(np.count_nonzero(tree.is_leaf[:leaf]))
        terms = tree.linear.part(number, number + 1)
        if not terms.features.size or np.isnan(x[terms.features]).any():
            continue
        share = (float(terms.intercepts[0]) - float(tree.value[leaf, 0])) / terms.features.size
        for feature, coefficient in zip(terms.features, terms.coefficients, strict=True):
            found[output, feature] += float(coefficient) * float(x[feature]) + share
    return found
