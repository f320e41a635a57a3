"""Twin of ``growth.leaves_by_next_order``: leaf values of rows that other codes bring to a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import finite
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.gain import make_rule
from tests.reference.gradients import Scale
from tests.reference.ordered_leaves import leaf_weight
from tests.reference.partition import goes_left

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


def leaves_of(nodes: npt.NDArray[np.void], codes: npt.NDArray[Any], bins: U32, tree: int) -> I64:
    """Return the leaf that every row reaches by its codes.

    Parameters
    ----------
    nodes : array of NODE
        All trees' nodes; the root of a tree has its number.
    codes : array of codes, shape (n_rows, n_features)
    bins : uint32 array, shape (n_features,)
    tree : int

    Returns
    -------
    int64 array, shape (n_rows,)
    """
    leaf = np.full(len(codes), tree, np.int64)
    for id in range(tree, len(nodes)):  # children come after their parent
        node, rows = nodes[id], np.flatnonzero(leaf == id)
        if node["tree"] != tree or node["left"] == np.uint32(0xFFFFFFFF):
            continue
        feature, default_left = node["feature"], bool(node["default_left"])
        left = goes_left(codes[rows, feature], node["bin"], bins[feature], default_left)
        leaf[rows] = np.where(left, node["left"], node["left"] + 1)
    return leaf


def walked_weights(
    leaves: Sequence[int],
    leaf_of: I64,
    quanta: I64,
    bounds: Sequence[tuple[Any, Any]],
    scale: Scale,
    params: Parameters,
) -> npt.NDArray[np.float32]:
    """Return the weights of leaves from the sums of the rows that reach them.

    A leaf without rows gets 0, within its bounds.

    Parameters
    ----------
    leaves : sequence of int
        Numbers of nodes.
    leaf_of : int64 array, shape (n_rows,)
        The node that every row reaches.
    quanta : int64 array, shape (n_rows, 2)
    bounds : sequence of (float32, float32)
        Of each leaf, by monotone constraints; in units.
    scale : Scale
    params : Parameters
    """
    rule = make_rule(scale, params.reg_lambda, params.reg_alpha, params.max_delta_step)
    found = []
    for leaf, (lower, upper) in zip(leaves, bounds, strict=True):
        g, h = quanta[leaf_of == leaf].sum(axis=0, dtype=np.int64).tolist()
        found.append(leaf_weight(g, h, replace(rule, lower=lower, upper=upper)))
    return finite(np.array(found, np.float32))
