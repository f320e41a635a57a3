"""Checks of what stands beside the matrix: targets, class labels, weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.containers import (
    as_array,
    as_numeric,
    fill_masked,
    is_frame,
    is_series,
    missing_types,
    series_to_numeric,
)
from pyopencl_gbdt.data.labels import check_labels
from pyopencl_gbdt.data.narrow import to_float32
from pyopencl_gbdt.data.places import Source, plural, show
from pyopencl_gbdt.errors import DataError

N_SHOWN = 5
"""Classes listed in a message."""


def check_target(
    y: Any, n_rows: int, *, objective: str = "reg:squarederror"
) -> NDArray[np.float32]:
    """Check the target of a training run.

    Parameters
    ----------
    y : (n_rows,) or (n_rows, n_targets) array-like, Series or DataFrame
        Finite numbers, of which the objective may take some alone, see ``labels.LABELS``.
    n_rows : int
        The number of rows of the matrix.
    objective : str
        The objective's name.

    Returns
    -------
    target : (n_rows,) float32 array, or (n_rows, n_targets) where there are several targets
        `y` itself where it is that already.

    Raises
    ------
    DataError
        The shape, the length, the dtype or a value cannot be used.
    """
    target = _columns(y, n_rows, "y")
    for column in [target] if target.ndim == 1 else target.T:
        check_labels(column, objective)
    return target


def check_binary_labels(y: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return `y`, a (n_rows,) float32 array, if it holds only 0 and 1; one class alone may do."""
    return check_labels(y, "binary:logistic")


