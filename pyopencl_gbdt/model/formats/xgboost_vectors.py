"""Trees of XGBoost whose leaves are vectors, with a value for each output.

A leaf's vector is its row of ``leaf_weights``, whose number is in ``right_children`` (XGBoost 3.2
and later), or that of ``base_weights`` (2.0 to 3.1). XGBoost 3.2 can search splits by fewer
gradients than there are outputs (``TreeObjective.split_grad``). Then ``base_weights`` are of those
gradients and tell nothing of the outputs: the weights of splits are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.xgboost_trees import XGBOOST_NONE, read_trees
from pyopencl_gbdt.model.tree import NO_NODE, Tree

F32 = npt.NDArray[np.float32]
#: ``split_conditions`` of leaves, the least float32 above 0.
_NO_THRESHOLD = np.float32(1e-45)


def has_vectors(trees: Cursor) -> bool:
    """Tell whether the first tree says that its leaves are vectors."""
    if not trees.array():
        return False
    parameters = trees.entry(0).member("tree_param")
    name = "size_leaf_vector"
    return parameters.has(name) and parameters.member(name).parameter(0, XGBOOST_NONE) > 1


def read_vector_trees(trees: Cursor, n_features: int, n_outputs: int) -> list[Tree]:
    """Return the trees, whose leaves are vectors.

    Raises
    ------
    ModelFormatError
        If nodes do not form a tree, or its leaves are not vectors of ``n_outputs`` finite numbers.
    """
    entries = [trees.entry(index) for index in range(len(trees.array()))]
    plain = [_without_values(entry, n_outputs) for entry in entries]
    found = read_trees(Cursor(plain, trees.place, trees.source), n_features)
    return [
        _with_vectors(tree, entry, n_outputs) for tree, entry in zip(found, entries, strict=True)
    ]


def written_vectors(tree: Tree) -> dict[str, Any]:
    """Return the members of a tree in a file that depend on its leaves, as XGBoost 3.2 has them."""
    leaf = tree.is_leaf
    place = np.cumsum(leaf, dtype=np.int32) - np.int32(1)
    return {
        "base_weights": tree.weight.reshape(-1),
        "leaf_weights": tree.value[leaf].reshape(-1),
        "right_children": np.where(leaf, place, tree.right),
        "split_conditions": np.where(leaf, _NO_THRESHOLD, tree.threshold),
    }


def _without_values(entry: Cursor, n_outputs: int) -> dict[str, Any]:
    """Return a tree of the file with leaves of 0, as it would be with one output."""
    parameters = entry.member("tree_param")
    size = parameters.member("size_leaf_vector")
    if size.parameter(0, XGBOOST_NONE) != n_outputs:
        size.fail(f'"{n_outputs}", the number of outputs')
    n_nodes = parameters.member("num_nodes").parameter(1, XGBOOST_NONE)
    why = f"tree_param.num_nodes of {entry.place}"
    left = entry.member("left_children").integers(NO_NODE, n_nodes - 1, n_nodes, why)
    leaf = np.array(left) == NO_NODE
    zeros = np.zeros(n_nodes, np.float32)
    right = entry.member("right_children").integers(NO_NODE, n_nodes - 1, n_nodes, why)
    thresholds = entry.member("split_conditions").floats(n_nodes, why)
    return {
        "loss_changes": zeros,
        "sum_hessian": zeros,
        **entry.fields(),
        "base_weights": zeros,
        "right_children": np.where(leaf, NO_NODE, right),
        "split_conditions": np.where(leaf, np.float32(0), thresholds),
        "tree_param": {**parameters.fields(), "size_leaf_vector": "1"},
    }


def _with_vectors(tree: Tree, entry: Cursor, n_outputs: int) -> Tree:
    """Return a tree with the vectors that an entry of the file has."""
    n_nodes = entry.member("tree_param").member("num_nodes").parameter(1, XGBOOST_NONE)
    numbers = np.arange(tree.n_nodes) if tree.file_numbers is None else tree.file_numbers
    place = entry.member("base_weights")
    n_weights = len(place.array())
    width = n_outputs  # XGBoost 3.4 may write fewer numbers of each node, beside those of leaves
    if entry.has("leaf_weights") and n_weights and n_weights % n_nodes == 0:
        width = n_weights // n_nodes
    reduced = width != n_outputs
    weights = _matrix(place, n_nodes, width)[numbers]
    leaves = weights[tree.is_leaf]
    if entry.has("leaf_weights"):
        place = entry.member("right_children")
        rows = np.array(place.array())[numbers[tree.is_leaf]]
        wrong = (rows < 0) | (rows >= rows.size)
        if wrong.any():
            node = int(numbers[tree.is_leaf][np.argmax(wrong)])
            place.entry(node).fail(f"0..{rows.size - 1}, the place of the leaf in leaf_weights")
        leaves = _matrix(entry.member("leaf_weights"), rows.size, n_outputs)[rows]
    values = np.zeros((tree.n_nodes, n_outputs), np.float32)
    values[tree.is_leaf] = leaves
    own = {"value": values, "weight": np.zeros_like(values) if reduced else weights}
    return Tree.trusted(**(vars(tree) | own))


def _matrix(place: Cursor, n_rows: int, n_outputs: int) -> F32:
    """Return an array of finite numbers, a row for each node or leaf."""
    found = place.floats(n_rows * n_outputs, f"{n_outputs} numbers for each of {n_rows}")
    if not np.isfinite(found).all():
        place.entry(int(np.argmin(np.isfinite(found)))).fail("a finite float32")
    return found.reshape(n_rows, n_outputs)
