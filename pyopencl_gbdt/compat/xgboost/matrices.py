"""``DMatrix``: rows and what comes with them, by XGBoost's methods."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from pyopencl_gbdt.arguments import named_arguments
from pyopencl_gbdt.compat.xgboost.inputs import (
    Categories,
    check_names,
    check_types,
    other_kind,
    read_columns,
)
from pyopencl_gbdt.compat.xgboost.matrix_files import (
    is_iterator,
    read_all,
    read_matrix,
    sparse_values,
    write_matrix,
)
from pyopencl_gbdt.compat.xgboost.row_facts import COUNTS, FLOATS, RowFacts, cut_points
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show

F32 = npt.NDArray[np.float32]
#: Columns of weight 0 are sampled by this weight, as in XGBoost: where no other column is left.
_LEAST_SHARE = np.float32(1e-6)


class DataSplitMode(IntEnum):
    """How processes divide the data; only by rows here."""

    ROW = 0
    COL = 1


class MatrixRows(Dataset):
    """The rows of a ``DMatrix`` as this library trains on them.

    Attributes
    ----------
    matrix : DMatrix
        What functions of the user get.
    """

    matrix: DMatrix


class DMatrix:
    """Rows to train on, to evaluate or to predict, with XGBoost's methods.

    Parameters
    ----------
    data : (n_rows, n_features) array-like, DataFrame, Arrow or polars table, sparse matrix or path
        What a sparse matrix has no entry for is missing. A path names a file of ``save_binary``,
        or of text, which may end in ``?format=csv`` or ``?format=libsvm``.
    label : (n_rows,) or (n_rows, n_targets) array-like, or None
    weight : (n_rows,) array-like, or (n_queries,) for ranking, or None
    base_margin : (n_rows,) or (n_rows, n_outputs) array-like, or None
    missing : float or None
        A number that means "missing", besides NaN.
    silent, nthread, data_split_mode
        Have no effect.
    feature_names, feature_types : sequence of str or None
        ``"c"`` among the types marks categories.
    group, qid : array-like or None
        Sizes of queries, or the query of each row.
    label_lower_bound, label_upper_bound : (n_rows,) array-like or None
    feature_weights : (n_features,) array-like or None
    enable_categorical : bool
        Whether a table's columns may be categories.

    Raises
    ------
    DataError
        If something cannot be used, with XGBoost's words; it is a ``ValueError``.
    """

    @named_arguments
    def __init__(
        self,
        data: Any,
        label: Any = None,
        *,
        weight: Any = None,
        base_margin: Any = None,
        missing: float | None = None,
        silent: bool = False,
        feature_names: Sequence[str] | None = None,
        feature_types: Any = None,
        nthread: int | None = None,
        group: Any = None,
        qid: Any = None,
        label_lower_bound: Any = None,
        label_upper_bound: Any = None,
        feature_weights: Any = None,
        enable_categorical: bool = False,
        data_split_mode: DataSplitMode = DataSplitMode.ROW,
    ) -> None:
        if group is not None and qid is not None:
            raise DataError("Either one of `group` or `qid` should be None.; give one of them")
        if data_split_mode != DataSplitMode.ROW:
            raise DataError(
                f"data_split_mode={show(data_split_mode)}: expected DataSplitMode.ROW, as columns "
                "are not divided here; leave it out"
            )
        self.missing = np.nan if missing is None else missing
        self.nthread = -1 if nthread is None else nthread
        reference = feature_types if isinstance(feature_types, Categories) else None
        types = None if reference is not None else feature_types
        of_batches: dict[str, Any] = {}
        if is_iterator(data):
            data, of_batches = read_all(data, missing, enable_categorical=enable_categorical)
            types = of_batches.pop("feature_types", types)
            feature_names = of_batches.pop("feature_names", feature_names)
        if isinstance(data, (str, os.PathLike)):
            features, facts, own_names, own_types = read_matrix(data)
        else:
            n_columns = getattr(data, "shape", (0, 0))[-1] if types is not None else 0
            asked = [types] * n_columns if isinstance(types, str) else types
            features, own_types = read_columns(
                data, missing, types=asked, enable_categorical=enable_categorical
            )
            facts, own_names = RowFacts(int(features.values.shape[0])), features.names
        self._begin(features, facts)
        self.feature_names = own_names if feature_names is None else feature_names
        self.feature_types = own_types if types is None else types
        if reference is not None:
            self._code_by(reference)
        self.set_info(
            label=label, weight=weight, base_margin=base_margin, group=group, qid=qid,
            label_lower_bound=label_lower_bound, label_upper_bound=label_upper_bound,
            feature_weights=feature_weights,
        )  # fmt: skip
        self.set_info(**of_batches)
        if self.num_row() == 0:
            warnings.warn("Empty dataset at worker: 0", UserWarning, stacklevel=2)

    def _begin(self, features: Features, facts: RowFacts) -> None:
        self._features, self._facts = features, facts
        self._names: list[str] | None = None
        self._types: list[str] | None = None
        self._rows: MatrixRows | None = None
        self._max_bin: int | None = None

    def _code_by(self, reference: Categories) -> None:
        """Take the codes of other rows' levels."""
        known = reference.levels
        rows = Dataset(self._features)
        for column, own in rows.categories.items():
            if column in known and not known[column].suits(own.values):
                raise other_kind(column)
        self._features = rows.coded_by({n: known[n] for n in rows.categories if n in known}).checked

    @classmethod
    def _of(cls, features: Features, facts: RowFacts, like: DMatrix) -> DMatrix:
        """Return a matrix of other rows with the columns of ``like``."""
        found = DMatrix.__new__(DMatrix)
        found.missing, found.nthread = like.missing, like.nthread
        found._begin(features, facts)
        found._names, found._types = like._names, like._types
        return found

    @classmethod
    def around(cls, rows: Dataset, facts: RowFacts) -> DMatrix:
        """Return the matrix of rows that this library has made, and what comes with them."""
        found = DMatrix.__new__(DMatrix)
        found.missing, found.nthread = np.nan, -1
        found._begin(rows.checked, facts)
        found._names, found._rows = rows.feature_names, rows  # type: ignore[assignment]
        rows.matrix = found  # type: ignore[attr-defined]
        return found

    # -- what comes with the rows ---------------------------------------------------------------
    def set_info(
        self,
        *,
        label: Any = None,
        weight: Any = None,
        base_margin: Any = None,
        group: Any = None,
        qid: Any = None,
        label_lower_bound: Any = None,
        label_upper_bound: Any = None,
        feature_names: Sequence[str] | None = None,
        feature_types: Sequence[str] | None = None,
        feature_weights: Any = None,
    ) -> None:
        """Set several fields; None leaves one as it is."""
        given = locals()
        for fields, take in ((FLOATS, self.set_float_info), (COUNTS, self.set_uint_info)):
            for field in fields:
                if given[field] is not None:
                    take(field, given[field])
        if feature_names is not None:
            self.feature_names = feature_names
        if feature_types is not None:
            self.feature_types = feature_types

    def get_float_info(self, field: str) -> npt.NDArray[Any]:
        """Return a field of numbers, float32; empty if it is not set."""
        return self._facts.get(field)

    def get_uint_info(self, field: str) -> npt.NDArray[Any]:
        """Return ``"group_ptr"``: the first row of each query and the number of rows, uint32."""
        return self._facts.get(field)

    def set_float_info(self, field: str, data: Any) -> None:
        """Set a field of numbers: ``"label"``, ``"weight"``, ``"base_margin"`` and others."""
        self._facts.set_float(field, data)
        self._rows = None

    def set_float_info_npy2d(self, field: str, data: Any) -> None:
        """Set a field of numbers from an array of one or two dimensions."""
        self.set_float_info(field, data)

    def set_uint_info(self, field: str, data: Any) -> None:
        """Set the queries: ``"group"``, their sizes, or ``"qid"``, the query of each row."""
        self._facts.set_count(field, data)
        self._rows = None

    def set_label(self, label: Any) -> None:
        """Set the labels, (n_rows,) or (n_rows, n_targets)."""
        self.set_float_info("label", label)

    def set_weight(self, weight: Any) -> None:
        """Set a weight for each row, or for each query."""
        self.set_float_info("weight", weight)

    def set_base_margin(self, margin: Any) -> None:
        """Set the margin that each row starts from."""
        self.set_float_info("base_margin", margin)

    def set_group(self, group: Any) -> None:
        """Set the number of rows of each query."""
        self.set_uint_info("group", group)

    def get_label(self) -> npt.NDArray[Any]:
        """Return the labels, float32; empty if there are none."""
        return self.get_float_info("label")

    def get_weight(self) -> npt.NDArray[Any]:
        """Return the weights, float32; empty if there are none."""
        return self.get_float_info("weight")

    def get_base_margin(self) -> npt.NDArray[Any]:
        """Return the margins that rows start from, float32; empty if there are none."""
        return self.get_float_info("base_margin")

    def get_group(self) -> npt.NDArray[Any]:
        """Return the number of rows of each query; empty if there are no queries."""
        return np.diff(self.get_uint_info("group_ptr"))

    # -- columns --------------------------------------------------------------------------------
    @property
    def feature_names(self) -> list[str] | None:
        """The columns' names; can be assigned."""
        return self._names

    @feature_names.setter
    def feature_names(self, names: Any) -> None:
        self._names = check_names(names, self.num_col())
        self._rows = None

    @property
    def feature_types(self) -> list[str] | None:
        """The columns' types; can be assigned."""
        return self._types

    @feature_types.setter
    def feature_types(self, types: Any) -> None:
        self._types = check_types(types, self.num_col())

    def get_categories(self, export_to_arrow: bool = False) -> Categories:
        """Return the levels of the columns; ``to_arrow`` of them needs ``export_to_arrow``."""
        return Categories(
            self._features.categories, self._names, self.num_col(), in_arrow=export_to_arrow
        )

    def num_row(self) -> int:
        """Return the number of rows."""
        return int(self._features.values.shape[0])

    def num_col(self) -> int:
        """Return the number of columns."""
        return int(self._features.values.shape[1])

    def num_nonmissing(self) -> int:
        """Return the number of values that are not missing."""
        return int(self.get_data().nnz)

    def data_split_mode(self) -> DataSplitMode:
        """Return ``DataSplitMode.ROW``."""
        return DataSplitMode.ROW

    def get_data(self) -> scipy.sparse.csr_matrix:
        """Return the values that are not missing, float32; of categories the codes."""
        return scipy.sparse.csr_matrix(sparse_values(self._features).scipy())

    def slice(self, rindex: Any, allow_groups: bool = False) -> DMatrix:
        """Return some of the rows.

        Parameters
        ----------
        rindex : sequence of int
        allow_groups : bool
            Whether rows of queries may be taken; the result has no queries.

        Raises
        ------
        DataError
            If there are queries and ``allow_groups`` is False.
        """
        if self._facts.offsets is not None and not allow_groups:
            raise DataError(
                "slice does not support group structure: expected allow_groups=True; the result "
                "has no queries, so set them afterwards"
            )
        rows = np.asarray(rindex, np.int64).reshape(-1)
        checked = self._features
        if len(rows) == 0:
            empty = np.empty((0, self.num_col()), np.float32)
            features = Features(empty, checked.names, checked.categories)
        else:
            features = Dataset(checked).slice(rows).checked
        return DMatrix._of(features, self._facts.taken(rows), self)

    def save_binary(self, fname: str | os.PathLike[str], silent: bool = True) -> None:
        """Write all of it to a file that ``DMatrix(fname)`` reads; XGBoost cannot read it."""
        write_matrix(str(Path(fname).expanduser()), self._features, self._facts,
                     self._names, self._types)  # fmt: skip

    def get_quantile_cut(self) -> tuple[npt.NDArray[np.uint64], F32]:
        """Return the cut points of all columns, which a training or ``max_bin`` has made.

        Returns
        -------
        starts : uint64 array, shape (n_features + 1,)
            Column f has the points ``starts[f] .. starts[f + 1] - 1``.
        points : float32 array
            The lowest value of each bin, from a point below the smallest value on.

        Raises
        ------
        DataError
            Before a training.
        """
        if self._max_bin is None:
            raise DataError(
                "The quantile cut hasn't been generated yet: expected a QuantileDMatrix, or a "
                "matrix that has been trained on; train first"
            )
        reference = getattr(self, "ref", None)
        training = None if reference is None else reference()
        return cut_points((self if training is None else training).dataset(), self._max_bin)

    # -- for this library -----------------------------------------------------------------------
    def dataset(self) -> MatrixRows:
        """Return the rows as this library trains on them; the same until something is set.

        Raises
        ------
        DataError
            If what comes with the rows does not suit them.
        """
        if self._rows is None:
            field = self._facts.floats.get
            shares = field("feature_weights")
            offsets = self._facts.offsets
            self._facts.check_weights()
            rows = MatrixRows(
                self._features,
                field("label"),
                field("weight"),
                self._names,
                field("base_margin"),
                None if shares is None else np.maximum(shares, _LEAST_SHARE),
                group=None if offsets is None else np.diff(offsets),
                label_lower_bound=field("label_lower_bound"),
                label_upper_bound=field("label_upper_bound"),
            )
            rows.matrix, self._rows = self, rows
        return self._rows

    def marked_as_trained(self, max_bin: int) -> None:
        """Keep with how many bins a training cut the columns."""
        self._max_bin = self._max_bin or max_bin
