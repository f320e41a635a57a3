"""The columns of a data set: where their values lie, names, levels of categories, and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import I64, BatchedRows, Rows, WholeRows, not_whole
from pyopencl_gbdt.data.categories.levels import Categories, level_counts
from pyopencl_gbdt.data.features import Features, Values, level_codes, recoded
from pyopencl_gbdt.data.names import check_feature_names
from pyopencl_gbdt.data.threads import transposed
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import BatchDone, BatchOfRows, BatchPass, LevelCounts
from pyopencl_gbdt.errors import DataError


class SomeRows(BatchedRows):
    """Rows of a source whose batches are all read, though not all rows are taken.

    Parameters
    ----------
    chosen : (int, int), or int64 array, ascending
        The first row, and the row behind the last one; or the numbers of the rows.
    """

    def __init__(self, rows: BatchedRows, chosen: tuple[int, int] | I64) -> None:
        n_rows = chosen[1] - chosen[0] if isinstance(chosen, tuple) else chosen.size
        self.shape = int(n_rows), rows.shape[1]
        self.most_rows = min(rows.most_rows, self.shape[0])
        # as many as if they were spread evenly: no model depends on it
        self.n_missing = rows.n_missing * self.shape[0] // max(1, rows.shape[0])
        self.first_batch, self.is_ragged = rows.first_batch, rows.is_ragged
        self.text_columns = rows.text_columns
        self._rows, self._chosen = rows, chosen
        self._counts: dict[int, I64] = {}

    def parts(self) -> Iterator[tuple[int, Any]]:
        done = 0
        if not len(self):
            return
        for first, features in self._rows.parts():
            places = self._within(first, int(features.values.shape[0]))
            if places.size:
                ends = int(places[0]), int(places[-1]) + 1
                several = ends[1] - ends[0] == places.size
                # neighbours are not copied
                some: Any = slice(*ends) if several else places
                own = replace(features, values=features.values[some])
                del features
                yield done, own
                del own
                done += places.size
            else:
                del features

    def _within(self, first: int, n_rows: int) -> npt.NDArray[np.int64]:
        """Return the places of the rows that are taken of a batch."""
        if isinstance(self._chosen, tuple):
            begin, end = (min(max(row - first, 0), n_rows) for row in self._chosen)
            return np.arange(begin, end)
        begin, end = np.searchsorted(self._chosen, (first, first + n_rows))
        places: npt.NDArray[np.int64] = self._chosen[begin:end] - first
        return places

    def level_counts(self, feature: int) -> I64:
        """Return the rows of each level; the first call reads all batches."""
        if not self._counts:
            found: dict[int, I64] = {}
            for _, features in self.parts():
                for column, levels in features.categories.items():
                    counts = level_counts(level_codes(features, column), levels.n_levels)
                    found[column] = found.get(column, 0) + counts
                del features
            self._counts = found
        return self._counts[feature]

    def coded_by(self, categories: Mapping[int, Any]) -> SomeRows:
        return SomeRows(self._rows.coded_by(categories), self._chosen)

    def widened(self, n_features: int) -> SomeRows:
        return SomeRows(self._rows.widened(n_features), self._chosen)

    def end_reading(self) -> None:
        self._rows.end_reading()


class HandedRows(BatchedRows):
    """A member's view of rows that all members of a team in one process read.

    ``rows``: the same object in all members.
    ``team``: its members are threads of one process.
    """

    def __init__(self, rows: BatchedRows, team: Team) -> None:
        self.shape, self.most_rows, self.n_missing = rows.shape, rows.most_rows, rows.n_missing
        self._rows, self._team = rows, team
        self._reading: Iterator[tuple[int, Any]] = iter(())

    def parts(self) -> Iterator[tuple[int, Any]]:
        self._team.exchange(BatchPass, True)
        self._reading = self._pass()
        # not ``yield from``, which ends the pass with this generator: the others go on with it
        for part in self._reading:
            yield part
            del part

    def _pass(self) -> Iterator[tuple[int, Any]]:
        read = self._rows.parts() if self._team.rank == 0 else iter(())
        while True:
            # a list, so that member 0 can drop the batch before it reads the next one
            own = [next(read, None)]
            part = self._team.exchange(BatchOfRows, own)[0][0]
            if part is None:
                return
            yield part
            del part
            self._team.exchange(BatchDone, None)  # all are done with it
            own.clear()

    def end_reading(self) -> None:
        self._go_on()
        while any(self._team.exchange(BatchPass, False)):
            self._reading = self._pass()
            self._go_on()

    def _go_on(self) -> None:
        """Read the rest of a pass, as all members do, and ignore its rows."""
        for part in self._reading:
            del part

    def level_counts(self, feature: int) -> I64:
        """Return the rows of each level, which member 0 counts; all members call this in step."""
        own = self._rows.level_counts(feature) if self._team.rank == 0 else None
        counts: I64 = self._team.exchange(LevelCounts, own)[0]
        return counts

    def coded_by(self, categories: Mapping[int, Any]) -> HandedRows:
        return HandedRows(self._rows.coded_by(categories), self._team)


F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
_Own = TypeVar("_Own", bound="DatasetColumns")


class DatasetColumns:
    """The part of ``Dataset`` that knows its columns and labels; see there."""

    kept: tuple[object, object] | None
    _label: F32 | None

    def _take(self, given: Features) -> None:
        self._features, self.feature_names = given.values, given.names
        self.categories: Categories = given.categories
        self._remarks = given.remarks
        self._values = given.values if isinstance(given.values, np.ndarray) else None

    @property
    def checked(self) -> Features:
        """The values, the names of the columns, and the levels of those that are categorical."""
        return Features(self._features, self._feature_names, self.categories, self._remarks)

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
        return level_counts(self.level_codes(feature), self.categories[feature].n_levels)

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
            return self.values.take(rows, axis=0)  # a quarter of the time that brackets take
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

    @property
    def rows(self) -> Rows:
        """The rows on the host: those of batches, or one batch of all; ``DataError`` if sparse."""
        return WholeRows(self.values) if self.batches is None else self.batches

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
    def has_label(self) -> bool:
        """Whether there are labels, or label bounds."""
        return self._label is not None

    @property
    def label(self) -> F32:
        if self._label is None:
            raise DataError(
                "label is None: expected a number per row to train or evaluate; give the target "
                "to Dataset"
            )
        return self._label

    @label.setter
    def label(self, values: F32) -> None:
        self._label = values

    @property
    def n_targets(self) -> int:
        """Number of labels per row."""
        return 1 if self.label.ndim == 1 else int(self.label.shape[1])

    def targets(self) -> list[F32]:
        """Return the labels of each target, float32 (n_rows,)."""
        label = self.label
        return list(transposed(label)) if label.ndim > 1 else [np.ascontiguousarray(label)]

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
