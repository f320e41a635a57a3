"""A training's data in which categorical columns have statistics, and which replace them.

Statistics count rows whose label lies above a border, or is a class.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.column_combinations import ColumnCombinations
from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.categories.pair_scores import is_scored
from pyopencl_gbdt.categories.statistic_sizes import StatisticSizes, n_slots
from pyopencl_gbdt.categories.statistic_values import (
    Places,
    StatisticValues,
    WideRows,
    statistic_values,
    with_columns,
)
from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.statistics import Statistics
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.pages.orders import OrderCodes, Orders
from pyopencl_gbdt.pages.page import QuantizedData
from pyopencl_gbdt.parameters.category_offers import Offer
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.parameters import Parameters

U8 = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Targets:
    """Rows that hit each target.

    Attributes
    ----------
    names : tuple of str
        What a hit is, such as "> 0.5" or "= 2".
    hits : uint8 array, shape (n_targets, n_rows)
    counted : uint8 array, shape (n_rows,)
        0 for rows of weight 0.
    """

    names: tuple[str, ...]
    hits: U8
    counted: U8

    def priors(self, given: float | tuple[float, ...] | None) -> tuple[tuple[float, ...], ...]:
        """Return the priors of each target; None is the share of rows that hit it."""
        if given is not None:
            listed = given if isinstance(given, tuple) else (given,)
            return (tuple(float(np.float32(prior)) for prior in listed),) * len(self.names)
        n = max(1, int(self.counted.sum()))
        shares = [int((hit & self.counted).sum()) / n for hit in self.hits]
        return tuple((float(np.float32(share)),) for share in shares)


def targets_of(
    labels: list[F32], weight: F32 | None, *, classes: int = 0, borders: int = 1
) -> Targets:
    """Return the targets of labels.

    Parameters
    ----------
    labels : list of float32 array, shape (n_rows,)
        One array for each label of a row.
    weight : float32 array, shape (n_rows,), or None
    classes : int
        Number of classes 0, 1, ... that labels are; each is a target. 0: labels are numbers, and
        a target is a label above a border.
    borders : int
        Borders of numbers that have more than ``borders + 1`` different values. They have equally
        many labels between them. Other numbers have a border between any two neighbours.
    """
    n_rows = labels[0].size
    counted = np.ones(n_rows, np.uint8) if weight is None else (weight > 0).astype(np.uint8)
    names, hits = [], []
    for number, label in enumerate(labels):
        label_name = f"y{number} " if len(labels) > 1 else ""
        if classes:
            chosen = range(classes)
            hits += [label == one for one in chosen]
            names += [f"{label_name}= {one}" for one in chosen]
            continue
        for border in _borders(label[counted != 0], borders):
            hits.append(label > border)
            names.append(f"{label_name}> {border:g}")
    return Targets(tuple(names), np.array(hits, np.uint8).reshape(-1, n_rows), counted)


def _borders(label: F32, n_borders: int) -> list[float]:
    """Return borders between labels, ascending."""
    values = np.unique(label)
    if values.size > n_borders + 1:
        ordered = np.sort(label)
        places = np.arange(1, n_borders + 1) * ordered.size // (n_borders + 1)
        some = np.unique(np.append(values[0], ordered[places]))
        values = some if some.size > 1 else values[:2]  # most labels are the lowest one
        lower = [float(np.unique(label[label < value])[-1]) for value in values[1:]]
        return [(a + float(b)) / 2 for a, b in zip(lower, values[1:], strict=True)]
    return [(float(a) + float(b)) / 2 for a, b in pairwise(values)]


F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class RoundStatistics:
    """The statistics of a fit that change from round to round.

    Attributes
    ----------
    orders : OrderCodes or None
        Writes the codes of an order of the rows into the pages.
    combining : ColumnCombinations or None
        Combinations of columns, which are chosen by the trees so far.
    """

    orders: OrderCodes | None = None
    combining: ColumnCombinations | None = None

    def restart(self) -> None:
        """Go back to the fit's first round."""
        if self.combining is not None:
            self.combining.restart()

    def turn(self) -> list[Action]:
        """Return the action that writes the codes of the next order."""
        return [] if self.orders is None else [self.orders.turn()]

    def begin_round(self, number: int, trees: Callable[[], list[Tree]]) -> None:
        """Choose combinations, if this round does; ``trees`` returns all trees so far."""
        if self.combining is not None and self.combining.is_due(number):
            self.combining.choose(trees(), number)

    def take_order(self, number: int) -> None:
        """Write the codes of a round's order, if others are there."""
        if self.orders is not None:
            self.orders.take(number)

    def end_round(self, number: int, trees: Callable[[], list[Tree]], first: int) -> None:
        """Score pairs of columns before some rounds, as ``ColumnCombinations.score`` does."""
        if self.combining is not None and is_scored(number + 1):
            self.combining.score(trees(), number + 1, first)

    @property
    def renamed(self) -> Callable[[list[Tree]], list[Tree]] | None:
        """Returns trees with the features of combinations in place of those of slots."""
        return None if self.combining is None else self.combining.collected


