"""All trees of a model as a few arrays, which are checked before they become trees again.

Nodes are in breadth-first order, so children and parents need not be kept::

    trees     split, 2 leaves;  leaf          sizes    3       1
                                              feature  0 -1 -1 -1
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.linear_leaves import LinearTerms, joined_terms, no_terms
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree, trees_of

Arrays = dict[str, npt.NDArray[Any]]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
#: Arrays with an entry for each node, by name.
OF_NODES: dict[str, type[np.generic]] = {
    "feature": np.int32,
    "threshold": np.float32,
    "default_left": np.bool_,
    "split_kind": np.uint8,
    "value": np.float32,
    "weight": np.float32,
    "gain": np.float32,
    "sum_hessian": np.float32,
}
#: Of these, arrays with an entry for each output of a tree.
OF_OUTPUTS = ("value", "weight")
#: Arrays with an entry for each tree, each split by a set, and each word of a set.
OTHERS: dict[str, type[np.generic]] = {
    "sizes": np.uint32,
    "set_sizes": np.uint32,
    "sets": np.uint32,
}


def join_trees(trees: list[Tree]) -> Arrays:
    """Return trees as arrays: those of `OF_NODES` and of `OTHERS`.

    ``feature`` is `NO_NODE` in leaves. ``value`` and ``weight`` have as many numbers for each node,
    one after the other, as the leaves have; all trees have the same number.
    """
    found: Arrays = {}
    for name, dtype in OF_NODES.items():
        parts = [getattr(tree, name).reshape(-1) for tree in trees]
        found[name] = np.concatenate([np.zeros(0, dtype), *parts])
    leaf = np.concatenate([np.zeros(0, np.bool_), *(tree.is_leaf for tree in trees)])
    found["feature"][leaf] = NO_NODE
    found["sizes"] = np.array([tree.n_nodes for tree in trees], np.uint32)
    sizes = [np.diff(tree.set_begin) for tree in trees if tree.sets.size]
    of_sets = np.concatenate([np.zeros(0, np.int32), *sizes])
    found["set_sizes"] = of_sets[of_sets > 0].astype(np.uint32)
    found["sets"] = np.concatenate([np.zeros(0, np.uint32), *(tree.sets for tree in trees)])
    return found | {f"linear_{name}": array for name, array in join_linear(trees).items()}


def join_linear(trees: list[Tree]) -> Arrays:
    """Return the arrays of ``LinearTerms`` of all leaves of all trees; none if no tree has any."""
    if all(tree.linear is None for tree in trees):
        return {}
    parts = (tree.linear or no_terms(int(tree.is_leaf.sum())) for tree in trees)
    return joined_terms([*parts]).arrays()


def with_linear(trees: list[Tree], arrays: Arrays) -> list[Tree]:
    """Return the trees with the terms whose arrays `join_linear` has returned; these are checked.

    Raises
    ------
    ModelFormatError
        If the arrays are not those of so many leaves.
    """
    if not arrays:
        return trees
    terms = LinearTerms(**arrays)
    ends = np.cumsum([int(tree.is_leaf.sum()) for tree in trees], dtype=np.int64).tolist()
    if terms.sizes.size != (ends[-1] if ends else 0):
        _fail(f"linear functions of {ends[-1] if ends else 0} leaves")
    found = []
    for tree, first, end in zip(trees, [0, *ends], ends, strict=False):
        own = terms.part(first, end)
        has_terms = own.features.size > 0
        found.append(tree.with_linear(own) if has_terms else tree)
    return found


def split_trees(arrays: Arrays, n_features: int) -> list[Tree]:
    """Return the trees whose arrays `join_trees` has returned.

    Nothing in the arrays is trusted. Numbers that mean nothing, such as the gain of a leaf, become
    0.

    Raises
    ------
    ModelFormatError
        If the arrays are not those of whole trees, or use other features than ``0 .. n_features -
        1``.
    """
    arrays = dict(arrays)
    names = [name for name in arrays if name.startswith("linear_")]
    linear = {name.removeprefix("linear_"): arrays.pop(name) for name in names}
    _check_layout(arrays)
    feature, kind = arrays["feature"], arrays["split_kind"]
    leaf, by_set = feature == NO_NODE, kind == CATEGORY_SPLIT
    if feature.min(initial=0) < NO_NODE or feature.max(initial=0) >= n_features:
        _fail(f"features of nodes 0..{n_features - 1}, or -1 in leaves")
    if kind.max(initial=0) > CATEGORY_SPLIT or (by_set & leaf).any():
        _fail("kinds of splits 0 or 1, and 0 in leaves")
    sizes = arrays["sizes"].astype(np.int64)
    if sizes.sum() != feature.size or (sizes < 1).any():
        _fail(f"trees of a node or more, {feature.size} in all")
    begin: I64 = np.concatenate([[0], np.cumsum(sizes)])
    left, parent = _links(leaf, begin)
    zero, shape = np.float32(0), (leaf.size, _n_outputs(arrays))
    trees = trees_of(
        begin,
        _sets(arrays, int(by_set.sum())),
        left=left,
        right=np.where(leaf, left, left + np.int32(1)),
        parent=parent,
        feature=np.where(leaf, np.int32(0), feature),
        threshold=np.where(leaf | by_set, zero, arrays["threshold"]),
        default_left=arrays["default_left"].copy(),
        split_kind=kind.copy(),
        value=np.where(leaf[:, None], arrays["value"].reshape(shape), zero),
        weight=arrays["weight"].reshape(shape).copy(),
        gain=np.where(leaf, zero, arrays["gain"]),
        sum_hessian=arrays["sum_hessian"].copy(),
    )
    return with_linear(trees, linear)


def breadth_first_links(
    leaf: Bools, begin: I64
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the left children and the parents, as breadth-first numbering implies them.

    Parameters
    ----------
    leaf : bool array, shape (n_nodes,)
        Whether each node is a leaf, for the nodes of all trees.
    begin : int64 array, shape (n_trees + 1,)
        First node of every tree.
    """
    left = np.where(leaf, NO_NODE, 1 + 2 * counts_before(~leaf, begin))
    own = np.arange(leaf.size) - np.repeat(begin[:-1], np.diff(begin))
    parent = np.full(leaf.size, NO_NODE, np.int32)
    parent[own > 0] = np.repeat(own[~leaf], 2)
    return left.astype(np.int32), parent


