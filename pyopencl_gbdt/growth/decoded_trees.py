"""Trees of the model, made of the nodes that a device has grown, for each output or for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import KEPT, NO_NODE
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.sets import joined
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.numerics.portable_math import as_margin
from pyopencl_gbdt.pages.page import Layout

if TYPE_CHECKING:
    from pyopencl_gbdt.model.linear_leaves import LinearTerms


_ADVICE = "the device's driver is at fault: update it, or train on another device"
#: What the trees of all outputs share.
_ALIKE = ("feature", "bin", "default_left")
_NUMBERS = ("threshold", "value", "weight", "gain", "sum_hessian")


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
        If the nodes do not form a tree: the device's driver is at fault.
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
        from pyopencl_gbdt.growth.category_sets import words_of

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
    from pyopencl_gbdt.model.linear_leaves import LinearTerms

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


def decode_vectors(
    words: npt.NDArray[np.uint32],
    levels: npt.NDArray[np.void],
    layout: Layout,
    leaf_rates: npt.NDArray[np.float32],
    n_outputs: int,
) -> list[Tree] | None:
    """Return model trees, one for the trees of all outputs; None where that is not so simple.

    They are what ``leaf_kinds.with_vectors`` makes of the trees of ``decode_trees``, which also
    checks what it is given. Splits by sets and linear leaves are left to these.

    Parameters
    ----------
    words : uint32 array, shape (n_batches, fields, max_nodes)
        See ``kept_nodes``; the trees of a round are one batch.
    n_outputs : int
        Outputs whose trees split alike; those of the first output come first.
    """
    counts = levels["first"][:, -1].astype(np.int64) + levels["count"][:, -1]
    n_roots = levels["count"][:, 0].astype(np.int64)
    ends = np.cumsum(n_roots)
    if (n_roots % n_outputs).any() or ends[-1] != leaf_rates.size:
        return None
    found = []
    for batch, count, first, end in zip(words, counts, ends - n_roots, ends, strict=True):
        nodes = {name: own[0] for name, own in kept_nodes(batch[None, :, :count]).items()}
        rates = leaf_rates[first:end].reshape(n_outputs, -1)
        trees = _round(nodes, layout, rates)
        if trees is None:
            return None
        found += trees
    return found


def _round(
    nodes: dict[str, npt.NDArray[Any]], layout: Layout, rates: npt.NDArray[np.float32]
) -> list[Tree] | None:
    """Return the trees of a round; ``rates`` has the shape (n_outputs, n_parallel)."""
    n_nodes, n_trees = nodes["left"].size, rates.size
    if nodes["tree"].max() >= min(n_trees, 1 << 16):
        return None
    tree = nodes["tree"].astype(np.uint16)
    order = np.argsort(tree, kind="stable")  # in few steps, as the numbers are short
    sizes = np.bincount(tree, minlength=n_trees)
    begins = np.cumsum(sizes) - sizes
    if (sizes.reshape(rates.shape) != sizes[: rates.shape[1]]).any():
        return None
    own_id = np.empty(n_nodes + 1, np.int32)
    own_id[order] = np.arange(n_nodes) - np.repeat(begins, sizes)
    own_id[n_nodes] = -1  # stands for none
    for name in ("left", "parent"):
        ids = nodes[name]
        if ((ids >= n_nodes) & (ids != NO_NODE)).any():
            return None
        nodes[name] = own_id[np.minimum(ids, n_nodes)]
    found = []
    for number in range(rates.shape[1]):
        at = begins.reshape(rates.shape)[:, number : number + 1] + np.arange(sizes[number])
        own = {name: values[order[at]] for name, values in nodes.items()}
        tree_of_all = _vector_tree(own, layout, rates[:, number : number + 1])
        if tree_of_all is None:
            return None
        found.append(tree_of_all)
    return found


def _vector_tree(
    nodes: dict[str, npt.NDArray[Any]], layout: Layout, rates: npt.NDArray[np.float32]
) -> Tree | None:
    """Return the tree of all outputs; fields have the shape (n_outputs, n_nodes)."""
    left, parent = nodes["left"][0].copy(), nodes["parent"][0].copy()  # not those of all outputs
    leaf: npt.NDArray[np.bool_] = left < 0
    rank = np.cumsum(~leaf)
    numbered = bool((leaf | (left == 2 * rank - 1)).all()) and 2 * int(leaf.sum()) == leaf.size + 1
    alike = all(((nodes[name] == nodes[name][0]) | leaf).all() for name in _ALIKE)
    if not numbered or not alike or not (nodes["left"] == left).all():
        return None
    if nodes["split_kind"].any():  # by sets
        return None
    feature = np.where(leaf, 0, nodes["feature"][0])
    place = layout.feature_offset[feature].astype(np.int64) + nodes["bin"][0]
    weight = shrink_leaf_weights(nodes["weight"], leaf & (parent >= 0), rates)
    columns: dict[str, Any] = {
        "left": left,
        "right": np.where(leaf, -1, left + 1).astype(np.int32),
        "parent": parent,
        "feature": feature.astype(np.int32),
        "threshold": np.where(leaf, np.float32(0), layout.thresholds[np.where(leaf, 0, place)]),
        "default_left": (nodes["default_left"][0] != 0) & ~leaf,
        "split_kind": np.zeros(leaf.size, np.uint8),
        "value": np.ascontiguousarray(np.where(leaf, nodes["value"], np.float32(0)).T),
        "weight": np.ascontiguousarray(weight.T),
    }
    with np.errstate(over="ignore"):
        for name, field in (("gain", "gain"), ("sum_hessian", "hessian")):
            columns[name] = np.add.accumulate(nodes[field], axis=0)[-1].copy()  # in order
    if not all(np.isfinite(columns[name]).all() for name in _NUMBERS):
        return None
    return Tree.trusted(**columns)
