"""A tree as the device grew it to a tree of the model."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.workspace import Layout


def decode_tree(nodes: npt.NDArray[np.void], levels: npt.NDArray[np.void], layout: Layout) -> Tree:
    """Return a model tree.

    Parameters
    ----------
    nodes : array of ``dtypes.NODE``, shape (max_nodes,)
        Breadth first, without gaps.
    levels : array of ``dtypes.LEVEL``, shape (max_depth + 1,)
    layout : Layout
        Thresholds of the bins.
    """
    nodes = nodes[: int(levels[-1]["first"]) + int(levels[-1]["count"])]
    leaf = nodes["left"] == NO_NODE
    left = np.where(leaf, -1, nodes["left"].astype(np.int64)).astype(np.int32)
    place = layout.feature_offset[nodes["feature"]].astype(np.int64) + nodes["bin"]
    threshold = layout.thresholds[np.where(leaf, 0, place)]
    value = np.where(leaf, nodes["value"], np.float32(0))
    return Tree(
        left=left,
        right=np.where(leaf, -1, left + 1).astype(np.int32),
        parent=np.where(nodes["parent"] == NO_NODE, -1, nodes["parent"].astype(np.int64)).astype(
            np.int32
        ),
        feature=np.where(leaf, 0, nodes["feature"]).astype(np.int32),
        threshold=np.where(leaf, np.float32(0), threshold).astype(np.float32),
        default_left=(nodes["default_left"] != 0) & ~leaf,
        split_kind=nodes["split_kind"].astype(np.uint8),
        value=value[:, None].astype(np.float32),
        weight=nodes["weight"][:, None].astype(np.float32),
        gain=nodes["gain"].astype(np.float32),
        sum_hessian=nodes["hessian"].astype(np.float32),
    )
