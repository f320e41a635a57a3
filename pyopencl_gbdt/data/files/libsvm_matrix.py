"""The matrix of a libsvm file's pairs: sparse, unless half of its values are present."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.check_sparse import MOST_COLUMNS, check_sparse
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.budget import Budget
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import plural

#: An entry of a sparse matrix takes 8 bytes, a value of a dense one 4.
_DENSE_FROM = 0.5
#: Training has tables of all columns, of at least so many bytes a column. So one index can ask for
#: gigabytes; a file's bytes have to justify a width that the caller did not give.
COLUMN_BYTES = 4


class Where:
    """The line number of each token in a list, for error messages.

    ``counts`` tells how many tokens each line has.
    """

    def __init__(self, path: str | PathLike[str], numbers: Any, counts: Any = 1) -> None:
        self.path = path
        self.numbers = numbers
        self.counts = counts

    def line(self, token: int) -> int:
        return int(np.repeat(np.asarray(self.numbers), self.counts)[token])

    def error(self, token: int, found: str) -> DataError:
        return DataError(f"{self.path}, line {self.line(token)}: {found}")


def check_shape(
    columns: NDArray[np.int64], where: Where, n_features: int | None, one_based: bool
) -> tuple[int, int]:
    """Return the matrix's rows and columns; raise an error for a column outside it."""
    if n_features is not None and n_features > MOST_COLUMNS:
        raise DataError(
            f"{where.path}: n_features={n_features}: expected {MOST_COLUMNS} at most; lower it"
        )
    first = int(one_based)
    most = MOST_COLUMNS if n_features is None else n_features
    wrong = (columns < 0) | (columns >= most)
    if wrong.any():
        token = int(np.argmax(wrong))
        raise where.error(
            token,
            f"found index {columns[token] + first}: expected {first}..{most - 1 + first}; "
            f"check n_features, one_based and the file",
        )
    n_columns = n_features if n_features is not None else int(columns.max(initial=-1)) + 1
    if n_columns < 1:
        raise DataError(f"{where.path}: no line has an index:value pair; give n_features")
    return len(where.numbers), n_columns


def matrix_of(
    columns: NDArray[np.int64],
    values: NDArray[np.float32],
    counts: NDArray[np.int64],
    where: Where,
    shape: tuple[int, int],
    in_use: int,
    budget: Budget | None,
    *,
    dense: bool = False,
    width_given: bool = False,
) -> NDArray[np.float32] | SparseMatrix:
    """Return the pairs as a matrix.

    Parameters
    ----------
    columns, values : (n_pairs,) array
        Row by row; NaN is missing.
    counts : (n_rows,) array
        Pairs of every row.
    where : Where
        The pairs' lines.
    in_use : int
        Bytes in use beside the matrix.
    dense : bool
        Whether the matrix is dense, however few pairs there are.
    width_given : bool
        Whether the caller named the number of columns; otherwise the largest index did.

    Returns
    -------
    float32 array, C order, with NaN for what is absent; or SparseMatrix

    Raises
    ------
    DataError
        A line has a column twice, or the file needs more memory than its budget.
    """
    n_rows, n_columns = shape
    is_dense = dense or columns.size >= _DENSE_FROM * n_rows * n_columns
    if budget is not None:
        own = 4 * n_rows * n_columns if is_dense else 8 * (columns.size + n_rows)
        text = f"{plural(n_rows, 'row')} x {plural(n_columns, 'column')}"
        budget.check(own + in_use, f"its pairs and a matrix of {text} take about")
        if not width_given and not is_dense:
            budget.check(
                own + in_use + COLUMN_BYTES * n_columns,
                f"its largest index is {n_columns - 1}, counted from 0; tables of {text} take",
                f"correct the index, give n_features={n_columns}",
            )
    flat = np.repeat(np.arange(n_rows), counts) * n_columns + columns
    order = _order(flat, columns, where)
    if is_dense:
        X = np.full(shape, np.nan, np.float32)
        X.reshape(-1)[flat] = values
        return X
    del flat
    if order is not None:
        columns, values = columns[order], values[order]
    starts = np.concatenate([[0], np.cumsum(counts)])
    return check_sparse(SparseMatrix(shape, starts, columns.astype(np.int32), values))


def _order(
    flat: NDArray[np.int64], columns: NDArray[np.int64], where: Where
) -> NDArray[np.int64] | None:
    """Return the order that sorts pairs, or None; raise an error for an index given twice."""
    if np.all(np.diff(flat) > 0):  # indices ascend in each line: the usual case
        return None
    order = np.argsort(flat, kind="stable")
    twice = order[1:][np.diff(flat[order]) == 0]
    if twice.size:
        token = int(twice.min())
        raise where.error(
            token, f"column {columns[token]} (from 0) is given twice; keep one of the values"
        )
    return order
