"""``cv``: cross-validation; the metrics of rows held out of training, fold by fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from pyopencl_gbdt.arguments import check_callables, check_switches
from pyopencl_gbdt.callbacks import (
    CallbackList,
    Plan,
    TrainingCallback,
)
from pyopencl_gbdt.callbacks.base import TrainingModel
from pyopencl_gbdt.callbacks.by_arguments import all_callbacks
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.drivers.fallback import with_fallbacks
from pyopencl_gbdt.device.run_ahead import clear_frames
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.garbage import without_collector
from pyopencl_gbdt.parameters.parameters import given_instead
from pyopencl_gbdt.prediction.model import BEST_ITERATION
from pyopencl_gbdt.training.concurrent_fits import ConcurrentFits
from pyopencl_gbdt.training.eval_metrics import Metrics
from pyopencl_gbdt.training.folds import Fold, given_folds, make_folds, query_folds
from pyopencl_gbdt.training.joined_fits import Joining, enqueued_together
from pyopencl_gbdt.training.preparing import Given, check_rounds, prepare
from pyopencl_gbdt.training.running_task import RunningTask
from pyopencl_gbdt.training.task import Task
from pyopencl_gbdt.training.train import opened_fit

#: ``log[set][metric]``: (mean, standard deviation) over the folds, one pair per round.
Log = dict[str, dict[str, list[tuple[float, float]]]]


def cv(
    params: Given,
    data: Dataset,
    n_rounds: int = 10,
    *,
    nfold: int = 3,
    stratified: bool = False,
    folds: Any = None,
    metrics: Metrics = None,
    custom_metric: Callable[..., Any] | None = None,
    maximize: bool | None = None,
    early_stopping_rounds: int | None = None,
    as_pandas: bool = True,
    verbose: bool | int = False,
    show_stdv: bool = True,
    seed: int = 0,
    shuffle: bool = True,
    callbacks: Sequence[TrainingCallback] | None = (),
    report: Callable[[str], None] | None = None,
    num_boost_round: int | None = None,
    obj: Any = None,
    fpreproc: Callable[..., Any] | None = None,
    verbose_eval: bool | int | None = None,
) -> Any:
    """Cross-validate.

    Parameters
    ----------
    params : mapping, or sequence of (str, object)
        As for ``train``.
    data : Dataset
    n_rounds : int, default 10
        Number of rounds.
    nfold : int, default 3
        Number of folds. For each fold a model is trained on the other folds and tested on it.
        Queries are not split.
    stratified : bool, default False
        Keep the share of each label about equal in all folds.
    folds : list of (array, array), splitter of scikit-learn, or None
        Training rows and test rows of every fold, instead of ``nfold``.
    metrics : str, callable, sequence of them, or None
        Names of metrics; None is the loss's default metric.
    custom_metric : callable or None
        As for ``train``.
    maximize : bool or None
        As for ``train``.
    early_stopping_rounds : int or None
        Stop when the last metric's mean over folds has not improved for so many rounds; the
        result ends with the best round.
    as_pandas : bool, default True
        Return a DataFrame if pandas is installed.
    verbose : bool or int, default False
        Print metrics every round (True) or every so many rounds.
    show_stdv : bool, default True
        Print standard deviations too.
    seed : int, default 0
        Seed of the folds; a seed gives the same folds on every machine, and the same as XGBoost.
    shuffle : bool, default True
        Shuffle the rows; otherwise each fold is a run of consecutive rows.
    callbacks : sequence of TrainingCallback, or None
    report : callable or None
        Receives each line instead of standard output.
    num_boost_round : int or None
        XGBoost's name for ``n_rounds``; takes precedence.
    obj : callable, DeviceObjective, KernelObjective or None
        A custom loss, instead of the loss in ``params``.
    fpreproc : callable or None
        ``function(train, test, params)``, called for each fold before it is trained; returns
        the three, possibly changed.
    verbose_eval : bool, int or None
        XGBoost's name for ``verbose``; takes precedence.

    Returns
    -------
    DataFrame, or dict of str to list of float
        ``train-<metric>-mean``, ``train-<metric>-std``, ``test-<metric>-mean``,
        ``test-<metric>-std``, one value per round. The deviation divides by the number of
        folds.

    Raises
    ------
    ParameterError, DataError
        Before anything runs.
    DeviceError, MemoryPlanError
        As for ``train``.

    Notes
    -----
    All folds are trained side by side, so the device must have memory for all. The host enqueues a
    round of every fold before it waits for the metrics of the first, so small folds share a GPU.
    Without callbacks a fold does not wait for the others. Every fold is cut into bins by its own
    training rows, as XGBoost does it.
    """
    n_rounds = n_rounds if num_boost_round is None else num_boost_round
    planned = check_rounds(n_rounds, also_none=False)
    params = given_instead(params, n_estimators=planned, objective=obj)
    check_callables(fpreproc=fpreproc)
    check_switches(stratified=stratified, shuffle=shuffle, as_pandas=as_pandas)
    everyone = all_callbacks(
        callbacks,
        verbose=verbose if verbose_eval is None else verbose_eval, show_stdv=show_stdv,
        report=report, early_stopping_rounds=early_stopping_rounds, maximize=maximize,
    )  # fmt: skip
    chosen = None if isinstance(metrics, (list, tuple, str)) and not metrics else metrics
    whole = prepare(params, data, (), chosen, None, custom_metric)
    if folds is None:
        how: dict[str, Any] = {"stratified": stratified, "shuffle": shuffle, "seed": seed}
        if data.group_offsets is None:
            rows = make_folds(data.label, nfold, **how)
        else:
            rows = query_folds(data.group_offsets, nfold, **how)
    else:
        rows = given_folds(folds, _given(data), data.label)
    if data.batches is not None:
        rows = _ascending(rows)
    n_planned = whole.params.n_estimators
    everyone.check(Plan(n_planned, dict.fromkeys(("train", "test"), whole.metric_names), None))
    tasks, like = [], whole if fpreproc is None else None
    for train_rows, test_rows in rows:
        fold = _prepared(fpreproc, data.slice(train_rows), data.slice(test_rows), params)
        own, evals, given = fold[0], [(fold[0], "train"), (fold[1], "test")], fold[2]
        tasks.append(prepare(given, own, evals, chosen, None, custom_metric, like=like))
        if tasks[-1].metric_names != whole.metric_names:
            raise ParameterError(
                f"fpreproc: a fold has the metrics {tasks[-1].metric_names}: expected "
                f"{whole.metric_names}, as for all rows; give metrics= to cv"
            )
    try:
        log = with_fallbacks(partial(_run, tasks, everyone))
    except BaseException as error:
        for task in tasks:
            task.data.forget()
        clear_frames(error)
        raise
    return _table(log, as_pandas)


def _ascending(folds: Sequence[Fold]) -> list[Fold]:
    """Return folds as rows in batches are taken: in ascending order, each once."""
    found = [(np.sort(own), np.sort(test)) for own, test in folds]
    if any((np.diff(part) == 0).any() for fold in found for part in fold):
        raise DataError(
            "folds: a fold repeats rows: expected each once, as X comes in batches; drop "
            "repeated rows, or give Dataset an array"
        )
    return found


def _given(data: Dataset) -> Any:
    """Return the values in a form that scikit-learn's splitters take; none of rows in batches."""
    if data.batches is not None:
        return np.full((data.n_rows, 1), np.nan, np.float32)
    return data.values if data.sparse is None else data.sparse.scipy()


