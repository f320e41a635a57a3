"""Parsed text that stays in memory, where it is small: parsing takes longer than all else."""

from __future__ import annotations

from collections.abc import Iterator

from pyopencl_gbdt.data.batch_parts import Batch
from pyopencl_gbdt.data.budget import available_memory
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.sparse import SparseMatrix

#: Text is kept while its values take at most this share of the memory that is free.
SHARE = 1 / 16


class KeptBatches:
    """The batches of a first pass, for later ones; none if they take too much memory."""

    def __init__(self) -> None:
        self._batches: list[Batch] | None = []
        self._room = int((available_memory() or 0) * SHARE)

    def add(self, batch: Batch, features: Features) -> None:
        """Keep a batch's columns; forget all if there is no room for them."""
        if self._batches is None:
            return
        values = features.values
        arrays = [values]
        if isinstance(values, SparseMatrix):
            arrays = [values.row_starts, values.columns, values.values]
        self._room -= sum(array.nbytes for array in [*arrays, *features.codes_apart.values()])
        if self._room < 0:
            self._batches = None
        else:
            self._batches.append(Batch(features, where=batch.where, ragged=batch.ragged))

    @property
    def is_whole(self) -> bool:
        """Whether all batches are here."""
        return self._batches is not None

    def __call__(self) -> Iterator[Batch]:
        assert self._batches is not None
        yield from self._batches
