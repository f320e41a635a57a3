"""Trees as the device grew them to trees of the model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.quantized import Layout


def decode_trees(
    nodes: npt.NDArray[np.void], levels: npt.NDArray[np.void], layout: Layout
) -> list[Tree]:
    """Return model trees; all of them at once, as a small one would cost as much as many.

    Parameters
    ----------
    nodes : array of ``dtypes.NODE``, shape (n_trees, max_nodes)
        Breadth first, without gaps.
    levels : array of ``dtypes.LEVEL``, shape (n_trees, max_depth + 1)
    layout : Layout
        Thresholds of the bins.

    Raises
    ------
    ModelFormatError
        If a tree is none: the device's driver is at fault.
    """
    sizes = levels["first"][:, -1].astype(np.int64) + levels["count"][:, -1]
    all_nodes = nodes[np.arange(nodes.shape[1]) < sizes[:, None]]
    leaf = all_nodes["left"] == NO_NODE
    left = np.where(leaf, -1, all_nodes["left"].astype(np.int64)).astype(np.int32)
    parent = all_nodes["parent"]
    place = layout.feature_offset[all_nodes["feature"]].astype(np.int64) + all_nodes["bin"]
    columns = {
        "left": left,
        "right": np.where(leaf, -1, left + 1).astype(np.int32),
        "parent": np.where(parent == NO_NODE, -1, parent.astype(np.int64)).astype(np.int32),
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
    rank = np.cumsum(~leaf)  # children are numbered as their parents are met
    rank -= np.repeat(np.append(0, rank)[ends - sizes], sizes)
    numbered = bool((leaf | (left == 2 * rank - 1)).all())
    numbers = ("threshold", "value", "weight", "gain", "sum_hessian")
    sound = numbered and all(np.isfinite(columns[name]).all() for name in numbers)
    make = Tree.trusted if sound else Tree
    bounds = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    return [make(**{name: c[a:b] for name, c in columns.items()}) for a, b in bounds]
