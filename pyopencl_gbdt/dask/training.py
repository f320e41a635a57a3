"""``train`` and ``predict`` on Dask's collections."""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import Any

import dask
import distributed
import numpy as np
from dask import array
from distributed.comm import CommClosedError

from pyopencl_gbdt.dask.work import (
    Job,
    assigned,
    blocks,
    close_doors,
    described,
    open_doors,
    partitions,
    work,
)
from pyopencl_gbdt.data.categories.chosen import FROM_DTYPE
from pyopencl_gbdt.device.team.handshake import Limits, seconds
from pyopencl_gbdt.errors import DataError, ParameterError, TeamError
from pyopencl_gbdt.parameters.parameters import given_instead
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.train import check_history, with_history
from pyopencl_gbdt.training.train import train as train_among_members

#: Seconds after which the client looks whether the workers are still there.
_LOOK = 2


def train(
    client: distributed.Client | None,
    params: Any,
    X: Any,
    label: Any,
    n_rounds: int | None = None,
    *,
    weight: Any = None,
    base_margin: Any = None,
    qid: Any = None,
    label_lower_bound: Any = None,
    label_upper_bound: Any = None,
    evals: Sequence[tuple[Any, str]] | None = (),
    feature_names: Any = None,
    feature_weights: Any = None,
    missing: float | None = None,
    categorical_features: Any = FROM_DTYPE,
    workers: Sequence[str] | None = None,
    timeout: float | None = None,
    **options: Any,
) -> Model:
    """Train one model on the workers of a Dask cluster.

    Partitions are divided among the workers in their order, so that each has neighbours; Dask
    moves those that lie elsewhere. The model's bytes are those of one process that has all rows in
    the order of partitions.

    Parameters
    ----------
    client : distributed.Client or None
        None is the current one.
    params : mapping or sequence of (str, object)
        As for ``pyopencl_gbdt.train``. With ``device="gpu:all"`` each worker trains on all of its
        GPUs; the workers of one host need different devices.
    X : dask.array.Array or dask.dataframe.DataFrame, shape (n_rows, n_features)
    label : dask.array.Array or dask.dataframe.Series, shape (n_rows,) or (n_rows, n_targets)
    n_rounds : int or None
    weight, base_margin, qid, label_lower_bound, label_upper_bound : Dask collection or None
        As in ``Dataset``, with the partitions of X. ``qid`` ascends over all partitions.
    evals : sequence of ((X, label), str) or (mapping, str), or None
        Sets to evaluate, and their names. A mapping has ``X``, ``label``, and perhaps ``weight``
        and so on; where these are X and label themselves, the training rows are evaluated.
    feature_names, feature_weights, missing, categorical_features
        As in ``Dataset``.
    workers : sequence of str or None
        Addresses of the workers; None is all.
    timeout : float or None
        Seconds without a sign of life after which a worker is given up; None is 30, or what the
        environment variable ``PYOPENCL_GBDT_TEAM_SILENCE`` says.
    **options
        Further arguments of ``pyopencl_gbdt.train``. Callbacks run as copies on the first worker;
        ``Model.history`` has what they would collect.

    Returns
    -------
    Model

    Raises
    ------
    ParameterError, DataError, DeviceError
        What a worker raised.
    TeamError
        If a worker died, or does not answer; the message names the rank and the worker.
    """
    evals_result = options.pop("evals_result", None)
    check_history(evals_result)
    given = {
        "X": X, "label": label, "weight": weight, "base_margin": base_margin, "qid": qid,
        "label_lower_bound": label_lower_bound, "label_upper_bound": label_upper_bound,
    }  # fmt: skip
    columns = {
        "feature_names": feature_names, "feature_weights": feature_weights, "missing": missing,
        "categorical_features": categorical_features,
    }  # fmt: skip
    params = given_instead(params, n_estimators=n_rounds)
    model = train_by_workers(
        client, params, given, columns, evals, options, workers=workers, timeout=timeout
    )
    return with_history(model, evals_result)


