"""Grown nodes as a tree of the model."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.model.sets import joined, packed
from pyopencl_gbdt.model.tree import NO_NODE, Tree
from pyopencl_gbdt.pages.page import Layout
from tests.reference.grow import Node
from tests.reference.linear_leaves import linear_terms


def to_tree(nodes: list[Node], layout: Layout) -> Tree:
    """Convert grown nodes to a tree of the model.

    As in XGBoost's ``hist``, leaves store their weight times the learning rate, except a lone root.
    """
    numbers, weights, sets = [], [], []
    for node in nodes:
        right = node.right_set
        sets.append(np.zeros(0, np.uint32) if right is None else packed(right[:-1]))
        is_shrunk = node.left == NO_NODE and node.parent != NO_NODE
        weights.append(node.shrunk_weights if is_shrunk else node.weights)
        place = int(layout.feature_offset[node.feature]) + node.bin
        numeric = node.left != NO_NODE and right is None
        numbers.append(layout.thresholds[place] if numeric else np.float32(0))
    words, set_begin = joined(sets)
    return Tree(
        left=np.array([node.left for node in nodes], np.int32),
        right=np.array([NO_NODE if n.left == NO_NODE else n.left + 1 for n in nodes], np.int32),
        parent=np.array([node.parent for node in nodes], np.int32),
        feature=np.array([node.feature for node in nodes], np.int32),
        threshold=np.array(numbers, np.float32),
        default_left=np.array([node.default_left for node in nodes], np.bool_),
        split_kind=np.array([n.right_set is not None for n in nodes], np.uint8),
        value=np.array([node.values for node in nodes], np.float32),
        weight=np.array(weights, np.float32),
        gain=np.array([node.gain for node in nodes], np.float32),
        sum_hessian=np.array([node.hessian for node in nodes], np.float32),
        sets=words,
        set_begin=set_begin,
        linear=linear_terms([node.terms for node in nodes if node.left == NO_NODE]),
    )
