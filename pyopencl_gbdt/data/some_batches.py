"""Some of the rows that come in batches: those of a fold, or a member's part of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.batched_rows import I64, BatchedRows
from pyopencl_gbdt.data.categories import NO_LEVEL
from pyopencl_gbdt.data.coded import level_codes, taken


class SomeRows(BatchedRows):
    """Rows of a source whose batches are all read, though not all rows are taken.

    Parameters
    ----------
    rows : BatchedRows
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
                apart = taken(features.codes_apart, some)
                own = replace(features, values=features.values[some], codes_apart=apart)
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
                    codes = level_codes(features, column)
                    codes = np.where(codes == NO_LEVEL, levels.n_levels, codes)
                    counts = np.bincount(codes, minlength=levels.n_levels + 1)
                    found[column] = found.get(column, 0) + counts.astype(np.int64)
                del features
            self._counts = found
        return self._counts[feature]

    def coded_by(self, categories: Mapping[int, Any]) -> SomeRows:
        return SomeRows(self._rows.coded_by(categories), self._chosen)

    def widened(self, n_features: int) -> SomeRows:
        return SomeRows(self._rows.widened(n_features), self._chosen)

    def end_reading(self) -> None:
        self._rows.end_reading()
