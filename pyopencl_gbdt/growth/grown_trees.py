"""The trees of a fit as they are read from the device, and as trees of the model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import KEPT, NO_NODE
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.category_sets import words_of
from pyopencl_gbdt.model.linear_leaves import LinearTerms
from pyopencl_gbdt.model.sets import joined
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.numerics.portable_math import as_margin
from pyopencl_gbdt.pages.page import Layout

_ADVICE = "the device's driver is at fault: update it, or train on another device"


def kept_nodes(words: npt.NDArray[np.uint32]) -> dict[str, npt.NDArray[Any]]:
    """Return the fields ``dtypes.KEPT`` of nodes.

    ``words`` has the shape (n_batches, fields, max_nodes), a field (n_batches, max_nodes).
    """
    return {name: words[:, place].view(dtype) for place, (name, dtype) in enumerate(KEPT.items())}


def decode_trees(
    nodes: Mapping[str, npt.NDArray[Any]],
    levels: npt.NDArray[np.void],
    layout: Layout,
    leaf_rates: npt.NDArray[np.float32],
    sets: npt.NDArray[np.uint32] | None = None,
    terms: npt.NDArray[np.uint32] | None = None,
) -> list[Tree]:
    """Return model trees; all of them at once, as a small one would cost as much as many.

    Trees that were grown at a time share the levels; they come one after the other.

    Parameters
    ----------
    nodes : mapping of str to array, each of shape (n_batches, max_nodes)
        The fields ``dtypes.KEPT``; breadth first, without gaps.
    levels : array of ``dtypes.LEVEL``, shape (n_batches, max_depth + 1)
    layout : Layout
        Thresholds of the bins.
    leaf_rates : float32 array, shape (n_trees,)
        What the weights of each tree's leaves are multiplied by, as XGBoost does in its files.
    sets : uint32 array, shape (n_batches, most_sets, set_words), or None
        Sets of codes, see ``cl_kernels/set_decision.h``.
    terms : uint32 array, shape (n_batches, 2 + 2 * most_terms, max_nodes), or None
        Linear functions of leaves: sizes, intercepts, features and coefficients.

    Raises
    ------
    ModelFormatError
        If a tree is none: the device's driver is at fault.
    """
    counts = levels["first"][:, -1].astype(np.int64) + levels["count"][:, -1]
    there = np.arange(nodes["left"].shape[1]) < counts[:, None]
    n_roots = levels["count"][:, 0].astype(np.int64)
    field = {name: values[there] for name, values in nodes.items()}
    field["batch"], field["own_left"] = np.nonzero(there)[0], field["left"]
    most = np.repeat(counts, counts)
    for name in ("left", "parent"):
        if ((field[name] >= most) & (field[name] != NO_NODE)).any():
            raise ModelFormatError(f"a node's {name} is none of the tree's; {_ADVICE}")
    order: npt.NDArray[np.int64] | None = None
    sizes, left, parent = counts, field["left"].view(np.int32), field["parent"].view(np.int32)
    if (n_roots > 1).any():
        batch = field["batch"]
        tree = (np.cumsum(n_roots) - n_roots)[batch] + field["tree"]
        sizes = np.bincount(tree, minlength=int(n_roots.sum()))
        order = np.argsort(tree, kind="stable")  # a tree's nodes, breadth first as before
        own_id = np.empty(order.size, np.int32)
        own_id[order] = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        begin = (np.cumsum(counts) - counts)[batch]
        left, parent = (
            np.where(ids < 0, -1, own_id[np.maximum(begin + ids, 0)])[order]
            for ids in (left, parent)
        )
        field = {name: values[order] for name, values in field.items()}
    leaf: npt.NDArray[np.bool_] = left < 0
    weight = shrink_leaf_weights(
        field["weight"], leaf & (parent >= 0), np.repeat(leaf_rates, sizes)
    )
    by_set = (field["split_kind"] != 0) & ~leaf
    place = layout.feature_offset[field["feature"]].astype(np.int64) + field["bin"]
    columns = {
        "left": left,
        "right": np.where(leaf, -1, left + 1).astype(np.int32),
        "parent": parent,
        "feature": np.where(leaf, 0, field["feature"]).astype(np.int32),
        "threshold": np.where(
            leaf | by_set, np.float32(0), layout.thresholds[np.where(leaf, 0, place)]
        ),
        "default_left": (field["default_left"] != 0) & ~leaf,
        "split_kind": field["split_kind"].astype(np.uint8),
        "value": np.where(leaf, field["value"], np.float32(0))[:, None],
        "weight": weight[:, None],
        "gain": field["gain"],
        "sum_hessian": field["hessian"],
    }
    ends = np.cumsum(sizes)
    rank = np.cumsum(~leaf, dtype=np.int64)  # children are numbered as their parents are met
    rank -= np.repeat(np.append(0, rank)[ends - sizes], sizes)
    numbered = bool((leaf | (left == 2 * rank - 1)).all())
    numbered &= 2 * int(leaf.sum()) == leaf.size + ends.size  # no tree has nodes besides its own
    numbers = ("threshold", "value", "weight", "gain", "sum_hessian")
    sound = numbered and all(np.isfinite(columns[name]).all() for name in numbers)
    bounds = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    if sets is not None:
        words = np.full(by_set.size, None)
        at = np.flatnonzero(by_set)
        n_levels = layout.feature_bins[field["feature"][at]]
        own = words_of(sets, field["batch"][at], field["own_left"][at], n_levels)
        words[at] = np.fromiter(own, object, len(own))
        columns["words"] = words
    if terms is not None:
        of_nodes = np.moveaxis(terms, 1, 2)[there]
        columns["terms"] = of_nodes if order is None else of_nodes[order]
    return [_tree({name: c[a:b] for name, c in columns.items()}, sound=sound) for a, b in bounds]


def _tree(columns: dict[str, Any], *, sound: bool) -> Tree:
    """Return a tree; unless they are sound, its nodes get numbers breadth first, and are checked.

    Leaf-wise growth numbers nodes as it makes them.
    """
    columns = columns if sound else _renumbered(columns)
    words, terms = columns.pop("words", None), columns.pop("terms", None)
    if words is not None:
        none = np.zeros(0, np.uint32)
        columns["sets"], columns["set_begin"] = joined([none if w is None else w for w in words])
    if terms is not None:
        columns["linear"] = _linear_terms(terms[columns["left"] < 0])
    return (Tree.trusted if sound else Tree)(**columns)


def _linear_terms(of_leaves: npt.NDArray[np.uint32]) -> LinearTerms | None:
    """Return the functions of leaves, of which each has a row of words; None if there are none."""
    sizes, intercepts = of_leaves[:, 0].astype(np.int32), of_leaves[:, 1].copy().view(np.float32)
    if not sizes.any():
        return None
    features, coefficients = np.split(of_leaves[:, 2:], 2, axis=1)
    there = np.arange(features.shape[1]) < sizes[:, None]
    own = features[there].astype(np.int32), coefficients[there].view(np.float32)
    return LinearTerms(sizes, intercepts, *own)


def shrink_leaf_weights(
    weight: npt.NDArray[np.float32],
    shrunk: npt.NDArray[np.bool_],
    rate: npt.NDArray[np.float32] | np.float32,
) -> npt.NDArray[np.float32]:
    """Return weights, those of ``shrunk`` nodes times ``rate`` in float32.

    XGBoost's ``hist`` keeps the weight of a leaf times the learning rate, and that of an inner node
    without it. A root that never split counts as an inner node.
    """
    with np.errstate(over="ignore", under="ignore"):
        return np.where(shrunk, as_margin(weight * rate), weight)


def _renumbered(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of nodes breadth first."""
    left = columns["left"]
    order, level, met = [], np.zeros(1, np.int64), 0
    while level.size:
        met += level.size
        if met > left.size or level.max() >= left.size:
            raise ModelFormatError(f"a tree has a node with two parents, or none; {_ADVICE}")
        order.append(level)
        inner = left[level]
        inner = inner[inner >= 0]
        level = np.stack([inner, inner + 1], axis=1).ravel()
    nodes = np.concatenate(order)
    number = np.full(left.size + 1, -1)  # the last stands for none
    number[nodes] = np.arange(nodes.size)
    columns = {name: column[nodes] for name, column in columns.items()}
    for name in ("left", "right", "parent"):
        columns[name] = number[columns[name]].astype(np.int32)
    return columns


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

    Only the first member of a team is asked for its trees, and those that say so in their
    ``Share``: the others keep none, and all compare digests of what they read.

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
        self._parts = parts
        self._keeps = parts.rows.team.rank == 0 or parts.rows.share.keeps_trees
        self._tally, self._renamed = tally, renamed
        self._trees: list[Tree] = []
        self._n_batches = len(parts.nodes.batches)
        self._read: list[_Read] = []
        self._digest = hashlib.sha256()
        self.largest = np.zeros(0, np.float32)
        self._rates: list[float] = []  # of the rounds that wait on the device
        self._first = 0  # the place of the first batch that waits

    def wait(self, learning_rate: float) -> None:
        """Count a round whose trees wait on the device, with the learning rate of its leaves."""
        self._rates.append(learning_rate)

    @property
    def n_waiting(self) -> int:
        """Rounds whose trees wait on the device."""
        return len(self._rates)

    @property
    def is_full(self) -> bool:
        """Whether there is no room on the device for the trees of one more round."""
        return (len(self._rates) + 1) * self._n_batches > self._parts.nodes.forest_block

    def collect(self) -> None:
        """Read all trees that wait."""
        nodes = self._parts.nodes
        rates = [nodes.leaf_rate(rate) for rate in self._rates]
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
        terms = arena["forest_terms"].get()[at] if self._parts.nodes.params.linear_tree else None
        if terms is not None:
            self._digest.update(_words_of_terms(terms, there & ~splits))
        if self._parts.nodes.params.booster == "dart":
            leaves = there & ~splits
            own = _largest_leaves(nodes, leaves, levels["count"][:, 0].astype(np.int64))
            self.largest = np.append(self.largest, own)
        if self._keeps:
            most = int(counts.max(initial=0))
            own_sets = None if sets is None else sets[:, : most // 2 + 1].copy()
            own_terms = None if terms is None else terms[:, :, :most].copy()
            own_words = words[:, :, :most].copy()
            self._read.append(_Read(own_words, levels, leaf_rates, own_sets, own_terms))
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
            found += decode_trees(
                nodes, one.levels, layout, one.leaf_rates, one.sets, one.terms
            )  # fmt: skip
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


def _words_of_terms(terms: npt.NDArray[np.uint32], leaves: npt.NDArray[np.bool_]) -> bytes:
    """Return the words of all functions of leaves."""
    of_leaves = np.moveaxis(terms, 1, 2)[leaves]
    most = terms.shape[1] // 2 - 1
    used = np.arange(most) < of_leaves[:, :1].astype(np.int64)
    there = np.concatenate([np.ones((len(of_leaves), 2), np.bool_), used, used], axis=1)
    words: bytes = of_leaves[there].tobytes()
    return words
