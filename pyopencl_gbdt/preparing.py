"""What can be checked of a training before anything runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.data.places import show
from pyopencl_gbdt.data.targets import check_base_margin
from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.fitted_model import Model
from pyopencl_gbdt.fitting import StartingPoint, Task
from pyopencl_gbdt.limits import limits_of
from pyopencl_gbdt.metrics import DatasetMetric, Metric, get_metric, takes_queries
from pyopencl_gbdt.metrics.custom import named
from pyopencl_gbdt.model import Ensemble, read_model, to_xgboost_json
from pyopencl_gbdt.model.ensemble import Score, each
from pyopencl_gbdt.objectives import Objective, get_objective
from pyopencl_gbdt.objectives.custom import CUSTOM, custom_objective
from pyopencl_gbdt.parameters import Parameters

Evals = Sequence[tuple[Dataset, str]]
#: Names of metrics, and metrics of the user's own.
Metrics = str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None
Before = Model | Ensemble | str | os.PathLike[str]

#: Parameters that never change a model, or only how many rounds it has.
_HARMLESS = frozenset({"n_estimators", "device", "histogram", "work_group_size", "verbosity"})


def prepare(
    params: Mapping[str, Any],
    data: Dataset,
    evals: Evals,
    eval_metric: Metrics,
    before: Before | None,
    custom_metric: Callable[..., Any] | None = None,
) -> Task:
    """Check a training.

    Parameters
    ----------
    params : mapping
        May hold ``eval_metric`` too, as XGBoost's does; the argument goes first.
    data : Dataset
    evals : sequence of (Dataset, str)
    eval_metric : str, callable, sequence of them, or None
    before : Model, Ensemble, path or None
        The model to continue.
    custom_metric : callable or None
        One more metric.

    Raises
    ------
    ParameterError, DataError, ModelFormatError
    """
    if not isinstance(params, Mapping):
        Parameters.from_dict(params)  # says so
    given = dict(params)
    in_params = given.pop("eval_metric", None)
    eval_metric = in_params if eval_metric is None else eval_metric
    for name in ("early_stopping_rounds", "callbacks"):
        if given.get(name):
            raise ParameterError(
                f"{name}: expected as an argument of train or an estimator; take it out of params"
            )
    if given.get("feature_weights") is not None:
        raise ParameterError(
            "feature_weights: expected as an argument of Dataset or an estimator; take it out of "
            "params"
        )
    own = custom_objective(given.get("objective"))
    if own is not None:
        given["objective"] = CUSTOM
    p = Parameters.from_dict(given)
    if own is None and p.objective == CUSTOM:
        raise ParameterError("objective='custom': expected the loss itself; give its callable")
    objective = get_objective(p.objective, p) if own is None else own
    _check_labelled(data, "the training data")
    n_outputs = _check_outputs(p, objective, data, "y")
    check_evals(evals, data, p, objective)
    limits_of(p, data)  # refuses constraints that do not go with the data
    if before is None:
        start = StartingPoint(*_starting_score(p, objective, data, n_outputs))
    else:
        ensemble = as_ensemble(before)
        start = _continued(ensemble, p, objective, data)
        _check_round(ensemble, p, n_outputs)

    def sample() -> tuple[Any, Dataset]:
        rows = evals[0][0] if evals else data
        margins = np.array(each(start.base_margin), np.float32)[:, None].repeat(rows.n_rows, 1)
        return objective.to_prediction(margins if n_outputs > 1 else margins[0]).T, rows

    metrics = choose_metrics(eval_metric, objective, p, sample)
    if custom_metric is not None:
        metrics |= choose_metrics([custom_metric], objective, p, sample)
    for rows, _ in evals:
        check_ranked(metrics, rows)
    return Task(p, objective, data, evals, metrics, start)


def check_evals(evals: Evals, data: Dataset, p: Parameters, objective: Objective) -> None:
    """Refuse evaluation sets that do not go with the training data."""
    names: set[str] = set()
    for index, pair in enumerate(evals):
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not isinstance(pair[0], Dataset) or not isinstance(pair[1], str):
            raise ParameterError(
                f"evals[{index}]={type(pair).__name__}: expected (Dataset, name); make a Dataset "
                "of the rows and their labels"
            )
        rows, name = pair
        if name in names:
            raise ParameterError(
                f"evals[{index}]: the name {name!r} is taken: expected different names; rename one"
            )
        names.add(name)
        _check_labelled(rows, f"evals: {name!r}")
        _check_outputs(p, objective, rows, f"evals: {name!r}: y")
        if rows.n_targets != data.n_targets:
            raise DataError(
                f"evals: {name!r} has {rows.n_targets} targets, the training data "
                f"{data.n_targets}; give both the same"
            )
        _check_columns(f"evals: {name!r}", rows.n_features, rows.feature_names, data)


def _check_labelled(rows: Dataset, what: str) -> None:
    if not rows.has_label:
        raise DataError(
            f"{what}: label is None: expected a number per row; give the target to Dataset"
        )


def _check_columns(what: str, n_features: int, names: list[str] | None, data: Dataset) -> None:
    if n_features != data.n_features:
        raise DataError(
            f"{what} has {n_features} features, the training data {data.n_features}; give both the "
            "same columns"
        )
    check_columns(names, data.feature_names, what, "the training data")


def choose_metrics(
    eval_metric: Metrics,
    objective: Objective,
    p: Parameters,
    sample: Callable[[], tuple[Any, Dataset]],
) -> dict[str, Metric]:
    """Return the metrics by their names; the loss's own if none is asked for.

    A user's own is called once for its name, with what ``sample`` returns: predictions and their
    rows.
    """
    if eval_metric is None:
        return {objective.metric: get_metric(objective.metric, p)}
    alone = isinstance(eval_metric, str) or callable(eval_metric)
    if not alone and not isinstance(eval_metric, Iterable):
        raise ParameterError(
            f"eval_metric={show(eval_metric)}: expected a name, a callable or a list of them; give "
            "one"
        )
    asked: list[Any] = [eval_metric] if alone else list(eval_metric)  # type: ignore[arg-type]
    if not asked:
        raise ParameterError("eval_metric=[]: expected a name or more; leave it out for the loss's")
    pairs = [named(m, *sample()) if callable(m) else (m, get_metric(m, p)) for m in asked]
    names = [name for name, _ in pairs]
    for name, metric in pairs:
        if isinstance(metric, DatasetMetric) and metric.of_prediction and names.count(name) > 1:
            raise ParameterError(f"eval_metric: two metrics are called {name!r}; rename yours")
    return dict(pairs)


def check_ranked(metrics: Mapping[str, Metric], rows: Dataset) -> None:
    """Refuse labels that a metric of ranking does not take."""
    for name, metric in metrics.items():
        if takes_queries(name):
            metric(rows.label, rows.label, rows.weight, rows.group_offsets)


def _check_outputs(p: Parameters, objective: Objective, data: Dataset, what: str) -> int:
    """Return the number of outputs; labels and starting margins have to go with it."""
    if (objective.n_outputs > 1 or objective.given) and data.n_targets > 1:
        raise DataError(
            f"{what} has {data.n_targets} columns: expected one for objective={p.objective!r}; "
            "train a model for each"
        )
    objective.check_data(data)
    n_outputs = max(objective.n_outputs, data.n_targets)
    check_base_margin(data.base_margin, data.n_rows, n_outputs)
    return n_outputs


def _starting_score(
    p: Parameters, objective: Objective, data: Dataset, n_outputs: int
) -> tuple[Score, Score]:
    score: Score
    if p.base_score is None:
        score = objective.starting_scores(data.label, data.weight)
    else:
        score = float(np.float32(p.base_score))
        score = score if n_outputs == 1 else (score,) * n_outputs
    return score, objective.to_margin(score)


def as_ensemble(before: Before) -> Ensemble:
    """Return a model to continue, read if it is a path."""
    if isinstance(before, Ensemble):
        return before
    if isinstance(before, Model):
        return before.ensemble
    if isinstance(before, (str, os.PathLike)):
        return read_model(before)
    raise ParameterError(
        f"model={type(before).__name__}: expected a Model or the path of one; give what train "
        "returned"
    )


def _continued(
    before: Ensemble, p: Parameters, objective: Objective, data: Dataset
) -> StartingPoint:
    """Check that trees of this training can be added to an ensemble."""
    if before.objective != p.objective or before.objective_parameters != objective.parameters:
        theirs = " ".join([before.objective, *_settings(before.objective_parameters)])
        ours = " ".join([p.objective, *_settings(objective.parameters)])
        raise ParameterError(
            f"objective={ours}: the model to continue was trained for {theirs}; give the same "
            "objective and the same parameters of it"
        )
    _check_columns("model: the one to continue", before.n_features, before.feature_names, data)
    if p.base_score is not None and {float(np.float32(p.base_score))} != {*each(before.base_score)}:
        raise ParameterError(
            f"base_score={p.base_score}: the model to continue starts at {before.base_score}; "
            "leave it out"
        )
    return StartingPoint(before.base_score, before.base_margin, before)


def _check_round(before: Ensemble, p: Parameters, n_outputs: int) -> None:
    """Refuse rounds of other trees than those of the model to continue."""
    if before.n_outputs != n_outputs:
        raise DataError(
            f"y has {n_outputs} targets or classes: the model to continue has "
            f"{before.n_outputs}; give labels of as many"
        )
    if before.n_parallel != p.num_parallel_tree:
        raise ParameterError(
            f"num_parallel_tree={p.num_parallel_tree}: the model to continue has rounds of "
            f"{before.n_parallel}; give the same"
        )


def _settings(parameters: Mapping[str, float | str]) -> list[str]:
    shown = {k: v if isinstance(v, str) else f"{v:g}" for k, v in parameters.items()}
    return [f"{name}={value}" for name, value in sorted(shown.items())]


def fingerprint(task: Task) -> dict[str, str]:
    """Return what decides over a model and its history, by name."""
    found = {
        f"parameters.{name}": str(value)
        for name, value in asdict(task.params).items()
        if name not in _HARMLESS
    }
    if task.params.objective == CUSTOM:
        found["objective"] = str(task.objective.parameters)
    found |= {f"data.{part}": digest for part, digest in task.data.digests().items()}
    for rows, name in task.evals:
        parts = {} if rows is task.data else rows.digests()
        found |= {f"evals.{name}.{part}": digest for part, digest in parts.items()}
    found["evals"] = str([name for _, name in task.evals])
    found["eval_metric"] = str(list(task.metrics))
    if task.start.before is not None:
        text = to_xgboost_json(task.start.before)
        found["model to continue"] = hashlib.sha256(text.encode()).hexdigest()
    return found
