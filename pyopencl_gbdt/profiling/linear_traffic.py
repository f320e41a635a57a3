"""The least bytes that kernels of linear leaves move.

How many features a leaf has is not counted from a tree: one at least, as a leaf has a path. The
leaves of a model's first round have none.
"""

from __future__ import annotations

from pyopencl_gbdt.dtypes import NODE, QUANTA
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.profiling.least_bytes import TreeCounts, of_tree

_WORD = 4
#: A row's id and one value of it.
_ROW = 2 * _WORD
#: Sums of the equations of a leaf with one feature, and its extremes and count.
_SUMS, _EXTREMES = 5 * 8, 3 * _WORD
#: A size, an intercept, a feature and a coefficient.
_TERMS = 4 * _WORD


def _leaves(tree: TreeCounts) -> int:
    """Leaves that have a path."""
    return int(tree.nodes[1:].sum() - tree.splits[1:].sum())


def _rows(tree: TreeCounts) -> int:
    """Rows of these leaves."""
    return int(tree.split_rows[0])


@of_tree("linear_leaves.list_features")
def _list_features(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.nodes.sum()) * (NODE.itemsize + _WORD) + _leaves(tree) * (
        _WORD + _SUMS + _EXTREMES
    )


@of_tree("linear_leaves.bound_values")
def _bound_values(fit: FitParts, tree: TreeCounts) -> int:
    return _rows(tree) * (_ROW + QUANTA.itemsize) + _leaves(tree) * _EXTREMES


@of_tree("linear_leaves.sum_products")
def _sum_products(fit: FitParts, tree: TreeCounts) -> int:
    return _rows(tree) * (_ROW + 2 * QUANTA.itemsize) + _leaves(tree) * _SUMS


@of_tree("linear_leaves.solve")
def _solve(fit: FitParts, tree: TreeCounts) -> int:
    return _leaves(tree) * (_SUMS + _EXTREMES + _TERMS)


@of_tree("linear_leaves.list_terms")
def _list_terms(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.nodes.sum()) * 3 * _WORD + _leaves(tree) * 3 * _TERMS
