"""Rows as this library takes them, read as LightGBM reads them."""

from __future__ import annotations

from collections.abc import Sequence as Listed
from typing import Any

import numpy as np

from pyopencl_gbdt.data.arrays.containers import is_frame, is_sparse

_LARGEST = np.finfo(np.float32).max / 4


def read_rows(data: Any, settings: dict[str, Any]) -> Any:
    """Return rows where absent entries of a sparse matrix are 0, as in LightGBM.

    Parameters
    ----------
    data : array, DataFrame, sparse matrix, list of arrays, Sequence or list of Sequence
    settings : dict
        ``zero_as_missing`` and ``use_missing`` count, by main names.

    Raises
    ------
    TypeError, ValueError
        In LightGBM's words.
    """
    if is_frame(data):
        _check_dtypes(data)
        uses_missing = bool(settings.get("use_missing", True))
        return _numbers_without_ends(_with_named_levels(data), uses_missing=uses_missing)
    if isinstance(data, (list, tuple)) and data:
        data = _joined(data)
    elif hasattr(data, "batch_size") and hasattr(data, "__getitem__"):
        data = _read_sequence(data)
    zero_missing = bool(settings.get("zero_as_missing", False))
    if is_sparse(data):
        data = data if zero_missing else data.toarray()
    elif not hasattr(data, "shape"):
        raise TypeError(f"Cannot initialize Dataset from {type(data).__name__}")
    if isinstance(data, np.ndarray):
        if data.ndim != 2:
            raise ValueError("Input numpy.ndarray must be 2 dimensional")
        if data.dtype.kind == "f":
            data = _without_ends(data, uses_missing=bool(settings.get("use_missing", True)))
    return data


def _without_ends(data: Any, *, uses_missing: bool) -> Any:
    """Return an array without infinite values, and without NaN if there are no missing values."""
    if np.isinf(data).any():
        data = np.clip(data, -_LARGEST, _LARGEST)
    return data if uses_missing else np.nan_to_num(data, nan=0.0)


def _numbers_without_ends(frame: Any, *, uses_missing: bool) -> Any:
    """Return a table without infinite values, and without NaN if there are no missing values."""
    numbers = frame.select_dtypes(include=["float32", "float64"])
    if uses_missing and not np.isinf(numbers.to_numpy()).any():
        return frame
    own = numbers.clip(-_LARGEST, _LARGEST)
    return frame.assign(**(own if uses_missing else own.fillna(0)))


def whole_levels(data: Any, columns: Listed[int] | None) -> Any:
    """Return an array whose categorical columns hold whole numbers, as LightGBM reads them.

    Fractions are rounded towards 0; what is below 0 is missing.
    """
    if not columns or not isinstance(data, np.ndarray) or data.dtype.kind not in "fi":
        return data
    own = np.trunc(data[:, columns].astype(np.float64))
    if np.array_equal(own, data[:, columns], equal_nan=True) and not (own < 0).any():
        return data
    found = data.astype(np.float64)
    found[:, columns] = np.where(own < 0, np.nan, own)
    return found


def _joined(data: Listed[Any]) -> Any:
    if all(isinstance(one, np.ndarray) and one.ndim == 2 for one in data):
        if len({one.shape[1] for one in data}) > 1:
            raise ValueError("Input arrays must have same number of columns")
        return np.concatenate(data)
    if all(hasattr(one, "batch_size") for one in data):
        return np.concatenate([_read_sequence(one) for one in data])
    if any(isinstance(one, np.ndarray) and one.ndim == 2 for one in data):
        raise TypeError("Data list can only be of ndarray or Sequence")
    try:
        found = np.array(data, np.float64)
    except ValueError:
        raise TypeError("Cannot initialize Dataset from list") from None
    if found.ndim != 2:
        raise TypeError("Data list can only be of ndarray or Sequence")
    return found


def _read_sequence(rows: Any) -> Any:
    size, step = len(rows), rows.batch_size or 4096
    parts = [rows[first : min(first + step, size)] for first in range(0, size, step)]
    return np.concatenate([np.atleast_2d(part) for part in parts])


def _check_dtypes(frame: Any) -> None:
    wrong = [
        str(name)
        for name, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if getattr(dtype, "kind", "") in "OSUM" and getattr(dtype, "name", "") != "category"
    ]
    if wrong:
        raise ValueError(
            "pandas dtypes must be int, float or bool.\n"
            f"Fields with bad pandas dtypes: {', '.join(wrong)}"
        )


class Sequence:
    """Rows that are read piece by piece: LightGBM's ``Sequence``, to be subclassed.

    A subclass has ``__len__``, and ``__getitem__`` for a number and for a slice.
    """

    batch_size: int | None = 4096

    def __getitem__(self, idx: int | slice | list[int]) -> np.ndarray[Any, Any]:
        raise NotImplementedError("Sub-classes of lightgbm.Sequence must implement __getitem__()")

    def __len__(self) -> int:
        raise NotImplementedError("Sub-classes of lightgbm.Sequence must implement __len__()")


def _with_named_levels(frame: Any) -> Any:
    """Return a table whose levels are whole numbers or texts: other numbers become texts."""
    others = [
        place
        for place, dtype in enumerate(frame.dtypes)
        if getattr(dtype, "name", "") == "category" and dtype.categories.dtype.kind in "fb"
    ]
    found = frame.copy() if others else frame
    for place in others:
        column = frame.iloc[:, place].cat
        found.isetitem(place, column.rename_categories(map(str, column.categories)))
    return found
