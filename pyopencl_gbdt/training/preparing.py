"""Check everything about a training that can be checked before it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopencl_gbdt.arguments import check_callables, check_switches
from pyopencl_gbdt.data.categories.chosen import FROM_DTYPE
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.remarks import warn_of_blurred, warn_of_dropping, warn_of_page
from pyopencl_gbdt.data.targets import check_base_margin
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.selection import find_several, names_several
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import Score, each
from pyopencl_gbdt.objectives import OBJECTIVES, Objective, custom_objective
from pyopencl_gbdt.objectives.base import F32
from pyopencl_gbdt.objectives.custom import CUSTOM, Custom
from pyopencl_gbdt.parameters.category_offers import offered
from pyopencl_gbdt.parameters.constraints import Constraints, facts_of_categories, limits_of
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import ROWS, Parameters, as_mapping
from pyopencl_gbdt.parameters.refusals import REFUSED
from pyopencl_gbdt.parameters.row import refuse, same
from pyopencl_gbdt.training.task import StartingPoint, Task

if TYPE_CHECKING:
    from pyopencl_gbdt.metrics import Metric
    from pyopencl_gbdt.training.continuing import Before
    from pyopencl_gbdt.training.eval_metrics import Metrics


def check_dataset(data: Any) -> Dataset:
    """Return ``data``; raise an error unless it is a ``Dataset``.

    Raises
    ------
    DataTypeError
    """
    if not isinstance(data, Dataset):
        raise DataTypeError(
            f"data is of type {type(data).__name__}: expected a Dataset; make one of the rows and "
            "their labels: Dataset(X, y)"
        )
    return data


def check_rounds(n_rounds: Any, *, also_none: bool = True) -> int | None:
    """Return the number of rounds; None if ``params`` gives it.

    Raises
    ------
    ParameterError
    """
    if n_rounds is None and also_none:
        return None
    if n_rounds is None:
        raise ParameterError("n_rounds=None: expected an integer >= 0; give the number of rounds")
    return int(ROWS["n_estimators"].convert(n_rounds, "n_rounds"))  # type: ignore[arg-type]


def check_pairs(evals: Any) -> list[tuple[Dataset, str]]:
    """Return evaluation sets as a list of (Dataset, name); None becomes an empty list.

    Raises
    ------
    ParameterError
    """
    if evals is None:
        return []
    is_table = isinstance(evals, (str, bytes, dict, Dataset)) or hasattr(evals, "shape")
    if is_table or not isinstance(evals, Iterable):
        raise ParameterError(
            f"evals is of type {type(evals).__name__}: expected a list of (Dataset, name); give one"
        )
    pairs = []
    for index, pair in enumerate(evals):
        is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
        if not is_pair or not isinstance(pair[0], Dataset) or not isinstance(pair[1], str):
            raise ParameterError(
                f"evals[{index}]={type(pair).__name__}: expected (Dataset, name); make a Dataset "
                "of the rows and their labels"
            )
        pairs.append((pair[0], pair[1]))
    return pairs


Evals = Sequence[tuple[Dataset, str]]
#: Parameters of ``train``: a dict, or pairs, which may have several ``eval_metric``.
Given = Mapping[str, Any] | Sequence[tuple[str, Any]]

#: What ``Dataset`` and estimators take, and the values that have no effect in parameters.
_OF_DATA: dict[str, Any] = {
    "feature_weights": (),
    "missing": math.nan,
    "feature_types": (),
    "categorical_features": FROM_DTYPE,
    "categorical_feature": "auto",
    "cat_features": (),
}


def _check_arguments(given: Mapping[str, Any], custom_metric: Any, profile: Any) -> None:
    """Check what is given beside the parameters; these have no arguments of other functions."""
    if custom_metric is not None:
        check_callables(custom_metric=custom_metric)
    if profile is not False:
        check_switches(profile=profile)
    for name in ("early_stopping_rounds", "callbacks"):
        value = given.get(name)
        if not (value is None or value is False or same(value, ())):
            raise ParameterError(
                f"{name}: expected as an argument of train or an estimator; take it out of params"
            )
    for name, neutral in _OF_DATA.items():
        if given.get(name) is not None and not same(given[name], neutral):
            raise ParameterError(
                f"{name}: expected as an argument of Dataset or an estimator; take it out of params"
            )


def _own_loss(given: dict[Any, Any]) -> Custom | None:
    """Return the user's own loss, which then has a name in the parameters; None for others."""
    named = given.get("objective")
    if named is None or (isinstance(named, str) and named in OBJECTIVES):
        return None
    own = custom_objective(named)
    if own is not None:
        given["objective"] = CUSTOM
    return own


