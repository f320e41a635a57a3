"""A training's data in which statistics have replaced categorical columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.categories.parts import Part
from pyopencl_gbdt.categories.statistics import Statistics, level_table
from pyopencl_gbdt.categories.targets import targets_of
from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.orders import OrderCodes, Orders, encoding_bytes
from pyopencl_gbdt.pages.page import QuantizedData
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.training.combining import Combining
from pyopencl_gbdt.training.statistics_memory import StatisticSizes

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Replaced:
    """A data set whose categorical columns are statistics.

    Attributes
    ----------
    given : Dataset
        The user's columns.
    data : Dataset
        Statistics behind the user's columns; the columns that they replace are empty.
    statistics : Statistics
    orders : Orders
        The statistics in several orders of the rows.
    combining : Combining or None
        Combinations of columns, whose features come last and are empty yet.
    given_evals : sequence of Dataset
        The user's columns of evaluation sets.
    """

    given: Dataset
    data: Dataset
    statistics: Statistics
    orders: Orders
    combining: Combining | None = None
    given_evals: Sequence[Dataset] = ()

    def of(self, rows: Dataset) -> Dataset:
        """Return other rows with the statistics of all training rows."""
        return _widened(rows, self.statistics, self.statistics.of_rows(rows), self.combining)

    @property
    def n_ordered(self) -> int:
        """Number of features whose codes change from round to round."""
        changes = self.orders.n_orders > 1 or self.combining is not None
        return self.orders.n_features if changes else 0

    def plan(self, device: Device, memory: MemoryPlan, max_bin: int) -> None:
        """Plan what ``order_codes`` allocates, for a while or until the end."""
        later = 0 if self.combining is None else self.combining.n_bytes
        if self.n_ordered:
            memory.add("codes of orders", self.orders.n_bytes(max_bin), np.uint8)
            n_rows, n_given = self.orders.values[0].shape
            later = max(later, encoding_bytes(device, n_rows, n_given, max_bin + 1))
        if later:
            memory.add("scratch of statistics", later, np.uint8)

    def order_codes(
        self, device: Device, codes: QuantizedData, round_trees: int
    ) -> OrderCodes | None:
        """Return what writes the codes of a round's order into pages; None if none change."""
        if not self.n_ordered:
            return None
        made = OrderCodes(device, codes, self.orders)
        if self.combining is not None:
            self.combining.begin(device, made, round_trees)
        return made

    def resumed_margins(self, before: Ensemble, device: Device) -> F32:
        """Return the margins of the training rows under trees of this training.

        Each round is walked by the values of its order, so the margins have the same bits as if
        the trees had just been trained.

        Raises
        ------
        ModelFormatError
            If the model has other statistics than this training.
        """
        self._check_same_statistics(before)
        margins: F32 | None = None if self.given.base_margin is None else self.given.base_margin.T
        values, first = self.data.values.copy(), self.given.n_features
        end = first + self.statistics.n_features
        n_trees = before.round_trees
        plain = replace(
            before, n_features=values.shape[1], feature_names=None, statistics=None, trees=[]
        )
        if self.combining is not None:
            self.combining.resume(before)
        for number in range(before.n_rounds):
            trees = before.trees[number * n_trees : (number + 1) * n_trees]
            values[:, first:end] = self.orders.of_round(number)
            if self.combining is not None:
                trees = self.combining.replayed(number, trees, values)
            one = replace(plain, trees=trees)
            margins = predict_margins(one, values, device, start=margins)
        if margins is None:
            margins = predict_margins(plain, values, device)
        return margins

    def _check_same_statistics(self, before: Ensemble) -> None:
        own, found = self.statistics, before.statistics
        if found is not None:
            found = replace(found, tables=found.tables[: len(own.tables)])
        if found != own:
            raise ModelFormatError(
                "the model to resume has other statistics of categories than these rows: expected "
                "those of the interrupted training; delete the checkpoint"
            )

    def eval_margins(self, rows: Dataset, before: Ensemble, device: Device) -> F32:
        """Return the margins of other rows, with the user's columns, under trees."""
        assert before.statistics is not None
        own = None if rows.base_margin is None else rows.base_margin.T
        values = np.concatenate([rows.values, before.statistics.of_rows(rows)], axis=1)
        return predict_margins(before, values, device, start=own)

    def earlier(self, trees: list[Tree]) -> list[Tree]:
        """Return the trees of a model that is resumed, as this fit collects its own."""
        return trees if self.combining is None else self.combining.earlier

    def of_model(self, trees: list[Tree]) -> tuple[list[Tree], Statistics]:
        """Return collected trees as those of a model, and the statistics that they use."""
        if self.combining is None:
            return trees, self.statistics
        return self.combining.of_model(trees)


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
    n_levels = {column: data.categories[column].n_levels for column in columns}
    sizes = StatisticSizes.of(
        params, data.n_rows, data.n_features, data.n_targets, n_levels, len(data.categories)
    )
    _check_memory(sizes, device)
    targets = targets_of(
        data.targets(), data.weight, classes=params.num_class, borders=params.target_border_count
    )
    tables = [
        level_table(data, (Part(column),), (levels,), targets)
        for column, levels in n_levels.items()
    ]
    priors = params.ctr_priors
    listed = priors if isinstance(priors, tuple) else (priors,)
    statistics = Statistics(data.n_features, targets.names, listed, tuple(tables))
    made = OrderedStatistics(
        device, targets.hits, targets.counted, statistics.priors, params.random_state
    )
    orders = _ordered(params, data, statistics, made)
    combining = None
    if sizes.combines and targets.names:
        combining = Combining(
            data, statistics, targets, made, params.max_ctr_complexity, len(orders),
            in_time=params.has_time,
        )  # fmt: skip
    wide = _widened(data, statistics, orders[0], combining)
    n_empty = 0 if combining is None else combining.n_features
    return Replaced(data, wide, statistics, Orders(orders, n_empty), combining)


