"""Check everything about a training that can be checked before it runs."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pyopencl_gbdt.arguments import check_callables, check_path
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.data.targets import check_base_margin
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.evaluation.label_mean import sums_labels_on_device
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.metrics import Metric, get_metric, takes_queries
from pyopencl_gbdt.metrics.custom import named
from pyopencl_gbdt.model import Ensemble, read_model, to_xgboost_json
from pyopencl_gbdt.model.ensemble import Score, each
from pyopencl_gbdt.objectives import Objective, get_objective
from pyopencl_gbdt.objectives.custom import CUSTOM, custom_objective
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.names import as_mapping
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.row import same
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.arguments import check_dataset, check_pairs
from pyopencl_gbdt.training.fitting import StartingPoint, Task

Evals = Sequence[tuple[Dataset, str]]
#: Parameters of ``train``: a dict, or pairs, which may have several ``eval_metric``.
Given = Mapping[str, Any] | Sequence[tuple[str, Any]]
#: Names of metrics and custom metrics.
Metrics = str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None
Before = Model | Ensemble | str | os.PathLike[str]

#: Parameters that do not change a model, except for its number of rounds.
_HARMLESS = frozenset({"n_estimators", "device", "histogram", "work_group_size", "verbosity"})


def prepare(
    params: Given,
    data: Dataset,
    evals: Evals | None,
    eval_metric: Metrics,
    before: Before | None,
    custom_metric: Callable[..., Any] | None = None,
) -> Task:
    """Check the arguments of a training; return the task.

    Parameters
    ----------
    params : mapping or sequence of (str, object)
        May include ``eval_metric``, as in XGBoost; the argument takes precedence.
    data : Dataset
    evals : sequence of (Dataset, str), or None
    eval_metric : str, callable, sequence of them, or None
    before : Model, Ensemble, path or None
        The model to continue.
    custom_metric : callable or None
        An additional metric.

    Raises
    ------
    ParameterError, DataError, ModelFormatError
    """
    given = as_mapping(params)
    check_dataset(data)
    evals = check_pairs(evals)
    check_callables(custom_metric=custom_metric)
    in_params = given.pop("eval_metric", None)
    eval_metric = in_params if eval_metric is None else eval_metric
    for name in ("early_stopping_rounds", "callbacks"):
        value = given.get(name)
        if not (value is None or value is False or same(value, ())):
            raise ParameterError(
                f"{name}: expected as an argument of train or an estimator; take it out of params"
            )
    for name, neutral in (("feature_weights", ()), ("missing", math.nan)):
        if given.get(name) is not None and not same(given[name], neutral):
            raise ParameterError(
                f"{name}: expected as an argument of Dataset or an estimator; take it out of params"
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
    limits_of(p, data)  # raises if constraints do not match the data
    start: StartingPoint | None = None
    if before is None:
        if p.base_score is not None or not sums_labels_on_device(objective, data):
            start = StartingPoint(*_starting_score(p, objective, data, n_outputs))
    else:
        ensemble = as_ensemble(before)
        start = _continued(ensemble, p, objective, data)
        _check_round(ensemble, p, n_outputs)

    def sample() -> tuple[Any, Dataset]:
        rows = evals[0][0] if evals else data
        known = start or StartingPoint(*_starting_score(p, objective, data, n_outputs))
        margins = np.array(each(known.base_margin), np.float32)[:, None].repeat(rows.n_rows, 1)
        return objective.to_prediction(margins if n_outputs > 1 else margins[0]).T, rows

    more = () if custom_metric is None else (custom_metric,)
    metrics = choose_metrics(eval_metric, objective, p, sample, more)
    for rows, _ in evals:
        check_ranked(metrics, rows)
    return Task(p, objective, data, evals, metrics, start)


def check_evals(evals: Evals, data: Dataset, p: Parameters, objective: Objective) -> None:
    """Raise an error for evaluation sets that do not match the training data."""
    names: set[str] = set()
    for index, pair in enumerate(evals):
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
    more: Sequence[Callable[..., Any]] = (),
) -> dict[str, Metric]:
    """Return the metrics by name; the loss's default metric if none is asked for.

    A custom metric is called once to learn its name, with what ``sample`` returns: predictions and
    their rows. If the name is taken, it becomes ``name-2``. ``more`` are custom metrics that come
    after the others.
    """
    if eval_metric is None:
        eval_metric = objective.metric
    alone = isinstance(eval_metric, str) or callable(eval_metric)
    if not alone and not isinstance(eval_metric, Iterable):
        raise ParameterError(
            f"eval_metric={show(eval_metric)}: expected a name, a callable or a list of them; give "
            "one"
        )
    if isinstance(eval_metric, np.ndarray):
        eval_metric = np.atleast_1d(eval_metric).tolist()
    asked: list[Any] = [eval_metric] if alone else list(eval_metric)  # type: ignore[arg-type]
    if not asked:
        raise ParameterError("eval_metric=[]: expected at least one name; omit it for the default")
    ours = {m: get_metric(m, p) for m in asked if not callable(m)}
    found: dict[str, Metric] = {}
    for m in (*asked, *more):
        if callable(m):
            name, metric = named(m, *sample())
            found[_free_name(name, metric, {**ours, **found})] = metric
        else:
            found[m] = ours[m]
    return found


def _free_name(name: str, metric: Metric, taken: Mapping[str, Metric]) -> str:
    """Return the name of a custom metric, with a number appended if the name is taken."""
    free, number = name, 1
    while free in taken and taken[free] != metric:
        number += 1
        free = f"{name}-{number}"
    return free


def check_ranked(metrics: Mapping[str, Metric], rows: Dataset) -> None:
    """Raise an error for labels that a ranking metric does not accept."""
    for name, metric in metrics.items():
        if takes_queries(name):
            metric(rows.label, rows.label, rows.weight, rows.group_offsets)


def _check_outputs(p: Parameters, objective: Objective, data: Dataset, what: str) -> int:
    """Return the number of outputs; check labels and base margins against it."""
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
    score = p.starting_scores(n_outputs)
    if score is None:
        score = objective.starting_scores(data.label, data.weight)
    return score, objective.to_margin(score)


def as_ensemble(before: Before) -> Ensemble:
    """Return the model to continue; a path is read."""
    if isinstance(before, Ensemble):
        return before
    if isinstance(before, Model):
        return before.ensemble
    if isinstance(before, (str, os.PathLike)):
        check_path("model", before)
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
    asked = p.starting_scores(before.n_outputs)
    if asked is not None and asked != before.base_score:
        raise ParameterError(
            f"base_score={p.base_score}: the model to continue starts at {before.base_score}; "
            "leave it out"
        )
    return StartingPoint(before.base_score, before.base_margin, before)


def _check_round(before: Ensemble, p: Parameters, n_outputs: int) -> None:
    """Raise an error if rounds have other numbers of trees than in the model to continue."""
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
    """Return everything that a model and its history depend on, as text by name."""
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
    if task.start is not None and task.start.before is not None:
        text = to_xgboost_json(task.start.before)
        found["model to continue"] = hashlib.sha256(text.encode()).hexdigest()
    return found
