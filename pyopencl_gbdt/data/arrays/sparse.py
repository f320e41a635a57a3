"""Sparse matrices: present values alone, row by row; what is absent is missing.

    dense                 row_starts  0 2 2 5
    1.5  -    2           columns     0 2 | | 0 1 3         ascending within a row
     -   -    -           values    1.5 2 | | 4 0 7         a stored 0 is a value
     4   0    -   7

`check_sparse` converts SciPy's matrices and arrays to this form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.containers import CHUNK
from pyopencl_gbdt.lazy_dataclasses import dataclass

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SparseMatrix:
    """A checked matrix in compressed sparse rows (CSR); what has no entry is missing.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    row_starts : int64 array, shape (n_rows + 1,)
        Row r has the entries ``row_starts[r] .. row_starts[r + 1] - 1``.
    columns : int32 array, shape (n_entries,)
        Ascending and distinct within a row.
    values : float32 array, shape (n_entries,)
        Finite numbers; 0 is a value like others.
    """

    shape: tuple[int, int]
    row_starts: I64
    columns: I32
    values: F32

    def __repr__(self) -> str:
        n_rows, n_columns = self.shape
        return f"SparseMatrix({n_rows} x {n_columns}, {self.n_entries} present)"

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def n_entries(self) -> int:
        return int(self.values.size)

    @property
    def nbytes(self) -> int:
        """Size of the three arrays in bytes."""
        return self.row_starts.nbytes + self.columns.nbytes + self.values.nbytes

    @property
    def density(self) -> float:
        """The share of values that are present, 0 to 1."""
        return self.n_entries / (self.shape[0] * self.shape[1])

    def rows(self, first: int, last: int) -> SparseMatrix:
        """Return rows ``first .. last - 1``; entries are shared, not copied."""
        starts = self.row_starts[first : last + 1]
        own = slice(starts[0], starts[-1])
        shape = (last - first, self.shape[1])
        return SparseMatrix(shape, starts - starts[0], self.columns[own], self.values[own])

    def take(self, rows: npt.ArrayLike) -> SparseMatrix:
        """Return a copy of some rows, in the given order, with repeats.

        ``rows``: numbers of rows; those below 0 count from the end.
        """
        chosen = np.asarray(rows, np.int64) % self.shape[0]
        first = self.row_starts[chosen]
        starts = np.zeros(chosen.size + 1, np.int64)
        np.cumsum(self.row_starts[chosen + 1] - first, out=starts[1:])
        columns, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        for begin, end in _row_blocks(starts):
            target = slice(starts[begin], starts[end])
            shift = np.repeat(
                first[begin:end] - starts[begin:end], np.diff(starts[begin : end + 1])
            )
            source = np.arange(target.start, target.stop) + shift
            columns[target], values[target] = self.columns[source], self.values[source]
        return SparseMatrix((chosen.size, self.shape[1]), starts, columns, values)

    def by_column(self) -> tuple[I64, I32, F32]:
        """Return the entries column by column, as compressed sparse columns (CSC).

        Returns
        -------
        column_starts : int64 array, shape (n_columns + 1,)
        rows : int32 array, shape (n_entries,)
            Ascending within a column.
        values : float32 array, shape (n_entries,)
        """
        own = self.scipy().tocsc()
        return own.indptr.astype(np.int64), own.indices.astype(np.int32, copy=False), own.data

    def scipy(self) -> Any:
        """Return a ``csr_matrix`` of SciPy that shares the entries: do not write into it."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.values, self.columns, self.row_starts), self.shape)

    def dense(
        self,
        columns: npt.ArrayLike | None = None,
        first_row: int = 0,
        last_row: int | None = None,
    ) -> F32:
        """Return some columns of rows ``first_row .. last_row - 1`` as a dense array.

        ``columns``: distinct numbers of columns; None is all of them.
        ``first_row``, ``last_row``: None is the last row plus 1.

        Returns
        -------
        float32 array, shape (last_row - first_row, n), C order
            NaN where there is no entry.
        """
        part = self.rows(first_row, self.shape[0] if last_row is None else last_row)
        asked = np.arange(self.shape[1]) if columns is None else np.asarray(columns, np.int64)
        found = np.full((part.shape[0], asked.size), np.nan, np.float32)
        order = np.argsort(asked)
        place = np.searchsorted(asked[order], part.columns)
        there = place < asked.size
        there[there] = asked[order[place[there]]] == part.columns[there]
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.row_starts))
        found[row[there], order[place[there]]] = part.values[there]
        return found


def _row_blocks(starts: I64) -> Iterator[tuple[int, int]]:
    """Split rows into blocks of about ``CHUNK`` entries: the first row, and the last plus 1."""
    begin, n_rows = 0, starts.size - 1
    while begin < n_rows:
        end = int(np.searchsorted(starts, starts[begin] + CHUNK, "right")) - 1
        end = min(n_rows, max(begin + 1, end))
        yield begin, end
        begin = end