def train_by_workers(
    client: distributed.Client | None,
    params: Any,
    given: Mapping[str, Any],
    columns: Mapping[str, Any],
    evals: Sequence[tuple[Any, str]] | None,
    options: Mapping[str, Any],
    *,
    workers: Sequence[str] | None = None,
    timeout: float | None = None,
    trainer: Callable[..., Model] = train_among_members,
) -> Model:
    """Train one model on workers; see ``train``.

    Parameters
    ----------
    given : mapping of str to Dask collection or None
        ``X`` and what comes with the rows.
    columns : mapping of str to object
        Arguments of ``Dataset`` that belong to columns.
    options : mapping of str to object
        Further arguments of ``trainer``.
    trainer : callable
        What every member of the team calls, with the arguments of ``pyopencl_gbdt.train``.
    """
    limits = Limits.of_environment()
    if timeout is not None:
        limits = replace(limits, silence=seconds(timeout, "timeout", limits.silence))
    client = distributed.default_client() if client is None else client
    named = _named_sets(evals)
    chosen = sorted(workers or _there(client))
    if not chosen:
        raise ParameterError("workers: expected at least one; start some, or wait for them")
    futures = partitions(client, given)
    distributed.wait(futures)
    runs, placed = _placed(client, futures, chosen)
    sets: list[list[list[Any]] | None] = []
    for rows, _ in named:
        same = all(rows.get(name) is part for name, part in given.items())
        sets.append(None if same else _shares(client, partitions(client, rows), len(placed)))
    name, key = f"pyopencl_gbdt-{uuid.uuid4().hex}", secrets.token_bytes(32)
    try:
        opened = _opened(client, (name, key, dict(params)), placed, limits)
        job = Job(
            name, key, [address for worker in placed for address in opened[worker]], params,
            options, columns, [name for _, name in named], limits, trainer,
        )  # fmt: skip
        ranks = np.cumsum([0, *(len(opened[worker]) for worker in placed)]).tolist()
        running = [
            client.submit(
                work, [futures[i] for i in run], [own and own[place] for own in sets], job,
                ranks[place], workers=[worker], allow_other_workers=False, pure=False, retries=0,
                key=f"{name}-{ranks[place]}",
            )
            for place, (run, worker) in enumerate(zip(runs, placed, strict=True))
        ]  # fmt: skip
        model = _result(client, running, placed)
    except BaseException:
        with suppress(Exception):  # workers that got no work; one may be dead and not answer
            client.run(close_doors, name, workers=placed, on_error="ignore", callback_timeout=5)
        raise
    return model


def _named_sets(evals: Sequence[tuple[Any, str]] | None) -> list[tuple[Mapping[str, Any], str]]:
    """Return evaluation sets as mappings, with their names.

    Raises
    ------
    ParameterError
        If an entry is neither ((X, label), name) nor (mapping, name).
    """
    found: list[tuple[Mapping[str, Any], str]] = []
    for number, entry in enumerate(() if evals is None else evals):
        rows, name = entry if isinstance(entry, (list, tuple)) and len(entry) == 2 else (None, None)
        if isinstance(rows, (list, tuple)) and len(rows) == 2:
            rows = {"X": rows[0], "label": rows[1]}
        if not isinstance(rows, Mapping) or "X" not in rows or not isinstance(name, str):
            raise ParameterError(
                f"evals[{number}] is of type {type(entry).__name__}: expected ((X, label), name), "
                "or (mapping, name) where the mapping has X, label, weight and so on; give one"
            )
        found.append((rows, name))
    return found


def _placed(
    client: distributed.Client, futures: Sequence[Any], workers: Sequence[str]
) -> tuple[list[range], list[str]]:
    """Return the run of partitions of every worker that gets some, and the workers."""
    found = client.gather(client.map(described, futures))
    if not sum(one.n_rows for one in found):
        raise DataError("X has no rows: expected some; see what was read")
    runs = [run for run in blocks(found, min(len(workers), len(futures))) if len(run)]
    there = client.who_has(futures)
    where = [there.get(future.key, ()) for future in futures]
    return runs, assigned(runs, where, found, workers)


def _opened(
    client: distributed.Client, given: tuple[Any, ...], workers: Sequence[str], limits: Limits
) -> dict[str, Any]:
    """Open the workers' doors; return their addresses by worker.

    Dask waits for a worker that ended or stopped meanwhile.
    """
    longest = max(limits.silence, Limits.silence)  # a worker may have to import the library first
    until = time.monotonic() + longest
    call: Future[dict[str, Any]] = Future()

    def run() -> None:
        try:
            call.set_result(client.run(open_doors, *given, workers=list(workers)))
        except BaseException as error:
            call.set_exception(error)

    Thread(target=run, daemon=True).start()  # a program ends although it still waits
    while True:
        try:
            return call.result(_LOOK)
        except (FutureTimeout, CommClosedError) as error:
            gone = _gone(client, workers)
            if not gone and not call.done() and time.monotonic() < until:
                continue
            what = f"{', '.join(gone)} ended" if gone else f"one was silent for {longest:g} s"
            raise TeamError(
                f"{what} before the training began: expected the workers {', '.join(workers)}; "
                "look at their logs, or name others by workers="
            ) from error


def _gone(client: distributed.Client, workers: Sequence[str]) -> list[str]:
    there = _there(client)
    return [worker for worker in workers if worker not in there]


