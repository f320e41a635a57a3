"""The parts of a ``Dataset`` that have its fields and its columns.

Fields are labels, weights, groups and starting scores, as LightGBM's ``Dataset`` takes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.errors import LightGBMError, log_warning
from pyopencl_gbdt.compat.lightgbm.names import spellings
from pyopencl_gbdt.compat.lightgbm.tables import bins_of
from pyopencl_gbdt.data import dataset as own
from pyopencl_gbdt.errors import DataError

Array = npt.NDArray[Any]
F32 = npt.NDArray[np.float32]
FREED = "after freed raw data, set free_raw_data=False when construct Dataset to avoid this."
FIELDS = ("label", "weight", "group", "init_score")
_Own = TypeVar("_Own", bound="Fields")
_Data = TypeVar("_Data", bound="Columns")
_DTYPES = {
    "label": np.float32,
    "weight": np.float32,
    "init_score": np.float64,
    "group": np.int32,
}


def plain(values: Any) -> Any:
    """Return what pandas, polars or Arrow hold as a NumPy array; anything else unchanged."""
    if hasattr(values, "to_numpy"):
        return values.to_numpy()
    if hasattr(values, "itercolumns"):  # a table of Arrow
        return np.column_stack([plain(column) for column in values.itercolumns()])
    return values


def as_field(name: str, values: Any) -> Array | None:
    """Return checked numbers of a field; None if there are none.

    Parameters
    ----------
    name : {"label", "weight", "init_score", "group"}
    values : array-like or None
        ``init_score`` may have a column for each class; then its columns follow each other in the
        result.

    Raises
    ------
    TypeError, ValueError, DataError
        In LightGBM's words.
    """
    if values is None:
        return None
    if name == "label" and hasattr(values, "columns") and len(values.columns) > 1:
        raise ValueError("DataFrame for label cannot have multiple columns")
    given = np.asarray(plain(values))
    if given.dtype.kind not in "fiub":
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"Wrong type({type(values).__name__}) for {name}.\n"
                "It should be list, numpy 1-D array or pandas Series"
            ) from None
    if name == "init_score" and given.ndim == 2:
        return np.ascontiguousarray(given.T, np.float64).reshape(-1)
    if given.ndim == 2 and given.shape[1] == 1:
        if isinstance(values, np.ndarray):
            log_warning("Converting column-vector to 1d array")
        given = given[:, 0]
    if given.ndim != 1:
        raise TypeError(
            f"Wrong type({type(values).__name__}) for {name}.\n"
            "It should be list, numpy 1-D array or pandas Series"
        )
    found = given.astype(_DTYPES[name])
    if name == "label" and not np.isfinite(found).all():
        raise DataError("NaN or Inf in label: expected finite numbers; drop these rows")
    if name == "weight" and found.size and (not np.isfinite(found).all() or found.min() < 0):
        raise DataError("Weights should be non-negative: expected finite numbers >= 0")
    return found


def group_sizes(values: Any, n_rows: int) -> npt.NDArray[np.int32]:
    """Return the number of rows of each query.

    Parameters
    ----------
    values : array-like
        Sizes of queries, or the query of each row.

    Raises
    ------
    DataError
        If the sizes do not add up to the rows.
    """
    given = np.asarray(plain(values)).astype(np.int32)
    if given.sum() == n_rows:
        return given
    if given.size == n_rows:
        first = np.flatnonzero(np.append(True, given[1:] != given[:-1]))
        return np.diff(np.append(first, n_rows)).astype(np.int32)
    raise DataError(
        f"Sum of query counts ({given.sum()}) differs from the length of #data ({n_rows})"
    )


def column_ranges(data: Any, rows: own.Dataset) -> list[str]:
    """Return the range of each column as LightGBM's text has it; none for sparse rows.

    Parameters
    ----------
    data : array-like or table
        The rows as they were given.
    rows : Dataset
        The same rows, checked.

    Returns
    -------
    list of str
        Such as ``"[0:1]"``; ``"none"`` for one value alone, ``""`` for categorical columns.
    """
    if rows.is_sparse:
        return []
    values = data if isinstance(data, np.ndarray) and data.dtype.kind == "f" else rows.values
    ends = [of.reduce(values, axis=0).tolist() for of in (np.fmin, np.fmax)]
    missing = np.isnan(np.maximum.reduce(values, axis=0))
    found = [
        f"[{low:.17g}:{high:.17g}]" if low < high or (gaps and low == high) else "none"
        for low, high, gaps in zip(*ends, missing.tolist(), strict=True)
    ]
    return ["" if place in rows.categories else one for place, one in enumerate(found)]


def _check_field(name: str) -> None:
    if name not in FIELDS:
        raise LightGBMError(f"Unknown field {name}: expected one of {list(FIELDS)}")


class Fields:
    """The part that has labels, weights, groups and starting margins."""

    label: Any
    weight: Any
    group: Any
    init_score: Any
    data: Any
    version: int
    _rows: own.Dataset | None

    def _built(self, what: str, kind: type[Exception] = LightGBMError) -> own.Dataset:
        """Return the rows, or raise for what cannot be before they are built."""
        if self._rows is None:
            raise kind(f"Cannot {what}")
        return self._rows

    def set_field(self: _Own, field_name: str, data: Any) -> _Own:
        """Set ``label``, ``weight``, ``group`` or ``init_score``."""
        n_rows = self._built(f"set {field_name} before construct dataset", Exception).n_rows
        _check_field(field_name)
        found = as_field(field_name, data)
        if field_name == "group" and found is not None:
            found = group_sizes(found, n_rows)
        wrong = found is not None and field_name != "group" and (
            found.size % n_rows if field_name == "init_score" else found.size != n_rows
        )  # fmt: skip
        if wrong:
            assert found is not None
            raise DataError(
                f"Length of {field_name} ({found.size}) differs from the length of #data ({n_rows})"
            )
        setattr(self, field_name, found)
        self.version += 1
        return self

    def get_field(self, field_name: str) -> Array | None:
        """Return a field as a NumPy array; for ``group`` the first row of each query, and the end.

        None if there is none.
        """
        n_rows = self._built(f"get {field_name} before construct Dataset", Exception).n_rows
        _check_field(field_name)
        found: Array | None = getattr(self, field_name)
        if found is not None and field_name == "group":
            return np.append(0, np.cumsum(found)).astype(np.int32)
        if found is not None and field_name == "init_score" and found.size > n_rows:
            return np.ascontiguousarray(found.reshape(-1, n_rows).T)
        return found

    def _set(self: _Own, name: str, values: Any) -> _Own:
        if self._rows is None:
            setattr(self, name, values)
            return self
        return self.set_field(name, values)

    def set_label(self: _Own, label: Any) -> _Own:
        """Set the labels."""
        return self._set("label", label)

    def set_weight(self: _Own, weight: Any) -> _Own:
        """Set the weights; if all are 1, there are no weights."""
        return self._set("weight", weight)

    def set_init_score(self: _Own, init_score: Any) -> _Own:
        """Set the margins that rows start from."""
        return self._set("init_score", init_score)

    def set_group(self: _Own, group: Any) -> _Own:
        """Set the number of rows of each query."""
        return self._set("group", group)

    def set_position(self: _Own, position: Any) -> _Own:
        """Refuse positions of documents."""
        if position is not None:
            raise LightGBMError(
                "position: expected None, as the bias of positions is not learnt; leave it out, or "
                "give lambdarank_unbiased=True to pyopencl_gbdt.train"
            )
        return self

    def get_label(self) -> Any:
        """Return the labels, float32, or what was given if the data set is not built."""
        return self.label

    def get_weight(self) -> Any:
        """Return the weights, float32, or None."""
        return self.weight

    def get_init_score(self) -> Any:
        """Return the margins that rows start from, or None."""
        return self.get_field("init_score") if self._rows is not None else self.init_score

    def get_group(self) -> Any:
        """Return the number of rows of each query, or None."""
        return self.group

    def get_position(self) -> None:
        """Return None: there are no positions."""

    def get_data(self) -> Any:
        """Return the rows as they were given.

        Raises
        ------
        LightGBMError
            If they were dropped.
        """
        self._built("get data before construct Dataset", Exception)
        if self.data is None:
            raise LightGBMError(f"Cannot call `get_data` {FREED}")
        return self.data


class Columns(Fields):
    """The part that has names and kinds of columns."""

    params: dict[str, Any] | None
    reference: Any
    used_indices: list[int] | None
    feature_name: Any
    categorical_feature: Any
    _bins: dict[int, F32] | None

    def get_params(self) -> dict[str, Any]:
        """Return the parameters that say how rows are read."""
        known = spellings(
            "bin_construct_sample_cnt", "categorical_feature", "data_random_seed",
            "enable_bundle", "feature_pre_filter", "forcedbins_filename", "group_column", "header",
            "ignore_column", "is_enable_sparse", "label_column", "linear_tree", "max_bin",
            "max_bin_by_feature", "min_data_in_bin", "pre_partition", "precise_float_parser",
            "two_round", "use_missing", "weight_column", "zero_as_missing",
        )  # fmt: skip
        return {name: one for name, one in (self.params or {}).items() if name in known}

    def update_params(self: _Data, params: Mapping[str, Any]) -> _Data:
        """Take the parameters of a training, before the data set is built."""
        if self._rows is None:
            self.params = {**(self.params or {}), **params}
        return self

    def num_data(self) -> int:
        """Return the number of rows."""
        return int(self._built("get num_data before construct dataset").n_rows)

    def num_feature(self) -> int:
        """Return the number of columns."""
        return int(self._built("get num_feature before construct dataset").n_features)

    def feature_num_bin(self, feature: int | str) -> int:
        """Return the number of bins of a column; one is for missing values, if it has some."""
        rows = self._built("get feature_num_bin before construct dataset")
        names = self.get_feature_name()
        column = names.index(feature) if isinstance(feature, str) else int(feature)
        if column in rows.categories:
            return rows.categories[column].n_levels + 1
        values = rows.values[:, column]
        return self.cut_points()[column].size + 1 + int(np.isnan(values).any())

    def cut_points(self) -> dict[int, F32]:
        """Return LightGBM's thresholds between the bins of numeric columns; none if sparse.

        A part has the bins of all rows. They are found once.
        """
        if self._bins is None and self.used_indices is not None:
            self._bins = self.reference.cut_points()
        elif self._bins is None:
            assert self._rows is not None
            self._bins = {} if self._rows.is_sparse else bins_of(self._rows, self.params or {})
        return self._bins

    def get_feature_name(self) -> list[str]:
        """Return the names of the columns: ``Column_0``, ... if they have none."""
        rows = self._built("get feature_name before construct dataset")
        names, numbered = rows.feature_names, [f"Column_{i}" for i in range(rows.n_features)]
        return numbered if names is None else list(names)

    def set_feature_name(self: _Data, feature_name: Any) -> _Data:
        """Set the names of the columns."""
        auto = isinstance(feature_name, str) and feature_name == "auto"
        if not auto:
            self.feature_name = feature_name
        if self._rows is not None and feature_name is not None and not auto:
            if len(feature_name) != self.num_feature():
                raise ValueError(
                    f"Length of feature_name({len(feature_name)}) and "
                    f"num_feature({self.num_feature()}) don't match"
                )
            self._rows.feature_names = [re.sub(r"\s", "_", str(one)) for one in feature_name]
            self.version += 1
        return self

    def set_categorical_feature(self: _Data, categorical_feature: Any) -> _Data:
        """Set the categorical columns; the data set is built anew from the rows given."""
        if _same(self.categorical_feature, categorical_feature):
            return self
        if self._rows is None:
            self.categorical_feature = categorical_feature
            return self
        if isinstance(categorical_feature, str) and categorical_feature == "auto":
            return self
        if self.data is None:
            raise LightGBMError(f"Cannot set categorical feature {FREED}")
        log_warning(
            "categorical_feature in Dataset is overridden.\n"
            f"New categorical_feature is {list(categorical_feature)}"
        )
        self.categorical_feature, self._rows = categorical_feature, None
        self.version += 1
        return self


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one is other or list(one) == list(other))
