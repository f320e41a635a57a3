"""Rows to predict that come in batches: each is checked, coded and predicted alone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pyopencl_gbdt.data.arrays.narrow import check_missing
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.passes import Reader, values_of
from pyopencl_gbdt.data.batches.sources import has_batches, source_of
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.files.reading import Reading
from pyopencl_gbdt.data.remarks import Remarks, warn_of_unknown
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.messages import plural
from pyopencl_gbdt.model import Ensemble


def comes_in_batches(X: Any) -> bool:
    """Tell whether rows come in batches."""
    return has_batches(X) or (isinstance(X, Dataset) and X.batches is not None)


def margin_of(X: Any, base_margin: Any) -> Any:
    """Return the base margins of rows: those that are given, or a Dataset's own; or None."""
    own = X.base_margin if isinstance(X, Dataset) else None
    if base_margin is not None and own is not None:
        raise ParameterError(
            "base_margin is given, and X has one: expected one of them; leave one out"
        )
    return own if base_margin is None else base_margin


def check_background(rows: Any) -> None:
    """Raise ``DataError`` if a background comes in batches, or has no rows."""
    if comes_in_batches(rows):
        raise DataError("background comes in batches: expected an array; give some of its rows")
    shape = rows.values.shape if isinstance(rows, Features) else np.shape(rows)
    if shape[:1] == (0,):
        raise DataError("background has no rows: expected one or more; give rows of training")


def rows_to_predict(
    ensemble: Ensemble, X: Any, base_margin: Any, missing: float | None
) -> Iterator[tuple[Features, Any]]:
    """Yield the columns of each batch as the model knows them, and the base margins of its rows.

    Parameters
    ----------
    X : Dataset or object
        A Dataset whose rows come in batches, or what ``source_of`` takes.
    base_margin : (n_rows,) or (n_rows, n_outputs) array-like or None
        The base margins of all rows.

    Raises
    ------
    DataError
        If there is no batch, or base margins for more or fewer rows.
    """
    margins, end = None if base_margin is None else np.asarray(base_margin), 0
    if isinstance(X, Dataset):
        if not math.isnan(check_missing(missing)):
            raise ParameterError(
                f"missing={missing}: expected None, as X comes in batches; give missing= to "
                "Dataset.from_batches"
            )
        rows = X.coded_by(ensemble.categories).batches
        assert rows is not None
        batches: Iterator[tuple[Features, Any]] = ((part, None) for _, part in rows.parts())
    else:
        batches = _read(ensemble, X, missing)
    unknown: Mapping[int, str] | None = None
    for features, own in batches:
        here = features.remarks.unknown
        unknown = here if unknown is None else {c: two for c, two in unknown.items() if c in here}
        first, end = end, end + features.values.shape[0]
        if own is not None and margins is not None:
            raise ParameterError(
                "base_margin is given, and the batches have one: expected one of them; leave one "
                "out"
            )
        if margins is not None and len(margins) < end:
            break
        yield replace(features, remarks=Remarks()), own if margins is None else margins[first:end]
    if not end:
        raise DataError("X: there is no batch: expected one or more; give rows")
    if margins is not None and len(margins) != end:
        more = " or more" if len(margins) < end else ""
        raise DataError(
            f"base_margin has {plural(len(margins), 'value')}, X has {plural(end, 'row')}{more}: "
            "expected one value per row; pass the base_margin that belongs to X"
        )
    warn_of_unknown(unknown or {}, ensemble.categories, ensemble.feature_names)


def _read(ensemble: Ensemble, X: Any, missing: float | None) -> Iterator[tuple[Features, Any]]:
    levels = ensemble.categories
    reading = Reading(label_column=None, categorical_features=sorted(levels) or None)
    reader = Reader(missing, None)
    for batch in source_of(X, reading)():
        features = reader.features(batch, levels)
        if batch.ragged and isinstance(features.values, SparseMatrix):
            within = _within(features.values, ensemble.n_features, batch.where)
            features = replace(features, values=within)
        width = ensemble.n_features if batch.ragged else features.values.shape[1]
        yield replace(features, values=values_of(features, width)), batch.base_margin


def _within(rows: SparseMatrix, n_features: int, where: str) -> SparseMatrix:
    """Leave out entries of columns that the model does not have, with a warning."""
    gone = rows.columns >= n_features
    if gone.any():
        warnings.warn(
            f"{where}: {plural(int(gone.sum()), 'value')} in columns from {n_features} on (from 0) "
            f"are left out, as the model has {n_features} features",
            stacklevel=2,
        )
        ends = rows.row_starts - np.searchsorted(np.flatnonzero(gone), rows.row_starts)
        rows = SparseMatrix(
            (rows.shape[0], n_features), ends, rows.columns[~gone], rows.values[~gone]
        )
    return rows
