"""Checks of sparse matrices: SciPy's matrices and arrays -> float32 in compressed sparse rows.

The result shares the memory of the user's matrix where the dtypes allow, and never writes to it:
not to its arrays, and not to the flags that SciPy keeps in it, such as ``has_sorted_indices``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.containers import CHUNK, NUMERIC_KINDS
from pyopencl_gbdt.data.arrays.matrix import check_shape
from pyopencl_gbdt.data.arrays.narrow import check_missing, to_float32
from pyopencl_gbdt.data.arrays.sparse import I32, I64, SparseMatrix
from pyopencl_gbdt.data.blurred import Blurred, Sifted
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import Source, show, variable

#: Columns are numbered by int32.
MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class _Entries(Source):
    """Entries in the order of rows, for error messages: the row and column of entry e."""

    row_starts: I64 = field(default_factory=lambda: np.zeros(1, np.int64))
    entry_columns: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int32))

    def place(self, row: int, column: int) -> str:
        """Describe where entry ``row`` lies; ``column`` is 0."""
        return super().place(_major(self.row_starts, row), int(self.entry_columns[row]))


def check_sparse(
    X: Any,
    *,
    name: str = "X",
    n_features: int | None = None,
    missing: float | None = None,
    blurred: Blurred | None = None,
) -> SparseMatrix:
    """Check a sparse matrix and convert it to float32 in compressed sparse rows.

    Parameters
    ----------
    X : (n_rows, n_columns) matrix or array of scipy.sparse, or SparseMatrix
        Of bool, integers or floats, with indices of any dtype and order. Duplicate entries are
        summed in the matrix's dtype, as SciPy's ``sum_duplicates`` does. What is absent is missing,
        and so is NaN; zeros that are stored are values.
    n_features : int or None
        The required number of columns; None accepts any.
    missing : float or None
        A number that also means "missing"; not 0.

    Returns
    -------
    SparseMatrix
        It shares the arrays of X that have its dtypes, so do not write into X.

    Raises
    ------
    DataError
        The shape, the dtype, an index or a value cannot be used; the message names the place.
    ParameterError
        ``missing`` is 0, or no number.
    """
    absent = _check_missing(missing, name)
    check_shape(X.shape, name, n_features)
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(
            f"{name} has {X.shape[1]} columns: expected {MOST_COLUMNS} at most, as they are "
            "numbered by 31 bits; leave out empty columns"
        )
    if isinstance(X, SparseMatrix):
        starts, columns, given = X.row_starts, X.columns, X.values
    else:
        starts, columns, given = _in_rows(X, name)
    source = _Entries(name, row_starts=starts, entry_columns=columns)
    values = to_float32(given.reshape(-1, 1), source, missing=absent).reshape(-1)
    if blurred is not None:
        _compare(blurred, columns, given, values)
    del given
    gone = np.flatnonzero(np.isnan(values))
    if gone.size:
        columns, values = np.delete(columns, gone), np.delete(values, gone)
        starts = starts - np.searchsorted(gone, starts)
    return SparseMatrix((int(X.shape[0]), int(X.shape[1])), starts, columns, values)


def _check_missing(missing: float | None, name: str) -> float:
    absent = check_missing(missing)
    with np.errstate(over="ignore", under="ignore"):
        is_zero = np.float32(absent) == 0
    if is_zero:
        raise ParameterError(
            f"missing={show(missing)} with a sparse {name}: expected NaN or a number that is not "
            f"0, as absent values are missing and stored zeros are values; leave it out, and call "
            f"{name}.eliminate_zeros() if stored zeros are missing too"
        )
    return absent


def _compare(
    blurred: Blurred, columns: I32, given: npt.NDArray[Any], values: npt.NDArray[np.float32]
) -> None:
    """Search entries for whole numbers that float32 cannot tell apart."""

    def sift(start: int) -> Sifted | None:
        part = slice(start, start + CHUNK)
        return blurred.sift(columns[part], given[part], values[part])

    blurred.add_blocks(sift, range(0, values.size, CHUNK))


def _in_rows(X: Any, name: str) -> tuple[I64, I32, npt.NDArray[Any]]:
    """Return row starts, columns and values in the dtype of X; entries ascend and are distinct."""
    from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

    _check_dtype(X.dtype, name)
    if X.format == "coo":
        data = _native(X.data)
        _check_range(X.row, X.shape[0], "row", name, lambda e: int(X.col[e]))
        _check_range(X.col, X.shape[1], "column", name, lambda e: int(X.row[e]))
        X = coo_matrix((data, (X.row, X.col)), X.shape).tocsr()  # sums duplicates
    elif X.format == "csc":
        starts, rows, data = _parts(X, X.shape[1], name)
        _check_range(rows, X.shape[0], "row", name, partial(_major, starts))
        X = csc_matrix((data, rows, starts), X.shape).tocsr()
    elif X.format != "csr":
        X = X.tocsr()
    starts, columns, data = _parts(X, X.shape[0], name)
    _check_range(columns, X.shape[1], "column", name, partial(_major, starts))
    if not _ascends(starts, columns):
        own = csr_matrix((data.copy(), columns.copy(), starts.copy()), X.shape)
        own.sum_duplicates()  # sorts first
        starts, columns, data = own.indptr, own.indices, own.data
    return (
        np.ascontiguousarray(starts, np.int64),
        np.ascontiguousarray(columns, np.int32),
        data,
    )


def _major(starts: npt.NDArray[Any], entry: int) -> int:
    """Return the row of an entry in CSR, or its column in CSC."""
    return int(np.searchsorted(starts, entry, "right")) - 1


def _check_dtype(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind not in NUMERIC_KINDS:
        unsupported = "Complex data not supported: " if dtype.kind == "c" else ""
        raise DataError(
            f"{unsupported}{name} is a sparse matrix of dtype {dtype}: expected real numbers; "
            f"convert it, for example {variable(name)}.astype(np.float32)"
        )


def _native(data: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return values that SciPy's kernels take: in the machine's byte order, not float16."""
    dtype = data.dtype.newbyteorder("=")
    found: npt.NDArray[Any] = data.astype(np.float32 if dtype == np.float16 else dtype, copy=False)
    return found


