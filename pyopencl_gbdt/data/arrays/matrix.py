"""Checks of a feature matrix: users' input -> float32 in C order, NaN for missing values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.containers import (
    CHUNK,
    NUMERIC_KINDS,
    as_array,
    as_numeric,
    column_to_numeric,
    frame_names,
    is_frame,
    plain_column,
    series_to_numeric,
)
from pyopencl_gbdt.data.arrays.narrow import ValueScan, check_missing, fill, to_float32
from pyopencl_gbdt.data.arrays.tables import (
    ColumnTable,
    is_table,
    open_table,
    split_table,
    table_names,
)
from pyopencl_gbdt.data.blurred import Blurred
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import Source


def check_matrix(
    X: Any,
    *,
    name: str = "X",
    n_features: int | None = None,
    missing: float | None = None,
    coded: Mapping[int, NDArray[np.float32]] | None = None,
    blurred: Blurred | None = None,
) -> tuple[NDArray[np.float32], list[str] | None]:
    """Check a feature matrix and convert it to float32.

    Parameters
    ----------
    X : (n_rows, n_features) array-like or DataFrame
        NumPy array of bool, integers or floats in any byte and memory order, masked array, nested
        lists, array of Python numbers, pandas DataFrame (nullable dtypes too), polars or Arrow
        table, or an array of a library that supports DLPack, copied if it is on a device. NaN,
        None, nulls, pd.NA and masked elements are missing values.
    n_features : int or None
        The required number of columns; None accepts any.
    missing : float or None
        A number that also means "missing".
    coded : mapping of int to float32 array, shape (n_rows,), or None
        Columns that are taken from here instead of X: codes of categories.

    Returns
    -------
    matrix : (n_rows, n_features) float32 array, C order
        `X` itself if it already has this form: do not write into it. NaN means missing.
    feature_names : list of str, or None
        The column names of a table; None if they are a DataFrame's numbers 0, 1, 2, ...

    Raises
    ------
    DataError
        The shape, a dtype or a value cannot be used; the message names the value and its place.
    """
    absent, coded = check_missing(missing), coded or {}
    if is_frame(X):
        names = frame_names(X, Source(name))
        check_shape(X.shape, name, n_features)
        scan = ValueScan(Source(name, names), blurred=blurred)
        return _frame_to_float32(X, scan, absent, coded), names
    if is_table(X):
        table = open_table(X, Source(name))
        check_shape(table.shape, name, n_features)
        scan = ValueScan(Source(name, table.names), blurred=blurred)
        return _table_to_float32(table, scan, absent, coded), table.names
    source = Source(name)
    array = as_array(X, source)
    check_shape(array.shape, name, n_features)
    if coded:
        table = ColumnTable([], [plain_column(array, column) for column in range(array.shape[1])])
        scan = ValueScan(source, blurred=blurred)
        return _table_to_float32(table, scan, absent, coded), None
    numeric = as_numeric(array, source)
    return to_float32(numeric, source, missing=absent, blurred=blurred), None


def column_names(X: Any, name: str = "X") -> list[str] | None:
    """Return the column names of a table as `check_matrix` does, without reading its rows."""
    if is_frame(X):
        return frame_names(X, Source(name))
    return table_names(X) if is_table(X) else None


def column_labels(X: Any) -> list[Any] | None:
    """Return the labels of a table's columns unchanged; None for an array."""
    if is_frame(X):
        return list(X.columns)
    return table_names(X) if is_table(X) else None


def take_column(X: Any, name: str) -> tuple[Any, NDArray[Any]]:
    """Return a table without one of its columns, and that column as an array."""
    if is_frame(X):
        return X.drop(columns=[name]), np.asarray(X[name])
    return split_table(X, name)


def has_text_names(X: Any) -> bool:
    """Tell whether a table has names that scikit-learn keeps as ``feature_names_in_``."""
    return is_table(X) if not is_frame(X) else any(isinstance(c, str) for c in X.columns)


def check_shape(shape: tuple[int, ...], name: str, n_features: int | None) -> None:
    """Require two dimensions, neither of size 0, and the right number of columns."""
    if len(shape) == 1:
        raise DataError(
            f"{name} has shape {shape}: expected rows and features. Reshape your data: "
            f"{name}.reshape(-1, 1) if it is one feature or {name}.reshape(1, -1) if it is one row"
        )
    if len(shape) != 2:
        raise DataError(
            f"{name} has shape {shape}: expected two dimensions (rows, features); "
            f"give an array with a row per example"
        )
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise DataError(
                f"{name} has 0 {what}(s) (shape={shape}) while a minimum of 1 is required; "
                f"check the selection that made it"
            )
    if n_features is not None and shape[1] != n_features:
        raise DataError(
            f"{name} has {shape[1]} features, but the model is expecting {n_features} features as "
            f"input; give the same features, in the same order, as in training"
        )


def _frame_to_float32(
    frame: Any,
    scan: ValueScan,
    missing: float,
    coded: Mapping[int, NDArray[np.float32]],
) -> NDArray[np.float32]:
    """Convert a DataFrame: at once if its columns share a NumPy dtype, else column by column."""
    dtypes = list(frame.dtypes)
    first = dtypes[0]
    alike = isinstance(first, np.dtype) and first.kind in NUMERIC_KINDS and len(set(dtypes)) == 1
    if alike and not coded:
        return to_float32(frame.to_numpy(), scan.source, missing=missing, blurred=scan.blurred)
    matrix = np.empty(frame.shape, np.float32)
    for column in range(frame.shape[1]):
        if column in coded:
            matrix[:, column] = coded[column]
            continue
        given = series_to_numeric(frame.iloc[:, column], scan.source, column)
        narrow = matrix[:, column : column + 1]
        fill(narrow, given, missing)
        scan.add(given, narrow, column=column)
        scan.compare(given, narrow, column)
    scan.finish()
    return matrix


def _table_to_float32(
    table: ColumnTable,
    scan: ValueScan,
    missing: float,
    coded: Mapping[int, NDArray[np.float32]],
) -> NDArray[np.float32]:
    """Convert a table, a block of rows at a time, so that each block fits into the cache."""
    columns = [
        coded[number].reshape(-1, 1)
        if number in coded
        else column_to_numeric(column, scan.source, number)
        for number, column in enumerate(table.columns)
    ]
    n_rows, n_columns = len(columns[0]), len(columns)
    matrix = np.empty((n_rows, n_columns), np.float32)
    step = max(1, CHUNK // n_columns)
    for start in range(0, n_rows, step):
        for number, column in enumerate(columns):
            given = column[start : start + step]
            narrow = matrix[start : start + step, number : number + 1]
            fill(narrow, given, np.nan if number in coded else missing)
            scan.add(given, narrow, start, number)
            if number not in coded:
                scan.compare(given, narrow, number)
    scan.finish()
    return matrix
