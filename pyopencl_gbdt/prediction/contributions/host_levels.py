"""Contributions on the host, with NumPy alone: all nodes of a depth, and all rows of a block.

The order of the float32 operations is that of the kernels and of the twin in
`tests/reference/contributions.py`, so the bits are theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.prediction.contributions.path_factors import GONE, RIGHT, PathFactors
from pyopencl_gbdt.prediction.host_walk import HostWalk

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
#: Most nodes times points times rows of a block: two arrays of float32 that a core's cache holds.
_MOST_PRODUCTS = 2**19


@dataclass(frozen=True)
class _Level:
    """The nodes of a depth of a tree.

    Attributes
    ----------
    nodes : slice
        The place of the level's nodes among all nodes.
    inner : int64 array
        The nodes that split, by their places in the level.
    own : slice
        The same, by their places among the inner nodes of the tree.
    """

    nodes: slice
    inner: I64
    own: slice


class _TreeRows:
    """A tree, and which way rows go at its inner nodes.

    Attributes
    ----------
    first : int
        Place of the tree's first inner node among all.
    ways : int8 array, shape (n_inner, n_rows)
    stays : bool array, shape (n_nodes, n_rows)
        Whether rows go towards a node by the feature of its parent, there and above.
    """

    def __init__(self, factors: PathFactors, tree: int, right: Bool) -> None:
        self.begin, end = factors.begin[tree : tree + 2].tolist()
        depth = factors.depth[self.begin : end]
        bounds = self.begin + np.searchsorted(depth, np.arange(depth[-1] + 2))
        self.first, self.levels, done = int(factors.place[self.begin]), [], 0
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            inner = np.flatnonzero(factors.left[first:last])
            own = slice(done, done + inner.size)
            self.levels.append(_Level(slice(first, last), inner, own))
            done = own.stop
        self.ways = right.astype(np.int8)
        self.stays = np.ones((end - self.begin, right.shape[1]), np.bool_)
        for level in self.levels:
            node = level.nodes.start + level.inner
            stays = self.stays[factors.state[node] - self.begin]
            ways = self.ways[level.own] = np.where(stays, self.ways[level.own], GONE)
            child = factors.left[node] - self.begin
            self.stays[child], self.stays[child + 1] = ways == 0, ways == RIGHT

    @property
    def places(self) -> slice:
        """The places of the tree's inner nodes among all."""
        return slice(self.first, self.first + len(self.ways))


class TreeSums:
    """What trees add for rows that go known ways."""

    def __init__(self, factors: PathFactors) -> None:
        self._factors = factors
        self._weights = factors.points.weight.astype(np.float32)

    def pattern_sums(self, tree: int, right: Bool) -> tuple[I64, I64]:
        """Return a tree's features, and what it adds to them for rows that go certain ways.

        Parameters
        ----------
        right : bool array, shape (n_inner, n_rows)
            Whether rows go right at the tree's inner nodes.

        Returns
        -------
        (int64 array (n,), int64 array (n_rows, n))
        """
        rows = _TreeRows(self._factors, tree, right)
        feature = self._factors.feature[self._factors.inner[rows.places]]
        own, place = np.unique(feature, return_inverse=True)
        sums = np.zeros((own.size, right.shape[1]), np.int64)
        _add_by(place.reshape(-1), self._terms(rows), sums)
        return own, sums.T

    def _terms(self, tree: _TreeRows) -> I64:
        """Return what a tree's inner nodes add to their features: shape (n_inner, n_rows)."""
        terms = np.zeros(tree.ways.shape, np.int64)
        for steps, weights in zip(self._factors.all_steps, self._weights, strict=True):
            sums = self._sums(tree, steps[tree.places], weights)
            for level, changes in zip(tree.levels, sums, strict=True):
                terms[level.own] += np.rint(_total(changes)).astype(np.int64)
        return terms

    def _sums(self, tree: _TreeRows, steps: F32, weights: F32) -> list[F32]:
        """Return what each level's inner nodes add to their features, point by point.

        Each array is float32, shape (n_inner, n_points, n_rows).
        """
        product = np.empty((1, weights.size, tree.ways.shape[1]), np.float32)
        product[:] = weights[:, None]
        products, chosen = [product], []
        for level in tree.levels[:-1]:
            step = _of_ways(steps[level.own], tree.ways[level.own], weights.size)
            above, product = product[level.inner], np.repeat(product[level.inner], 2, axis=0)
            np.multiply(above, step[0], out=product[::2])
            np.multiply(above, step[1], out=product[1::2])
            products.append(product)
            chosen.append(step[2:])
        below = products[-1] * self._factors.values[tree.levels[-1].nodes, None, None]
        sums = [below[:0]]
        for level, product, (of_left, of_right) in reversed(
            list(zip(tree.levels, products, chosen, strict=False))
        ):
            left, right = below[::2], below[1::2]
            changes = of_left * left
            changes += of_right * right
            sums.append(changes)
            below = product * self._factors.values[level.nodes, None, None]
            below[level.inner] = left + right
        return sums[::-1]


