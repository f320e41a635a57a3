"""Read one tree of XGBoost's JSON as a ``Tree``; the JSON is not trusted.

XGBoost numbers nodes in order of creation and keeps the nodes that pruning cut off::

    file     0: inner, children 1 4     1: inner, children 2 3     2 3: deleted     4: leaf
             (1 became a leaf)          left_children  1 -1 -1 -1 -1
    Tree     0: inner, children 1 2     1: leaf (1 in the file)    2: leaf (4 in the file)

``_breadth_first`` walks from the root and reaches every kept node once. The walk both checks that
this is a tree and gives the new numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.xgboost_sets import read_sets
from pyopencl_gbdt.model.sets import joined
from pyopencl_gbdt.model.tables import table_of
from pyopencl_gbdt.model.tree import NO_NODE, Tree

#: In XGBoost's files, ``parents`` of the root and ``split_indices`` of deleted nodes.
XGBOOST_NONE = 2**31 - 1


def read_tree(cursor: Cursor, n_features: int, index: int) -> Tree:
    """Check one entry of ``trees``; renumber it breadth-first, without deleted nodes.

    Parameters
    ----------
    cursor : Cursor
        The entry of ``trees``.
    n_features : int
        Number of columns of the model.
    index : int
        Position among the trees. XGBoost orders trees by their ``id``.

    Returns
    -------
    Tree

    Raises
    ------
    ModelFormatError
        If it is not a tree of splits on these columns, with one value per leaf.
    """
    if cursor.has("id"):
        place = cursor.member("id")
        if type(place.value) is not int or place.value != index:
            place.fail(f"{index}, the tree's place in the file", "put the trees in order")
    n_nodes, n_deleted = _read_parameters(cursor)
    why = f"tree_param.num_nodes of {cursor.place}"
    of_nodes = read_sets(cursor, n_nodes, why)
    left = cursor.member("left_children").integers(NO_NODE, n_nodes - 1, n_nodes, why)
    right = cursor.member("right_children").integers(NO_NODE, n_nodes - 1, n_nodes, why)
    parents = cursor.member("parents").integers(NO_NODE, XGBOOST_NONE, n_nodes, why)
    features = cursor.member("split_indices").integers(-(2**31), 2**32 - 1, n_nodes, why)
    default_left = cursor.member("default_left").flags(n_nodes, why)
    order = _breadth_first(cursor, left, right, parents)
    _check_deleted(cursor, order, features, n_nodes, n_deleted)
    for node in order:
        if left[node] != NO_NODE and not 0 <= features[node] < n_features:
            cursor.member("split_indices").entry(node).fail(
                f"a feature 0..{n_features - 1} (learner_model_param.num_feature={n_features})"
            )

    leaf = np.array([left[node] == NO_NODE for node in order])
    by_set = np.array([node in of_nodes for node in order]) & ~leaf
    none = np.zeros(0, np.uint32)
    sets, set_begin = joined(
        [of_nodes[node] if own else none for node, own in zip(order, by_set, strict=True)]
    )
    split_or_value = _living_floats(cursor, "split_conditions", order, n_nodes, why, ~leaf, by_set)
    gain = _living_floats(cursor, "loss_changes", order, n_nodes, why)
    weight = _living_floats(cursor, "base_weights", order, n_nodes, why)
    sum_hessian = _living_floats(cursor, "sum_hessian", order, n_nodes, why)
    zero = np.float32(0.0)
    children, parent = _breadth_first_links(leaf)
    return Tree(
        left=children,
        right=np.where(leaf, np.int32(NO_NODE), children + np.int32(1)),
        parent=parent,
        feature=np.array([0 if left[node] == NO_NODE else features[node] for node in order], "i4"),
        threshold=np.where(leaf | by_set, zero, split_or_value),
        default_left=np.array([default_left[node] for node in order], np.bool_),
        split_kind=by_set.astype(np.uint8),
        value=np.where(leaf, split_or_value, zero)[:, None],
        weight=weight[:, None],
        gain=np.where(leaf, zero, gain),
        sum_hessian=sum_hessian,
        sets=sets,
        set_begin=set_begin,
    ).numbered_in_file(order)


def _read_parameters(cursor: Cursor) -> tuple[int, int]:
    """Return ``num_nodes`` and ``num_deleted``."""
    parameters = cursor.member("tree_param")
    n_nodes = parameters.member("num_nodes").parameter(1, XGBOOST_NONE)
    n_deleted = 0
    if parameters.has("num_deleted"):
        n_deleted = parameters.member("num_deleted").parameter(0, n_nodes - 1)
    if parameters.has("size_leaf_vector"):
        size = parameters.member("size_leaf_vector")
        if size.parameter(0, XGBOOST_NONE) > 1:
            size.fail('"1", one value per leaf', "train with multi_strategy='one_output_per_tree'")
    return n_nodes, n_deleted


def _breadth_first(
    cursor: Cursor, left: list[int], right: list[int], parents: list[int]
) -> list[int]:
    """Return the nodes that the root reaches, in breadth-first order; raise if it is no tree.

    Each node enters the list at most once, so the walk ends.
    """
    if parents[0] not in (XGBOOST_NONE, NO_NODE):
        cursor.member("parents").entry(0).fail(f"{XGBOOST_NONE}, as node 0 is the root")
    order = [0]
    seen = bytearray(len(left))
    seen[0] = 1
    for node in order:  # the loop appends to the list
        if left[node] == right[node] == NO_NODE:
            continue
        for name, child in (("left_children", left[node]), ("right_children", right[node])):
            if child == NO_NODE:
                cursor.member(name).entry(node).fail("two children or none")
            if seen[child]:
                cursor.member(name).entry(node).fail(
                    "a child that is neither the root nor the child of another node"
                )
            if parents[child] != node:
                cursor.member("parents").entry(child).fail(f"{node}, whose child this node is")
            seen[child] = 1
            order.append(child)
    return order


def _check_deleted(
    cursor: Cursor, order: list[int], features: list[int], n_nodes: int, n_deleted: int
) -> None:
    """Raise unless the nodes that the root cannot reach are those marked as deleted."""
    reached = set(order)
    for node in range(n_nodes):
        if node not in reached and features[node] != XGBOOST_NONE:
            cursor.member("split_indices").entry(node).fail(
                f"{XGBOOST_NONE}, the mark of a deleted node, as no path from the root leads here"
            )
    if n_nodes - len(order) != n_deleted:
        cursor.member("tree_param").fail(
            f'num_deleted "{n_nodes - len(order)}", the number of nodes that the root cannot reach'
        )


def _living_floats(
    cursor: Cursor,
    name: str,
    order: list[int],
    n_nodes: int,
    why: str,
    threshold: npt.NDArray[np.bool_] | None = None,
    ignored: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.float32]:
    """Return an array of floats in the new node order; raise for NaN or infinity.

    Where ``threshold`` is True, -infinity becomes the lowest float32. XGBoost since 3.3 writes
    -infinity if only missing values go left; no finite value is below either number. Where
    ``ignored`` is True, the number has no meaning and becomes 0.
    """
    member = cursor.member(name)
    values = member.floats(n_nodes, why)[order]
    if ignored is not None:
        values[ignored] = 0
    if threshold is not None:
        values[threshold & (values == -np.inf)] = np.finfo(np.float32).min
    if not np.isfinite(values).all():
        node = order[int(np.argmin(np.isfinite(values)))]
        member.entry(node).fail("a finite float32")
    return values


def _breadth_first_links(
    leaf: npt.NDArray[Any],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the left children and the parents, as breadth-first numbering implies them."""
    inner = np.flatnonzero(~leaf)
    left = np.full(leaf.size, NO_NODE, np.int32)
    left[inner] = 1 + 2 * np.arange(inner.size)
    parent = np.full(leaf.size, NO_NODE, np.int32)
    parent[1:] = np.repeat(inner, 2)
    return left, parent


def check_symmetric(claim: Cursor, trees: list[Tree]) -> None:
    """Refuse a file that claims that its trees are symmetric, and has others."""
    for index, tree in enumerate(trees):
        if table_of(tree) is None:
            claim.fail(
                f"trees whose levels have one split each, but tree {index} is another",
                "the file is damaged; remove the attribute if trees were changed on purpose",
            )
