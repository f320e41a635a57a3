"""An ensemble's nodes in the arrays that kernels read; cached as long as the ensemble lives."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import WALK, WALK_BY_SET
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.leaf_kinds import NUMBERS
from pyopencl_gbdt.model.tables import tables_of
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree
from pyopencl_gbdt.model.tree_arrays import join_linear
from pyopencl_gbdt.prediction.borders import OF_SETS, SetKeys, set_keys
from pyopencl_gbdt.prediction.code_trees import PackedCodeTrees, pack_codes
from pyopencl_gbdt.prediction.host_walk import HostWalk
from pyopencl_gbdt.prediction.leaf_terms import (
    LeafTerms,
    LinearLeafTerms,
    NumberTerms,
    PackedLinear,
    VectorTerms,
)
from pyopencl_gbdt.prediction.predict_tables import PackedTables, pack_tables

I64 = npt.NDArray[np.int64]
F32 = npt.NDArray[np.float32]
U32 = npt.NDArray[np.uint32]
#: Number of levels stored as a perfect tree: at least the levels that are walked at once, and
#: not many more than a tree with so many leaves needs.
_LEAST_LEVELS, _MOST_LEVELS = 2, 20

T = TypeVar("T")


class Kept(Generic[T]):
    """A cache of what a function returns for an ensemble; pickling an ensemble does not save it.

    Parameters
    ----------
    make : callable
        Its result depends on trees, their weights, the base margin and the number of features.
    """

    def __init__(self, make: Callable[[Ensemble], T]) -> None:
        self._make = make
        #: By an ensemble's id: a weak reference, its trees and other facts, and the result.
        self.found: dict[int, tuple[weakref.ref[Ensemble], list[Tree], object, T]] = {}

    def of(self, ensemble: Ensemble) -> T:
        """Return the result for an ensemble; it is computed again after a change."""
        key, found = id(ensemble), self.found
        facts = ensemble.n_tree_features, ensemble.base_margin, ensemble.tree_weights
        if key in found:
            alive, trees, own, made = found[key]
            if alive() is ensemble and own == facts and _are(trees, ensemble.trees):
                return made
        made = self._make(ensemble)
        # No lock: dict operations are atomic, and two threads at worst compute the same twice.
        alive = weakref.ref(ensemble, lambda _: found.pop(key, None))
        found[key] = alive, list(ensemble.trees), facts, made
        return made


def _are(some: list[Tree], others: list[Tree]) -> bool:
    """Tell whether two lists hold the same objects; trees are immutable."""
    return len(some) == len(others) and all(map(operator.is_, some, others))


_OF_NUMBERS = Kept(Ensemble.with_numbers)


def numbers_of(ensemble: Ensemble) -> Ensemble:
    """Return a model that predicts the same and whose leaves are numbers, from a cache."""
    return ensemble if ensemble.leaves is NUMBERS else _OF_NUMBERS.of(ensemble)


@dataclass(frozen=True)
class PackedTrees:
    """All trees of an ensemble, in arrays for kernels.

    Attributes
    ----------
    nodes : array of ``dtypes.WALK``
        Nodes of all trees, tree by tree; the trees of the first output come first. The bits of a
        leaf's ``number`` say which of ``vectors`` is its own, if there are any.
    begin : uint32 array, shape (n_trees + 1,)
        First node of every tree; the last element is the number of nodes.
    longest : int
        Largest number of nodes on a path from root to leaf.
    shapes : uint32 array, shape (n_trees, 3)
        For each tree: the first place of its perfect upper part, its number of levels, and the
        most steps below it.
    n_places : int
        Number of places of the perfect parts of all trees.
    columns : uint32 array, shape (n_columns,)
        ``2 * feature + (missing goes left)`` of all splits, distinct and ascending; those of sets
        have the bit ``OF_SETS``, too.
    sets : uint32 array, shape (n_words,), or None
        Sets of codes, see ``cl_kernels/set_decision.h``; a node's ``number`` says by its bits where
        its set begins. None if no split is by a set.
    tables : PackedTables or None
        The same trees as tables, if all of them are and leaves are numbers.
    vectors : float32 array, shape (n_leaves, n_outputs), or None
        What leaves add to every output; None if leaves are numbers.
    """

    nodes: npt.NDArray[np.void]
    begin: U32
    longest: int
    shapes: U32
    n_places: int
    columns: U32
    n_features: int
    sets: U32 | None = None
    tables: PackedTables | None = None
    vectors: F32 | None = None
    linear: PackedLinear | None = None

    @property
    def n_trees(self) -> int:
        return int(self.begin.size) - 1

    @cached_property
    def column_of(self) -> U32:
        """Index into ``columns`` of each of its numbers, shape (2 * n_features,).

        With splits by sets it has twice the length: their columns come behind the others.
        """
        of_sets = self.columns & self._set_bit
        n_numbers = 2 * self.n_features
        found = np.zeros(n_numbers * (2 if self.sets is not None else 1), np.uint32)
        place = np.where(of_sets > 0, self.columns - of_sets + n_numbers, self.columns)
        found[place] = np.arange(self.columns.size)
        return found

    @cached_property
    def used(self) -> U32:
        """The features that the trees ask for, ascending."""
        of_terms = () if self.linear is None else self.linear.features
        of_splits = (self.columns & ~self._set_bit) >> 1
        return np.unique(np.append(of_splits, of_terms)).astype(np.uint32)

    @property
    def _set_bit(self) -> np.uint32:
        """``OF_SETS``; 0 without splits by sets, as the number of a column may have that bit."""
        bit: np.uint32 = np.uint32(0 if self.sets is None else OF_SETS)
        return bit

    @property
    def mean_steps(self) -> float:
        """Steps of a row through all trees, if each tree's leaves had the same depth."""
        return float(np.log2((np.diff(self.begin.astype(np.int64)) + 1) / 2).sum())

    @cached_property
    def compact(self) -> PackedTrees:
        """The same trees whose feature j is the feature ``used[j]``."""
        used = self.used
        nodes = self.nodes.copy()
        inner = nodes["left"] != 0
        nodes["feature"][inner] = np.searchsorted(used, nodes["feature"][inner])
        nodes["feature"][~inner] = 0
        bits = self._set_bit | np.uint32(1)
        place = np.searchsorted(used, (self.columns & ~self._set_bit) >> 1)
        columns = (2 * place).astype(np.uint32) | (self.columns & bits)
        tables = None if self.tables is None else replace(self.tables, columns=columns)
        linear = self.linear
        if linear is not None:
            places = np.searchsorted(used, linear.features).astype(np.uint32)
            linear = replace(linear, features=places)
        return replace(
            self, nodes=nodes, columns=columns, n_features=used.size, tables=tables, linear=linear
        )

    @cached_property
    def of_ids(self) -> PackedTrees:
        """The same trees, whose leaves have their ids within the tree as values."""
        nodes, leaf = self.nodes.copy(), self.nodes["left"] == 0
        begin = self.begin.astype(np.int64)
        ids = np.arange(leaf.size) - np.repeat(begin[:-1], np.diff(begin))
        nodes["number"][leaf] = ids[leaf]
        return replace(self, nodes=nodes, tables=None, vectors=None, linear=None)

    @cached_property
    def set_keys(self) -> SetKeys | None:
        """The sets as walks in blocks read them; None if there are none, or too large ones."""
        at = np.flatnonzero(self.nodes["default_left"] & WALK_BY_SET)
        if self.sets is None:
            return None
        begin = self.nodes["number"].view(np.uint32)[at].astype(np.int64)
        words = [self.sets[b + 1 : b + 1 + self.sets[b] // 32] for b in begin.tolist()]
        return set_keys(self.columns, words, self.nodes["feature"][at].astype(np.int64))

    @cached_property
    def block_nodes(self) -> npt.NDArray[np.void]:
        """The nodes, whose ``number`` says by its bits where a set begins in ``set_keys``."""
        if self.set_keys is None:
            return self.nodes
        nodes: npt.NDArray[np.void] = self.nodes.copy()
        nodes["number"].view(np.uint32)[nodes["default_left"] & WALK_BY_SET > 0] = (
            self.set_keys.begin
        )
        return nodes

    @cached_property
    def host_walk(self) -> HostWalk:
        """The nodes as rows walk them on the host."""
        nodes = self.compact.nodes
        terms: LeafTerms = NumberTerms(nodes)
        if self.vectors is not None:
            terms = VectorTerms(nodes, self.vectors)
        if self.compact.linear is not None:
            terms = LinearLeafTerms(nodes, self.compact.linear)
        return HostWalk(nodes, self.begin, self.longest, self.used, self.sets, terms)

    @cached_property
    def codes(self) -> PackedCodeTrees | None:
        """The trees as rows of codes walk them; None if a column has too many thresholds."""
        n_columns = int(self.columns.size)
        return pack_codes(self.nodes, self.begin, self.shapes, self.column_of, n_columns)

    @property
    def goes_on(self) -> bool:
        """Whether a tree is deeper than its perfect upper part."""
        return bool(self.shapes[:, 2].any())


def pack(ensemble: Ensemble) -> PackedTrees:
    """Compute the arrays of an ensemble, without the cache."""
    trees = ensemble.by_output()
    sizes = np.array([tree.n_nodes for tree in trees], np.int64)
    begin = np.concatenate([[0], np.cumsum(sizes)])
    nodes = np.zeros(int(begin[-1]), WALK)
    columns: U32 = np.zeros(1, np.uint32)  # a tree without splits reads a column too
    deepest = np.zeros(len(trees), np.int64)
    vectors: F32 | None = None
    if trees:
        left = np.concatenate([tree.left for tree in trees])
        leaf = left == NO_NODE
        value = np.concatenate([tree.value for tree in trees])
        if value.shape[1] > 1:
            vectors = value[leaf]
            value = (np.cumsum(leaf, dtype=np.uint32) - leaf).view(np.float32)[:, None]
        nodes["left"] = np.where(leaf, 0, left)
        nodes["feature"] = np.concatenate([tree.feature for tree in trees])
        nodes["default_left"] = np.concatenate([tree.default_left for tree in trees])
        threshold = np.concatenate([tree.threshold for tree in trees])
        nodes["number"] = np.where(leaf, value[:, 0], threshold)
        asked = 2 * nodes["feature"].astype(np.int64) + nodes["default_left"]
        asked[np.concatenate([tree.split_kind for tree in trees]) == CATEGORY_SPLIT] |= OF_SETS
        columns = np.unique(asked[~leaf]).astype(np.uint32) if not leaf.all() else columns
        deepest = _deepest(left, begin[:-1])
    needed = np.ceil(np.log2((sizes + 1) // 2)).astype(np.int64)
    levels = np.clip(np.minimum(deepest, needed + 1), _LEAST_LEVELS, _MOST_LEVELS)
    plain = vectors is None and all(tree.linear is None for tree in trees)
    tables = tables_of(trees) if plain else None
    places = np.concatenate([[0], np.cumsum(np.left_shift(1, levels))])
    behind = np.maximum(deepest - levels, 0)
    return PackedTrees(
        nodes=nodes,
        begin=begin.astype(np.uint32),
        longest=int(deepest.max(initial=0)) + 1,
        shapes=np.column_stack([places[:-1], levels, behind]).astype(np.uint32),
        n_places=int(places[-1]),
        columns=columns,
        n_features=ensemble.n_tree_features,
        sets=_pack_sets(trees, nodes, begin),
        tables=None if tables is None else pack_tables(tables, columns),
        vectors=vectors,
        linear=_pack_linear(trees, nodes["left"] == 0),
    )


def _pack_linear(trees: list[Tree], leaf: npt.NDArray[np.bool_]) -> PackedLinear | None:
    """Return the linear functions of all trees; None if there are none."""
    arrays = join_linear(trees)
    if not arrays:
        return None
    sizes, intercepts = np.zeros(leaf.size, np.int64), np.zeros(leaf.size, np.float32)
    sizes[leaf], intercepts[leaf] = arrays["sizes"], arrays["intercepts"]
    begin = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    features = arrays["features"].astype(np.uint32)
    return PackedLinear(begin, intercepts, features, arrays["coefficients"])


def _pack_sets(trees: list[Tree], nodes: npt.NDArray[np.void], begin: I64) -> U32 | None:
    """Return the sets of all trees; nodes that split by one are made to point to it."""
    parts, size = [], 0
    number = nodes["number"].view(np.uint32)
    for tree, first in zip(trees, begin[:-1].tolist(), strict=True):
        by_set = np.flatnonzero(np.diff(tree.set_begin))
        for node in by_set.tolist():
            words = tree.sets[tree.set_begin[node] : tree.set_begin[node + 1]]
            parts += [np.array([32 * words.size], np.uint32), words]
            nodes["default_left"][first + node] |= WALK_BY_SET
            number[first + node] = size
            size += 1 + words.size
    return np.concatenate(parts) if parts else None


def _deepest(left: npt.NDArray[np.int32], begin: I64) -> I64:
    """Return the depth of every tree's deepest leaf; all trees descend one level at a time."""
    deepest = np.zeros(begin.size, np.int64)
    at, tree, depth = begin, np.arange(begin.size), 0
    while True:
        inner = left[at] != NO_NODE
        at, tree = at[inner], tree[inner]
        if not at.size:
            return deepest
        depth += 1
        deepest[tree] = depth
        child = begin[tree] + left[at]
        at, tree = np.concatenate([child, child + 1]), np.concatenate([tree, tree])


_PACKED = Kept(pack)


def packed(ensemble: Ensemble) -> PackedTrees:
    """Return the arrays of an ensemble, from a cache unless the ensemble has changed."""
    return _PACKED.of(ensemble)
