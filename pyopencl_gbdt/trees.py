"""Trees as the device grew them to trees of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.quantized import Layout


def decode_trees(
    nodes: npt.NDArray[np.void], levels: npt.NDArray[np.void], layout: Layout
) -> list[Tree]:
    """Return model trees; all of them at once, as a small one would cost as much as many.

    Trees that were grown at a time share the levels; they come one after the other.

    Parameters
    ----------
    nodes : array of ``dtypes.NODE``, shape (n_batches, max_nodes)
        Breadth first, without gaps.
    levels : array of ``dtypes.LEVEL``, shape (n_batches, max_depth + 1)
    layout : Layout
        Thresholds of the bins.

    Raises
    ------
    ModelFormatError
        If a tree is none: the device's driver is at fault.
    """
    counts = levels["first"][:, -1].astype(np.int64) + levels["count"][:, -1]
    there = np.arange(nodes.shape[1]) < counts[:, None]
    batch = np.nonzero(there)[0]
    all_nodes = nodes[there]
    n_roots = levels["count"][:, 0].astype(np.int64)
    first_tree = np.cumsum(n_roots) - n_roots
    tree = first_tree[batch] + all_nodes["tree"]
    sizes = np.bincount(tree, minlength=int(n_roots.sum()))
    order = np.argsort(tree, kind="stable")  # a tree's nodes, breadth first as before
    first_node = np.cumsum(sizes) - sizes
    own_id = np.empty(order.size, np.int64)
    own_id[order] = np.arange(order.size) - first_node[tree[order]]
    begin = (np.cumsum(counts) - counts)[batch]

    def renumber(ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
        none = ids == NO_NODE
        numbers = own_id[np.where(none, 0, begin + ids)]
        return np.where(none, -1, numbers)[order].astype(np.int32)

    left, parent = renumber(all_nodes["left"]), renumber(all_nodes["parent"])
    all_nodes = all_nodes[order]
    leaf: npt.NDArray[np.bool_] = left < 0
    place = layout.feature_offset[all_nodes["feature"]].astype(np.int64) + all_nodes["bin"]
    columns = {
        "left": left,
        "right": np.where(leaf, -1, left + 1).astype(np.int32),
        "parent": parent,
        "feature": np.where(leaf, 0, all_nodes["feature"]).astype(np.int32),
        "threshold": np.where(leaf, np.float32(0), layout.thresholds[np.where(leaf, 0, place)]),
        "default_left": (all_nodes["default_left"] != 0) & ~leaf,
        "split_kind": all_nodes["split_kind"].astype(np.uint8),
        "value": np.where(leaf, all_nodes["value"], np.float32(0))[:, None],
        "weight": all_nodes["weight"][:, None].copy(),
        "gain": all_nodes["gain"].copy(),
        "sum_hessian": all_nodes["hessian"].copy(),
    }
    ends = np.cumsum(sizes)
    rank = np.cumsum(~leaf, dtype=np.int64)  # children are numbered as their parents are met
    rank -= np.repeat(np.append(0, rank)[ends - sizes], sizes)
    numbered = bool((leaf | (left == 2 * rank - 1)).all())
    numbers = ("threshold", "value", "weight", "gain", "sum_hessian")
    sound = numbered and all(np.isfinite(columns[name]).all() for name in numbers)
    make = Tree.trusted if sound else _breadth_first
    bounds = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    return [make(**{name: c[a:b] for name, c in columns.items()}) for a, b in bounds]


def _breadth_first(**columns: npt.NDArray[Any]) -> Tree:
    """Return a tree whose nodes were numbered as leaf-wise growth made them."""
    left = columns["left"]
    order, level, met = [], np.zeros(1, np.int64), 0
    while level.size:
        met += level.size
        if met > left.size or level.max() >= left.size:
            raise ModelFormatError(
                "a tree has a node with two parents, or none: the device's driver is at fault; "
                "update it, or train on another device"
            )
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
    return Tree(**columns)
