"""Checks of a feature matrix: whatever the user has -> float32 in C order, NaN for missing.

`check_target`, `check_binary_labels` and `check_weight` live in `pyopencl_gbdt.data.targets`,
`encode_labels` in `pyopencl_gbdt.data.classes`; all can be had from here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.classes import encode_labels
from pyopencl_gbdt.data.containers import (
    NUMERIC_KINDS,
    as_array,
    as_numeric,
    frame_names,
    is_frame,
    series_to_numeric,
)
from pyopencl_gbdt.data.narrow import Scan, fill, to_float32
from pyopencl_gbdt.data.places import Source
from pyopencl_gbdt.data.targets import (
    check_binary_labels,
    check_target,
    check_weight,
)
from pyopencl_gbdt.errors import DataError

__all__ = [
    "check_binary_labels",
    "check_matrix",
    "check_target",
    "check_weight",
    "encode_labels",
]


def check_matrix(
    X: Any, *, name: str = "X", n_features: int | None = None, allow_missing: bool = True
) -> tuple[NDArray[np.float32], list[str] | None]:
    """Check a feature matrix and convert it to float32.

    Parameters
    ----------
    X : (n_rows, n_features) array-like or DataFrame
        NumPy array of bool, integers or floats in any byte and memory order, masked array, nested
        lists, array of Python numbers, or pandas DataFrame (nullable dtypes too). NaN, None,
        pd.NA and masked elements are missing values.
    name : str
        What messages call it.
    n_features : int or None
        The number of columns it has to have.
    allow_missing : bool
        Missing values are allowed.

    Returns
    -------
    matrix : (n_rows, n_features) float32 array, C order
        `X` itself where it is that already: do not write into it. NaN is missing.
    feature_names : list of str, or None
        The columns of a DataFrame, unless none of them is a string.

    Raises
    ------
    DataError
        The shape, a dtype or a value cannot be used; the message says which, and where.
    """
    if is_frame(X):
        names = frame_names(X, Source(name))
        _check_shape(X.shape, name, n_features)
        return _frame_to_float32(X, Source(name, names), allow_missing), names
    source = Source(name)
    array = as_array(X, source)
    _check_shape(array.shape, name, n_features)
    return to_float32(as_numeric(array, source), source, allow_missing=allow_missing), None


def _check_shape(shape: tuple[int, ...], name: str, n_features: int | None) -> None:
    """Demand two dimensions, none of them empty, and the right number of columns."""
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


def _frame_to_float32(frame: Any, source: Source, allow_missing: bool) -> NDArray[np.float32]:
    """Convert a DataFrame: at once where all columns share a NumPy dtype, else one by one."""
    dtypes = list(frame.dtypes)
    first = dtypes[0]
    if isinstance(first, np.dtype) and first.kind in NUMERIC_KINDS and len(set(dtypes)) == 1:
        return to_float32(frame.to_numpy(), source, allow_missing=allow_missing)
    matrix = np.empty(frame.shape, np.float32)
    scan = Scan(source, allow_missing=allow_missing)
    for column in range(frame.shape[1]):
        given = series_to_numeric(frame.iloc[:, column], source, column)
        narrow = matrix[:, column : column + 1]
        fill(narrow, given)
        scan.add(given, narrow, column=column)
    scan.finish()
    return matrix
