"""Parsed text that stays in memory, where it is small: parsing takes longer than all else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pyopencl_gbdt.data.batch_parts import RowBatch
from pyopencl_gbdt.data.budget import available_memory
from pyopencl_gbdt.data.category_columns import Column
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.data.tables import ColumnTable

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
