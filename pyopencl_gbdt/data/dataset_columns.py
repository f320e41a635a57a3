"""The columns of a data set: where their values lie, their names, and the levels of categories."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.batched_rows import BatchedRows, not_whole
from pyopencl_gbdt.data.categories import NO_LEVEL, Categories
from pyopencl_gbdt.data.coded import level_codes, recoded
from pyopencl_gbdt.data.features import Features, Values
from pyopencl_gbdt.data.handed_batches import HandedRows
from pyopencl_gbdt.data.names import check_feature_names
from pyopencl_gbdt.data.some_batches import SomeRows
from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.device.team import Team
from pyopencl_gbdt.errors import DataError

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
_Own = TypeVar("_Own", bound="DatasetColumns")


class DatasetColumns:
    """The part of ``Dataset`` that knows its columns; see there."""

    kept: tuple[object, object] | None

    def _take(self, given: Features) -> None:
        self._features, self.feature_names = given.values, given.names
        self.categories: Categories = given.categories
        self._codes_apart, self._remarks = given.codes_apart, given.remarks
        self._values = given.values if isinstance(given.values, np.ndarray) else None

    @property
    def checked(self) -> Features:
        """The values, the names of the columns, and the levels of those that are categorical."""
        return Features(
            self._features, self._feature_names, self.categories, self._codes_apart, self._remarks
        )

    def level_codes(self, feature: int) -> I32:
        """Return the codes of a categorical column, int32 (n_rows,).

        -1 is a missing value; the number of levels stands for a level that is none of
        ``categories``, which only rows coded by the levels of other rows have.
        """
        return level_codes(self.checked, feature)

    def level_counts(self, feature: int) -> npt.NDArray[np.int64]:
        """Return the rows of each level of a categorical column, int64 (n_levels + 1,).

        The last number is that of rows where the value is missing, or none of ``categories``.
        """
        if self.batches is not None:
            return self.batches.level_counts(feature)
        codes, n_levels = self.level_codes(feature), self.categories[feature].n_levels
        places = np.where(codes == NO_LEVEL, n_levels, codes)
        return np.bincount(places, minlength=n_levels + 1).astype(np.int64)

    def coded_by(self: _Own, categories: Categories, what: str = "X") -> _Own:
        """Return these rows with the codes of other levels, such as those of training.

        Parameters
        ----------
        categories : mapping of int to Levels
            A level that is not among these becomes a missing value.
        what : str
            The name of the rows in error messages.

        Returns
        -------
        Dataset
            This one if its levels are these.

        Raises
        ------
        DataError
            If other columns are categorical here, or strings meet whole numbers.
        """
        found = recoded(self.checked, categories, what)
        return self if found is None else self._with(found)

    def widened_to(self: _Own, n_features: int) -> _Own:
        """Return the same rows in batches with so many columns; see ``BatchedRows.widened``."""
        rows = self._features
        assert isinstance(rows, BatchedRows)
        return self._with(replace(self.checked, values=rows.widened(n_features)))

    def _with(self: _Own, features: Features) -> _Own:
        """Return a copy whose columns are these."""
        other = copy(self)
        other.forget()
        other._take(features)
        return other

    def _chosen(self, rows: npt.NDArray[np.int64]) -> F32 | SparseMatrix | BatchedRows:
        """Return the values of some rows; of rows in batches, the numbers have to ascend."""
        if self.sparse is not None:
            return self.sparse.take(rows)
        if self.batches is None:
            return self.values[rows]
        rows = rows % self.n_rows
        if (np.diff(rows) <= 0).any():
            raise DataError(
                "rows: expected ascending numbers without repetition, as X comes in batches; sort "
                "them and drop repeated ones, or give Dataset an array"
            )
        return SomeRows(self.batches, rows)

    def _between(self, first: int, end: int) -> F32 | BatchedRows:
        """Return the values of the rows ``first .. end - 1``."""
        if self.batches is None:
            return self.values[first:end]
        return SomeRows(self.batches, (first, end))

    def forget(self) -> None:
        """Free the codes on a device; the next fit computes them again."""
        self.kept = None

    @property
    def features(self) -> Values:
        """The values: a dense array on the host, a matrix on a device, or a sparse matrix."""
        return self._features

    @property
    def sparse(self) -> SparseMatrix | None:
        return self._features if isinstance(self._features, SparseMatrix) else None

    @property
    def batches(self) -> BatchedRows | None:
        """The rows if they come in batches."""
        return self._features if isinstance(self._features, BatchedRows) else None

    def handed_to(self: _Own, team: Team) -> _Own:
        """Return these rows as a member of a team in one process reads them: batches by one."""
        if self.batches is None:
            return self
        return self._with(replace(self.checked, values=HandedRows(self.batches, team)))

    def end_reading(self) -> None:
        """Wait until no member of a team reads batches; all members call this after reading."""
        if self.batches is not None:
            self.batches.end_reading()

    @property
    def is_sparse(self) -> bool:
        """Whether X is sparse: what has no entry is missing."""
        return self.sparse is not None

    @property
    def values(self) -> F32:
        if isinstance(self._features, SparseMatrix):
            raise DataError(
                f"X is sparse, {self.n_rows} x {self.n_features}: expected dense values here; read "
                "Dataset.sparse, or make the Dataset of a dense array"
            )
        if isinstance(self._features, BatchedRows):
            raise not_whole(self._features)
        if self._values is None:
            assert isinstance(self._features, DeviceMatrix)
            self._values = self._features.host()
        return self._values

    def lies_on(self, device: Device) -> bool:
        """Tell whether X was given as an array on this device."""
        return isinstance(self.features_for(device), DeviceArray)

    def features_for(self, device: Device) -> F32 | DeviceArray | BatchedRows:
        """Return the values on the device if they lie there, else those on the host, or batches.

        Raises
        ------
        DataError
            If the values are sparse.
        """
        if isinstance(self._features, BatchedRows):
            return self._features
        there = self._features.on(device) if isinstance(self._features, DeviceMatrix) else None
        return self.values if there is None else there

    @property
    def feature_names(self) -> list[str] | None:
        return self._feature_names

    @feature_names.setter
    def feature_names(self, names: Any) -> None:
        found = None if names is None else check_feature_names(names, self.n_features)
        self._feature_names = found

    @property
    def n_rows(self) -> int:
        return int(self._features.shape[0])

    def num_row(self) -> int:
        """Return the number of rows; the name is that of XGBoost's ``DMatrix``."""
        return self.n_rows

    def num_col(self) -> int:
        """Return the number of features; the name is that of XGBoost's ``DMatrix``."""
        return self.n_features

    @property
    def n_features(self) -> int:
        return int(self._features.shape[1])