@dataclass(frozen=True)
class StatisticColumns:
    """A data set whose categorical columns have statistics.

    Attributes
    ----------
    given : Dataset
        The user's columns.
    data : Dataset
        Statistics behind the user's columns; the columns that they replace are empty.
    replaced : set of int
        These columns; others that have statistics are split by sets of levels, too.
    orders : Orders
        The statistics in several orders of the rows.
    combining : ColumnCombinations or None
        Combinations of columns, whose features come last and are empty yet.
    given_evals : sequence of Dataset
        The user's columns of evaluation sets.
    """

    given: Dataset
    data: Dataset
    replaced: set[int]
    statistics: Statistics
    orders: Orders
    combining: ColumnCombinations | None = None
    given_evals: Sequence[Dataset] = ()

    def of(self, rows: Dataset) -> Dataset:
        """Return other rows with the statistics of all training rows."""
        n_empty = 0 if self.combining is None else self.combining.n_features
        values = with_columns(rows.values, self.statistics.of_rows(rows), n_empty)
        values[:, sorted(self.replaced)] = np.nan
        return rows.widened(values, _names(rows, self.statistics, n_empty), self.replaced, n_empty)

    def release(self) -> None:
        """Free the values, once their codes are made and no rounds are resumed any more."""
        self.orders.release()
        if isinstance(self.data.features, WideRows):
            self.data.features.release()

    @property
    def n_ordered(self) -> int:
        """Number of features whose codes change from round to round."""
        changes = self.orders.n_orders > 1 or self.combining is not None
        return self.orders.n_features if changes else 0

    def plan(self, device: Device, memory: MemoryPlan, max_bin: int) -> tuple[int, int]:
        """Plan what ``of_rounds`` allocates, for a while or until the end.

        Return the number of features whose codes change from round to round, and of orders.
        """
        if self.n_ordered:
            paper = PaperDevice.like(device)
            self.orders.plan(memory, max_bin)
            self.orders.encode_on_paper(paper, max_bin + 1)
            if self.combining is not None:
                evals = [rows for rows in self.given_evals if rows is not self.given]
                self.combining.choose_on_paper(paper, evals)
            memory.add("scratch of statistics", paper.asked_bytes, np.uint8)
        return self.n_ordered, self.orders.n_orders

    def of_rounds(
        self,
        device: Device,
        codes: QuantizedData,
        round_trees: int,
        n_alike: int,
        quanta: DeviceArray,
    ) -> RoundStatistics:
        """Return what writes the codes of a round's order into pages, if some change."""
        if not self.n_ordered:
            return RoundStatistics(None, self.combining)
        made = OrderCodes(device, codes, self.orders)
        if self.combining is not None:
            self.combining.begin(made, round_trees, n_alike, quanta)
        return RoundStatistics(made, self.combining)

    def check_same_statistics(self, before: Ensemble) -> None:
        """Raise ``ModelFormatError`` if a model to resume has other statistics."""
        own, found = self.statistics, before.statistics
        if isinstance(found, Statistics):
            found = replace(found, tables=found.tables[: len(own.tables)])
        if found != own:
            raise ModelFormatError(
                "the model to resume has other statistics of categories than these rows: expected "
                "those of the interrupted training; delete the checkpoint"
            )

    def earlier(self, trees: list[Tree]) -> list[Tree]:
        """Return the trees of a model that is resumed, as this fit collects its own."""
        return trees if self.combining is None else self.combining.earlier

    def attributes(self) -> dict[str, str]:
        """Return the texts that a model keeps, so that its training can be resumed."""
        return {} if self.combining is None else self.combining.attributes()

    def of_model(self, trees: list[Tree]) -> tuple[list[Tree], Statistics]:
        """Return collected trees as those of a model, and the statistics that they use."""
        if self.combining is None:
            return trees, self.statistics
        return self.combining.of_model(trees)


