"""Which categorical columns a training replaces by statistics of their levels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pyopencl_gbdt.categories.statistics import Statistics
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fitting import Task
from pyopencl_gbdt.training.replaced import replaced

#: ``cat_method="auto"``: columns of more levels than this become statistics.
MOST_SET_LEVELS = 16


def statistic_columns(params: Parameters, data: Dataset) -> list[int]:
    """Return the categorical columns that become statistics, ascending."""
    return becoming(params, {c: own.n_levels for c, own in data.categories.items()})


def becoming(params: Parameters, n_levels: Mapping[int, int]) -> list[int]:
    """Return the columns that become statistics, given the levels of all categorical ones.

    ``auto`` leaves columns of few levels to sets, and of losses whose labels are no targets all.
    """
    auto = MOST_SET_LEVELS if has_targets(params) else np.inf
    least = {"auto": auto, "sets": np.inf, "statistics": -1}[params.cat_method]
    return sorted(column for column, levels in n_levels.items() if levels > least)


def has_targets(params: Parameters) -> bool:
    """Tell whether labels are numbers or classes that statistics can count."""
    return not (params.objective.startswith("survival:") or params.objective == "custom")


def prepared_on(device: Device, task: Task) -> Task:
    """Return a task whose data have statistics in place of categorical columns, where it asks."""
    columns = statistic_columns(task.params, task.data)
    if not columns:
        return task
    made = replaced(task.params, task.data, columns, device)
    made = replace(made, given_evals=[rows for rows, _ in task.evals])
    evals = [(made.data if rows is task.data else made.of(rows), name) for rows, name in task.evals]
    params = extended_constraints(task.params, task.data, made.statistics)
    return replace(task, params=params, data=made.data, evals=evals, replaced=made)


def extended_constraints(params: Parameters, data: Dataset, statistics: Statistics) -> Parameters:
    """Return the parameters with every statistic in the groups of interactions of its column."""
    if not params.interaction_constraints:
        return params
    sources = [statistics.sources(feature)[0] for feature in range(statistics.n_features)]
    wide = [
        [*group, *(statistics.n_columns + f for f, source in enumerate(sources) if source in group)]
        for group in limits_of(params, data).interactions
    ]
    return replace(params, interaction_constraints=json.dumps(wide))