def fit_facts(
    params: Parameters,
    objective: Objective,
    data: Dataset,
    limits: Constraints,
    *,
    evals: Sequence[tuple[Dataset, str]] = (),
    before: Ensemble | None = None,
    in_hosts: bool = False,
    profile: bool = False,
) -> FitFacts:
    """Return all facts about a training.

    Raises
    ------
    DeviceError
        If one of several devices is not there.
    """
    device, several = params.device, names_several(params.device)
    model = None
    if before is not None:
        from pyopencl_gbdt.training.continuing import facts_of_model

        model = facts_of_model(params, objective, before)
    return FitFacts(
        params,
        objective.facts(),
        n_rows=data.n_rows,
        n_targets=data.n_targets,
        sparse=data.sparse is not None,
        in_batches=data.batches is not None,
        categories=facts_of_categories(params, data, limits) if data.categories else (),
        sparse_evals=tuple(name for rows, name in evals if rows.sparse is not None),
        model=model,
        n_devices=len(find_several(device)) if several and not in_hosts else 1,
        names_several=several,
        in_hosts=in_hosts,
        profile=profile,
    )


#: Fewer rows are summed on the host, where that takes 10 ms or less (one core of a Xeon) and no
#: kernels have to be built.
LEAST_ROWS = 1 << 20


def sums_labels_on_device(objective: Objective, data: Dataset) -> bool:
    """Tell whether summing the labels on the device pays off."""
    one_target = data.n_targets == 1
    return objective.starts_at_mean and one_target and data.n_rows >= LEAST_ROWS


def prepare(
    params: Given,
    data: Dataset | None,
    evals: Any,
    eval_metric: Metrics,
    before: Before | None,
    custom_metric: Callable[..., Any] | None = None,
    *,
    is_part: bool = False,
    profile: bool = False,
    like: Task | None = None,
) -> Task:
    """Check the arguments of a training; return the task.

    Parameters
    ----------
    params : mapping or sequence of (str, object)
        May include ``eval_metric``, as in XGBoost; the argument takes precedence.
    data : Dataset
        None is refused.
    evals : sequence of (Dataset, str), or None
    eval_metric : str, callable, sequence of them, or None
    before : Model, Ensemble, path or None
        The model to continue.
    custom_metric : callable or None
        An additional metric.
    is_part : bool, default False
        Whether other processes have further rows: the base score is then left to be computed.
    profile : bool, default False
        Whether kernels are to be measured.
    like : Task or None
        A task of the same ``params``, which are not read again; nor is refused again what was not.
        ``data`` and ``evals`` are slices of its data, whose labels are not checked again.

    Raises
    ------
    ParameterError, DataError, ModelFormatError
    DeviceError
        If one of several devices is not there.
    """
    given, data, evals = as_mapping(params), check_dataset(data), check_pairs(evals)
    in_params = given.pop("eval_metric", None)
    eval_metric = in_params if eval_metric is None else eval_metric
    _check_arguments(given, custom_metric, profile)
    for name in ("categorical_features", "categorical_feature", "cat_features"):
        given.pop(name, None)
    own = _own_loss(given)
    p = asked = (like and like.asked) or Parameters.from_dict(given)
    if own is None and p.objective == CUSTOM:
        raise ParameterError("objective='custom': expected the loss itself; give its callable")
    objective = OBJECTIVES[p.objective].of_training(p) if own is None else own
    _check_labelled(data, "the training data")
    if before is not None and p.cat_method == "auto":
        p = replace(p, cat_method="sets")  # statistics of other data cannot be continued
    asked_page, p = p.page, _resolved(p, data, objective)
    ensemble = None
    if before is not None:
        from pyopencl_gbdt.training.continuing import as_ensemble, continued

        ensemble = as_ensemble(before)
    limits = limits_of(p, data) if p.constrains(data.feature_weights) else Constraints()
    facts = fit_facts(
        p, objective, data, limits, evals=evals, before=ensemble, in_hosts=is_part, profile=profile
    )
    _refuse(facts, like)
    _warn(asked_page, p, facts, data)
    n_outputs = facts.n_outputs
    _check_outputs(n_outputs, objective, data, labels=like is None)
    check_evals(evals, data, n_outputs, objective, check_labels=like is None)
    start: StartingPoint | None = None
    if ensemble is None:
        later = is_part or sums_labels_on_device(objective, data)
        if p.base_score is not None or not later:
            start = StartingPoint(*_starting_score(p, objective, data, n_outputs))
        if p.weighs_trees and not is_part:
            _check_weighted(p, data, start)
    else:
        start = continued(ensemble, data)
        data, given_data = data.coded_by(ensemble.categories, "the training data"), data
        evals = [(data if rows is given_data else rows, name) for rows, name in evals]
    evals = [(rows.coded_by(data.categories, f"evals: {name!r}"), name) for rows, name in evals]

    def sample(of_prediction: bool) -> tuple[Any, Dataset]:
        rows = evals[0][0] if evals else data
        known = start or StartingPoint(*_starting_score(p, objective, data, n_outputs))
        margins = np.zeros((n_outputs, rows.n_rows), np.float32)
        margins += np.array(each(known.base_margin), np.float32)[:, None]
        return _predicted(objective, margins, of_prediction=of_prediction), rows

    more = () if custom_metric is None else (custom_metric,)
    metrics: dict[str, Metric] = {}
    if evals or more or eval_metric is not None:
        from pyopencl_gbdt.training.eval_metrics import check_ranked, choose_metrics

        metrics = choose_metrics(
            eval_metric, objective, p, [data, *(rows for rows, _ in evals)], sample, more
        )
        for rows, _ in evals:
            check_ranked(metrics, rows)
    by_codes = is_part or data.batches is not None or facts.has_vectors
    return Task(
        p, objective, data, evals, metrics, start, by_codes=by_codes, asked=asked, facts=facts
    )


