"""What a worker of Dask does when several train one model."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlparse

import distributed
import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.selection import find_several, names_several
from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.rendezvous import Address, Rendezvous
from pyopencl_gbdt.errors import TeamError
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.division import row_bounds
from pyopencl_gbdt.training.train import train

#: The doors that this process has opened, by the job's name and the worker: workers may share one.
_doors: dict[tuple[str, str], list[Rendezvous]] = {}
#: Parts of a partition that ``Dataset`` takes.
_OF_ROWS = ("label", "weight", "base_margin", "qid", "label_lower_bound", "label_upper_bound")


@dataclass(frozen=True)
class Job:
    """What all workers know of a training.

    Attributes
    ----------
    name : str
    key : bytes
        The secret by which members know each other.
    addresses : sequence of (str, int)
        Of all members, in the order of their rows.
    params, options : dict
        Arguments of ``train``.
    columns : dict
        Arguments of ``Dataset`` that belong to columns.
    eval_names : sequence of str
    limits : Limits
    """

    name: str
    key: bytes
    addresses: Sequence[Address]
    params: Mapping[str, Any]
    options: Mapping[str, Any]
    columns: Mapping[str, Any]
    eval_names: Sequence[str]
    limits: Limits


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
    job : Job
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
            team = doors[place].join(first_rank + place, job.addresses, job.limits)
            own = None if data is None else data.part(*bounds[place])
            own = None if own is None or not own.n_rows else own
            mine = [
                (own if evals[i] is None else None if place else sets[i], name)
                for i, name in enumerate(job.eval_names)
            ]
            params = {**job.params, "device": names[place]}
            made[place] = train(params, own, evals=mine, communicator=team, **job.options)
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
