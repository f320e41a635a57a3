"""Which worker of Dask gets which partitions, and what it does when several train one model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import urlparse

import dask
import distributed
import numpy as np
from dask import array
from scipy.optimize import linear_sum_assignment

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.selection import find_several, names_several
from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.rendezvous import Address, Rendezvous
from pyopencl_gbdt.errors import DataError, TeamError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.division import row_bounds
from pyopencl_gbdt.training.train import train


@dataclass(frozen=True)
class DaskPartition:
    """What a worker has to know of a partition before it is assigned.

    Attributes
    ----------
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
    whole = [dask.delayed(dict)(list(zip(lists, parts, strict=True))) for parts in rows]
    found: list[Any] = client.compute(whole)
    return found


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


#: The doors that this process has opened, by the job's name and the worker: workers may share one.
_doors: dict[tuple[str, str], list[Rendezvous]] = {}
#: Parts of a partition that ``Dataset`` takes.
_OF_ROWS = ("label", "weight", "base_margin", "qid", "label_lower_bound", "label_upper_bound")


@dataclass(frozen=True)
class Job:
    """What all workers know of a training.

    Attributes
    ----------
    key : bytes
        The secret by which members know each other.
    addresses : sequence of (str, int)
        The addresses of all members, in the order of their rows.
    params, options : dict
        Arguments of ``train``.
    columns : dict
        Arguments of ``Dataset`` that belong to columns.
    trainer : callable
        ``train``, or another function with its arguments that returns a model.
    """

    name: str
    key: bytes
    addresses: Sequence[Address]
    params: Mapping[str, Any]
    options: Mapping[str, Any]
    columns: Mapping[str, Any]
    eval_names: Sequence[str]
    limits: Limits
    trainer: Callable[..., Model] = train


def devices_of(params: Mapping[str, Any]) -> list[str]:
    """Return the devices of this host that parameters name, each for one member."""
    name = params.get("device", "auto")
    several = isinstance(name, str) and names_several(name)
    return [one.info.device_id for one in find_several(name)] if several else [name]


def open_doors(
    name: str, key: bytes, params: Mapping[str, Any], dask_worker: Any = None
) -> list[Address]:
    """Open an address for each member on this worker; return them. Dask gives the worker."""
    host = urlparse(dask_worker.address).hostname or "127.0.0.1"
    doors = _doors[name, dask_worker.address] = []
    try:
        for _ in devices_of(params):
            doors.append(Rendezvous(host, key))
    except BaseException:
        close_doors(name, dask_worker)
        raise
    return [door.address for door in doors]


def close_doors(name: str, dask_worker: Any = None) -> None:
    """Close what ``open_doors`` has opened on this worker, if anything."""
    for door in _doors.pop((name, dask_worker.address), ()):
        door.close()


def work(
    parts: Sequence[Mapping[str, Any]],
    evals: Sequence[Sequence[Mapping[str, Any]] | None],
    job: Job,
    first_rank: int,
) -> Model | None:
    """Train with this worker's rows; return the model on the first worker.

    Parameters
    ----------
    parts : sequence of mapping
        This worker's partitions, in order.
    evals : sequence of (sequence of mapping, or None)
        The partitions of every evaluation set; None is the training data.
    first_rank : int
        Rank of the worker's first member.
    """
    doors = _doors.pop((job.name, distributed.get_worker().address), None)
    if doors is None:
        raise TeamError(f"{job.name}: this worker was started again; call train again")
    try:
        return _work(parts, evals, job, first_rank, doors)
    finally:  # a door that was not joined: others that wait for it learn that nobody comes
        for door in doors:
            door.close()


def _work(
    parts: Sequence[Mapping[str, Any]],
    evals: Sequence[Sequence[Mapping[str, Any]] | None],
    job: Job,
    first_rank: int,
    doors: Sequence[Rendezvous],
) -> Model | None:
    data = dataset_of(parts, job.columns)
    bounds = [(0, 0)] * len(doors) if data is None else row_bounds(data, [1.0] * len(doors))
    sets = [None if rows is None else dataset_of(rows, job.columns) for rows in evals]
    names = devices_of(job.params)
    made: list[Any] = [None] * len(doors)

    def member(place: int) -> None:
        try:
            with doors[place].join(first_rank + place, job.addresses, job.limits) as team:
                own = None if data is None else data.part(*bounds[place])
                own = None if own is None or not own.n_rows else own
                mine = [
                    (own if evals[i] is None else None if place else sets[i], name)
                    for i, name in enumerate(job.eval_names)
                ]
                params = {**job.params, "device": names[place]}
                made[place] = job.trainer(params, own, evals=mine, communicator=team, **job.options)
        except BaseException as error:
            made[place] = error

    running = [threading.Thread(target=member, args=(place,)) for place in range(len(doors))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    errors = [one for one in made if isinstance(one, BaseException)]
    if errors:
        raise min(errors, key=lambda one: isinstance(one, TeamError))
    return made[0] if first_rank == 0 else None


def dataset_of(parts: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]) -> Dataset | None:
    """Return the rows of some partitions; None if there are none."""
    filled = [part for part in parts if len(part["X"])]
    if not filled:
        return None
    joined = {
        name: _joined([part[name] for part in filled])
        for name in ("X", *_OF_ROWS)
        if name in filled[0]
    }
    return Dataset(joined.pop("X"), **joined, **columns)


def _joined(parts: Sequence[Any]) -> Any:
    """Return the rows of arrays or tables, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts)
    import pandas as pd
    from pandas.api.types import union_categoricals

    if isinstance(parts[0], pd.DataFrame):
        parts = [part.copy(deep=False) for part in parts]
        for name in parts[0].columns:
            if isinstance(parts[0][name].dtype, pd.CategoricalDtype):
                every = union_categoricals([part[name] for part in parts]).categories
                for part in parts:
                    part[name] = part[name].cat.set_categories(every)
    return pd.concat(parts, ignore_index=True)
