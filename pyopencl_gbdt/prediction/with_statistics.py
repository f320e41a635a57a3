"""Rows to predict get the statistics that their model's trees use."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.combination_codes import MOST_NUMBERS, CombinationKeys
from pyopencl_gbdt.categories.ordered_statistics import LevelMeans
from pyopencl_gbdt.categories.statistic_columns import StatisticColumns
from pyopencl_gbdt.categories.statistic_values import WideRows
from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import BatchedRows, not_whole
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features, level_codes
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.joined_statistics import ModelStatistics
from pyopencl_gbdt.model.statistics import LevelTable
from pyopencl_gbdt.prediction.margins import predict_margins

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
#: Fewer rows times tables are looked up on the host, where a table costs no launches. PoCL, 2
#: cores, 54 tables of 490 000 levels: 4000 rows took 71 ms on the host and 98 ms on the device,
#: 8000 took 125 and 98, 20 000 took 293 and 234; processor time of 6500 rows and 38 tables of
#: fewer levels: 37 and 32 ms.
_FEW_LOOK_UPS = 200_000


class RowsWithStatistics(DeviceMatrix):
    """Rows with their statistics as further columns, made where they are read.

    ``features``: categorical columns hold the codes of training.

    Raises
    ------
    DataError
        If the rows are sparse.
    """

    def __init__(self, statistics: ModelStatistics, features: Features) -> None:
        values = features.values
        if isinstance(values, BatchedRows):
            raise not_whole(values)
        if isinstance(values, SparseMatrix):
            raise DataError(
                "X is sparse: expected dense rows for a model with statistics of categories; give "
                "X.toarray()"
            )
        self._statistics, self._features, self._values = statistics, features, values
        n_rows, n_columns = values.shape
        self.shape = n_rows, n_columns + statistics.n_features

    def host(self) -> F32:
        values = self._values
        rows = values.host() if isinstance(values, DeviceMatrix) else values
        more = self._statistics.of_rows(_Rows(rows, replace(self._features, values=rows)))
        return np.concatenate([rows, more], axis=1)

    def on(self, device: Device) -> DeviceArray | None:
        """Return the rows on any device that has room for them; None where the host is faster."""
        if self.shape[0] * len(self._statistics.tables) < _FEW_LOOK_UPS or not self._fits(device):
            return None
        values = self._values
        given = values.on(device) if isinstance(values, DeviceMatrix) else values
        if given is None:
            return None
        return _with_statistics(device, self._statistics, self._features, given)

    def _fits(self, device: Device) -> bool:
        """Tell whether the rows, and what computing them takes, fit half of the free memory."""
        n_rows, width = self.shape
        columns = sum(table.keys is None for table in self._statistics.tables)
        row = 4 * (width + columns + MOST_NUMBERS) + 8 + 4
        tables = sum(table.counts.nbytes + table.hits.nbytes for table in self._statistics.tables)
        whole = n_rows * row + 2 * tables
        free = device.caps.global_bytes - device.allocated_bytes
        return 2 * whole <= free and 4 * n_rows * width <= device.caps.max_alloc_bytes


@dataclass(frozen=True)
class _Rows:
    """Rows whose statistics are asked for."""

    values: F32
    features: Features

    def level_codes(self, feature: int) -> I32:
        return level_codes(self.features, feature)


def _with_statistics(
    device: Device, statistics: ModelStatistics, features: Features, given: F32 | DeviceArray
) -> DeviceArray:
    """Return rows with their statistics, computed on a device; the host does not wait."""
    wide = WideRows(device, given, statistics.n_features)
    rows = _rows_of(features)
    n_levels = {
        part.column: size
        for table in statistics.tables
        for part, size in zip(table.parts, table.sizes, strict=True)
        if part.threshold is None
    }
    levels = {c: wide.levels(c, n_levels[c]) for c in sorted(statistics.alone)}
    keys = CombinationKeys(device, rows, n_levels, levels)
    end = statistics.n_columns
    for one in statistics.members:
        means = LevelMeans(device, one.priors, one.weight)
        places = [end + first for first in one.first_features]
        for table, (first, end) in zip(one.tables, pairwise(places), strict=True):
            totals, found = _totals(device, table), _keys(device, table)
            keys.write(table.parts)
            means.look_up(keys.keys, found, totals, wide.array, first)
            if table.keys is None:
                column = table.parts[0].column
                wide.write_counts(levels[column], table.n_levels, totals, wide.array, end - 1)
    return wide.array


def _rows_of(features: Features) -> _Rows:
    values = features.values
    assert not isinstance(values, SparseMatrix | BatchedRows)
    rows = values.host() if isinstance(values, DeviceMatrix) else values
    return _Rows(rows, replace(features, values=rows))


def _totals(device: Device, table: LevelTable) -> DeviceArray:
    """Upload a table's counts and hits: uint32, shape (n_targets + 1, n_levels)."""
    return device.upload(np.concatenate([table.counts[None], table.hits]).astype(np.uint32))


def _keys(device: Device, table: LevelTable) -> DeviceArray | None:
    """Upload the keys of a combination's levels: uint64, shape (n_levels,)."""
    return None if table.keys is None else device.upload(table.keys.astype(np.uint64))


def resumed_margins(made: StatisticColumns, before: Ensemble, device: Device, ahead: int) -> F32:
    """Return the margins of the training rows under trees of this training.

    The trees of a round are walked by the values of the order that its leaf values came from:
    that of the round, or of ``ahead`` rounds later. So the margins have the same bits as if the
    trees had just been trained.

    Raises
    ------
    ModelFormatError
        If the model has other statistics than this training.
    """
    made.check_same_statistics(before)
    margins: F32 | None = None if made.given.base_margin is None else made.given.base_margin.T
    values, first = made.data.values.copy(), made.given.n_features
    end = first + made.statistics.n_features
    n_trees = before.round_trees
    plain = replace(
        before, n_features=values.shape[1], feature_names=None, statistics=None, trees=[]
    )
    if made.combining is not None:
        made.combining.resume(before)
    for number in range(before.n_rounds):
        trees = before.trees[number * n_trees : (number + 1) * n_trees]
        values[:, first:end] = made.orders.of_round(number + ahead)
        if made.combining is not None:
            trees = made.combining.replayed(number, trees, values, ahead)
        one = replace(plain, trees=trees)
        margins = predict_margins(one, values, device, start=margins)
    if margins is None:
        margins = predict_margins(plain, values, device)
    return margins


def eval_margins(rows: Dataset, before: Ensemble, device: Device) -> F32:
    """Return the margins of other rows, with the user's columns, under trees."""
    assert before.statistics is not None
    own = None if rows.base_margin is None else rows.base_margin.T
    values = np.concatenate([rows.values, before.statistics.of_rows(rows)], axis=1)
    return predict_margins(before, values, device, start=own)