def _there(client: distributed.Client) -> Mapping[str, int]:
    """Return the workers that the scheduler knows now, by address.

    ``Client.scheduler_info`` returns the answer that the client keeps. The client refreshes it
    every two seconds by one without workers, also between the question and the return.
    """
    threads: Mapping[str, int] = client.nthreads()
    return threads


def _shares(client: distributed.Client, parts: list[Any], n_places: int) -> list[list[Any]]:
    """Return each worker's partitions of an evaluation set; queries stay whole."""
    found = client.gather(client.map(described, parts))
    return [parts[run.start : run.stop] for run in blocks(found, n_places)]


def _result(client: distributed.Client, running: Sequence[Any], workers: Sequence[str]) -> Model:
    """Return the model; if a worker fails, end the others and raise its error."""
    try:
        for future in _ended(client, running, workers):
            error = future.exception() if future.status == "error" else None
            if isinstance(error, TeamError):
                places = ", ".join(f"{i} is {worker}" for i, worker in enumerate(workers))
                raise TeamError(f"{error}; workers: {places}")
            if error is not None:
                raise error
            if future.cancelled():
                raise TeamError("the training was cancelled")
        model: Model = running[0].result()
        return model
    finally:
        with suppress(Exception):
            client.cancel(list(running))


def _ended(
    client: distributed.Client, running: Sequence[Any], workers: Sequence[str]
) -> Iterator[Any]:
    """Yield futures as they end; raise where a worker ended and no other one tells of it.

    The others notice a member of their team at once, but one that had not joined only later.
    """
    waiting = dict(zip(running, workers, strict=True))
    gone: list[str] = []
    while waiting:
        try:
            done = distributed.wait(list(waiting), _LOOK, return_when="FIRST_COMPLETED").done
        except distributed.TimeoutError:
            before, gone = gone, _gone(client, list(waiting.values()))
            if before and gone:
                raise TeamError(
                    f"{', '.join(gone)} ended during the training: look at its log; a checkpoint "
                    "resumes on other workers"
                ) from None
            continue
        for future in done:
            del waiting[future]
        yield from done


def predict(model: Model, X: Any, **options: Any) -> Any:
    """Predict the rows of a Dask collection, partition by partition.

    Parameters
    ----------
    model : Model
    X : dask.array.Array or dask.dataframe.DataFrame, shape (n_rows, n_features)
    **options
        As in ``Model.predict``.

    Returns
    -------
    dask.array.Array
        Float32, shape (n_rows,) or (n_rows, n_outputs); with ``pred_leaf`` int32, shape
        (n_rows, n_trees); contributions float64, of the shape that ``Model.predict`` returns; lazy.
    """
    used, shape = model.n_trees_used(options.get("iteration_range")), width_of(model)
    dtype: Any = np.float32
    if options.get("pred_leaf"):
        shape, dtype = (used,), np.int32
    elif options.get("pred_contribs") or options.get("pred_interactions"):
        n_each = 2 if options.get("pred_interactions") else 1
        shape, dtype = (*shape, *[model.ensemble.n_features + 1] * n_each), np.float64
    return mapped(_predict, X, shape, dtype, model=model, options=options)


def width_of(model: Model) -> tuple[int, ...]:
    """Return the shape of a row's margins."""
    n_outputs = model.ensemble.n_outputs
    return (n_outputs,) if n_outputs > 1 else ()


def _predict(rows: Any, model: Model, options: Mapping[str, Any]) -> Any:
    return model.predict(rows, **options)


def mapped(function: Any, X: Any, shape: tuple[int, ...], dtype: Any, **options: Any) -> Any:
    """Return a function of every partition's rows, as a Dask array.

    Parameters
    ----------
    function : callable
        Returns an array of shape (n_rows, *shape).
    X : Dask array or table
    dtype : dtype
    """
    empty = np.zeros((0, *shape), dtype)
    if isinstance(X, array.Array):
        X = X.rechunk({1: -1})
        more: dict[str, Any] = {"chunks": (X.chunks[0], *[(n,) for n in shape])}
        more |= {"new_axis": list(range(2, 1 + len(shape)))} if shape else {"drop_axis": 1}
        given = {"function": function, "options": options, "empty": empty}
        return X.map_blocks(_of_rows, **given, meta=empty, **more)
    if not hasattr(X, "to_delayed"):
        raise DataError(
            f"X is of type {type(X).__name__}: expected a Dask array or DataFrame; use "
            "Model.predict for rows in memory"
        )
    call = dask.delayed(_of_rows)
    parts = [
        array.from_delayed(made, (np.nan, *empty.shape[1:]), meta=empty)
        for made in (call(part, function, options, empty) for part in X.to_delayed())
    ]
    return array.concatenate(parts, axis=0)


def _of_rows(rows: Any, function: Any, options: Mapping[str, Any], empty: Any) -> Any:
    return function(rows, **options) if len(rows) else empty
