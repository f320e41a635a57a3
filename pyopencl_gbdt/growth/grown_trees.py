"""The trees of a fit as they are read from the device, and as trees of the model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.transfers import EarlyCopy
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.decoded_trees import decode_trees, kept_nodes
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.leaf_kinds import VECTORS, with_vectors
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
    terms: npt.NDArray[np.uint32] | None


class GrownTrees:
    """Trees that wait on the device until they are read, and then until they are asked for.

    Trees are read in blocks. In a fit of several blocks, the copy of a block is enqueued
    (``order``), and the host reads it (``take``) when the next one is full: the device works
    meanwhile.

        host      | enqueue rounds 26 .. 50     | take 1 | enqueue 51 ..   | take 2 |
        device    | 20 .. | copy 1 | 26 ..                      | copy 2 | 51 ..

    Only the first member of a team is asked for its trees, and those that say so in their
    ``Share``: the others keep none, and all compare digests of what they read.

    Parameters
    ----------
    tally : callable or None
        Takes the nodes and levels of each batch that is read.
    renamed : callable or None
        Returns trees with the features that a model has, as soon as they are read.
    compared : bool
        Whether members compare digests of what they read.

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
        *,
        compared: bool = True,
    ) -> None:
        self._parts = parts
        self._keeps = parts.rows.team.rank == 0 or parts.rows.share.keeps_trees
        self._tally, self._renamed = tally, renamed
        self._trees: list[Tree] = []  # a tree for each output; empty as long as there are vectors
        self._vectors: list[Tree] = []
        self._n_batches = len(parts.nodes.batches)
        self._read: list[_Read] = []
        self._digest = hashlib.sha256() if compared else None
        self.largest = np.zeros(0, np.float32)
        self._rates: list[float] = []  # of the rounds that wait on the device
        self._first = 0  # the place of the first batch that waits
        self._copies: dict[str, EarlyCopy] = {}
        self._ordered: tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]] | None = None

    def wait(self, learning_rate: float) -> None:
        """Count a round whose trees wait on the device, with the learning rate of its leaves."""
        self._rates.append(learning_rate)

    @property
    def n_waiting(self) -> int:
        """Rounds whose trees wait on the device, without those of the block that is ordered."""
        return len(self._rates)

    @property
    def is_full(self) -> bool:
        """Whether the device has no room for the trees of one more round."""
        return (len(self._rates) + 1) * self._n_batches > self._parts.nodes.forest_block

    @property
    def reads_late(self) -> bool:
        """Whether a block is read after the next one: not if a round depends on its trees."""
        nodes = self._parts.nodes
        several = nodes.forest_block < nodes.params.n_estimators * self._n_batches
        return several and self._renamed is None

    @property
    def is_ordered(self) -> bool:
        """Whether the copies of a block are enqueued, and the block is not read."""
        return self._ordered is not None

    def order(self) -> None:
        """Enqueue the copies of all trees that wait, for ``take``; the block before is taken."""
        self._ordered = self._waiting()
        for name in self._arrays:
            if name not in self._copies:
                self._copies[name] = EarlyCopy(self._parts.arena[name], name)
            self._copies[name]()

    def take(self) -> None:
        """Read the block that is ordered; waits for its copies."""
        if self._ordered is not None:
            self._keep(*self._ordered)
            self._ordered = None

    def collect(self) -> None:
        """Read all trees."""
        self.take()
        if self.n_waiting:
            self._keep(*self._waiting())

    def _waiting(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """Return the places of all batches that wait and the rates of their trees; forget them."""
        nodes = self._parts.nodes
        rates = [nodes.leaf_rate(rate) for rate in self._rates]
        first, n_batches = self._first, self.n_waiting * self._n_batches
        self._rates, self._first = [], (first + n_batches) % nodes.forest_block
        at = (first + np.arange(n_batches)) % nodes.forest_block
        return at, np.repeat(rates, nodes.round_trees)

    def _keep(self, at: npt.NDArray[np.int64], leaf_rates: npt.NDArray[np.float32]) -> None:
        read = self.read(at, leaf_rates)
        if self._tally is not None:
            for batch in read:
                self._tally(*batch)
        if self._renamed is not None:
            self._trees += self._renamed(self._decoded())

    @property
    def _arrays(self) -> list[str]:
        """What the host reads of trees."""
        names = ["forest_nodes", "forest_levels"]
        names += ["forest_sets"] if self._parts.features.has_categories else []
        return names + (["forest_terms"] if self._parts.nodes.params.linear_tree else [])

    def _values(self, name: str, at: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return batches as they were read; the next block may overwrite them."""
        ordered = self.is_ordered
        whole = self._copies[name].values() if ordered else self._parts.arena[name].get()
        begin, end = int(at[0]), int(at[-1]) + 1
        return whole[begin:end] if end - begin == at.size else whole[at]

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
        arrays = {}
        for name in self._arrays:  # a comprehension would be a closure, which a traceback keeps
            arrays[name] = self._values(name, at)
        words, levels = arrays["forest_nodes"], arrays["forest_levels"].copy()
        sets, terms = arrays.get("forest_sets"), arrays.get("forest_terms")
        nodes = kept_nodes(words)
        counts = levels["first"][:, -1].astype(np.int64) + levels["count"][:, -1]
        if self._digest is not None:
            self._add_to_digest(self._digest, nodes, counts, sets, terms)
        if self._parts.nodes.params.weighs_trees:
            leaves = _there(nodes, counts) & (nodes["left"] == NO_NODE)
            own = _largest_leaves(nodes, leaves, levels["count"][:, 0].astype(np.int64))
            self.largest = np.append(self.largest, own)
        if self._keeps:
            most = int(counts.max(initial=0))
            own_sets = None if sets is None else sets[:, : most // 2 + 1].copy()
            own_terms = None if terms is None else terms[:, :, :most].copy()
            own_words = words[:, :, :most].copy()
            self._read.append(_Read(own_words, levels, leaf_rates, own_sets, own_terms))
        return (({n: nodes[n][i] for n in nodes}, own) for i, own in enumerate(levels))

    def _add_to_digest(
        self,
        digest: Any,
        nodes: Mapping[str, npt.NDArray[Any]],
        counts: npt.NDArray[np.int64],
        sets: npt.NDArray[np.uint32] | None,
        terms: npt.NDArray[np.uint32] | None,
    ) -> None:
        there = _there(nodes, counts)
        splits = there & (nodes["left"] != NO_NODE)
        digest.update(counts.tobytes())
        for names, mask in ((_OF_ALL, there), (_OF_SPLITS, splits)):
            for name in names:
                digest.update(nodes[name][mask].data)
        if sets is not None:
            digest.update(_words(sets, nodes, splits, self._parts.features.layout))
        if terms is not None:
            digest.update(_words_of_terms(terms, there & ~splits))

    @property
    def digest(self) -> str:
        """The digest of all trees that were read, whatever was taken; "" if none compares them."""
        return "" if self._digest is None else self._digest.hexdigest()

    def trees(self) -> list[Tree]:
        """Return all trees that were read, one for each output; none in other members."""
        nodes = self._parts.nodes
        if self._vectors:
            self._trees = VECTORS.as_numbers(self._vectors, nodes.n_outputs, nodes.n_parallel)
            self._vectors = []
        self._trees += self._decoded()
        return self._trees

    def vectors(self) -> list[Tree]:
        """Return all trees that were read, one for all outputs, whose trees split alike."""
        if self._trees:
            return self._with_vectors(self.trees())
        read, self._read = self._read, []
        for one in read:
            found = None
            if one.sets is None:
                from pyopencl_gbdt.growth.decoded_trees import decode_vectors

                known = one.levels, self._parts.features.layout, one.leaf_rates
                found = decode_vectors(one.words, *known, self._parts.nodes.n_outputs)
            self._vectors += self._with_vectors(self._of(one)) if found is None else found
        return self._vectors

    def _with_vectors(self, trees: list[Tree]) -> list[Tree]:
        found = with_vectors(trees, self._parts.nodes.n_outputs, self._parts.nodes.n_parallel)
        assert found is not None  # the trees of a round's outputs split alike
        return found

    def _decoded(self) -> list[Tree]:
        read, self._read = self._read, []
        found: list[Tree] = []
        for one in read:
            found += self._of(one)
        return found

    def _of(self, read: _Read) -> list[Tree]:
        nodes, layout = kept_nodes(read.words), self._parts.features.layout
        return decode_trees(nodes, read.levels, layout, read.leaf_rates, read.sets, read.terms)


def _there(
    nodes: Mapping[str, npt.NDArray[Any]], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return which nodes are there, of the room for some in every batch."""
    there: npt.NDArray[np.bool_] = np.arange(nodes["left"].shape[1]) < counts[:, None]
    return there


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
    from pyopencl_gbdt.growth.category_sets import words_of

    by_set = splits & (nodes["split_kind"] != 0) & (nodes["left"] < splits.shape[1])
    levels = layout.feature_bins[nodes["feature"][by_set]]
    words = words_of(sets, np.nonzero(by_set)[0], nodes["left"][by_set], levels)
    return b"".join(own.tobytes() for own in words)


def _words_of_terms(terms: npt.NDArray[np.uint32], leaves: npt.NDArray[np.bool_]) -> bytes:
    """Return the words of all functions of leaves."""
    of_leaves = np.moveaxis(terms, 1, 2)[leaves]
    most = terms.shape[1] // 2 - 1
    used = np.arange(most) < of_leaves[:, :1].astype(np.int64)
    there = np.concatenate([np.ones((len(of_leaves), 2), np.bool_), used, used], axis=1)
    words: bytes = of_leaves[there].tobytes()
    return words
