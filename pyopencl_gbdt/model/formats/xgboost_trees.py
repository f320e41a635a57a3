"""Read the trees of XGBoost's JSON; the JSON is not trusted.

XGBoost numbers nodes in order of creation and keeps the nodes that pruning cut off::

    file     0: inner, children 1 4     1: inner, children 2 3     2 3: deleted     4: leaf
             (1 became a leaf)          left_children  1 -1 -1 -1 -1
    Tree     0: inner, children 1 2     1: leaf (1 in the file)    2: leaf (4 in the file)

Most trees of a file are numbered breadth-first already, without deleted nodes, which
``_other_numbering`` finds out for all trees at once. In the others ``_breadth_first`` walks from
the root and reaches every kept node once. The walk both checks that this is a tree and gives the
new numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.node_arrays import I64, NodeArrays
from pyopencl_gbdt.model.formats.xgboost_sets import read_all_sets
from pyopencl_gbdt.model.tables import table_of
from pyopencl_gbdt.model.tree import NO_NODE, Tree, trees_of
from pyopencl_gbdt.model.tree_arrays import breadth_first_links, counts_before

#: In XGBoost's files, ``parents`` of the root and ``split_indices`` of deleted nodes.
XGBOOST_NONE = 2**31 - 1
Bools = npt.NDArray[np.bool_]


def read_trees(trees: Cursor, n_features: int) -> list[Tree]:
    """Check the array ``trees``; renumber each tree breadth-first, without deleted nodes.

    Raises
    ------
    ModelFormatError
        If an entry is not a tree of splits on these columns, with one value per leaf, or has an
        ``id`` that is not its place: XGBoost orders trees by their ``id``.
    """
    if not trees.array():
        return []
    sizes, deleted = _read_sizes(trees)
    nodes = NodeArrays(trees, sizes)
    of_nodes = read_all_sets(nodes)
    left = nodes.integers("left_children", NO_NODE, nodes.last)
    right = nodes.integers("right_children", NO_NODE, nodes.last)
    parents = nodes.integers("parents", NO_NODE, XGBOOST_NONE)
    features = nodes.integers("split_indices", -(2**31), 2**32 - 1)
    order = _kept_nodes(nodes, left, right, parents, features, deleted)

    leaf = left[order] == NO_NODE
    feature = np.where(leaf, 0, features[order])
    wrong = (feature < 0) | (feature >= n_features)
    if wrong.any():
        nodes.fail(
            "split_indices",
            int(order[np.argmax(wrong)]),
            f"a feature 0..{n_features - 1} (learner_model_param.num_feature={n_features})",
        )
    by_set = np.isin(order, list(of_nodes)) & ~leaf
    split_or_value = _living_floats(nodes, "split_conditions", order, ~leaf, by_set)
    gain = _living_floats(nodes, "loss_changes", order)
    begin: I64 = np.concatenate([[0], np.cumsum(sizes - deleted)])
    children, parent = breadth_first_links(leaf, begin)
    zero = np.float32(0.0)
    found = trees_of(
        begin,
        [of_nodes[node] for node in order[by_set].tolist()],
        left=children,
        right=np.where(leaf, np.int32(NO_NODE), children + np.int32(1)),
        parent=parent,
        feature=feature.astype(np.int32),
        threshold=np.where(leaf | by_set, zero, split_or_value),
        default_left=nodes.flags("default_left")[order],
        split_kind=by_set.astype(np.uint8),
        value=np.where(leaf, split_or_value, zero)[:, None],
        weight=_living_floats(nodes, "base_weights", order)[:, None],
        gain=np.where(leaf, zero, gain),
        sum_hessian=_living_floats(nodes, "sum_hessian", order),
    )
    numbers = order - np.repeat(nodes.begin[:-1], sizes - deleted)  # of each node in its file
    others = np.diff(numbers, prepend=-1) != 1
    others[begin[:-1]] = False  # roots are always 0
    for index in np.flatnonzero(np.logical_or.reduceat(others, begin[:-1])).tolist():
        found[index].numbered_in_file(numbers[begin[index] : begin[index + 1]])
    return found


def _read_sizes(trees: Cursor) -> tuple[I64, I64]:
    """Return the number of nodes of every tree and how many of them are deleted; check ids."""
    known: dict[tuple[str, ...] | None, tuple[int, int]] = {}  # many trees spell the same sizes
    found = []
    for index, tree in enumerate(trees.array()):
        spelled = _spelled_sizes(tree)
        if spelled is None or spelled not in known:
            known[spelled] = _read_parameters(trees.entry(index))
        found.append(known[spelled])
        number = tree.get("id", index)  # type: ignore[attr-defined]  # _read_parameters checked it
        if type(number) is not int or number != index:
            place = trees.entry(index).member("id")
            place.fail(f"{index}, the tree's place in the file", "put the trees in order")
    sizes, deleted = np.array(found, np.int64).T
    return sizes, deleted


def _spelled_sizes(tree: object) -> tuple[str, str, str] | None:
    """Return the strings that ``_read_parameters`` reads; None if one is missing or no string."""
    parameters = tree.get("tree_param") if isinstance(tree, dict) else None
    if not isinstance(parameters, dict):
        return None
    nodes = parameters.get("num_nodes")
    deleted = parameters.get("num_deleted", "0")
    outputs = parameters.get("size_leaf_vector", "1")
    if isinstance(nodes, str) and isinstance(deleted, str) and isinstance(outputs, str):
        return nodes, deleted, outputs
    return None


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
            size.fail('"1", one value per leaf, as in the first tree')
    return n_nodes, n_deleted


def _kept_nodes(
    nodes: NodeArrays, left: I64, right: I64, parents: I64, features: I64, deleted: I64
) -> I64:
    """Return the places of the nodes that roots reach, tree by tree, in breadth-first order."""
    places = np.arange(left.size)
    kept = np.ones(left.size, np.bool_)
    others = _other_numbering(nodes, left, right, parents) | (deleted > 0)
    for index in np.flatnonzero(others).tolist():
        tree, (first, end) = nodes.trees.entry(index), nodes.begin[index : index + 2].tolist()
        own = [array[first:end].tolist() for array in (left, right, parents)]
        order = _breadth_first(tree, *own)
        _check_deleted(tree, order, features[first:end].tolist(), int(deleted[index]))
        places[first : first + len(order)] = np.array(order) + first
        kept[first + len(order) : end] = False
    return places[kept]


def _other_numbering(nodes: NodeArrays, left: I64, right: I64, parents: I64) -> Bools:
    """Return which trees are not numbered breadth-first, without gaps, or are not trees at all.

    In the others the k-th inner node has the children ``1 + 2 k`` and ``2 + 2 k``, which come
    after it and name it as their parent; so every node but the root has one parent.
    """
    base, inner = nodes.base, left != NO_NODE
    own = np.arange(left.size) - base
    children = 1 + 2 * counts_before(inner, nodes.begin)
    wrong = np.where(inner, (left != children) | (left <= own), right != NO_NODE)
    wrong |= inner & (right != left + 1)
    good = np.flatnonzero(inner & ~wrong)
    for child in (left, right):
        wrong[good] |= parents[base[good] + child[good]] != own[good]
    first = nodes.begin[:-1]
    wrong[first] |= (parents[first] != XGBOOST_NONE) & (parents[first] != NO_NODE)
    n_inner = np.add.reduceat(inner.astype(np.int64), first)
    found: Bools = np.logical_or.reduceat(wrong, first) | (nodes.sizes != 2 * n_inner + 1)
    return found


def _breadth_first(
    cursor: Cursor, left: list[int], right: list[int], parents: list[int]
) -> list[int]:
    """Return the nodes that the root reaches, in breadth-first order; raise if it is not a tree.

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