def counts_before(marked: Bools, begin: I64) -> I64:
    """Return how many nodes of the same tree before each node are marked."""
    before: I64 = np.cumsum(marked) - marked
    return before - np.repeat(before[begin[:-1]], np.diff(begin))


def _fail(expected: str) -> NoReturn:
    raise ModelFormatError(f"trees: expected {expected}; they are damaged, write the model again")


def _n_outputs(arrays: Arrays) -> int:
    """Return how many numbers the leaves have, by the sizes of the arrays."""
    sizes = (np.size(arrays.get(name, ())) for name in ("value", "feature"))
    return max(1, next(sizes) // max(1, next(sizes)))


def _check_layout(arrays: Arrays) -> None:
    n_nodes = np.size(arrays.get("feature", ()))
    n_each = _n_outputs(arrays)
    for name, dtype in (OF_NODES | OTHERS).items():
        array = arrays.get(name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            _fail(f"{name} to be an array of {np.dtype(dtype)} of one dimension")
        elif name in OF_NODES and array.size != n_nodes * (n_each if name in OF_OUTPUTS else 1):
            several = f"{n_each} times " if name in OF_OUTPUTS and n_each > 1 else ""
            _fail(f"{name} to have {several}{n_nodes} entries, one for each node")
        elif dtype is np.float32 and not np.isfinite(array).all():
            node = int(np.argmin(np.isfinite(array)))
            _fail(f"finite numbers in {name}, but that of node {node} is {array[node]}")


def _links(leaf: Bools, begin: I64) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return left children and parents; raise unless the leaves are those of whole trees."""
    sizes = np.diff(begin)
    inner = np.add.reduceat(~leaf, begin[:-1], dtype=np.int64) if sizes.size else sizes
    if (sizes != 2 * inner + 1).any():
        _fail("trees with a leaf more than they have splits")
    left, parent = breadth_first_links(leaf, begin)
    own = np.arange(leaf.size) - np.repeat(begin[:-1], sizes)
    if not (leaf | (left > own)).all():
        _fail("splits whose two children come after them, breadth-first")
    return left, parent


def _sets(arrays: Arrays, n_sets: int) -> list[npt.NDArray[np.uint32]]:
    sizes, words = arrays["set_sizes"].astype(np.int64), arrays["sets"]
    if sizes.size != n_sets or sizes.sum() != words.size or (sizes < 1).any():
        _fail(f"{n_sets} sets of a word or more, {words.size} words in all")
    ends = np.cumsum(sizes)
    if ((words[ends - 1] == 0) & (sizes > 1)).any():
        _fail("sets whose last word is not 0")
    return np.split(words, ends[:-1]) if n_sets else []
