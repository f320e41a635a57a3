"""Choose the metrics of a training: by name, custom ones, or the loss's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.metrics import (
    METRICS,
    Metric,
    get_metric,
    metric_name,
    takes_queries,
    unknown_metric,
)
from pyopencl_gbdt.metrics.custom import named, takes_prediction
from pyopencl_gbdt.metrics.label_kinds import COUNTERPARTS, KINDS, kinds_of
from pyopencl_gbdt.metrics.ranking import family_of
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters

#: Names of metrics and custom metrics.
Metrics = str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None


def choose_metrics(
    eval_metric: Metrics,
    objective: Objective,
    p: Parameters,
    sets: Sequence[Dataset],
    sample: Callable[[bool], tuple[Any, Dataset]],
    more: Sequence[Callable[..., Any]] = (),
) -> dict[str, Metric]:
    """Return the metrics by name; the loss's default metric if none is asked for.

    ``sets`` are the training data and the evaluation sets; a metric that does not fit their labels
    is refused.

    A custom metric is called once to learn its name, with what ``sample`` returns: predictions and
    their rows; ``sample(False)`` has what named metrics take instead of predictions. If the name is
    taken, it becomes ``name-2``. ``more`` are custom metrics that come after the others.
    """
    if eval_metric is None:
        eval_metric, sets = objective.metric, ()
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
    asked = [m if callable(m) else metric_name(m) for m in asked]
    names = [m for m in asked if not callable(m)]
    if names and sets:
        check_fit(names, objective, p, sets)
    ours = {m: get_metric(m, p) for m in names}
    found: dict[str, Metric] = {}
    for m in (*asked, *more):
        if callable(m):
            name, metric = named(m, *sample(takes_prediction(m)))
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


def check_fit(
    names: Sequence[str], objective: Objective, p: Parameters, sets: Sequence[Dataset]
) -> None:
    """Raise an error for a metric that does not fit the labels; it names those that do.

    ``sets``: the training data and the evaluation sets.

    Raises
    ------
    ParameterError
    """
    kinds = kinds_of(objective, sets)
    those = [name for name, entry in METRICS.items() if not set(kinds).isdisjoint(entry.fits)]
    for name in names:
        family = family_of(name) if isinstance(name, str) else ""
        if family not in METRICS:
            raise unknown_metric(name, _taken(those, objective, p, sets).values())
        if family not in those:
            ours, theirs = (
                KINDS[kinds[0]],
                "; or ".join(KINDS[kind] for kind in METRICS[family].fits),
            )
            wide = f" in {sets[0].n_targets} columns" if sets[0].n_targets > 1 else ""
            raise ParameterError(
                f"eval_metric={name!r}: it fits {theirs}, but with objective={p.objective!r} the "
                f"labels are {ours}{wide}: expected {_choice(family, those, objective, p, sets)}"
            )
        if not _has_a_number_each(family, objective, p):
            one = objective.n_outputs == 1
            several = f"{objective.n_outputs} numbers", f"{objective.n_outputs} outputs"
            numbers, outputs = ("one number", "one output") if one else several
            parameter = METRICS[family].parameter
            raise ParameterError(
                f"eval_metric={family!r}: {parameter}={getattr(p, parameter)}: expected {numbers} "
                f"for objective={p.objective!r}, which has {outputs}; give "
                f"{'one' if one else 'them'}"
            )


def _choice(
    family: str,
    those: Sequence[str],
    objective: Objective,
    p: Parameters,
    sets: Sequence[Dataset],
) -> str:
    """Return the metrics that can be given, and the next move, for an error message."""
    taken = _taken(those, objective, p, sets)
    wanted = (COUNTERPARTS.get(family), family_of(objective.metric), *taken)
    best = next((taken[one] for one in wanted if one in taken), None)
    if best is None:
        return "a function of your own; give one"
    return f"{', '.join(map(repr, taken.values()))}, or a function of your own; try {best!r}"


def _taken(
    those: Sequence[str], objective: Objective, p: Parameters, sets: Sequence[Dataset]
) -> dict[str, str]:
    """Return the names by which metrics that fit can be given, by their family."""
    names = {family: _spelled(family, objective) for family in those}
    return {one: name for one, name in names.items() if _is_taken(name, objective, p, sets)}


def _spelled(family: str, objective: Objective) -> str:
    """Return a name of the metric that can be given as it stands."""
    if family == family_of(objective.metric):
        return objective.metric
    return f"{family}@{METRICS[family].example}" if METRICS[family].default is None else family


def _is_taken(name: str, objective: Objective, p: Parameters, sets: Sequence[Dataset]) -> bool:
    """Tell whether nothing else speaks against a metric that fits the kind of label."""
    try:
        for rows in sets:
            check_ranked({name: get_metric(name, p)}, rows)
    except DataError:
        return False
    return _has_a_number_each(name, objective, p)


def _has_a_number_each(family: str, objective: Objective, p: Parameters) -> bool:
    """Tell whether a metric of quantiles or expectiles has a number for each output."""
    if family not in ("quantile", "expectile"):
        return True
    given = getattr(p, METRICS[family].parameter)
    return objective.n_outputs == (len(given) if isinstance(given, tuple) else 1)


def check_ranked(metrics: Mapping[str, Metric], rows: Dataset) -> None:
    """Raise an error for labels that a ranking metric does not accept."""
    for name, metric in metrics.items():
        if takes_queries(name):
            metric(rows.label, rows.label, rows.weight, rows.group_offsets)
