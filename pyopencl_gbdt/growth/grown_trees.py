"""The trees of a fit as they were read from the device, until somebody asks for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
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

#: Takes the nodes and the levels of a batch.
Tally = Callable[[Mapping[str, npt.NDArray[Any]], npt.NDArray[np.void]], None]
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
    """Trees that wait on the device until they are read, and then until they are asked for.

    Only the first member of a team is asked for its trees: the others keep none, and all compare
    digests of what they read.

    Parameters
    ----------
    parts : FitParts
    tally : callable or None
        Takes the nodes and levels of each batch that is read.
    renamed : callable or None
        Returns trees with the features that a model has, as soon as they are read.

    Attributes
    ----------
    largest : float32 array, shape (n_trees,)
        The largest absolute value of the leaves of each tree that was read, where trees have
        weights; else empty.
    """

    def __init__(
        self,
        parts: FitParts,
        tally: Tally | None = None,
        renamed: Callable[[list[Tree]], list[Tree]] | None = None,
    ) -> None:
        self._parts, self._keeps = parts, parts.rows.team.rank == 0
        self._tally, self._renamed = tally, renamed
        self._trees: list[Tree] = []
        self._n_batches = len(parts.nodes.batches)
        self._read: list[_Read] = []
        self._digest = hashlib.sha256()
        self.largest = np.zeros(0, np.float32)
        self._rates: list[np.float32] = []  # of the rounds that wait on the device
        self._first = 0  # the place of the first batch that waits

    def wait(self, learning_rate: float) -> None:
        """Count a round whose trees wait on the device, with the learning rate of its leaves."""
        self._rates.append(self._parts.nodes.leaf_rate(learning_rate))

    @property
    def n_waiting(self) -> int:
        """Rounds whose trees wait on the device."""
        return len(self._rates)

    @property
    def is_full(self) -> bool:
        """Whether there is no room on the device for the trees of one more round."""
        return (self.n_waiting + 1) * self._n_batches > self._parts.nodes.forest_block

    def collect(self) -> None:
        """Read all trees that wait."""
        nodes, rates = self._parts.nodes, self._rates
        first, n_batches = self._first, self.n_waiting * self._n_batches
        self._rates, self._first = [], (first + n_batches) % nodes.forest_block
        if not n_batches:
            return
        at = (first + np.arange(n_batches)) % nodes.forest_block
        read = self.read(at, np.repeat(rates, nodes.round_trees))
        if self._tally is not None:
            for batch in read:
                self._tally(*batch)
        if self._renamed is not None:
            self._trees += self._renamed(self._decoded())

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

    def trees(self) -> list[Tree]:
        """Return all trees that were read; none in other members."""
        self._trees += self._decoded()
        return self._trees

    def _decoded(self) -> list[Tree]:
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