def _parts(X: Any, n_major: int, name: str) -> tuple[npt.NDArray[Any], ...]:
    """Return starts, indices and values of a CSR or CSC matrix, without unused room behind them."""
    starts, indices, data = X.indptr.astype(np.int64, copy=False), X.indices, X.data
    ends = int(starts[-1]) if starts.size else -1
    whole = starts.size == n_major + 1 and starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not whole or not ends <= min(indices.size, data.size):
        raise DataError(
            f"{name}.indptr: expected {n_major + 1} ascending numbers from 0 to at most "
            f"{min(indices.size, data.size)}, the entries; make the matrix anew"
        )
    return starts, indices[:ends], _native(data[:ends])


def _check_range(
    indices: npt.NDArray[Any], size: int, what: str, name: str, other: Callable[[int], int]
) -> None:
    """Raise an error for an index outside the matrix; ``other`` tells its other coordinate."""
    if not indices.size or (indices.min() >= 0 and indices.max() < size):
        return
    entry = int(np.argmax((indices < 0) | (indices >= size)))
    row, column = int(indices[entry]), other(entry)
    if what == "column":
        row, column = column, row
    raise DataError(
        f"{name} has an entry at {Source(name).place(row, column)}: expected {what}s "
        f"0..{size - 1}; correct the matrix's indices"
    )


def _ascends(starts: npt.NDArray[Any], columns: npt.NDArray[Any]) -> bool:
    """Tell whether columns ascend and are distinct within each row."""
    for begin in range(0, columns.size, CHUNK):
        part = columns[begin : begin + CHUNK + 1]
        falls = np.flatnonzero(part[1:] <= part[:-1]) + begin + 1
        if not np.array_equal(starts[np.searchsorted(starts, falls)], falls):
            return False
    return True
