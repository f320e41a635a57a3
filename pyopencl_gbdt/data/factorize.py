"""The distinct values of a column of NumPy, pandas or Arrow, without a loop over its rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.category_columns import Column, as_objects


def factorize(column: Any) -> Column:
    """Return the distinct values of a column of any library.

    Parameters
    ----------
    column : Column, pandas Series, pyarrow array, or (n_rows,) array
    """
    if isinstance(column, Column):
        return column
    pandas, arrow = sys.modules.get("pandas"), sys.modules.get("pyarrow")
    if pandas is not None and isinstance(column, pandas.Series):
        return _of_series(column, pandas)
    if arrow is not None and isinstance(column, (arrow.ChunkedArray, arrow.Array)):
        return _of_arrow(column, arrow)
    array = np.asarray(column)
    return _of_numbers(array) if array.dtype.kind in "biuf" else _of_objects(array)


def _of_numbers(array: NDArray[Any]) -> Column:
    """Find distinct numbers: by a table where integers have a small range, else by sorting."""
    if array.dtype.kind == "f" and np.all(np.abs(array) < 2**53):
        whole = array.astype(np.int64)
        array = whole if np.array_equal(whole, array) else array
    if array.size and array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if high - low < 4 * array.size:
            return Column(np.arange(low, high + 1), (array - array.min()).astype(np.int64))
    distinct, places = np.unique(array, return_inverse=True)
    return Column(distinct, places.reshape(-1))


def _of_objects(array: NDArray[Any]) -> Column:
    pandas = sys.modules.get("pandas")
    if pandas is not None and array.dtype.kind == "O":  # four times as fast as what follows
        try:
            places, distinct = pandas.factorize(array)
        except TypeError:
            pass
        else:
            return Column(distinct, places)
    values = array.tolist()
    try:
        place_of = {value: place for place, value in enumerate(dict.fromkeys(values))}
    except TypeError:  # a list or dict is no level: keep all values for the message
        return Column(as_objects(values), np.arange(array.size))
    places = np.fromiter(map(place_of.__getitem__, values), np.int64, len(values))
    return Column(as_objects(list(place_of)), places)


def _of_series(series: Any, pandas: Any) -> Column:
    if getattr(series.dtype, "name", "") == "category":
        distinct = series.cat.categories
        return Column(_plain(distinct), np.asarray(series.cat.codes))
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return factorize(series.to_numpy())
    try:
        places, distinct = pandas.factorize(series)
    except (TypeError, NotImplementedError):  # a list is no level; old pandas, Arrow's dictionaries
        return _of_objects(np.asarray(series, dtype=object))
    return Column(_plain(distinct), places)


def _plain(index: Any) -> NDArray[Any]:
    """Return pandas' distinct values as an array of NumPy's numbers, or of objects."""
    dtype = index.dtype
    numeric = isinstance(dtype, np.dtype) and dtype.kind in "biufMm"
    return np.asarray(index) if numeric else np.asarray(index, dtype=object)


def _of_arrow(column: Any, arrow: Any) -> Column:
    column.validate(full=True)  # what follows ends the process where offsets are damaged
    if not arrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, arrow.ChunkedArray):
        chunks = column.unify_dictionaries().chunks
        if not chunks:
            return Column(np.empty(0, object), np.empty(0, np.int64))
        dictionary = chunks[0].dictionary
        parts = [chunk.indices for chunk in chunks]
    else:
        dictionary, parts = column.dictionary, [column.indices]
    places = np.concatenate([part.cast(arrow.int64()).fill_null(-1).to_numpy() for part in parts])
    if arrow.types.is_integer(dictionary.type):
        return Column(np.asarray(dictionary.to_numpy(zero_copy_only=False)), places)
    return Column(as_objects(dictionary.to_pylist()), places)
