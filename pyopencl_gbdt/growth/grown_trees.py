"""The trees of a fit as they were read from the device, until somebody asks for them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.category_sets import words_of
from pyopencl_gbdt.growth.decode import decode_trees, kept_nodes
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.page import Layout

#: Fields of every node that are the same in all members of a team, ...
_OF_ALL = ("tree", "parent", "left", "gain", "weight", "value", "hessian")
#: ... and those that are so where a node splits.
_OF_SPLITS = ("feature", "bin", "default_left", "split_kind")


@dataclass(frozen=True)
class _Read:
    """Trees that were read together, without the room for more nodes; see ``decode_trees``."""

    words: npt.NDArray[np.uint32]
    levels: npt.NDArray[np.void]
    leaf_rates: npt.NDArray[np.float32]
    sets: npt.NDArray[np.uint32] | None


class GrownTrees:
    """Trees that are decoded when they are asked for.

    Only the first member of a team is asked for its trees: the others keep none, and all compare
    digests of what they read.

    Parameters
    ----------
    parts : FitParts

    Attributes
    ----------
    largest : float32 array, shape (n_trees,)
        The largest absolute value of the leaves of each tree that was read, where trees have
        weights; else empty.
    """

    def __init__(self, parts: FitParts) -> None:
        self._parts, self._keeps = parts, parts.rows.team.rank == 0
        self._read: list[_Read] = []
        self._digest = hashlib.sha256()
        self.largest = np.zeros(0, np.float32)

    def read(
        self, at: npt.NDArray[np.int64], leaf_rates: npt.NDArray[np.float32]
    ) -> Iterator[tuple[Mapping[str, npt.NDArray[Any]], npt.NDArray[np.void]]]:
        """Read trees that wait on the device; return the nodes and levels of each batch.

        Parameters
        ----------
        at : int64 array
            Places of the batches among those that wait, in their order.
        leaf_rates : float32 array, shape (n_trees,)
            As for ``decode_trees``.
        """
        arena = self._parts.arena
        words, levels = arena["forest_nodes"].get()[at], arena["forest_levels"].get()[at]
        sets = arena["forest_sets"].get()[at] if self._parts.features.has_categories else None
        nodes = kept_nodes(words)
        counts = levels["first"][:, -1].astype(np.int64) + levels["count"][:, -1]
        there = np.arange(words.shape[2]) < counts[:, None]
        splits = there & (nodes["left"] != NO_NODE)
        self._digest.update(counts.tobytes())
        for names, mask in ((_OF_ALL, there), (_OF_SPLITS, splits)):
            for name in names:
                self._digest.update(nodes[name][mask].data)
        if sets is not None:
            self._digest.update(_words(sets, nodes, splits, self._parts.features.layout))
        if self._parts.nodes.params.booster == "dart":
            leaves = there & ~splits
            own = _largest_leaves(nodes, leaves, levels["count"][:, 0].astype(np.int64))
            self.largest = np.append(self.largest, own)
        if self._keeps:
            most = int(counts.max(initial=0))
            own_sets = None if sets is None else sets[:, : most // 2 + 1].copy()
            self._read.append(_Read(words[:, :, :most].copy(), levels, leaf_rates, own_sets))
        return (({n: nodes[n][i] for n in nodes}, own) for i, own in enumerate(levels))

    @property
    def digest(self) -> str:
        """The digest of all trees so far, whatever was taken."""
        return self._digest.hexdigest()

    def take(self) -> list[Tree]:
        """Return the trees that were added since the last call; none in other members."""
        read, self._read = self._read, []
        found: list[Tree] = []
        for one in read:
            nodes, layout = kept_nodes(one.words), self._parts.features.layout
            found += decode_trees(nodes, one.levels, layout, one.leaf_rates, one.sets)
        return found


def _largest_leaves(
    nodes: Mapping[str, npt.NDArray[Any]],
    leaves: npt.NDArray[np.bool_],
    n_roots: npt.NDArray[np.int64],
) -> npt.NDArray[np.float32]:
    """Return the largest absolute value of each tree's leaves; batches have ``n_roots`` trees."""
    own = np.minimum(nodes["tree"], n_roots[:, None] - 1)
    tree = (np.cumsum(n_roots) - n_roots)[:, None] + own
    found = np.zeros(int(n_roots.sum()), np.float32)
    np.maximum.at(found, tree[leaves], np.abs(nodes["value"][leaves]))
    return found


def _words(
    sets: npt.NDArray[np.uint32],
    nodes: Mapping[str, npt.NDArray[Any]],
    splits: npt.NDArray[np.bool_],
    layout: Layout,
) -> bytes:
    """Return the words of all sets by which nodes split, as a model keeps them."""
    by_set = splits & (nodes["split_kind"] != 0) & (nodes["left"] < splits.shape[1])
    levels = layout.feature_bins[nodes["feature"][by_set]]
    words = words_of(sets, np.nonzero(by_set)[0], nodes["left"][by_set], levels)
    return b"".join(own.tobytes() for own in words)
