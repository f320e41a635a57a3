"""What comes with the rows of a ``DMatrix``: labels, weights, queries, margins, bounds.

Cut points of its columns are in the form in which XGBoost 3.2 shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.containers import as_array, as_numeric, is_frame, is_series
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.groups import group_offsets
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import Source, show
from pyopencl_gbdt.numerics.weights import whole
from pyopencl_gbdt.pages.columns import entries_of
from pyopencl_gbdt.pages.cuts import CUT_RULES

Array = npt.NDArray[Any]

#: Fields of float32, and whether they may have a column for each output.
FLOATS: Mapping[str, bool] = {
    "label": True,
    "weight": False,
    "base_margin": True,
    "label_lower_bound": False,
    "label_upper_bound": False,
    "feature_weights": False,
}
#: Fields of whole numbers that can be set.
COUNTS = ("group", "qid")


class RowFacts:
    """The fields of a ``DMatrix`` that are not columns."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.floats: dict[str, npt.NDArray[np.float32]] = {}
        self.offsets: npt.NDArray[np.int64] | None = None

    def set_float(self, field: str, data: Any) -> None:
        """Set a field of numbers; one without values is taken away.

        Raises
        ------
        DataError
            With XGBoost's words for a wrong size or value, and for an unknown field.
        """
        if field not in FLOATS:
            raise DataError(f"Unknown key: {field}; expected one of {sorted(FLOATS)}")
        values = _numbers(data, field, several=FLOATS[field])
        if values.size == 0:
            self.floats.pop(field, None)
            return
        self._check_size(field, values)
        self._check_values(field, values)
        if values.size > self.n_rows > 0 and field in ("label", "base_margin"):
            values = values.reshape(self.n_rows, -1)
        self.floats[field] = values

    def _check_size(self, field: str, values: Array) -> None:
        """Raise unless there is a value for each row; weights may be one for each query."""
        wrong = "bound" in field and len(values) != self.n_rows
        if field in ("label", "base_margin") and self.n_rows:
            wrong = values.size % self.n_rows > 0
        if wrong:
            raise DataError(
                f"Invalid size for `{field}`: {values.shape}, n_samples: {self.n_rows}; give one "
                "for each row"
            )

    @staticmethod
    def _check_values(field: str, values: Array) -> None:
        if field == "label" and not np.isfinite(values).all():
            raise DataError(
                "Label contains NaN, infinity or a value too large.; leave these rows out"
            )
        if field == "weight" and not ((values >= 0) & np.isfinite(values)).all():
            raise DataError("Weights must be positive values.; give numbers >= 0")
        if field == "feature_weights" and not ((values >= 0) & np.isfinite(values)).all():
            raise DataError("Feature weight must be greater than or equal to 0.; correct it")

    def set_count(self, field: str, data: Any) -> None:
        """Set the queries by their sizes (``group``), or by the query of each row (``qid``).

        Raises
        ------
        DataError
            If there is no such field, or the queries are not those of the rows.
        """
        if field not in COUNTS:
            raise DataError(f"Unknown key: {field}; expected one of {list(COUNTS)}")
        given = as_array(data, Source(field))
        if given.size == 0:
            self.offsets = None
            return
        if given.dtype.kind == "f" and (given == np.floor(given)).all():
            given = given.astype(np.int64)
        found = given.reshape(-1)
        if field == "group":  # a training tells whether these are all rows, as in XGBoost
            n_rows = int(found.sum()) if found.dtype.kind in "iu" else self.n_rows
            self.offsets = group_offsets(None, found, n_rows=n_rows)
        else:
            self.offsets = group_offsets(found, None, n_rows=self.n_rows)

    def check_weights(self, wrong: str = "Size of weights must equal to number of rows.") -> None:
        """Raise unless each row, or each query, has a weight; ``wrong`` begins the error of rows.

        XGBoost takes one weight for each query; those of its rows are taken, too.

        Raises
        ------
        DataError
            If weights are missing or too many, or those of a query's rows differ.
        """
        weight, offsets = self.floats.get("weight"), self.offsets
        if weight is None:
            return
        if offsets is None:
            if len(weight) != self.n_rows:
                raise DataError(
                    f"{wrong}: weight has {len(weight)} values, data {self.n_rows} rows; give one "
                    "for each row"
                )
            return
        if len(weight) == len(offsets) - 1:
            return
        sizes = np.diff(offsets)
        if len(weight) != sizes.sum() or (weight != np.repeat(weight[offsets[:-1]], sizes)).any():
            raise DataError(
                "Size of weight must equal to the number of query groups when ranking group is "
                f"used.: expected {len(sizes)} weights, not {len(weight)}; give one for each query"
            )

    def get(self, field: str) -> Array:
        """Return a field's values; an empty array if it has none.

        Raises
        ------
        DataError
            If there is no such field.
        """
        if field == "group_ptr":
            found = () if self.offsets is None else self.offsets
            return np.asarray(found, np.uint32)
        if field not in FLOATS:
            raise DataError(f"Unknown key:{field}; expected one of {[*FLOATS, 'group_ptr']}")
        return self.floats.get(field, np.empty(0, np.float32))

    def taken(self, rows: npt.NDArray[np.int64]) -> RowFacts:
        """Return the facts of some rows; queries are left out, and so are weights of queries."""
        found = RowFacts(len(rows))
        for field, values in self.floats.items():
            if field == "feature_weights":
                found.floats[field] = values
            elif len(values) == self.n_rows:
                found.floats[field] = values[rows]
        return found


