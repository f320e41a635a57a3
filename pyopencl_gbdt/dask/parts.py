"""Rows of Dask's collections: which worker gets which partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask
import numpy as np
from dask import array
from scipy.optimize import linear_sum_assignment

from pyopencl_gbdt.errors import DataError


@dataclass(frozen=True)
class DaskPartition:
    """What a worker has to know of a partition before it is assigned.

    Attributes
    ----------
    n_rows : int
    first_query, last_query : object
        The queries of its first and last row; None without queries.
    """

    n_rows: int
    first_query: Any = None
    last_query: Any = None


def partitions(client: Any, given: Mapping[str, Any]) -> list[Any]:
    """Return a future for each partition: a dict of its parts by name.

    Parameters
    ----------
    client : distributed.Client
    given : mapping of str to Dask array or table, or None
        ``X`` and what belongs to its rows.

    Raises
    ------
    DataError
        If something is no Dask collection, or is divided otherwise than X.
    """
    X = given["X"]
    lists = {
        name: _delayed(name, values, X) for name, values in given.items() if values is not None
    }
    for name, parts in lists.items():
        if len(parts) != len(lists["X"]):
            raise DataError(
                f"{name} has {len(parts)} partitions, X {len(lists['X'])}: expected the same; "
                "repartition one of them"
            )
    rows = zip(*lists.values(), strict=True)
    whole = [dask.delayed(_together)(list(lists), list(parts)) for parts in rows]
    found: list[Any] = client.compute(whole)
    return found


def _together(names: Sequence[str], parts: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(names, parts, strict=True))


def _delayed(name: str, values: Any, X: Any) -> list[Any]:
    if not dask.is_dask_collection(values) or not hasattr(values, "to_delayed"):
        raise DataError(
            f"{name} is of type {type(values).__name__}: expected a Dask array or DataFrame; make "
            "one by dask.array.from_array or dask.dataframe.from_pandas"
        )
    if isinstance(values, array.Array):
        rows = values.chunks[0]
        known = isinstance(X, array.Array) and not np.isnan([*rows, *X.chunks[0]]).any()
        if known and rows != X.chunks[0] and sum(rows) == sum(X.chunks[0]):
            rows = X.chunks[0]
        values = values.rechunk((rows, *((-1,) * (values.ndim - 1))))
    return list(np.ravel(values.to_delayed()))


def described(part: Mapping[str, Any]) -> DaskPartition:
    """Describe a partition; runs on a worker."""
    n_rows, qid = len(part["X"]), part.get("qid")
    if qid is None or not n_rows:
        return DaskPartition(n_rows)
    ids = np.asarray(qid)
    return DaskPartition(n_rows, ids[0].item(), ids[-1].item())


def blocks(found: Sequence[DaskPartition], n_blocks: int) -> list[range]:
    """Divide partitions into runs of neighbours with about as many rows each; queries stay whole.

    Returns
    -------
    list of range
        Some may be empty.
    """
    ends = np.cumsum([0, *(one.n_rows for one in found)])
    wanted = ends[-1] * np.arange(1, n_blocks) / n_blocks
    borders = [0]
    for rows in wanted:
        border = max(borders[-1], int(np.abs(ends - rows).argmin()))
        while 0 < border < len(found) and _splits(found, border):
            border += 1
        borders.append(border)
    borders.append(len(found))
    return [range(a, b) for a, b in pairwise(borders)]


def _splits(found: Sequence[DaskPartition], border: int) -> bool:
    """Tell whether a query has rows on both sides of a border."""
    behind = next((one for one in found[border:] if one.n_rows), None)
    before = next((one for one in reversed(found[:border]) if one.n_rows), None)
    if behind is None or before is None or before.last_query is None:
        return False
    return bool(before.last_query == behind.first_query)


def assigned(
    runs: Sequence[range],
    where: Sequence[Sequence[str]],
    found: Sequence[DaskPartition],
    workers: Sequence[str],
) -> list[str]:
    """Return a worker for every run of partitions, so that few rows have to move.

    Parameters
    ----------
    runs : sequence of range
    where : sequence of sequence of str
        The workers that have each partition.
    found : sequence of Partition
    workers : sequence of str
        At least as many as runs.
    """  # fmt: skip
    there = np.zeros((len(runs), len(workers)))
    for number, run in enumerate(runs):
        for part in run:
            for worker in where[part]:
                if worker in workers:
                    there[number, workers.index(worker)] += found[part].n_rows
    _, chosen = linear_sum_assignment(-there)
    return [workers[int(one)] for one in chosen]