def _prepared(
    fpreproc: Callable[..., Any] | None, own: Dataset, test: Dataset, params: dict[str, Any]
) -> tuple[Dataset, Dataset, dict[str, Any]]:
    """Return a fold's training rows, test rows and parameters, after ``fpreproc``."""
    if fpreproc is None:
        return own, test, params
    found = fpreproc(own, test, dict(params))
    kinds = (Dataset, Dataset, Mapping)
    if not isinstance(found, (tuple, list)) or list(map(isinstance, found, kinds)) != [True] * 3:
        raise ParameterError(
            f"fpreproc returned {type(found).__name__}: expected (train, test, params), two "
            "Datasets and a dict; return all three"
        )
    return found[0], found[1], {**found[2], "n_estimators": params["n_estimators"]}


def _run(tasks: list[Task], callbacks: CallbackList) -> Log:
    """Train all folds, one round each in turn; return the metrics up to the best round."""
    with ExitStack() as stack:
        opens = Joining(tasks)
        with without_collector():  # it would look at the many objects of fits again and again
            fits = [stack.enter_context(opened_fit(task, opens=opens)) for task in tasks]
        model = TrainingModel(fits, fits[0].n_rounds if fits else 0)
        try:
            return _rounds(model, fits, callbacks)
        finally:
            model.close()
            callbacks.close()


def _rounds(model: TrainingModel, fits: list[RunningTask], callbacks: CallbackList) -> Log:
    log: Log = {name: {metric: [] for metric in own} for name, own in fits[0].history.items()}
    callbacks.before_training(model)
    n_rounds, together = fits[0].task.params.n_estimators, ConcurrentFits(enqueued_together(fits))
    if not callbacks.callbacks:
        together.run(n_rounds)
        _add_rounds(log, fits, range(n_rounds))
        return log
    for number in range(n_rounds):
        if callbacks.before_iteration(model, number, log):
            break
        together.round()
        _add_rounds(log, fits, range(number, number + 1))
        if callbacks.after_iteration(model, number, log):
            _cut(log, model.attributes.get(BEST_ITERATION))
            break
    callbacks.after_training(model)
    return log


def _add_rounds(log: Log, fits: list[RunningTask], rounds: range) -> None:
    """Add the means and deviations of rounds over the folds."""
    for name, metrics in log.items():
        for metric, values in metrics.items():
            own = [fit.history[name][metric][rounds.start : rounds.stop] for fit in fits]
            by_round = np.array(own).T.copy()  # sums of rows have the bits of each row's sum
            means, deviations = by_round.mean(axis=1), by_round.std(axis=1)
            values.extend(zip(means.tolist(), deviations.tolist(), strict=True))


def _cut(log: Log, best: str | None) -> None:
    """Drop the rounds after the best one."""
    if best is not None:
        for metrics in log.values():
            for values in metrics.values():
                del values[int(best) + 1 :]


def _table(log: Log, as_pandas: bool) -> Any:
    found: dict[str, list[float]] = {}
    for name, metrics in log.items():
        for metric, values in metrics.items():
            found[f"{name}-{metric}-mean"] = [mean for mean, _ in values]
            found[f"{name}-{metric}-std"] = [deviation for _, deviation in values]
    if not as_pandas:
        return found
    try:
        import pandas as pd
    except ImportError:
        return found
    return pd.DataFrame(found)