def _check_memory(sizes: StatisticSizes, device: Device) -> None:
    """Raise an error if the host or the device has too little memory for statistics."""
    n = len(sizes.n_levels)
    move = "lower permutation_count or target_border_count, give one of ctr_priors, or use "
    move += "cat_method='sets'"
    check_free(
        sizes.host_bytes,
        f"statistics of {n} categorical columns, {sizes.n_statistics} for each row,",
        move,
    )
    memory = MemoryPlan()
    memory.add("statistics of categories", sizes.set_up_bytes(device), np.uint8)
    if memory.total_bytes > device.caps.global_bytes - device.allocated_bytes:
        memory.check(device, move)  # only then: it is not one piece


def _widened(
    rows: Dataset, statistics: Statistics, values: F32, combining: Combining | None
) -> Dataset:
    """Return rows with statistics, and with empty features for combinations behind them."""
    n_empty = 0 if combining is None else combining.n_features
    names = [*_names(rows, statistics), *(f"combination {i}" for i in range(n_empty))]
    return rows.widened(values, names, statistics.replaced, n_empty)


def _ordered(
    params: Parameters, data: Dataset, statistics: Statistics, made: OrderedStatistics
) -> list[F32]:
    """Return the statistics of each row, from the rows before it, in every order."""
    n_means, places = statistics.n_means, statistics.first_features
    codes = [data.level_codes(table.parts[0].column) for table in statistics.tables]
    levels = [
        made.levels_of(own, table.n_levels)
        for own, table in zip(codes, statistics.tables, strict=True)
    ]
    n_orders = 1 if params.has_time else params.permutation_count
    found = [np.empty((data.n_rows, statistics.n_features), np.float32) for _ in range(n_orders)]
    for table, first, own in zip(statistics.tables, places, codes, strict=False):
        counts = np.append(table.counts.astype(np.float32), np.float32(np.nan))[own]
        for values in found:
            values[:, first + n_means] = counts
    for number, values in enumerate(found):
        if params.has_time:
            made.take_order(np.arange(data.n_rows, dtype=np.uint32))
        else:
            made.draw(number)
        for table, first, there in zip(statistics.tables, places, levels, strict=False):
            means = made.of_levels(there, table.n_levels).get()
            values[:, first : first + n_means] = means.reshape(n_means, data.n_rows).T
    return found


def _names(data: Dataset, statistics: Statistics) -> list[str]:
    own = data.feature_names
    names = "f{}".format if own is None else own.__getitem__
    return [statistics.name(feature, names) for feature in range(statistics.n_features)]