def _check_deleted(cursor: Cursor, order: list[int], features: list[int], n_deleted: int) -> None:
    """Raise unless the nodes that the root cannot reach are those marked as deleted."""
    reached = set(order)
    for node, feature in enumerate(features):
        if node not in reached and feature != XGBOOST_NONE:
            cursor.member("split_indices").entry(node).fail(
                f"{XGBOOST_NONE}, the mark of a deleted node, as no path from the root leads here"
            )
    lost = len(features) - len(order)
    if lost != n_deleted:
        cursor.member("tree_param").fail(
            f'num_deleted "{lost}", the number of nodes that the root cannot reach'
        )


def _living_floats(
    nodes: NodeArrays,
    name: str,
    order: I64,
    threshold: Bools | None = None,
    ignored: Bools | None = None,
) -> npt.NDArray[np.float32]:
    """Return an array of floats in the new node order; raise for NaN or infinity.

    Where ``threshold`` is True, -infinity becomes the lowest float32. XGBoost since 3.3 writes
    -infinity if only missing values go left; no finite value is below either number. Where
    ``ignored`` is True, the number has no meaning and becomes 0.
    """
    values = nodes.floats(name)[order]
    if ignored is not None:
        values[ignored] = 0
    if threshold is not None:
        values[threshold & (values == -np.inf)] = np.finfo(np.float32).min
    if not np.isfinite(values).all():
        nodes.fail(name, int(order[np.argmin(np.isfinite(values))]), "a finite float32")
    return values


def check_symmetric(claim: Cursor, trees: list[Tree]) -> None:
    """Refuse a file that claims that its trees are symmetric, and has others."""
    for index, tree in enumerate(trees):
        if table_of(tree) is None:
            claim.fail(
                f"trees whose levels have one split each, but tree {index} is another",
                "the file is damaged; remove the attribute if trees were changed on purpose",
            )