def _numbers(data: Any, field: str, *, several: bool) -> npt.NDArray[np.float32]:
    """Convert to float32 of one dimension, or of two where there may be several columns."""
    if isinstance(data, np.ma.MaskedArray):
        raise DataError(f"{field}: Masked array is not supported: expected an array; fill it")
    if is_frame(data) or is_series(data):
        data = data.to_numpy(dtype=np.float64, na_value=np.nan)
    values = as_numeric(as_array(data, Source(field)), Source(field))
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] > 1 and not several):
        raise DataError(
            f"Invalid shape: {values.shape} for {field}: expected one number for each row; "
            f"give a column, not {show(values.shape)}"
        )
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    with np.errstate(over="ignore"):
        found: npt.NDArray[np.float32] = np.ascontiguousarray(values, np.float32)
    return found


F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: The rule of bins that trainings of this layer follow.
CUT_RULE = "xgboost"
#: Beyond the values on both sides; a float32 that is added to doubles.
_EDGE = float(np.float32(1e-5))


def cut_points(rows: Dataset, max_bin: int) -> tuple[npt.NDArray[np.uint64], F32]:
    """Return where each column's points begin, and the points of all columns.

    A column of n bins has n + 1 points: one below its values, the first value of each further bin,
    and one above its values. A column of categories has its codes. Bins are those of a training.
    """
    points: list[F32] = []
    weight = np.ones(rows.n_rows, np.int64)
    if rows.weight is not None:
        weight = whole(rows.weight.astype(np.float64))
    for feature, (values, own) in enumerate(_columns(rows, weight)):
        if feature in rows.categories:
            points.append(np.arange(rows.categories[feature].n_levels, dtype=np.float32))
        else:
            points.append(_points(values, own, max_bin))
    starts = np.cumsum([0, *(one.size for one in points)]).astype(np.uint64)
    return starts, np.concatenate([np.empty(0, np.float32), *points]).astype(np.float32)


def _columns(rows: Dataset, weight: I64) -> Iterator[tuple[F32, I64]]:
    """Yield the values of every column that are present in rows that count, and their weights."""
    if rows.sparse is not None:
        entries = entries_of(rows.sparse)
        for begin, end in zip(entries.starts[:-1], entries.starts[1:], strict=True):
            own = weight[entries.rows[begin:end]]
            yield entries.values[begin:end][own > 0], own[own > 0]
        return
    for column in rows.values.T:
        counts = ~np.isnan(column) & (weight > 0)
        yield column[counts], weight[counts]


def _points(values: F32, weight: I64, max_bin: int) -> F32:
    """Return the points of a column of so many bins at most."""
    if not values.size:
        return np.array([_EDGE, 3 * _EDGE], np.float32)
    order = np.argsort(values, kind="stable")
    values = values[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    ends = CUT_RULES[CUT_RULE].bin_ends(np.add.reduceat(weight[order], first), max_bin)
    low, high = float(values[0]), float(values[-1])
    around = low - abs(low) - _EDGE, high + (abs(high) + _EDGE)
    return np.concatenate([around[:1], values[first[ends[:-1]]], around[1:]]).astype(np.float32)
