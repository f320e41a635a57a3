"""Queries of a ranking task, as offsets into the rows; a query's rows are adjacent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.containers import as_array
from pyopencl_gbdt.data.targets import check_weight, column_of, refuse
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import Source, plural

I64 = NDArray[np.int64]
F32 = NDArray[np.float32]


def group_offsets(qid: Any, group: Any, n_rows: int) -> I64 | None:
    """Return the first row of each query, from query ids or from group sizes, as in XGBoost.

    Parameters
    ----------
    qid : (n_rows,) array-like of integers, or None
        The query of every row, in ascending order.
    group : (n_groups,) array-like of integers, or None
        The number of rows of each query, in order.

    Returns
    -------
    offsets : (n_groups + 1,) int64 array, or None
        Query q has the rows ``offsets[q] .. offsets[q + 1] - 1``, at least one.

    Raises
    ------
    DataError
        Both are given, a value is not an integer, ``qid`` descends, or sizes do not sum to n_rows.
    """
    if qid is not None and group is not None:
        raise DataError("qid and group say the same in two ways; give one of them")
    if qid is not None:
        return _from_ids(_integers(qid, "qid"), n_rows)
    return None if group is None else _from_sizes(_integers(group, "group"), n_rows)


def check_ids(qid: Any, n_rows: int) -> I64 | None:
    """Check the query of every row as `group_offsets` does; return int64, or None for None."""
    if qid is None:
        return None
    ids = _integers(qid, "qid")
    _from_ids(ids, n_rows)
    return ids.astype(np.int64)


def whole_offsets(offsets: I64 | None, n_rows: int) -> I64:
    """Return the offsets; None becomes the offsets of one query with all rows."""
    return np.array([0, n_rows], np.int64) if offsets is None else offsets


def expand_weight(weight: Any, offsets: I64 | None, n_rows: int) -> F32 | None:
    """Check weights; return one weight per row.

    Parameters
    ----------
    weight : array-like or None
        One per row. With queries: one per query, as in XGBoost, or one per row that is the same
        in all rows of a query.
    offsets : (n_groups + 1,) int64 array, or None

    Raises
    ------
    DataError
        As in ``check_weight``, or rows of one query have different weights.
    """
    if weight is None or offsets is None:
        return check_weight(weight, n_rows)
    n_groups = offsets.size - 1
    weight = column_of(weight, Source("weight", is_vector=True))
    size = len(weight)
    if size not in (n_groups, n_rows):
        raise DataError(
            f"weight has {plural(size, 'value')}: expected one for each of the {n_groups} queries, "
            f"or one a row ({n_rows}) that is the same within a query"
        )
    if size == n_groups:
        of_query = check_weight(weight, n_groups)
        assert of_query is not None
        return np.repeat(of_query, np.diff(offsets))
    of_row = check_weight(weight, n_rows)
    assert of_row is not None
    wrong = of_row != np.repeat(of_row[offsets[:-1]], np.diff(offsets))
    expected = "the weight of the other rows of its query"
    refuse(wrong, of_row, "weight", expected, "give one weight a query")
    return of_row


def slice_offsets(offsets: I64, rows: I64) -> I64:
    """Return the query offsets of a selection of rows; rows of one query must be adjacent.

    Raises
    ------
    DataError
        If rows of another query lie between two rows of a query.
    """
    query = np.searchsorted(offsets, rows, side="right") - 1
    starts = np.flatnonzero(np.r_[True, np.diff(query) != 0])
    found, first = np.unique(query[starts], return_index=True)
    if found.size != starts.size:
        again = int(np.setdiff1d(np.arange(starts.size), first)[0])
        raise DataError(
            f"slice: query {query[starts[again]]} occurs again at place {starts[again]}: expected "
            "the rows of a query side by side; sort the row numbers"
        )
    return np.append(starts, rows.size).astype(np.int64)


def rows_of_groups(offsets: I64, groups: I64) -> I64:
    """Return the rows of the given queries, query after query."""
    parts = [np.arange(offsets[g], offsets[g + 1], dtype=np.int64) for g in groups]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _integers(values: Any, name: str) -> NDArray[Any]:
    array = np.ravel(as_array(values, Source(name, is_vector=True)))
    if array.dtype.kind == "O":
        array = np.array(array.tolist())
    if array.dtype.kind == "f" and (abs(array) < 2.0**63).all() and (array == np.rint(array)).all():
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DataError(f"{name} has dtype {array.dtype}: expected integers; number the queries")
    return array


def _from_ids(ids: NDArray[Any], n_rows: int) -> I64:
    if ids.size != n_rows:
        raise DataError(
            f"qid has {plural(ids.size, 'value')}, X has {plural(n_rows, 'row')}: expected one "
            "value per row; pass the qid that belongs to X"
        )
    below = ids[1:] < ids[:-1]
    if below.any():
        row = int(np.argmax(below)) + 1
        raise DataError(
            f"qid is not sorted: {ids[row]} in row {row} follows {ids[row - 1]}: expected ids that "
            "do not descend; sort the rows by query"
        )
    return np.append(np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]]), n_rows).astype(np.int64)


def _from_sizes(sizes: NDArray[Any], n_rows: int) -> I64:
    if (sizes < 1).any():
        at = int(np.argmax(sizes < 1))
        raise DataError(
            f"group[{at}]={sizes[at]}: expected 1 row or more in a query; leave empty ones out"
        )
    total = sum(sizes.tolist())
    if total != n_rows:
        raise DataError(
            f"group adds up to {total} rows, X has {n_rows}: expected the size of every query, in "
            "the order of the rows"
        )
    return np.append(0, np.cumsum(sizes)).astype(np.int64)
