"""What the linear functions of leaves add to contributions, beside the game of the leaves' values.

A feature j of the row's leaf gets ``c_j x_j + (a - v) / m`` more: ``c_j`` is its coefficient, ``a``
the intercept, ``v`` the leaf's value and ``m`` the number of terms. They add up to what the
function differs from the value. A row that misses one of the features gets nothing more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.prediction.kept import Kept
from pyopencl_gbdt.prediction.leaf_terms import PackedLinear, RowBlock
from pyopencl_gbdt.prediction.packing import packed

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: Bits of a row's sum in its quanta, as in ``quantum``.
_BITS = 52


def _of_values(ensemble: Ensemble) -> Ensemble:
    return replace(ensemble, trees=[tree.with_linear(None) for tree in ensemble.trees])


_OF_VALUES = Kept(_of_values)


def of_values(ensemble: Ensemble) -> Ensemble:
    """Return the model whose leaves have their values alone, from a cache."""
    return _OF_VALUES.of(ensemble)


def add_linear_parts(
    ensemble: Ensemble, values: F32 | SparseMatrix, trees: I64, margins: F32, found: F64
) -> None:
    """Add the parts of linear functions to contributions, whose sums become the margins.

    A row's quantum is 2^(e - 52): 2^e is more than the sum of all absolute contributions and parts.
    Both are rounded to it, and the rest goes where ``quantum.to_floats`` adds it.

    Parameters
    ----------
    ensemble : Ensemble
        Without statistics.
    values : float32 array or SparseMatrix, shape (n_rows, n_features)
    trees : int64 array, shape (n_outputs, n)
        The trees of each output.
    margins : float32 array, shape (n_outputs, n_rows)
    found : float64 array, shape (n_rows, n_outputs, n_features + 1), written
        Contributions of ``of_values``; or with a dimension more, interactions.
    """
    nodes = packed(ensemble)
    walk, linear, used = nodes.host_walk, nodes.compact.linear, nodes.used.astype(np.int64)
    assert linear is not None
    number = nodes.nodes["number"]
    for rows, block in walk.blocks(values):
        parts = np.zeros((block.n_rows, *found.shape[1:3]))
        for output, own in enumerate(trees):
            columns = np.zeros((used.size, block.n_rows))
            for tree in own:
                leaves = walk.leaves(block, np.array([tree]))[0]
                _add_tree(linear, number, leaves, block, columns)
            parts[:, output, used] = columns.T
        _add(found[rows], parts, margins[:, rows])


def _add_tree(
    linear: PackedLinear, number: F32, leaves: I64, block: RowBlock, columns: F64
) -> None:
    """Add the parts of a tree, float64 (n_used, n_rows), term by term."""
    begin = linear.begin.astype(np.int64)
    sizes = begin[leaves + 1] - begin[leaves]
    places = [begin[leaves] + k for k in range(int(sizes.max(initial=0)))]
    there = sizes > 0
    for k, at in enumerate(places):
        some = np.flatnonzero(sizes > k)
        there[some] &= ~np.isnan(block.values[linear.features[at[some]], some])
    shared = linear.intercepts[leaves].astype(np.float64) - number[leaves]
    share = shared / np.maximum(sizes, 1)
    for k, at in enumerate(places):
        some = np.flatnonzero(there & (sizes > k))
        feature = linear.features[at[some]]
        product = linear.coefficients[at[some]].astype(np.float64) * block.values[feature, some]
        columns[feature, some] += product + share[some]


def _add(found: F64, parts: F64, margins: F32) -> None:
    """Add the parts of some rows; see ``add_linear_parts``."""
    pairs = found.ndim > 3
    before = found.sum(axis=3) if pairs else found
    with np.errstate(invalid="ignore"):  # rows may hold infinities
        most = np.abs(before).sum(axis=2) + np.abs(parts).sum(axis=2)
        bits = (_BITS - np.frexp(most)[1])[..., None]
        quanta = np.rint(np.ldexp(before, bits)) + np.rint(np.ldexp(parts, bits))
        own = np.ldexp(quanta, -bits)
        rest = margins.T - np.ldexp(quanta.sum(axis=2), -bits[..., 0])
        place = np.argmax(np.abs(quanta[..., :-1]), axis=2)[..., None]
        none = np.take_along_axis(quanta, place, 2) == 0
        place = np.where(none, quanta.shape[2] - 1, place)
        np.put_along_axis(own, place, np.take_along_axis(own, place, 2) + rest[..., None], 2)
        if not pairs:
            found[:] = own
            return
        found[:] = np.ldexp(np.rint(np.ldexp(found, bits[..., None])), -bits[..., None])
        index = np.arange(found.shape[3])
        found[..., index, index] = 0
        found[..., index, index] = own - found.sum(axis=3)