class HostLevels(TreeSums):
    """Adds trees to the contributions of rows, in quanta."""

    def __init__(self, factors: PathFactors, walk: HostWalk) -> None:
        super().__init__(factors)
        self._walk = walk

    def add(self, values: F32 | SparseMatrix, quanta: I64, trees: I64) -> None:
        """Add trees to the contributions of rows.

        Parameters
        ----------
        values : float32 array or SparseMatrix, shape (n_rows, n_tree_features)
        quanta : int64 array, shape (n_outputs, n_used, n_rows), written
        trees : int64 array, shape (n_outputs, n)
            The trees of each output, by their places.
        """
        for rows, output, tree in self._visits(values, trees):
            feature = self._factors.feature[self._factors.inner[tree.places]]
            _add_by(feature, self._terms(tree), quanta[output, :, rows])

    def add_pairs(self, values: F32 | SparseMatrix, quanta: I64, trees: I64) -> None:
        """Add trees to the interactions and contributions of rows.

        Parameters
        ----------
        quanta : int64 array, shape (n_outputs, n_pairs + n_used, n_rows), written
            The sum of each pair of features, i and j < i in ``i * (i - 1) / 2 + j``. Then that of
            each feature.
        """
        n_pairs = quanta.shape[1] - self._factors.used.size
        for rows, output, tree in self._visits(values, trees):
            own = quanta[output, :, rows]
            for index, weights in enumerate(self._weights):
                sums = self._sums(tree, self._factors.all_steps[index][tree.places], weights)
                for level, changes in zip(tree.levels, sums, strict=True):
                    nodes = level.nodes.start + level.inner
                    place, total = n_pairs + self._factors.feature[nodes], _total(changes)
                    _add_by(place, np.rint(total).astype(np.int64), own)
                    for live, other in self._others(nodes):
                        stays = tree.stays[other - tree.begin][:, None]
                        told = self._factors.all_told_apart[index][other, :, : weights.size]
                        of_gone, of_stays = told.swapaxes(0, 1)[..., None]
                        apart = np.where(stays, of_stays, of_gone)
                        total = _total(apart * changes[live]) * np.float32(0.5)
                        two = self._factors.feature[nodes[live]], self._other_feature(other)
                        high = np.maximum(*two)
                        pair = high * (high - 1) // 2 + np.minimum(*two)
                        _add_by(pair, np.rint(total).astype(np.int64), own)

    def add_means(self, values: F32 | SparseMatrix, quanta: I64, trees: I64) -> None:
        """Add the changes of the means along each row's path; parameters are those of ``add``."""
        factors = self._factors
        change = factors.mean_quanta - factors.mean_quanta[factors.parent]
        for output, own in enumerate(trees):
            leaves = self._walk.leaf_ids(values, own) + factors.begin[own]
            for at in leaves.T.astype(np.int64):
                row, node = np.arange(at.size), at
                while row.size:
                    inside = factors.depth[node] > 0
                    row, node = row[inside], node[inside]
                    above = factors.parent[node]
                    quanta[output, factors.feature[above], row] += change[node]
                    node = above

    def _visits(
        self, values: F32 | SparseMatrix, trees: I64
    ) -> Iterator[tuple[slice, int, _TreeRows]]:
        """Yield each block of rows with each output and tree that has a split."""
        factors = self._factors
        sizes = np.diff(factors.begin)
        largest = int(sizes[trees].max(initial=1)) * factors.points.n_each
        for rows, block in self._walk.blocks(values, max(1, _MOST_PRODUCTS // largest)):
            for output, own in enumerate(trees.tolist()):
                for tree in own:
                    first, end = factors.begin[tree : tree + 2]
                    inner = first + np.flatnonzero(factors.left[first:end])
                    if inner.size:
                        right = self._walk.goes_right(block, inner)
                        yield rows, output, _TreeRows(factors, tree, right)

    def _others(self, nodes: I64) -> Iterator[tuple[I64, I64]]:
        """Yield the nodes of a level that have a certain other feature above.

        Yields
        ------
        (int64 array, int64 array)
            Places in ``nodes``, and the node that tells the way by the other feature: the child of
            the last node above that asks for it.
        """
        factors = self._factors
        at, known = nodes, [factors.state[nodes]]
        while nodes.size and factors.depth[at[0]] > 0:
            live = np.flatnonzero(np.all([at != state for state in known], axis=0))
            if live.size:
                yield live, at[live]
            at = factors.parent[at]
            known.append(factors.state[at])

    def _other_feature(self, child: I64) -> I64:
        return self._factors.feature[self._factors.parent[child]]


def _of_ways(steps: F32, ways: npt.NDArray[np.int8], n_points: int) -> list[F32]:
    """Return the four constants of each node, point and row: shape (n_inner, n_points, n_rows).

    They are the factors of the left and the right child, then what their sums are multiplied by.
    """
    way = ways[:, None]
    found = []
    for first, side in ((0, 0), (0, 1), (n_points, 0), (n_points, 1)):
        own = steps[..., side, first : first + n_points, None]
        left, right, gone = (own[:, w] for w in range(3))
        found.append(np.where(way == GONE, gone, np.where(way == RIGHT, right, left)))
    return found


def _total(terms: F32) -> F32:
    """Add the points in their order: from (n, n_points, n_rows) to (n, n_rows)."""
    total: F32 = terms[:, 0].copy()
    for point in range(1, terms.shape[1]):
        total += terms[:, point]
    return total


def _add_by(places: I64, terms: I64, sums: I64) -> None:
    """Add terms, shape (n, n_rows), to the lines ``places`` of ``sums``."""
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    if starts.size:
        sums[places[order[starts]]] += np.add.reduceat(terms[order], starts, axis=0)