def replace_by_statistics(
    params: Parameters, data: Dataset, own: Mapping[int, Offer], device: Device
) -> StatisticColumns:
    """Compute the statistics of a training's categorical columns.

    ``own``: what each categorical column offers, ascending.
    """
    n_levels = {column: levels.n_levels for column, levels in data.categories.items()}
    sizes = StatisticSizes.of(params, data.n_rows, data.n_features, data.n_targets, n_levels, own)
    _check_memory(params, data, sizes, device)
    targets = targets_of(
        data.targets(), data.weight, classes=params.num_class, borders=params.target_border_count
    )
    made = _made(params, data, targets, sizes, device, params.n_orders)
    statistics, values, combining = made
    n_empty = 0 if combining is None else combining.n_features
    names = _names(data, statistics, n_empty)
    wide = data.widened(values.wide, names, sizes.replaced, n_empty)
    orders = Orders(values.orders, n_empty)
    return StatisticColumns(data, wide, sizes.replaced, statistics, orders, combining)


def _made(
    params: Parameters,
    data: Dataset,
    targets: Targets,
    sizes: StatisticSizes,
    device: Device,
    n_orders: int,
    there: bool | None = None,
) -> tuple[Statistics, StatisticValues, ColumnCombinations | None]:
    """Compute the statistics of columns in so many orders; ``there`` as in `statistic_values`."""
    priors, weight = targets.priors(params.ctr_priors), params.ctr_prior_weight
    made = OrderedStatistics(
        device, targets.hits, targets.counted, priors, weight, params.random_state
    )
    n_means = made.means.size // data.n_rows
    n_slots_there = n_slots(n_means) if sizes.combines and targets.names else 0
    columns = {column: column in sizes.replaced for column in sizes.n_levels}
    place = Places(data.n_features, len(columns) * (n_means + 1), n_slots_there * n_means)
    values = statistic_values(params, data, columns, made, place, n_orders, there)
    tables = tuple(values.tables)
    statistics = Statistics(data.n_features, targets.names, priors, tables, weight)
    combining = None
    if n_slots_there:
        combining = ColumnCombinations(
            data, statistics, made, params.max_ctr_complexity, n_orders,
            in_time=params.has_time, levels=values.levels,
        )  # fmt: skip
    return statistics, values, combining


def _check_memory(params: Parameters, data: Dataset, sizes: StatisticSizes, device: Device) -> None:
    """Raise an error if the host or the device has too little memory for statistics."""
    n = len(sizes.n_levels)
    move = "lower permutation_count or target_border_count, give one of ctr_priors, or use "
    move += "cat_method='sets'"
    check_free(
        sizes.host_bytes(device),
        f"statistics of {n} categorical columns, {sizes.n_statistics} for each row,",
        move,
    )
    memory = MemoryPlan()
    there = sizes.lie_on(device)
    paper = PaperDevice.like(device, has_limits=False)
    _on_paper(params, data, sizes, paper, there=there)
    needed = paper.asked_bytes
    memory.add("statistics of categories", needed, np.uint8)
    if needed > device.caps.global_bytes - device.allocated_bytes:
        memory.check(device, move)  # only then: it is not one piece


def _on_paper(
    params: Parameters, data: Dataset, sizes: StatisticSizes, paper: PaperDevice, *, there: bool
) -> object:
    """Build the statistics of rows of which only the sizes are known."""
    n = sizes.n_rows
    hits = np.broadcast_to(np.uint8(0), (sizes.n_targets, n))
    names = tuple(f"{number}" for number in range(sizes.n_targets))
    targets = Targets(names, hits, np.broadcast_to(np.uint8(1), n))
    values = np.broadcast_to(np.float32(0), (n, sizes.n_columns))
    rows = Dataset(Features(values, None, data.categories), data.label)
    n_orders = sizes.n_orders if there else 0  # the host's arrays are not looked at
    return _made(params, rows, targets, sizes, paper, n_orders, there)


def _names(data: Dataset, statistics: Statistics, n_empty: int) -> list[str]:
    own = data.feature_names
    names = "f{}".format if own is None else own.__getitem__
    made = [statistics.name(feature, names) for feature in range(statistics.n_features)]
    return [*made, *(f"combination {i}" for i in range(n_empty))]


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
