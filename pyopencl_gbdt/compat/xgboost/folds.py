"""The folds of ``cv``: rows by shares, by classes, by queries, or as they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.training.folds import given_folds, make_folds, query_folds

#: Training rows and test rows.
Fold = tuple[DMatrix, DMatrix]


def folds_of(
    dtrain: DMatrix, *, nfold: int, stratified: bool, folds: Any, seed: int, shuffle: bool
) -> list[Fold]:
    """Return the matrices of each fold; queries stay whole.

    Raises
    ------
    ParameterError
        If ``folds`` is no splitter and no list of pairs of rows.
    """
    how: dict[str, Any] = {"stratified": stratified, "shuffle": shuffle, "seed": seed}
    offsets = dtrain.dataset().group_offsets
    if folds is not None:
        label = dtrain.get_label()
        pairs = given_folds(folds, np.empty((dtrain.num_row(), 1), np.float32), label)
    elif offsets is not None:
        pairs = query_folds(offsets, nfold, **how)
    else:
        pairs = make_folds(dtrain.get_label(), nfold, **how)
    return [(_part(dtrain, own), _part(dtrain, test)) for own, test in pairs]


def _part(matrix: DMatrix, rows: npt.NDArray[np.int64]) -> DMatrix:
    """Return some rows, with their queries."""
    own = matrix.dataset()
    if own.group_offsets is None:
        return matrix.slice(rows)
    chosen = own.slice(rows)
    found = matrix.slice(rows, allow_groups=True)
    assert chosen.group_offsets is not None
    found.set_group(np.diff(chosen.group_offsets))
    if chosen.weight is not None:
        found.set_weight(chosen.weight)
    return found
