"""Passes over batches: the first one checks and counts; later ones yield the same values."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import replace
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.arrays.tables import ColumnTable
from pyopencl_gbdt.data.batches.rows import F32, I64, BatchedRows, RowBatch
from pyopencl_gbdt.data.batches.sources import BatchSource
from pyopencl_gbdt.data.blurred import Blurred
from pyopencl_gbdt.data.budget import available_memory, check_free
from pyopencl_gbdt.data.categories.columns import Column, as_objects
from pyopencl_gbdt.data.categories.levels import Categories, Levels, level_counts, recode
from pyopencl_gbdt.data.features import Features, check_features, level_codes, recoded
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.data.threads import checksum, n_missing
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import Source as Words
from pyopencl_gbdt.messages import plural

_SAME = "expected the same batches in every pass, as data are read several times"
MOST_ROWS = 2**31 - 1
_MOVE = "begin the iterator anew in every pass, and do not shuffle in it"


@dataclass(frozen=True)
class Reader:
    """How a batch becomes checked values.

    Attributes
    ----------
    missing : float or None
        A number that means "missing".
    categorical : object
        Which columns are categorical, as for ``check_categorical``.
    names : sequence or None
        Names of the columns, instead of those of the batches.
    """

    missing: float | None
    categorical: Any
    names: Any = None

    def features(self, batch: RowBatch, levels: Categories | None = None) -> Features:
        """Return a batch's columns, coded by levels; None takes the batch's own."""
        if isinstance(batch.X, Features) and batch.X.categories and levels is not None:
            return recoded(batch.X, levels, batch.where) or batch.X
        names = batch.feature_names if self.names is None else self.names
        found = check_features(
            batch.X,
            name=batch.where,
            missing=self.missing,
            categorical=self.categorical if levels is None else None,
            levels=levels or None,
            names=names,
        )
        return found if names is None else replace(found, names=list(map(str, names)))


def values_of(features: Features, n_features: int) -> F32:
    """Return values as a dense array of so many columns; what has no entry is missing."""
    values = features.values
    if isinstance(values, DeviceMatrix):
        return values.host()
    if isinstance(values, SparseMatrix):
        shape = values.shape[0], n_features
        check_free(
            4 * shape[0] * shape[1],
            f"a sparse batch of {shape[0]} x {shape[1]} values, which is made dense,",
            "give smaller batches, or one sparse matrix to Dataset",
        )
        dense = np.full(shape, np.nan, np.float32)
        dense[np.repeat(np.arange(shape[0]), np.diff(values.row_starts)), values.columns] = (
            values.values
        )
        return dense
    assert isinstance(values, np.ndarray)
    values = np.ascontiguousarray(values, np.float32)
    absent = n_features - values.shape[1]  # of text whose lines end early
    return values if absent <= 0 else np.pad(values, ((0, 0), (0, absent)), constant_values=np.nan)


def sums_of(values: F32, width: int, categorical: Collection[int]) -> tuple[int, int]:
    """Return a checksum of values, and one of the first columns without levels.

    Codes of levels change after the first pass, and so does the width of text whose lines end
    early.
    """
    found = checksum(values)
    kept = [column for column in range(width) if column not in categorical]
    if len(kept) == values.shape[1]:
        return found, found
    return found, checksum(values[:, kept]) if kept else 0


class CheckedBatches(BatchedRows):
    """Batches that the first pass has looked at.

    Parameters
    ----------
    source : callable
        Reads all batches from the start.
    """

    def __init__(self, source: BatchSource, look: Look) -> None:
        self._source, self._reader = source, look.reader
        self._rows, self._numbers, self._own_levels = look.rows, look.numbers, True
        self._counted = {
            feature: (own.levels, own.counts)
            for feature, own in look.unions.items()
            if own.levels is not None
        }
        self.shape, self.most_rows = (look.n_rows, look.width), max(look.rows)
        absent = [look.width - width for width, _ in look.numbers]
        self.n_missing = look.n_missing + sum(map(mul, absent, look.rows))
        # the next pass takes a checksum of each batch's values where they are not known yet
        self._sums = None if self._counted or any(absent) else look.sums
        self.first_batch, self.label_column = look.first, look.label_column
        self.is_ragged = look.is_ragged
        self.text_columns = frozenset(one for one in self._counted if look.unions[one].is_text)

    @property
    def categories(self) -> dict[int, Levels]:
        return {feature: own for feature, (own, _) in self._counted.items()}

    def level_counts(self, feature: int) -> I64:
        return self._counted[feature][1]

    def coded_by(self, categories: Categories) -> CheckedBatches:
        other = copy(self)
        other._sums, other._own_levels = None, False
        other._counted = {}
        for feature, (own, counts) in self._counted.items():
            wanted = categories[feature]
            codes = np.arange(own.n_levels, dtype=np.int32)
            as_text = wanted.are_strings and feature in self.text_columns
            known = as_texts(own) if as_text else own
            places = recode(codes, known, wanted, f"batches: column {feature}")
            other._counted[feature] = wanted, _moved(counts, places, wanted.n_levels)
        return other

    def widened(self, n_features: int) -> CheckedBatches:
        other = copy(self)
        other.shape, other._sums = (self.shape[0], n_features), None
        other.n_missing += self.shape[0] * (n_features - self.shape[1])
        return other

    def parts(self) -> Iterator[tuple[int, Features]]:
        first, number, levels, sums = 0, -1, self.categories, []
        for batch in self._source():
            number += 1  # enumerate would keep a batch until the next one is read
            if number >= len(self._rows):
                raise DataError(
                    f"{batch.where} comes after {len(self._rows)} batches, the number of the first "
                    f"pass: {_SAME}; {_MOVE}"
                )
            features = self._reader.features(batch, levels)
            own_width = features.values.shape[1]
            values = values_of(features, self.shape[1] if batch.ragged else own_width)
            if values.shape != (self._rows[number], self.shape[1]):
                raise DataError(
                    f"{batch.where} has shape {values.shape}, and had "
                    f"{(self._rows[number], self.shape[1])} in the first pass: {_SAME}; {_MOVE}"
                )
            unknown = self._own_levels and any(
                (level_codes(features, c) == own.n_levels).any() for c, own in levels.items()
            )
            width, numbers = self._numbers[number]
            found, own_numbers = sums_of(values, width, self._counted)
            changed = own_numbers != numbers
            if changed or unknown or (self._sums is not None and self._sums[number] != found):
                raise DataError(
                    f"{batch.where} has other values than in an earlier pass: {_SAME}; {_MOVE}"
                )
            sums.append(found)
            features = replace(features, values=values)
            n_rows = len(values)
            del batch, values
            yield first, features
            del features
            first += n_rows
        if number + 1 < len(self._rows):
            raise DataError(
                f"the batches ended after {number + 1} of {len(self._rows)}, with {first} of "
                f"{self.shape[0]} rows: {_SAME}; {_MOVE}"
            )
        self._sums = sums


def _moved(counts: I64, places: npt.NDArray[np.int32], n_levels: int) -> I64:
    """Return the number of rows of each new code; values without a level count as missing."""
    found = np.zeros(n_levels + 1, np.int64)
    here = (places >= 0) & (places < n_levels)
    np.add.at(found, places[here], counts[:-1][here])
    found[-1] = counts.sum() - found.sum()
    return found


class LevelUnion:
    """The sorted union of the levels of all batches, for one categorical column."""

    def __init__(self) -> None:
        self.levels: Levels | None = None
        self.counts: I64 = np.zeros(1, np.int64)
        self.is_text = True

    def add(self, features: Features, feature: int, *, is_text: bool, where: str) -> None:
        """Take a batch's levels in, and count its rows."""
        own = features.categories[feature]
        counts = level_counts(level_codes(features, feature), own.n_levels)
        self.is_text = self.is_text and is_text
        if self.levels is None or not self.levels.n_levels:
            # nothing but missing values so far
            counts[-1] += self.counts.sum()
            self.levels, self.counts = own, counts
            return
        if own == self.levels:
            self.counts = self.counts + counts
            return
        known = self.levels
        if own.n_levels and known.are_strings != own.are_strings:
            if not self.is_text:
                raise DataError(
                    f"{where}: {Words('X', features.names).column(feature)} holds {own.kind}: "
                    f"expected {known.kind}, as in the batches before; convert the column"
                )
            known, own = as_texts(known), as_texts(own)
        self.levels = union(known, own)
        total = np.zeros(self.levels.n_levels + 1, np.int64)
        for levels, some in ((known, self.counts), (own, counts)):
            total += _moved(some, self.levels.encode(levels.values), self.levels.n_levels)
        self.counts = total


