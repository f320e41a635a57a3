"""Choose the metrics of a training: by name, custom ones, or the loss's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.metrics import Metric, get_metric, metric_name
from pyopencl_gbdt.metrics.custom import named
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.metric_fit import check_fit

#: Names of metrics and custom metrics.
Metrics = str | Callable[..., Any] | Sequence[str | Callable[..., Any]] | None


def choose_metrics(
    eval_metric: Metrics,
    objective: Objective,
    p: Parameters,
    sets: Sequence[Dataset],
    sample: Callable[[], tuple[Any, Dataset]],
    more: Sequence[Callable[..., Any]] = (),
) -> dict[str, Metric]:
    """Return the metrics by name; the loss's default metric if none is asked for.

    ``sets`` are the training data and the evaluation sets; a metric that does not fit their labels
    is refused.

    A custom metric is called once to learn its name, with what ``sample`` returns: predictions and
    their rows. If the name is taken, it becomes ``name-2``. ``more`` are custom metrics that come
    after the others.
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
