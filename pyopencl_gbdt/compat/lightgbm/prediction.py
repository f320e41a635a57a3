"""Predictions of a model, in LightGBM's shapes."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.errors import LightGBMError
from pyopencl_gbdt.compat.lightgbm.objectives import RANKING, SEVERAL
from pyopencl_gbdt.compat.lightgbm.tables import read_rows, whole_levels
from pyopencl_gbdt.compat.lightgbm.trees import leaf_numbers
from pyopencl_gbdt.data import dataset as own
from pyopencl_gbdt.data.arrays.containers import is_sparse
from pyopencl_gbdt.data.arrays.matrix import column_names
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.prediction.walk_rows import walk_to_leaves

F64 = npt.NDArray[np.float64]


def rounds_of(ensemble: Ensemble, start: int, count: int | None) -> Ensemble:
    """Return the model of ``count`` rounds from ``start``; all that follow if it is not positive.

    A model that does not begin with the first round begins with a margin of 0.
    """
    n_rounds = ensemble.n_rounds
    first = min(max(start, 0), n_rounds)
    last = n_rounds if count is None or count <= 0 else min(first + count, n_rounds)
    if (first, last) == (0, n_rounds):
        return ensemble
    found = ensemble.of_rounds(range(first, last), dict(ensemble.attributes))
    if first == 0:
        return found
    zero = tuple(0.0 for _ in each(ensemble.base_margin))
    margin = zero if len(zero) > 1 else 0.0
    return replace(found, base_margin=margin, objective="custom", base_score=margin,
                   objective_parameters={})  # fmt: skip


def checked_rows(
    ensemble: Ensemble, data: Any, settings: dict[str, Any], *, validates: bool
) -> own.Dataset:
    """Return rows to predict, with the names and categories of the model.

    Raises
    ------
    DataError
        For a path.
    LightGBMError
        If the number of columns differs; with ``validates``, also if names of a table do.
    """
    if isinstance(data, (str, os.PathLike)):
        raise DataError(
            f"data is the path {show(os.fspath(data))}: expected rows; read the file first, by "
            "numpy.loadtxt, say"
        )
    names = column_names(data) if hasattr(data, "columns") else None
    rows = read_rows(data, settings)
    expected = ensemble.feature_names
    if validates and names is not None:
        known = expected or [f"Column_{i}" for i in range(ensemble.n_features)]
        if len(names) != len(known):
            raise LightGBMError(f"Expected {len(known)} features but got {len(names)}")
        for place, (one, other) in enumerate(zip(known, names, strict=True)):
            if one != re.sub(r"\s", "_", str(other)):
                raise LightGBMError(f"Expected '{one}' at position {place} but found '{other}'")
    if rows.shape[1] != ensemble.n_features:
        if not settings.get("predict_disable_shape_check", False):
            raise LightGBMError(
                f"The number of features in data ({rows.shape[1]}) is not the same as it was in "
                f"training data ({ensemble.n_features}).\nYou can set "
                "``predict_disable_shape_check=true`` to discard this error, but please be aware "
                "what you are doing."
            )
        rows = _of_width(rows, ensemble.n_features)
    chosen = list(ensemble.categories) or None
    numbers = [c for c, levels in ensemble.categories.items() if not levels.are_strings]
    rows = whole_levels(rows, numbers)
    missing = 0.0 if settings.get("zero_as_missing") and not is_sparse(rows) else None
    return own.Dataset(rows, feature_names=expected, categorical_features=chosen, missing=missing)


def _of_width(rows: Any, n_features: int) -> Any:
    """Return rows with as many columns; those that are not there are missing."""
    dense = np.asarray(rows.toarray() if is_sparse(rows) else rows, np.float64)
    found = np.full((dense.shape[0], n_features), np.nan)
    shared = min(n_features, dense.shape[1])
    found[:, :shared] = dense[:, :shared]
    return found


def margins(ensemble: Ensemble, rows: own.Dataset) -> F64:
    """Return margins, float64, shape (n_rows,) or (n_rows, n_outputs)."""
    if not ensemble.trees:
        base = np.array(each(ensemble.base_margin))
        found = np.tile(base, (rows.n_rows, 1))
        return found[:, 0] if len(base) == 1 else found
    return Model(ensemble).predict(rows, output_margin=True).astype(np.float64)


#: Objectives whose predictions may stop early.
STOPS = (*RANKING, *SEVERAL, "binary")


def margins_that_stop(ensemble: Ensemble, rows: own.Dataset, settings: dict[str, Any]) -> F64:
    """Return margins of rows that stop at a clear margin, as LightGBM's ``pred_early_stop``.

    After every ``pred_early_stop_freq`` rounds, a row stops if its margin is further from 0 than
    half of ``pred_early_stop_margin``. With several classes, it stops if its two largest margins
    differ by more than ``pred_early_stop_margin``.
    """
    step = int(settings.get("pred_early_stop_freq", 10))
    clear = float(settings.get("pred_early_stop_margin", 10.0))
    total = margins(rounds_of(ensemble, 0, step), rows)
    going = np.arange(rows.n_rows)
    for first in range(step, ensemble.n_rounds, step):
        now = total[going]
        top = 2 * np.abs(now) if now.ndim == 1 else np.diff(np.sort(now, axis=1)[:, -2:])[:, 0]
        going = going[top <= clear]
        if not going.size:
            break
        total[going] += margins(rounds_of(ensemble, first, step), rows.slice(going))
    return total


def leaves(ensemble: Ensemble, rows: own.Dataset) -> npt.NDArray[np.int32]:
    """Return the number of each row's leaf in each tree, int32, shape (n_rows, n_trees)."""
    plain = replace(ensemble, trees=[replace(tree) for tree in ensemble.trees], tree_weights=None)
    model = Model(plain)
    values = model.tree_values(rows)
    nodes = walk_to_leaves(plain, values, "auto", (0, plain.n_rounds))
    found = np.empty(nodes.shape, np.int32)
    for place, tree in enumerate(plain.trees):
        found[:, place] = leaf_numbers(tree)[nodes[:, place]]
    return found


def contributions(ensemble: Ensemble, rows: own.Dataset) -> F64:
    """Return what each column adds to the margin, and the base.

    float64, shape (n_rows, (n_features + 1) * n_outputs), one output after the other.
    """
    found = Model(ensemble).predict(rows, pred_contribs=True)
    return np.asarray(found.reshape(rows.n_rows, -1), np.float64)


def as_sparse(found: npt.NDArray[Any], data: Any, n_outputs: int) -> Any:
    """Return contributions in the form of the rows: a sparse matrix, or a list with one a class."""
    if not hasattr(data, "tocsr"):
        return found
    from scipy import sparse

    kind = sparse.csc_matrix if data.format == "csc" else sparse.csr_matrix
    parts = [kind(part) for part in np.split(found, n_outputs, axis=1)]
    return parts[0] if n_outputs == 1 else parts