def encode_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Encode the two classes of a classifier's target as 0 and 1.

    Parameters
    ----------
    y : (n_rows,) or (n_rows, 1) array-like, Series or one-column DataFrame
        Any two distinct labels: strings, bools, numbers.

    Returns
    -------
    classes : (2,) array
        The labels, sorted, in their own dtype.
    codes : (n_rows,) float32 array
        0 for ``classes[0]``, 1 for ``classes[1]``.

    Raises
    ------
    DataError
        A label is missing or infinite, or there are not two classes.
    """
    labels = _labels(y)
    source = Source("y", is_vector=True)
    missing = _absent(labels)
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(
            f"y holds {plural(int(missing.sum()), 'missing or infinite label')}, the first "
            f"({show(labels[row])}) at {source.place(row, 0)}: expected a label in every row; "
            f"drop these rows"
        )
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise DataError(
            f"y mixes labels of types {', '.join(kinds)}: expected one type; convert them"
        ) from error
    if len(classes) != 2:
        few = ", ".join(show(label) for label in classes[:N_SHOWN])
        more = ", ..." if len(classes) > N_SHOWN else ""
        move = (
            "add rows of the other class"
            if len(classes) < 2
            else "Only binary classification is supported. The type of the target is "
            "multiclass; for a numeric target use GBDTRegressor"
        )
        if classes.dtype.kind == "f" and (classes != np.rint(classes)).any():
            move = "Unknown label type: continuous; use GBDTRegressor"
        n_classes = "1 class" if len(classes) == 1 else f"{len(classes)} classes"
        raise DataError(f"y has {n_classes} ({few}{more}): expected 2; {move}")
    return classes, codes.reshape(-1).astype(np.float32)


def check_weight(w: Any, n_rows: int) -> NDArray[np.float32] | None:
    """Check row weights.

    Parameters
    ----------
    w : None, or (n_rows,) or (n_rows, 1) array-like
        Finite numbers, none negative, not all zero (in float32).
    n_rows : int
        The number of rows of the matrix.

    Returns
    -------
    weight : (n_rows,) float32 array, contiguous, or None
        `w` itself where it is that already.

    Raises
    ------
    DataError
        The shape, the length, the dtype or a value cannot be used.
    """
    if w is None:
        return None
    weight = check_vector(w, n_rows, "weight")
    negative = weight < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise DataError(
            f"weight holds {plural(int(negative.sum()), 'negative value')}, the first "
            f"({show(weight[row])}) at {Source('weight', is_vector=True).place(row, 0)}: "
            f"expected numbers >= 0; use 0 to leave a row out"
        )
    if not weight.any():
        raise DataError(
            "weight is zero in every row: expected at least one above 0; leave it out for 1 each"
        )
    return weight


def check_feature_weights(weights: Any, n_features: int) -> NDArray[np.float32] | None:
    """Check the weights of columns: None, or a finite number above 0 for each."""
    if weights is None:
        return None
    shape = np.shape(weights)
    if shape != (n_features,):
        raise DataError(
            f"feature_weights has shape {shape}, X has {plural(n_features, 'column')}: expected a "
            f"weight per column; give {n_features} numbers"
        )
    found = check_vector(weights, n_features, "feature_weights")
    if not (found > 0).all():
        column = int(np.argmin(found > 0))
        raise DataError(
            f"feature_weights holds {show(found[column])} for column {column}: expected numbers "
            f"above 0; leave the column out of X"
        )
    return found


def check_base_margin(
    margin: Any, n_rows: int, n_outputs: int | None = None
) -> NDArray[np.float32] | None:
    """Check the margins that rows start from: None, or a finite number a row and output.

    Of shape (n_rows,), or (n_rows, n_outputs) where there are several outputs.
    """
    if margin is None:
        return None
    found = _columns(margin, n_rows, "base_margin")
    n_found = 1 if found.ndim == 1 else found.shape[1]
    if n_outputs is not None and n_found != n_outputs:
        raise DataError(
            f"base_margin has {plural(n_found, 'column')}, the model "
            f"{plural(n_outputs, 'output')}: expected a column for every output; give "
            f"(n_rows, {n_outputs}) numbers"
        )
    return found


def _columns(values: Any, n_rows: int, name: str) -> NDArray[np.float32]:
    """Convert to float32 without NaN or infinity: (n_rows,), or (n_rows, n) of several columns."""
    if is_series(values):
        return check_vector(values, n_rows, name)
    is_table = is_frame(values)
    table: Any = values if is_table else as_array(values, Source(name, is_vector=True))
    if table.ndim > 2:
        raise DataError(
            f"{name} has shape {table.shape}: expected (n_rows,) or (n_rows, n_outputs); give a "
            f"column for every output"
        )
    if table.ndim == 1 or table.shape[1] < 2:
        return check_vector(table, n_rows, name)
    _check_length(len(table), n_rows, name)
    columns = [table.iloc[:, i] if is_table else table[:, i] for i in range(table.shape[1])]
    return np.column_stack(
        [check_vector(column, n_rows, f"{name}[:, {i}]") for i, column in enumerate(columns)]
    )


def check_vector(
    values: Any, n_rows: int, name: str, *, infinity: bool = False
) -> NDArray[np.float32]:
    """Convert to (n_rows,) float32 without NaN, and without infinities unless +inf may be."""
    source = Source(name, is_vector=True)
    column = _column(values, source)
    _check_length(len(column), n_rows, name)
    if is_series(column):
        numeric = series_to_numeric(column, source)
    else:
        numeric = as_numeric(column.reshape(-1, 1), source)
    if not infinity:
        return to_float32(numeric, source, allow_missing=False).reshape(-1)
    endless = np.asarray(numeric == np.inf)
    finite = to_float32(np.where(endless, 0, numeric), source, allow_missing=False)
    return np.where(endless, np.float32(np.inf), finite).reshape(-1)


def _check_length(length: int, n_rows: int, name: str) -> None:
    if length != n_rows:
        raise DataError(
            f"{name} has {plural(length, 'value')}, X has {plural(n_rows, 'row')}: "
            f"expected one value per row; pass the {name} that belongs to X"
        )


def _column(values: Any, source: Source) -> Any:
    """Return a Series as it is and anything else as a one-dimensional array of any dtype."""
    if is_frame(values) and values.shape[1] == 1:
        return values.iloc[:, 0]
    if is_series(values):
        return values
    array = as_array(values, source)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise DataError(
            f"{source.name} has shape {array.shape}: expected (n_rows,) or (n_rows, 1); "
            f"give one column"
        )
    return array


def _labels(y: Any) -> NDArray[Any]:
    """Return labels as a one-dimensional array; objects that are all bools or numbers as such."""
    column = _column(y, Source("y", is_vector=True))
    if isinstance(column, np.ma.MaskedArray):
        column = fill_masked(column, object)
    labels = np.asarray(column)
    if labels.dtype.kind == "O":
        kinds = set(map(type, labels))
        if kinds <= {bool, int, float, np.bool_} or all(issubclass(k, np.number) for k in kinds):
            labels = np.array(labels.tolist())
        elif kinds <= {str, np.str_} and not is_series(column):
            labels = labels.astype(str)
    return labels


def _absent(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark what is no label: None, NaN, NaT, pd.NA and infinity."""
    kind = labels.dtype.kind
    if kind == "f":
        return np.asarray(~np.isfinite(labels))
    if kind in "Mm":
        return np.asarray(np.isnat(labels))
    if kind != "O":
        return np.zeros(len(labels), np.bool_)
    types = missing_types()
    return np.fromiter(
        (isinstance(v, types) or (isinstance(v, float) and not math.isfinite(v)) for v in labels),
        np.bool_,
        len(labels),
    )
