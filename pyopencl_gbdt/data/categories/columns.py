"""Columns of levels as the user's library holds them: distinct values, and which one a row has."""

from __future__ import annotations

import math
import numbers
import re
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show

#: A whole number as Python writes it: text that spells one is that number.
_SPELLED = re.compile(r"0|-?[1-9][0-9]{0,17}")
_CONVERT = "convert the column, for example by astype(str)"


@dataclass(frozen=True, eq=False)
class Column:
    """A column as its distinct values.

    Attributes
    ----------
    distinct : (n_distinct,) array
        In any order; it may have values that no row has, and missing values.
    places : (n_rows,) array of int
        The index of each row's value in `distinct`; -1 where it is missing.
    is_text : bool
        Whether all values are text because of where they come from, such as a CSV file: then text
        that spells whole numbers may be these numbers.
    """

    distinct: NDArray[Any]
    places: NDArray[np.signedinteger[Any]]
    is_text: bool = False

    def __len__(self) -> int:
        return len(self.places)

    def rows(self) -> NDArray[Any]:
        """Return the value of each row, as objects; None where it is missing."""
        values = np.empty(len(self.distinct) + 1, object)
        values[:-1] = self.distinct
        found: NDArray[Any] = values[self.places]
        return found

    def sample(self) -> NDArray[Any]:
        """Return what rows hold; of strings, the rows up to the first string are enough."""
        present = np.flatnonzero(self.places >= 0)
        if self.distinct.dtype.kind != "O" or not present.size:
            return self.rows()
        found = np.full(int(present[0]) + 1, None, object)
        found[-1] = self.distinct[self.places[present[0]]]
        return found


def clean(
    column: Column, used: NDArray[np.bool_], where: str, wanted: str | None
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the values that rows have, as int64 or as objects that are str.

    Parameters
    ----------
    used : bool array, shape (n_distinct,)
        Which of the distinct values rows have.
    wanted : {"strings", "whole numbers"} or None
        What the levels of training are.

    Returns
    -------
    places : (n_values,) array
        Indices into ``column.distinct``, without those of missing values.
    values : (n_values,) int64 array, or object array of str

    Raises
    ------
    DataError
        The values are of several types, or neither strings nor whole numbers.
    """
    places, values = np.flatnonzero(used), column.distinct[used]
    if values.dtype.kind in "OU":
        values = values.astype(object)
        here = ~_absent(values)
        places, values = places[here], values[here]
        kinds = set(map(type, values.tolist()))
        if not kinds or not all(issubclass(kind, str) for kind in kinds):
            values = _numbers(values, where)
        elif column.is_text and _are_numbers(values.tolist(), wanted):
            here = np.array([_SPELLED.fullmatch(text) is not None for text in values], np.bool_)
            return places[here], np.array(list(map(int, values[here])), np.int64)
        else:
            return places, _strings(values, kinds, where)
    elif values.dtype.kind == "f":
        here = ~np.isnan(values)
        places, values = places[here], values[here]
    return places, _whole(values, where)


def _absent(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which objects are missing values: None, NaN, pandas' NA and NaT."""
    pandas = sys.modules.get("pandas")
    known = () if pandas is None else (type(pandas.NA), type(pandas.NaT))
    types = (type(None), *known)
    listed = values.tolist()
    if not any(issubclass(kind, (*types, float)) for kind in set(map(type, listed))):
        return np.zeros(values.shape, np.bool_)
    found = (isinstance(v, types) or (isinstance(v, float) and math.isnan(v)) for v in listed)
    return np.fromiter(found, np.bool_, values.size)


def _are_numbers(texts: list[str], wanted: str | None) -> bool:
    """Tell whether text of a file stands for numbers: as in training, or all of it."""
    if wanted is not None:
        return wanted == "whole numbers"
    return all(map(_SPELLED.fullmatch, texts))


def _strings(values: NDArray[Any], kinds: set[type], where: str) -> NDArray[Any]:
    texts = values.tolist()
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError:
        bad = next(text for text in texts if re.search("[\ud800-\udfff]", text))
        raise DataError(
            f"{where} holds {show(bad)}: expected a string that UTF-8 can hold; replace its lone "
            "surrogates"
        ) from None
    return values if kinds == {str} else as_objects(list(map(str, texts)))  # numpy.str_


def as_objects(values: list[Any]) -> NDArray[Any]:
    """Return a list as an object array, whatever its entries are."""
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _numbers(values: NDArray[Any], where: str) -> NDArray[Any]:
    """Return objects as int64 or float64; raise if there are several kinds, or no numbers."""
    numeric = (numbers.Real, np.bool_)
    first: dict[str, object] = {}
    for value in values.tolist():
        kind = "number" if isinstance(value, numeric) else type(value).__name__
        if len(first) < 2:
            first.setdefault("str" if isinstance(value, str) else kind, value)
    if len(first) > 1:
        one, other = first.values()
        raise DataError(
            f"{where} holds {show(one)} ({type(one).__name__}) and {show(other)} "
            f"({type(other).__name__}): expected one type in a categorical column; {_CONVERT}"
        )
    if {*first} - {"number"}:
        raise DataError(
            f"{where} holds {show(values[0])} ({type(values[0]).__name__}): expected strings or "
            f"whole numbers in a categorical column; {_CONVERT}"
        )
    try:
        return np.array(values.tolist(), np.int64 if _integral(values) else np.float64)
    except OverflowError:
        large = next(v for v in values.tolist() if not abs(v) < 2**63)
        raise _not_whole(large, where) from None


def _integral(values: NDArray[Any]) -> bool:
    return all(isinstance(value, (numbers.Integral, np.bool_)) for value in values.tolist())


def _whole(values: NDArray[Any], where: str) -> NDArray[np.int64]:
    kind = values.dtype.kind
    if kind not in "biuf":
        shown = f", such as {show(values[0])}" if values.size else ""
        raise DataError(
            f"{where} has dtype {values.dtype}{shown}: expected strings or whole numbers in a "
            f"categorical column; {_CONVERT}"
        )
    if kind == "f":
        wrong = ~(np.abs(values) < 2.0**63) | (values != np.rint(values))
    else:
        wrong = values > np.uint64(2**63 - 1) if kind == "u" else np.zeros(values.shape, np.bool_)
    if wrong.any():
        raise _not_whole(values[int(np.argmax(wrong))], where)
    return np.asarray(values.astype(np.int64))


def _not_whole(value: object, where: str) -> DataError:
    return DataError(
        f"{where} holds {show(value)}: expected whole numbers below 2^63, or strings, in a "
        "categorical column; leave the column out of categorical_features, or convert it"
    )


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
    except TypeError:  # a list or dict is not a level: keep all values for the message
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
    except (
        TypeError,
        NotImplementedError,
    ):  # a list is not a level; old pandas, Arrow's dictionaries
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
