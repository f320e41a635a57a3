"""Twin of all walks in ``prediction``: row by row and tree by tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree
from tests.reference.dropout import margin, term
from tests.reference.linear_leaves import LeafTerms, added

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]


def leaf_of(tree: Tree, x: F32) -> int:
    """Return the id of a row's leaf; the row is float32 (n_features,), NaN for missing."""
    node = 0
    while tree.left[node] != NO_NODE:
        value = x[tree.feature[node]]
        if tree.split_kind[node] == CATEGORY_SPLIT:
            left = _level_goes_left(tree, node, value)
        else:
            left = tree.default_left[node] if np.isnan(value) else value < tree.threshold[node]
        node = int(tree.left[node] if left else tree.right[node])
    return node


def _level_goes_left(tree: Tree, node: int, value: np.float32) -> bool:
    """Return whether a level's code goes left."""
    if np.isnan(value):
        return bool(tree.default_left[node])
    right = tree.right_set(node)
    return not (0 <= value < right.size and right[int(value)])


def dense_row(values: SparseMatrix, row: int) -> F32:
    """Return a row of a sparse matrix, float32 (n_features,), NaN where it has no entry."""
    x = np.full(values.shape[1], np.nan, np.float32)
    for entry in range(values.row_starts[row], values.row_starts[row + 1]):
        x[values.columns[entry]] = values.values[entry]
    return x


def predict(ensemble: Ensemble, values: F32 | SparseMatrix) -> F32:
    """Return margins: base score plus leaf values, added in float32 in the order of the trees.

    If trees have weights, the sums are in fixed point.

    Parameters
    ----------
    ensemble : Ensemble
    values : float32 array or SparseMatrix, shape (n_rows, n_features)

    Returns
    -------
    float32 array, shape (n_rows,), or (n_outputs, n_rows) if there are several outputs
    """
    if isinstance(values, SparseMatrix):
        values = np.array([dense_row(values, row) for row in range(values.shape[0])])
    ids = leaf_ids(ensemble, values)
    margins = np.empty((ensemble.n_outputs, values.shape[0]), np.float32)
    margins[:] = np.array(each(ensemble.base_margin), np.float32)[:, None]
    if ensemble.tree_weights is not None:
        sums = [[0] * values.shape[0] for _ in margins]
        for index, (tree, weight) in enumerate(
            zip(ensemble.trees, ensemble.tree_weights, strict=True)
        ):
            for place, output in enumerate(outputs_of(ensemble, index)):
                for row, leaf in enumerate(ids[:, index]):
                    sums[output][row] += term(weight, tree.value[leaf, place])
        for start, own in zip(margins, sums, strict=True):
            start[:] = [margin(one, total) for one, total in zip(start, own, strict=True)]
        return margins[0] if ensemble.n_outputs == 1 else margins
    for index, tree in enumerate(ensemble.trees):
        for place, output in enumerate(outputs_of(ensemble, index)):
            terms = tree.value[ids[:, index], place]
            if tree.linear is not None:
                pairs = zip(ids[:, index], values, strict=True)
                terms = np.array([linear_term(tree, leaf, x) for leaf, x in pairs], np.float32)
            margins[output] = margins[output] + terms
    return margins[0] if ensemble.n_outputs == 1 else margins


def linear_term(tree: Tree, leaf: int, x: F32) -> np.float32:
    """Return what a leaf adds for a row: its linear function, or its number."""
    assert tree.linear is not None
    number = int(np.count_nonzero(tree.is_leaf[:leaf]))
    terms = tree.linear.part(number, number + 1)
    own = LeafTerms(tuple(terms.features), tuple(terms.coefficients), terms.intercepts[0])
    found: np.float32 = added(own, tree.value[leaf, 0], x[None])[0]
    return found


def outputs_of(ensemble: Ensemble, index: int) -> range:
    """Return the outputs that a tree adds to: one, or all if leaves are vectors."""
    if ensemble.trees[index].n_outputs > 1:
        return range(ensemble.n_outputs)
    output = index // ensemble.n_parallel % ensemble.n_outputs
    return range(output, output + 1)


def leaf_ids(ensemble: Ensemble, values: F32 | SparseMatrix) -> I32:
    """Return the leaf of each row in each tree, int32, shape (n_rows, n_trees)."""
    if isinstance(values, SparseMatrix):
        values = np.array([dense_row(values, row) for row in range(values.shape[0])])
    found = np.empty((values.shape[0], len(ensemble.trees)), np.int32)
    for index, tree in enumerate(ensemble.trees):
        found[:, index] = [leaf_of(tree, x) for x in values]
    return found
