"""What contributions need of a tree's nodes: constants that the host computes once.

A row and a tree define a game: without a feature, a row goes both ways, in the shares of the
training rows. A leaf's part of it is a product over the features of its path, see
`docs/contributions.md`. A feature that several nodes of a path ask for has one factor, which the
last of them knows; `state` is the child of the one before.
"""

from __future__ import annotations

import weakref
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.numerics.quadrature import Points, points_for
from pyopencl_gbdt.prediction.contributions.quantum import quantum_bits
from pyopencl_gbdt.prediction.packing import PackedTrees, packed

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: Distinct features on a path at most; a node has constants for half as many points.
MOST_FEATURES = 1024
#: Which way a row goes at a node: left or right, or it left the path by the same feature above.
LEFT, RIGHT, GONE = range(3)


@dataclass(frozen=True)
class PathFactors:
    """Constants of an ensemble's nodes, trees in the order of ``PackedTrees``.

    Attributes
    ----------
    trees : PackedTrees
        Feature j is the column ``used[j]``; see ``PackedTrees.compact``.
    used : uint32 array
        The features that the trees ask for, ascending.
    parent : int64 array, shape (n_nodes,)
        Ids among all nodes; roots are their own parents.
    levels : list of int64 array
        The nodes of each depth, ascending; children are neighbours.
    depth : int64 array, shape (n_nodes,)
    state : int64 array, shape (n_nodes,)
        For an inner node, the node on its path that is the child of the nearest inner node with the
        same feature; the root if there is none. For a leaf, the leaf itself.
    bits : int
        k: contributions are multiples of 2^-k.
    share : float64 array, shape (n_nodes,)
        Cover of a node as a part of its parent's; 1/2 if that is 0. 1 for roots.
    kept : dict
        What others computed from these constants.
    """

    trees: PackedTrees
    used: npt.NDArray[np.uint32]
    parent: I64
    levels: list[I64]
    depth: I64
    state: I64
    points: Points
    bits: int
    share: F64
    kept: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def begin(self) -> I64:
        """First node of every tree, and the number of nodes."""
        return self.trees.begin.astype(np.int64)

    @cached_property
    def longest(self) -> int:
        """Most splits on a path, at least 1."""
        return max(1, int(self.depth.max(initial=0)))

    @cached_property
    def left(self) -> I64:
        """Ids of left children among all nodes; 0 in leaves."""
        own = self.trees.nodes["left"].astype(np.int64)
        return np.where(own > 0, own + np.repeat(self.begin[:-1], np.diff(self.begin)), 0)

    @cached_property
    def inner(self) -> I64:
        """Ids of inner nodes, ascending."""
        return np.flatnonzero(self.left)

    @cached_property
    def place(self) -> I64:
        """The place of each inner node in ``inner``, shape (n_nodes,)."""
        return np.cumsum(self.left > 0) - 1

    @cached_property
    def feature(self) -> I64:
        """The feature of each inner node, as in ``trees``: shape (n_nodes,)."""
        return self.trees.nodes["feature"].astype(np.int64)

    @cached_property
    def leaf_values(self) -> F64:
        """Values of leaves; 0 in inner nodes."""
        return np.where(self.left == 0, self.trees.nodes["number"], 0).astype(np.float64)

    @cached_property
    def values(self) -> F32:
        """Values of leaves in quanta; 0 in inner nodes, and far below half a quantum."""
        found = np.ldexp(self.leaf_values, self.bits)
        return np.where(np.abs(found) < 2.0**-60, 0, found).astype(np.float32)

    @cached_property
    def z(self) -> F64:
        """Product of the shares of the nodes of a path that the feature of a node's parent decides.

        Shape (n_nodes,); 1 for roots.
        """
        found = np.ones(self.share.size)
        for nodes in self.levels[1:]:
            found[nodes] = found[self.state[self.parent[nodes]]] * self.share[nodes]
        return found

    @cached_property
    def mean_quanta(self) -> I64:
        """What a row of a node gets in the mean, in quanta: int64 (n_nodes,)."""
        means = self.leaf_values.copy()
        for nodes in self.levels[:0:-1]:
            parts = self.share[nodes] * means[nodes]
            means[self.parent[nodes[::2]]] = parts[::2] + parts[1::2]
        found: I64 = np.rint(np.ldexp(means, self.bits)).astype(np.int64)
        return found

    def steps(self, walk: int) -> F32:
        """Return the constants of one walk's points: float32, shape (n_inner, 3, 2, n).

        For each way (``LEFT``, ``RIGHT``, ``GONE``) and each child: ``n_each`` factors of the
        product that goes on to the child, then ``n_each`` numbers that its sums are multiplied by,
        then zeros up to a multiple of 4, as kernels load them.
        """
        t, s = self.points.t[walk], self.points.s[walk]
        left, state = self.left[self.inner], self.state[self.inner]
        is_first = self.depth[state, None] == 0
        z = self.z[state, None]
        before = np.where(is_first, 1.0, z * s + t)
        last = np.where(is_first, 0.0, (1 - z) / before)
        n = t.size
        found = np.zeros((left.size, 3, 2, _padded(2 * n)), np.float32)
        factors, terms = found[..., :n], found[..., n : 2 * n]
        for side, other in ((0, 1), (1, 0)):
            of_side, of_other = self.z[left + side, None], self.z[left + other, None]
            factor = of_side * s + t
            factors[:, side, side] = factor / before
            factors[:, side, other] = of_other * s / before
            terms[:, side, side] = (1 - of_side) / factor - last
            terms[:, side, other] = -1 / s - last
            factors[:, GONE, side] = self.share[left + side, None]
        return found

    def n_places(self, pairs: bool) -> int:
        """Return the number of features that trees ask for; with their pairs, which come first."""
        n_used = self.used.size
        return n_used + pairs * (n_used * (n_used - 1) // 2)

    def constant_bytes(self, pairs: bool) -> int:
        """Return the bytes of ``all_steps``; with ``pairs``, and of ``all_told_apart``.

        These arrays of the host may exceed its memory, so they are not made to be asked.
        """
        n = self.points.weight.shape[1]
        of_nodes = self.inner.size * 6 * _padded(2 * n) + pairs * self.share.size * 2 * _padded(n)
        return 4 * self.points.n_walks * of_nodes

    @cached_property
    def all_steps(self) -> list[F32]:
        """``steps`` of all walks."""
        return [self.steps(walk) for walk in range(self.points.n_walks)]

    @cached_property
    def all_told_apart(self) -> list[F32]:
        """``told_apart`` of all walks."""
        return [self.told_apart(walk) for walk in range(self.points.n_walks)]

    def told_apart(self, walk: int) -> F32:
        """Return the factors of sums where the feature of a node's parent counts apart.

        Returns
        -------
        float32 array, shape (n_nodes, 2, n)
            For rows that have left the path by this feature, and for others: ``n_each`` numbers,
            then zeros up to a multiple of 4.
        """
        t, s = self.points.t[walk], self.points.s[walk]
        z = self.z[:, None]
        found = np.zeros((self.share.size, 2, _padded(t.size)), np.float32)
        found[:, 0, : t.size], found[:, 1, : t.size] = -1 / s, (1 - z) / (z * s + t)
        return found

    def for_row(self, right: npt.NDArray[np.bool_], spare_bits: int) -> PathFactors:
        """Return the constants of the game whose missing features are those of a background row.

        Parameters
        ----------
        right : bool array, shape (n_inner,)
            Whether the row goes right at the inner nodes.
        spare_bits : int
            By how many bits sums over rows may be longer than those of one row.
        """
        share = np.ones(self.share.size)
        left = self.left[self.inner]
        share[left], share[left + 1] = ~right, right
        return replace(self, share=share, bits=self.bits - spare_bits, kept={})


def _padded(n: int) -> int:
    """Return the multiple of 4 from ``n`` on."""
    return n + -n % 4


def _made(ensemble: Ensemble, trees: PackedTrees) -> PathFactors:
    cover = np.concatenate([np.zeros(0), *(tree.sum_hessian for tree in ensemble.by_output())])
    begin = trees.begin.astype(np.int64)
    root = np.repeat(begin[:-1], np.diff(begin))
    own = trees.nodes["left"].astype(np.int64)
    inner = np.flatnonzero(own)
    left = root[inner] + own[inner]
    parent = root.copy()
    parent[left] = parent[left + 1] = inner
    share, known = np.ones(root.size), cover[inner] > 0
    for child in (left, left + 1):
        part = cover[child] / np.where(known, cover[inner], 1.0)
        share[child] = np.where(known, np.minimum(part, 1.0), 0.5)  # a file may say anything
    levels = _levels(own, root)
    depth, n_distinct = np.zeros((2, root.size), np.int64)
    for level, nodes in enumerate(levels):
        depth[nodes] = level
    state = _states(trees.nodes["feature"], parent, depth, inner)
    for nodes in levels[1:]:
        above = parent[nodes]
        n_distinct[nodes] = n_distinct[above] + (depth[state[above]] == 0)
    value = np.where(own == 0, np.abs(trees.nodes["number"]), 0).astype(np.float64)
    most = int(n_distinct.max(initial=0))
    if most > MOST_FEATURES:
        raise ParameterError(
            f"a tree asks for {most} features on one path: expected {MOST_FEATURES} at most for "
            "contributions; train trees of fewer levels, or call without contributions"
        )
    largest = np.maximum.reduceat(value, begin[:-1]) if root.size else value
    longest = np.maximum.reduceat(depth, begin[:-1]) if root.size else depth
    return PathFactors(
        trees=trees.compact, used=trees.used, parent=parent, levels=levels, depth=depth,
        state=state, points=points_for(most), share=share,
        bits=quantum_bits(each(ensemble.base_margin), largest, longest),
    )  # fmt: skip


def check_covers(ensemble: Ensemble) -> None:
    """Raise an error if trees do not tell the cover of their nodes.

    Raises
    ------
    ParameterError
    """
    kept = path_factors(ensemble).kept
    if "covers" in kept:
        return
    for index, tree in enumerate(ensemble.trees):
        cover = tree.sum_hessian
        if tree.n_nodes > 1 and not (cover[0] > 0 and cover.min() >= 0):
            node = 0 if not cover[0] > 0 else int(np.argmin(cover))
            raise ParameterError(
                f"trees[{index}].sum_hessian[{node}]={show(cover[node])}: expected the cover of "
                "each node for contributions; read a file that has them, or give background= rows, "
                "which need none"
            )
    kept["covers"] = True


def _levels(own: I64, root: I64) -> list[I64]:
    """Return the nodes of each depth, ascending; the children of a node are neighbours."""
    levels, nodes = [], np.unique(root)
    while nodes.size:
        levels.append(nodes)
        inner = nodes[own[nodes] > 0]
        left = root[inner] + own[inner]
        nodes = np.column_stack([left, left + 1]).ravel()
    return levels


def _states(feature: npt.NDArray[np.uint32], parent: I64, depth: I64, inner: I64) -> I64:
    """Return ``PathFactors.state``; all nodes climb their paths together, a step at a time."""
    state = np.arange(parent.size)
    node, at = inner, inner
    while node.size:
        above = parent[at]
        done = (depth[at] == 0) | (feature[above] == feature[node])
        state[node[done]] = at[done]
        node, at = node[~done], above[~done]
    return state


#: Cache by the packed trees' id; see ``packed``.
_kept: dict[int, tuple[weakref.ref[PackedTrees], object, PathFactors]] = {}


def path_factors(ensemble: Ensemble) -> PathFactors:
    """Return an ensemble's constants, from a cache that lives as long as its packed trees."""
    trees = packed(ensemble)
    key, found = id(trees), _kept.get(id(trees))
    if found is not None and found[0]() is trees and found[1] == ensemble.base_margin:
        return found[2]
    made = _made(ensemble, trees)
    _kept[key] = weakref.ref(trees, lambda _: _kept.pop(key, None)), ensemble.base_margin, made
    return made
