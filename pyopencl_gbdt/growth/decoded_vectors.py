"""Trees whose leaves are vectors, made of the nodes that a device has grown for each output."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.growth.decoded_trees import kept_nodes, shrink_leaf_weights
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.page import Layout

#: What the trees of all outputs share.
_ALIKE = ("feature", "bin", "default_left")
_NUMBERS = ("threshold", "value", "weight", "gain", "sum_hessian")


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
    levels, layout, leaf_rates
        As for ``decode_trees``.
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