def union(one: Levels, other: Levels) -> Levels:
    """Return the levels of both, ascending."""
    if not other.n_levels or not one.n_levels:
        return one if one.n_levels else other
    if one.are_strings:
        return Levels(as_objects(sorted({*one.values.tolist(), *other.values.tolist()})))
    return Levels(np.union1d(one.values, other.values))


def as_texts(levels: Levels) -> Levels:
    """Return whole numbers of a file as the text that stands there, in the order of strings."""
    if levels.are_strings:
        return levels
    return Levels(as_objects(list(map(str, levels.values.tolist()))))  # not sorted: to count


def is_text_column(batch: RowBatch, feature: int) -> bool:
    """Tell whether a column comes from text, where whole numbers may turn out to be strings."""
    if not isinstance(batch.X, ColumnTable):
        return False
    column = batch.X.columns[feature]
    return isinstance(column, Column) and column.is_text


class Look:
    """What is to be known of all batches."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.rows: list[int] = []
        self.sums: list[int] = []
        self.numbers: list[tuple[int, int]] = []
        self.n_rows, self.n_missing, self.width = 0, 0, 0
        self.names: list[str] | None = None
        self.unions: dict[int, LevelUnion] = {}
        self.first, self.label_column = "", ""
        self.blurred = Blurred()
        self.is_ragged = True

    def add(self, batch: RowBatch) -> Features:
        """Check a batch, and take in what is to be known of all; return its columns."""
        features = self.reader.features(batch)
        n_rows, width = (int(size) for size in features.values.shape)
        if not self.rows:
            self.first, self.names = batch.where, features.names
            self.label_column = batch.label_column
            self.unions = {feature: LevelUnion() for feature in features.categories}
            # the columns of the first batch are those of all
            self.reader = replace(self.reader, categorical=sorted(self.unions) or None)
        elif width != self.width and not batch.ragged:
            raise DataError(
                f"{batch.where} has {plural(width, 'column')}: expected {self.width}, as in "
                f"{self.first}; give the same columns in the same order"
            )
        self.is_ragged = self.is_ragged and batch.ragged
        check_columns(features.names, self.names, batch.where, self.first)
        for feature, own in self.unions.items():
            if feature in features.categories:
                own.add(features, feature, is_text=is_text_column(batch, feature),
                        where=batch.where)  # fmt: skip
        if features.categories.keys() != self.unions.keys():
            raise DataError(
                f"{batch.where} has categories in columns {sorted(features.categories)}: expected "
                f"{sorted(self.unions)}, as in {self.first}; convert the columns"
            )
        self.blurred.merge(features.remarks.blurred if batch.blurred is None else batch.blurred)
        values = values_of(features, width)
        self.rows.append(n_rows)
        self.width = max(self.width, width)
        of_all, of_numbers = sums_of(values, width, self.unions)
        self.sums.append(of_all)
        self.numbers.append((width, of_numbers))
        self.n_missing += n_missing(values)
        self.n_rows += n_rows
        if self.n_rows > MOST_ROWS:
            raise DataError(
                f"batches have more than {MOST_ROWS} rows: expected {MOST_ROWS} at most, as "
                "kernels number rows by 31 bits; train on a sample"
            )
        return features


#: Text is kept while its values take at most this share of the memory that is free.
SHARE = 1 / 16


class KeptBatches:
    """The batches of a first pass, for later ones; none if they take too much memory."""

    def __init__(self) -> None:
        self._batches: list[RowBatch] | None = []
        self._room = int((available_memory() or 0) * SHARE)

    def add(self, batch: RowBatch, features: Features) -> None:
        """Keep a batch's columns; forget all if there is no room for them.

        Columns of levels stay text: another batch may tell that whole numbers are strings.
        """
        if self._batches is None:
            return
        X = batch.X if features.categories else features
        self._room -= _bytes_of(X)
        if self._room < 0:
            self._batches = None
            return
        names, where = batch.feature_names, batch.where
        self._batches.append(RowBatch(X, feature_names=names, where=where, ragged=batch.ragged))

    @property
    def is_whole(self) -> bool:
        """Whether all batches are here."""
        return self._batches is not None

    def __call__(self) -> Iterator[RowBatch]:
        assert self._batches is not None
        yield from self._batches


def _bytes_of(X: Any) -> int:
    """Return the bytes of parsed rows, their text included."""
    arrays = [X]
    if isinstance(X, Features):
        arrays = [X.values]
        if isinstance(X.values, SparseMatrix):
            arrays = [X.values.row_starts, X.values.columns, X.values.values]
    elif isinstance(X, ColumnTable):
        text = [one for one in X.columns if isinstance(one, Column)]
        arrays = [one for one in X.columns if not isinstance(one, Column)]
        arrays += [array for one in text for array in (one.places, one.distinct)]
    objects = (one for array in arrays if array.dtype == object for one in array)
    return sum(int(array.nbytes) for array in arrays) + sum(map(sys.getsizeof, objects))
