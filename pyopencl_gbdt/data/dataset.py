"""`Dataset`: users' rows, labels and weights, checked and ready to be quantised."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.narrow import check_missing
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.batched_dataset import BatchedDataset
from pyopencl_gbdt.data.batches.rows import Rows
from pyopencl_gbdt.data.categories.chosen import FROM_DTYPE, categorical_argument
from pyopencl_gbdt.data.categories.levels import Categories, without_unseen
from pyopencl_gbdt.data.features import Features, check_features
from pyopencl_gbdt.data.groups import expand_weight, group_offsets, slice_offsets
from pyopencl_gbdt.data.names import shortened
from pyopencl_gbdt.data.targets import (
    LOWER,
    UPPER,
    check_base_margin,
    check_bounds,
    check_feature_weights,
    check_rows,
    check_target,
)
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]


#: Rows that are digested at a time.
DIGESTED = 1 << 14
#: Most rows of a data set: kernels use one of 32 bits for the side a row goes to.
MOST_ROWS = 2**31 - 1


class Dataset(BatchedDataset):
    """Rows, labels and weights to train on or to evaluate.

    Parameters
    ----------
    X : (n_rows, n_features) array-like, DataFrame or sparse matrix
        Numbers, which are compared in float32; NaN, None, nulls and ``pandas.NA`` are missing
        values. A pandas DataFrame, a polars or Arrow table, or an array of NumPy, CuPy, PyOpenCL
        or any library that supports DLPack; `docs/data.md` says which are read without a copy. A
        matrix of scipy.sparse stays sparse: what is absent in it is missing, not 0.
    label : (n_rows,) array-like, (n_rows, n_targets), or None
        Finite numbers; 0 and 1 for ``binary:logistic``, 0 .. num_class - 1 for ``multi:softprob``.
        Rows to predict need no label.
    weight : (n_rows,) array-like or None
        Weights >= 0, not all 0. A row of weight k counts as k equal rows. For ranking, give one
        weight a query, as in XGBoost, or one a row that is the same in all rows of a query.
    feature_names : sequence of str or int, or None
        Distinct column names; integers become their digits. None takes the names of a table.
        Prediction refuses rows whose columns have other names.
    base_margin : (n_rows,) or (n_rows, n_outputs) array-like or None
        The margin that each row starts from instead of ``base_score``, such as another model's
        margins. ``predict`` must then be given the base margins of its rows.
    feature_weights : (n_features,) array-like or None
        Sampling weight of each column for ``colsample_bytree``, ``colsample_bylevel`` and
        ``colsample_bynode``; above 0.
    qid : (n_rows,) array-like of integers, or None
        The query of each row, for ranking, in ascending order.
    group : (n_groups,) array-like of integers, or None
        Number of rows of each query, instead of ``qid``.
    label_lower_bound, label_upper_bound : (n_rows,) array-like or None
        What is known of each label, for ``survival:aft``: ``0 <= lower <= upper``. The upper
        bound of a censored row is infinity. Without ``label``, the lower bound is the label.
    missing : float or None
        A number in X that means "missing", besides NaN, such as 0 or -999; X is not changed. In a
        sparse X, it cannot be 0.
    categorical_features : sequence of int or str, bool array of shape (n_features,), str or None
        The columns whose strings or whole numbers are levels without an order: numbers, names, a
        mask, or ``"from_dtype"``, the columns of a table that have categories or strings. None:
        no column. See `docs/categories.md`.
    feature_types : sequence of str or None
        XGBoost's way to say so: ``"c"`` for each categorical column, ``"q"`` for others.
    enable_categorical : bool or None
        XGBoost's switch: False is ``categorical_features=None``.

    Attributes
    ----------
    values : float32 array, shape (n_rows, n_features), C order
        The values on the host; reading this copies them from the device if X lies there, and
        raises ``DataError`` if X is sparse.
    sparse : SparseMatrix or None
        The values if X is sparse.
    label : float32 array, shape (n_rows,) or (n_rows, n_targets)
        Reading this raises ``DataError`` if there are no labels.
    categories : mapping of int to Levels
        The levels of each categorical column, by the column's number. ``values`` has their codes,
        and NaN where a value is missing, or where a column has more than 2^24 levels; see
        ``level_codes``.
    feature_names : list of str or None
        Column names; can be assigned.
    weight : float32 array, shape (n_rows,), or None
    base_margin : float32 array, shape (n_rows,) or (n_rows, n_outputs), or None
    group_offsets : int64 array, shape (n_groups + 1,), or None
        Query q has the rows ``group_offsets[q]`` to ``group_offsets[q + 1] - 1``.
    label_lower_bound, label_upper_bound : float32 array, shape (n_rows,), or None
    kept : (key, value) or None
        What a fit computed from the data and a later fit can reuse: the codes on a device.
    n_shares : int
        Last features that a fit fills in, with numbers 0..1; a data set of the user's has none.
    cut_points : dict of int to float32 array
        Of columns whose bins are given: ascending thresholds; a value is below one, or in a later
        bin. Can be assigned for dense rows in memory; ``max_bin`` cuts the other columns.

    Raises
    ------
    DataError
        If a shape, dtype or value cannot be used; the message says where.
    """

    def __init__(
        self,
        X: Any,
        label: Any = None,
        weight: Any = None,
        feature_names: Any = None,
        base_margin: Any = None,
        feature_weights: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        label_lower_bound: Any = None,
        label_upper_bound: Any = None,
        missing: float | None = None,
        categorical_features: Any = FROM_DTYPE,
        feature_types: Any = None,
        enable_categorical: bool | None = None,
    ) -> None:
        if isinstance(X, (str, os.PathLike)):
            path = show(os.fspath(X))
            raise DataError(
                f"X is the path {path}: expected rows in memory; read a file by "
                f"Dataset.from_batches({path}), which takes the first column of text as the label "
                "(label_column= names another)"
            )
        n_rows = np.shape(X)[0] if hasattr(X, "shape") and np.shape(X) else 0
        if n_rows > MOST_ROWS:
            raise DataError(
                f"X has {n_rows} rows: expected {MOST_ROWS} at most, as kernels number rows by "
                f"31 bits; train on a sample"
            )
        self.missing = check_missing(missing)
        asked = categorical_argument(categorical_features, feature_types, enable_categorical)
        self._take(check_features(X, missing=missing, categorical=asked, names=feature_names))
        if feature_names is not None:
            self.feature_names = feature_names
        bounds = check_bounds(label_lower_bound, label_upper_bound, self.n_rows)
        self.label_lower_bound, self.label_upper_bound = bounds
        label = bounds[0] if label is None else label
        self._label = None if label is None else check_target(label, self.n_rows)
        self.group_offsets = group_offsets(qid, group, self.n_rows)
        self.weight: F32 | None = expand_weight(weight, self.group_offsets, self.n_rows)
        self.base_margin: F32 | None = check_base_margin(base_margin, self.n_rows)
        self.feature_weights = check_feature_weights(feature_weights, self.n_features)
        self.forget()
        self.n_shares = 0
        self.cut_points: dict[int, F32] = {}

    @property
    def bounds(self) -> tuple[F32, F32]:
        """Lower and upper bound of each label; without bounds, both are the label itself."""
        lower, upper = self.label_lower_bound, self.label_upper_bound
        return (self.label, self.label) if lower is None or upper is None else (lower, upper)

    def get_label(self) -> F32:
        """Return the labels, or an empty array if there are none, as XGBoost's ``DMatrix`` does."""
        return np.zeros(0, np.float32) if self._label is None else self._label

    def get_weight(self) -> F32:
        """Return the weights, an empty array if there are none, as XGBoost's ``DMatrix`` does."""
        return np.zeros(0, np.float32) if self.weight is None else self.weight

    def slice(self, rows: npt.ArrayLike) -> Dataset:
        """Return a data set of some of the rows, with their labels, weights and so on.

        Parameters
        ----------
        rows : array-like of int
            Row numbers, in the order of the result. Rows of a query must be adjacent; they form a
            query of the result, even if some of its rows are left out. Of rows in batches, the
            numbers have to ascend; the source is read whenever the rows are needed.

        Raises
        ------
        DataError
            If rows of another query lie between two rows of a query, ``rows`` are not numbers of
            rows, or they do not ascend where rows come in batches.
        """
        chosen = check_rows(rows, self.n_rows)
        values = self._chosen(chosen)
        checked = replace(self.checked, values=values)
        lower, upper = self.label_lower_bound, self.label_upper_bound
        own = (self._label, self.weight, self.base_margin, lower, upper)
        label, weight, base_margin, *bounds = (
            None if part is None else part[chosen] for part in own
        )
        offsets, group = self.group_offsets, None
        if offsets is not None:
            group = np.diff(slice_offsets(offsets, chosen % self.n_rows))
        found = Dataset(
            checked, None, weight, self.feature_names, base_margin, self.feature_weights,
            group=group, label_lower_bound=bounds[0], label_upper_bound=bounds[1],
        )  # fmt: skip
        found._label = label  # these were checked; a fold in ten would take half of its time
        return found

    def part(self, first: int, end: int) -> Dataset:
        """Return the rows ``first .. end - 1``, which share the memory or the batches of these.

        Raises
        ------
        DataError
            If the values are sparse, or a query has rows here and there.
        """
        rows = slice(first, end)
        found = self._with(replace(self.checked, values=self._between(first, end)))
        for name in ("_label", "weight", "base_margin", "label_lower_bound", "label_upper_bound"):
            own = getattr(self, name)
            setattr(found, name, None if own is None else own[rows])
        if self.group_offsets is not None:
            begin, last = np.searchsorted(self.group_offsets, (first, end))
            offsets = self.group_offsets[begin : last + 1] - first
            if offsets[0] or offsets[-1] != end - first:
                raise DataError(
                    f"rows {first} to {end - 1}: expected whole queries; end where a query ends"
                )
            found.group_offsets = offsets
        return found

    def widened(
        self, values: F32 | DeviceMatrix, names: list[str], without: set[int], n_shares: int = 0
    ) -> Dataset:
        """Return this data set with more columns at the end, and some columns emptied.

        Parameters
        ----------
        values : float32 array or DeviceMatrix, shape (n_rows, n_features + len(names))
            All of them: the columns here, then others; ``without`` are missing there.
        names : list of str
            The names of the other columns; used if the columns here have names.
        without : set of int
            Categorical columns that are so no longer.
        n_shares : int
            Last columns that are missing until a fit fills them in.
        """
        named = None if self._feature_names is None else [*self._feature_names, *names]
        kept = {c: levels for c, levels in self.categories.items() if c not in without}
        found = self._with(Features(values, named, kept))
        found.n_shares = n_shares
        if self.feature_weights is not None:
            ones = np.ones(len(names), np.float32)
            found.feature_weights = np.concatenate([self.feature_weights, ones])
        return found

    def digests(self) -> dict[str, str]:
        """Return a digest of each part, by the part's name; equal data have equal digests."""
        parts: dict[str, F32 | None] = {
            "label": self._label,
            "weight": self.weight,
            "base_margin": self.base_margin,
            "feature_weights": self.feature_weights,
        }
        if self.label_lower_bound is not None:
            parts |= {LOWER: self.label_lower_bound, UPPER: self.label_upper_bound}
        own = digest_of_rows(self.rows) if self.sparse is None else digest_of_entries(self.sparse)
        found = {"values": own}
        found |= {name: "" if part is None else digest(part) for name, part in parts.items()}
        if self.categories:
            found["categories"] = digest_of_levels(self.categories, self._unseen())
        if self.cut_points:
            found["cut_points"] = " ".join(f"{c} {digest(p)}" for c, p in self.cut_points.items())
        if self.group_offsets is not None:
            found["groups"] = digest(self.group_offsets, "<i8")
        return {
            **found,
            "shape": str((self.n_rows, self.n_features)),
            "feature_names": str(self.feature_names),
        }

    def _unseen(self) -> dict[int, I32]:
        """Return the codes of columns that have levels unknown to training."""
        known = {} if self.batches is not None else self.categories
        codes = ((column, self.level_codes(column)) for column in known)
        return {c: own for c, own in codes if (own == known[c].n_levels).any()}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without device memory."""
        values = None if self.is_sparse or self.batches is not None else self.values
        features = self._features if values is None else values
        return {**self.__dict__, "kept": None, "_features": features, "_values": values}

    def __repr__(self) -> str:
        parts = [f"{self.n_rows} rows x {self.n_features} features"]
        if self._feature_names is not None:
            parts[0] += f" ({shortened(self._feature_names)})"
        if self.sparse is not None:
            parts += ["sparse", f"{100 * self.sparse.density:.2g} % present"]
        if self.batches is not None:
            parts.append("in batches")
        if self.categories:
            parts.append(f"{len(self.categories)} categorical")
        if self._label is None:
            parts.append("no labels")
        else:
            parts.append("labels" if self.n_targets == 1 else f"{self.n_targets} labels a row")
        if self.label_lower_bound is not None:
            parts[-1] = "label bounds"
        if self.group_offsets is not None:
            parts.append(f"{len(self.group_offsets) - 1} queries")
        for name in ("weight", "base_margin", "feature_weights"):
            if getattr(self, name) is not None:
                parts.append(name)
        return f"Dataset({', '.join(parts)})"


def digest(values: npt.NDArray[Any], dtype: str = "<f4") -> str:
    """Return the digest of an array; ``dtype`` says in which byte order and type it is read."""
    return hashlib.sha256(_bytes_of(values, dtype)).hexdigest()


def _bytes_of(values: npt.NDArray[Any], dtype: str) -> memoryview:
    little = np.ascontiguousarray(values, dtype)
    return little.data.cast("B") if little.size else memoryview(b"")


def digest_of_entries(values: SparseMatrix) -> str:
    """Return the digests of a sparse matrix's three arrays; never that of a dense matrix."""
    parts = ((values.row_starts, "<i8"), (values.columns, "<i4"), (values.values, "<f4"))
    return " ".join(["sparse", *(digest(*part) for part in parts)])


def digest_of_rows(rows: Rows) -> str:
    """Return the digest of rows, in whatever batches they come: that of one array.

    Levels unknown to training count as missing, as in checkpoints of earlier versions.
    """
    sha = hashlib.sha256()
    for _, values in rows.blocks(DIGESTED):
        sha.update(_bytes_of(without_unseen(values), "<f4"))
    return sha.hexdigest()


def digest_of_levels(categories: Categories, codes: Mapping[int, npt.NDArray[np.int32]]) -> str:
    """Return the digest of the levels, and of the codes that ``digest_of_rows`` does not tell."""
    sha = hashlib.sha256()
    for column in sorted(categories):
        sha.update(json.dumps([column, categories[column].values.tolist()]).encode())
        sha.update(digest(codes.get(column, np.zeros(0)), "<i4").encode())
    return sha.hexdigest()
