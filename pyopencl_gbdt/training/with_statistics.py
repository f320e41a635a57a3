"""Replace categorical columns by statistics of their levels before a training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.categories.parts import Part
from pyopencl_gbdt.categories.statistics import Statistics, level_table
from pyopencl_gbdt.categories.targets import targets_of
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.pages.orders import Orders
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.combining import Combining
from pyopencl_gbdt.training.fitting import Task

#: ``cat_method="auto"``: columns of more levels than this become statistics.
MOST_SET_LEVELS = 1000
F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Replaced:
    """A data set whose categorical columns are statistics.

    Attributes
    ----------
    data : Dataset
        Statistics behind the user's columns; the columns that they replace are empty.
    statistics : Statistics
    orders : Orders
        The statistics in several orders of the rows.
    combining : Combining or None
        Combinations of columns, whose features come last and are empty yet.
    """

    data: Dataset
    statistics: Statistics
    orders: Orders
    combining: Combining | None = None

    def of(self, rows: Dataset) -> Dataset:
        """Return other rows with the statistics of all training rows."""
        return _widened(rows, self.statistics, self.statistics.of_rows(rows), self.combining)


def statistic_columns(params: Parameters, data: Dataset) -> list[int]:
    """Return the categorical columns that become statistics, ascending."""
    least = {"auto": MOST_SET_LEVELS, "sets": np.inf, "statistics": -1}[params.cat_method]
    return sorted(column for column, own in data.categories.items() if own.n_levels > least)


def check_statistics(params: Parameters, data: Dataset, *, continued: bool) -> None:
    """Raise an error if categorical columns cannot become what the parameters ask for.

    Raises
    ------
    ParameterError
    """
    columns = statistic_columns(params, data)
    if not columns:
        return
    if params.search != "hist":
        raise ParameterError(
            f"tree_method={params.tree_method!r}: expected 'hist' or 'auto' for statistics of "
            "categories; leave it out, or leave the columns out"
        )
    if params.objective.startswith("survival:") or params.objective == "custom":
        raise ParameterError(
            f"objective={params.objective!r}: expected a loss whose labels are targets, for "
            "statistics of categories; use cat_method='sets'"
        )
    if continued:
        raise ParameterError(
            "model: expected none to continue with statistics of categories, since its trees have "
            "statistics of other data; train a new model, or use cat_method='sets'"
        )


def prepared_on(device: Device, task: Task) -> Task:
    """Return a task whose data have statistics in place of categorical columns, where it asks."""
    columns = statistic_columns(task.params, task.data)
    if not columns:
        return task
    made = replaced(task.params, task.data, columns, device)
    evals = [(made.data if rows is task.data else made.of(rows), name) for rows, name in task.evals]
    return replace(
        task, params=extended_constraints(task.params, made.statistics), data=made.data,
        evals=evals, given=task.data,
        given_evals=[rows for rows, _ in task.evals], statistics=made.statistics,
        orders=made.orders,
        combining=made.combining,
    )  # fmt: skip


def replaced(params: Parameters, data: Dataset, columns: Sequence[int], device: Device) -> Replaced:
    """Compute the statistics of a training's categorical columns.

    Parameters
    ----------
    params : Parameters
    data : Dataset
    columns : sequence of int
        Categorical columns, ascending.
    device : Device
    """
    targets = targets_of(
        data.targets(), data.weight, classes=params.num_class, borders=params.target_border_count
    )
    tables = [
        level_table(data, (Part(column),), (data.categories[column].n_levels,), targets)
        for column in columns
    ]
    priors = params.ctr_priors
    listed = priors if isinstance(priors, tuple) else (priors,)
    statistics = Statistics(data.n_features, targets.names, listed, tuple(tables))
    made = OrderedStatistics(
        device, targets.hits, targets.counted, statistics.priors, params.random_state
    )
    values = _ordered(params, data, statistics, made)
    combining = None
    if params.max_ctr_complexity > 1 and targets.names:
        combining = Combining(
            data, statistics, targets, made, params.max_ctr_complexity, len(values),
            in_time=params.has_time,
        )  # fmt: skip
    wide = _widened(data, statistics, values[0], combining)
    empty = ((0, 0), (0, 0 if combining is None else combining.n_features))
    orders = Orders([np.pad(own, empty, constant_values=np.nan) for own in values])
    return Replaced(wide, statistics, orders, combining)


def _widened(
    rows: Dataset, statistics: Statistics, values: F32, combining: Combining | None
) -> Dataset:
    """Return rows with statistics, and with empty features for combinations behind them."""
    n_empty = 0 if combining is None else combining.n_features
    empty = np.full((rows.n_rows, n_empty), np.nan, np.float32)
    names = [*_names(rows, statistics), *(f"combination {i}" for i in range(n_empty))]
    more = np.concatenate([values, empty], axis=1)
    return rows.widened(more, names, statistics.replaced, n_empty)


def _ordered(
    params: Parameters, data: Dataset, statistics: Statistics, made: OrderedStatistics
) -> list[F32]:
    """Return the statistics of each row, from the rows before it, in every order."""
    every, n_means = statistics.of_rows(data), statistics.n_means
    found = []
    for number in range(1 if params.has_time else params.permutation_count):
        if params.has_time:
            made.take_order(np.arange(data.n_rows, dtype=np.uint32))
        else:
            made.draw(number)
        values = every.copy()  # counts of levels stay
        for table, first in zip(statistics.tables, statistics.first_features, strict=False):
            means = made.of(data.level_codes(table.parts[0].column), table.n_levels).get()
            values[:, first : first + n_means] = means.reshape(n_means, -1).T
        found.append(values)
    return found


def _names(data: Dataset, statistics: Statistics) -> list[str]:
    own = data.feature_names
    names = "f{}".format if own is None else own.__getitem__
    return [statistics.name(feature, names) for feature in range(statistics.n_features)]


def extended_constraints(params: Parameters, statistics: Statistics) -> Parameters:
    """Return the parameters with every statistic in the groups of interactions of its column.

    Raises
    ------
    ParameterError
        If groups name columns by names.
    """
    if not params.interaction_constraints:
        return params
    groups = json.loads(params.interaction_constraints)
    if not all(isinstance(column, int) for group in groups for column in group):
        raise ParameterError(
            f"interaction_constraints={params.interaction_constraints!r}: expected column numbers "
            "beside statistics of categories; replace names by numbers"
        )
    sources = [statistics.sources(feature)[0] for feature in range(statistics.n_features)]
    wide = [
        [*group, *(statistics.n_columns + f for f, source in enumerate(sources) if source in group)]
        for group in groups
    ]
    return replace(params, interaction_constraints=json.dumps(wide))
