"""Rows as this library takes them, read as LightGBM reads them, and its bins of their columns.

Bins say how many rows they have at least, and the user can force some. The rule is LightGBM's
(``src/io/bin.cpp``): zero has a bin of its own, values below and above it share the bins by their
rows, and a value that is as frequent as a bin is large has its own bin.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from collections.abc import Sequence as Listed
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.names import by_main_names
from pyopencl_gbdt.data import dataset as own
from pyopencl_gbdt.data.arrays.containers import is_frame, is_sparse
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show

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


F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: Values no further from 0 are in the bin of 0.
_ZERO = 1e-35


def bins_of(rows: own.Dataset, params: Mapping[str, Any]) -> dict[int, F32]:
    """Return the thresholds between the bins of each column that holds numbers.

    ``rows``: dense rows.
    ``params``: LightGBM's, by any name.

    Returns
    -------
    dict of int to float32 array
        Ascending; a value is below a threshold, or in a later bin.

    Raises
    ------
    ParameterError
        If ``max_bin_by_feature`` or the file of ``forcedbins_filename`` does not fit the columns.
    """
    given = by_main_names(dict(params))
    most = _most_bins(given, rows.n_features)
    forced = forced_bounds(given.get("forcedbins_filename"), rows.n_features)
    least = int(given.get("min_data_in_bin") or 3)
    sampled = _sample(rows.values, given)
    return {
        column: _thresholds(sampled[:, column], most[column], least, forced.get(column, []))
        for column in range(rows.n_features)
        if column not in rows.categories
    }


def _most_bins(given: Mapping[str, Any], n_features: int) -> list[int]:
    each = given.get("max_bin_by_feature")
    if isinstance(each, str):
        each = [int(one) for one in each.split(",") if one.strip()]
    if each is None or not each:
        return [int(given.get("max_bin") or 255)] * n_features
    if len(each) != n_features or min(each) < 2:
        raise ParameterError(
            f"max_bin_by_feature={show(list(each))}: expected {n_features} numbers of at least 2, "
            "one for each column; give as many, or max_bin"
        )
    return [int(one) for one in each]


def forced_bounds(path: Any, n_features: int) -> dict[int, list[float]]:
    """Return the upper bounds of bins that a file forces, by column.

    Raises
    ------
    ParameterError
        If the file does not exist, or names a column that does not exist.
    """
    if path in (None, ""):
        return {}
    file = Path(path)
    if not file.is_file():
        raise ParameterError(
            f"forcedbins_filename={show(str(path))}: there is no such file; give the path of a "
            'file such as [{"feature": 0, "bin_upper_bound": [0.3, 0.4]}]'
        )
    found: dict[int, list[float]] = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        column = int(entry["feature"])
        if not 0 <= column < n_features:
            raise ParameterError(
                f"forcedbins_filename={show(str(path))}: feature {column}: expected 0 .. "
                f"{n_features - 1}; remove the entry"
            )
        found[column] = [float(one) for one in entry["bin_upper_bound"]]
    return found


def _sample(values: F32, given: Mapping[str, Any]) -> F32:
    """Return as many rows as LightGBM looks at to find bins."""
    most = int(given.get("bin_construct_sample_cnt") or 200_000)
    if len(values) <= most:
        return values
    draw = np.random.default_rng(int(given.get("data_random_seed") or 1))
    return values[np.sort(draw.choice(len(values), most, replace=False))]


def _thresholds(column: F32, most: int, least: int, forced: list[float]) -> F32:
    ordered = np.sort(column)
    n_present = int(np.searchsorted(ordered, np.nan))
    ordered = ordered[:n_present]
    if n_present < column.size:
        most -= 1  # missing values have a bin of their own
    new = np.append(True, ordered[1:] != ordered[:-1])[:n_present]
    starts = np.flatnonzero(new)
    counts = np.diff(np.append(starts, n_present))
    values = ordered[starts].astype(np.float64)
    find = _beside_forced if forced else _around_zero
    bounds = np.array(find(values, counts, most, least, forced)[:-1], np.float64)
    above = bounds.astype(np.float32)
    above = np.where(above > bounds, above, np.nextafter(above, np.float32(np.inf)))
    return np.unique(above.astype(np.float32))


def _around_zero(
    values: F64, counts: I64, most: int, least: int, forced: list[float]
) -> list[float]:
    """Return the upper bounds of bins; those of values on both sides of 0 are found apart."""
    left, right = (int(end) for end in np.searchsorted(values, [-_ZERO, _ZERO], side="right"))
    below, above = int(counts[:left].sum()), int(counts[right:].sum())
    bounds: list[float] = []
    if left and most > 1:
        share = max(1, int(below / (below + above) * (most - 1)))
        bounds = _filled(values[:left], counts[:left], share, least)
        bounds[-1] = -_ZERO
    rest = most - 1 - len(bounds)
    if right < values.size and rest > 0:
        return [*bounds, _ZERO, *_filled(values[right:], counts[right:], rest, least)]
    return [*bounds, math.inf]


def _beside_forced(
    values: F64, counts: I64, most: int, least: int, forced: list[float]
) -> list[float]:
    """Return the forced upper bounds, and others between them."""
    left, right = (int(end) for end in np.searchsorted(values, [-_ZERO, _ZERO], side="right"))
    if most == 2:
        kept = [-_ZERO if left else _ZERO]
    else:
        kept = [-_ZERO] * (left > 0) + [_ZERO] * (right < values.size)
    kept.append(math.inf)
    own_bounds = [one for one in forced if abs(one) > _ZERO]
    kept = sorted([*kept, *own_bounds[: max(most - len(kept), 0)]])
    free, total = most - len(kept), int(counts.sum())
    added: list[float] = []
    ends = np.searchsorted(values, kept)
    for place, (first, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        part = int(counts[first:end].sum())
        left_over = most - len(kept) - len(added)
        share = min(math.floor(part * free / max(total, 1) + 0.5), left_over) + 1
        if place == len(kept) - 1:
            share = left_over + 1
        if first < end:
            added += _filled(values[first:end], counts[first:end], share, least)[:-1]
    return sorted([*kept, *added])


def _filled(values: F64, counts: I64, most: int, least: int) -> list[float]:
    """Return the upper bounds of at most so many bins, each of ``least`` rows or more."""
    ends = (_each if values.size <= most else _equal)(counts, most, least)
    return [*((values[ends] + values[ends + 1]) / 2).tolist(), math.inf]


def _each(counts: I64, most: int, least: int) -> I64:
    """Return the last value of each bin but the last, where each value may be a bin."""
    ends, held = [], 0
    for place, n in enumerate(counts[:-1].tolist()):
        held += n
        if held >= least:
            ends.append(place)
            held = 0
    return np.array(ends, np.int64)


def _equal(counts: I64, most: int, least: int) -> I64:
    """Return the last value of each bin but the last: bins of equally many rows."""
    total = np.cumsum(counts)
    n_rows = int(total[-1])
    most = max(min(most, n_rows // least), 1)
    big = counts >= n_rows / most
    places = np.append(np.flatnonzero(big), counts.size)
    left = n_rows - int(counts[big].sum())
    of_small = np.cumsum(np.where(big, 0, counts))
    bins = most - int(np.count_nonzero(big))
    mean = left / bins if bins else math.inf
    ends: list[int] = []
    start, done, running = 0, 0, total.astype(np.float64)  # a search for a float casts integers
    while len(ends) < most - 1:
        frequent = int(places[places.searchsorted(start)])
        end = min(max(int(running.searchsorted(done + mean)), start), frequent)
        before = frequent - 1
        if start <= before < end and frequent < counts.size and (
            total[before] - done >= max(1.0, mean * 0.5)
        ):  # fmt: skip
            end = before
        if end >= counts.size - 1:
            break
        ends.append(end)
        if not big[end]:
            bins -= 1
            mean = (left - int(of_small[end])) / bins if bins else math.inf
        start, done = end + 1, int(total[end])
    return np.array(ends, np.int64)