def _resolved(p: Parameters, data: Dataset, objective: Objective) -> Parameters:
    """Return the parameters with the search of splits and the pages that sparse data ask for."""
    if data.sparse is None:
        return p
    from pyopencl_gbdt.training.split_search import resolved

    return resolved(p, data.sparse, max(objective.n_outputs, data.n_targets))


def _check_weighted(p: Parameters, data: Dataset, start: StartingPoint | None) -> None:
    from pyopencl_gbdt.training.weighted_sums import check_labels

    check_labels(p.objective, data, None if start is None else start.base_margin)


def _refuse(facts: FitFacts, like: Task | None) -> None:
    """Raise the error of the row that refuses a training, unless none refuses a task like it."""
    if like is None or not facts.are_part_of(like.facts):
        refuse(facts, REFUSED)


def _warn(asked_page: str, p: Parameters, facts: FitFacts, data: Dataset) -> None:
    """Warn of parameters without effect, and of columns that float32 blurs."""
    if asked_page != "auto" and (unused := facts.unused_page(asked_page)):
        warn_of_page(asked_page, unused)
    if dropping := p.unused_dropping:
        warn_of_dropping(dropping)
    if blurred := data.checked.remarks.blurred.pairs:
        warn_of_blurred(blurred, data.feature_names)


def _predicted(objective: Objective, margins: F32, *, of_prediction: bool) -> F32:
    """Return the input of metrics for margins: predictions, or what named metrics take."""
    margins = margins if margins.shape[0] > 1 else margins[0]
    return (
        objective.to_prediction(margins).T if of_prediction else objective.to_probability(margins)
    )


def check_evals(
    evals: Evals, data: Dataset, n_outputs: int, objective: Objective, *, check_labels: bool = True
) -> None:
    """Raise an error for evaluation sets that do not match the training data."""
    names: set[str] = set()
    for index, (rows, name) in enumerate(evals):
        if name in names:
            raise ParameterError(
                f"evals[{index}]: the name {name!r} is taken: expected different names; rename one"
            )
        names.add(name)
        _check_labelled(rows, f"evals: {name!r}")
        if rows.n_targets != data.n_targets:
            raise DataError(
                f"evals: {name!r} has {rows.n_targets} targets, the training data "
                f"{data.n_targets}; give both the same"
            )
        _check_outputs(n_outputs, objective, rows, labels=check_labels)
        from pyopencl_gbdt.training.continuing import check_same_columns

        check_same_columns(f"evals: {name!r}", rows.n_features, rows.feature_names, data)


def _check_labelled(rows: Dataset, what: str) -> None:
    if not rows.has_label and not rows.n_rows:
        raise DataError(f"{what}: 0 rows: expected at least 1; give rows with their targets")
    if not rows.has_label:
        raise DataError(
            f"{what}: label is None: expected a number per row; give the target to Dataset"
        )


def _check_outputs(n_outputs: int, objective: Objective, data: Dataset, *, labels: bool) -> None:
    """Check labels and base margins."""
    if labels:
        objective.check_data(data)
    if data.base_margin is not None:
        check_base_margin(data.base_margin, data.n_rows, n_outputs)


def _starting_score(
    p: Parameters, objective: Objective, data: Dataset, n_outputs: int
) -> tuple[Score, Score]:
    score = p.starting_scores(n_outputs)
    if score is None:
        score = objective.starting_scores(data.label, data.weight)
    return score, objective.to_margin(score)


def prepared_on(device: Device, task: Task) -> Task:
    """Return a task whose data have statistics of categorical columns, where it asks."""
    if not task.data.categories:
        return task
    own = offered(task.params, task.data)
    if not any(one.statistics for one in own.values()):
        return task
    from pyopencl_gbdt.categories.statistic_columns import (
        extended_constraints,
        replace_by_statistics,
    )

    made = replace_by_statistics(task.params, task.data, own, device)
    made = replace(made, given_evals=[rows for rows, _ in task.evals])
    evals = [(made.data if rows is task.data else made.of(rows), name) for rows, name in task.evals]
    params = extended_constraints(task.params, task.data, made.statistics)
    return replace(task, params=params, data=made.data, evals=evals, replaced=made)
