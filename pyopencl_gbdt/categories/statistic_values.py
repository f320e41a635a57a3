"""The values of a training's statistics, in every order of the rows: on the device, or the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.combination_codes import levels_there
from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics
from pyopencl_gbdt.data.batches.rows import BatchedRows, not_whole
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.device.staging import PIECE_BYTES, Staging
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.combinations import Part
from pyopencl_gbdt.model.statistics import LevelTable
from pyopencl_gbdt.parameters.parameters import Parameters


class WideRows(DeviceMatrix):
    """A matrix that gets more columns on a device, until it is released.

    Parameters
    ----------
    values : float32 array or DeviceArray, shape (n_rows, n_given), C order
    n_more : int
        Columns behind the given ones; their values are undefined until they are written.
    """

    def __init__(self, device: Device, values: F32 | DeviceArray, n_more: int) -> None:
        n_rows, self._n_given = int(values.shape[0]), int(values.shape[1])
        self.device, self.shape = device, (n_rows, self._n_given + n_more)
        self._given = values
        self._program = build_variant_program(device, "wide_rows", "auto")[1]
        self._there: DeviceArray | None = device.empty(self.shape, np.float32)
        if isinstance(values, DeviceArray):
            self.place(values, 0, self._n_given)
        elif device.borrows:
            self.place(device.borrow(values), 0, self._n_given)
        else:
            rows = max(1, PIECE_BYTES // (4 * self._n_given))
            staging = Staging(device, values, min(rows, n_rows))
            for first, n in staging.pieces():
                self.place(staging.piece, 0, self._n_given, first, n)

    @property
    def array(self) -> DeviceArray:
        """The rows: float32, of this ``shape``."""
        assert self._there is not None
        return self._there

    def place(
        self,
        source: DeviceArray,
        first_column: int,
        n_columns: int,
        first_row: int = 0,
        n_rows: int | None = None,
    ) -> None:
        """Copy rows of a matrix to columns here; columns that it lacks become missing values."""
        n_rows = self.shape[0] if n_rows is None else n_rows
        self._program.launch(
            "place", self.device.caps.row_groups(n_rows), n_rows=n_rows, n_from=source.shape[1],
            first_row=first_row, n_wide=self.shape[1], first_column=first_column,
            n_columns=n_columns, source=source, wide=self.array,
        )  # fmt: skip

    def levels(self, column: int, n_levels: int, *, empty: bool = False) -> DeviceArray:
        """Return the codes of a column, as ``levels_there`` does.

        ``empty`` makes the column's values missing after that.
        """
        n = self.shape[0]
        levels = self.device.empty((n,), np.uint32)
        self._program.launch(
            "take_levels", self.device.caps.row_groups(n), n=n, n_wide=self.shape[1],
            column=column, missing=n_levels, empty=int(empty), wide=self.array, levels=levels,
        )  # fmt: skip
        return levels

    def write_counts(
        self,
        levels: DeviceArray,
        n_levels: int,
        totals: DeviceArray,
        out: DeviceArray,
        column: int,
    ) -> None:
        """Write the counts of the rows' levels to a column of ``out``, shape (n_rows, n_columns).

        Parameters
        ----------
        levels : DeviceArray of uint32, shape (n_rows,)
        totals : DeviceArray of uint32, shape (n, n_levels)
            Its first row holds the counts.
        out : DeviceArray of float32
        """
        n = self.shape[0]
        self._program.launch(
            "write_counts", self.device.caps.row_groups(n), n=n, n_wide=out.shape[1],
            column=column, missing=n_levels, levels=levels, counts=totals, wide=out,
        )  # fmt: skip

    def on(self, device: Device) -> DeviceArray | None:
        return self._there if device is self.device else None

    def host(self) -> F32:
        found: F32 = self.array.get()
        return found

    def column(self, number: int) -> F32:
        assert isinstance(self._given, np.ndarray)
        return self._given[:, number]

    def release(self) -> None:
        """Free the device's memory; the values cannot be read any more."""
        self._there = None


F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Places:
    """How many columns there are: the user's, statistics, and empty ones behind them."""

    n_given: int
    n_made: int
    n_empty: int

    @property
    def n_columns(self) -> int:
        return self.n_given + self.n_made + self.n_empty


@dataclass(frozen=True)
class StatisticValues:
    """Statistics of categorical columns.

    Attributes
    ----------
    wide : float32 array or WideRows, shape (n_rows, n_columns)
        The user's values without the replaced columns, the statistics of order 0, empty columns.
    orders : list of float32 array or DeviceArray, shape (n_rows, n_made)
        The statistics in each order.
    levels : mapping of int to DeviceArray
        The levels of each of these columns, uint32 (n_rows,).
    """

    wide: F32 | WideRows
    orders: list[F32 | DeviceArray]
    levels: Mapping[int, DeviceArray]
    tables: list[LevelTable]


def statistic_values(
    params: Parameters,
    data: Dataset,
    columns: Mapping[int, bool],
    made: OrderedStatistics,
    place: Places,
    n_orders: int,
    there: bool | None = None,
) -> StatisticValues:
    """Compute the statistics of categorical columns, where they are encoded if there is room.

    ``columns`` tells whether statistics replace each of them. ``there`` says whether there is room;
    None: ``fits_on`` does.
    """
    device, n_rows = made.device, data.n_rows
    there = fits_on(device, n_rows, place, n_orders) if there is None else there
    wide: F32 | WideRows = data.values
    orders: list[F32 | DeviceArray] = []
    if there:
        values_there = data.features_for(device)
        if isinstance(values_there, BatchedRows):
            raise not_whole(values_there)
        wide = WideRows(device, values_there, place.n_made + place.n_empty)
        levels = {
            column: wide.levels(column, data.categories[column].n_levels, empty=replaced)
            for column, replaced in columns.items()
        }
        totals = [made.totals(levels[c], data.categories[c].n_levels) for c in columns]
        for order in range(n_orders):
            values = device.empty((n_rows, place.n_made), np.float32)
            made.take(order, in_time=params.has_time)
            _write_order(made, wide, values, list(levels.values()), totals)
            if order == 0:
                wide.place(values, place.n_given, place.n_made + place.n_empty)
            orders.append(values)
    else:
        levels = {c: levels_there(device, data, c, data.categories[c].n_levels) for c in columns}
        totals = [made.totals(levels[c], data.categories[c].n_levels) for c in columns]
        for order in range(n_orders):
            made.take(order, in_time=params.has_time)
            found = _order_on_host(made, data, list(columns), list(levels.values()), totals)
            if order == 0:
                wide = with_columns(data.values, found, place.n_empty)
                wide[:, [column for column, replaced in columns.items() if replaced]] = np.nan
            orders.append(found)
    tables = [_table(column, total) for column, total in zip(columns, totals, strict=True)]
    return StatisticValues(wide, orders, levels, tables)


def fits_on(device: Device, n_rows: int, place: Places, n_orders: int) -> bool:
    """Tell whether all values take no more than half of the device's free memory."""
    row = 4 * n_rows
    whole = row * (place.n_columns + n_orders * place.n_made)
    free = device.caps.global_bytes - device.allocated_bytes
    return 2 * whole <= free and row * place.n_columns <= device.caps.max_alloc_bytes


def with_columns(values: F32, more: F32, n_empty: int) -> F32:
    """Return values with more columns, and with missing values behind them."""
    own, end = values.shape[1], values.shape[1] + more.shape[1]
    wide = np.empty((values.shape[0], end + n_empty), np.float32)
    wide[:, :own], wide[:, own:end], wide[:, end:] = values, more, np.nan
    return wide


def _write_order(
    made: OrderedStatistics,
    wide: WideRows,
    out: DeviceArray,
    levels: Sequence[DeviceArray],
    totals: Sequence[DeviceArray],
) -> None:
    """Write the means of each column in the order taken last, and its counts behind them."""
    width = out.shape[1] // len(levels)
    for place, (own, total) in enumerate(zip(levels, totals, strict=True)):
        n_levels, first = total.shape[1], place * width
        for launch in made.launches(own, n_levels, out, first, once=True):
            launch()
        wide.write_counts(own, n_levels, total, out, first + width - 1)


def _order_on_host(
    made: OrderedStatistics,
    data: Dataset,
    columns: Sequence[int],
    levels: Sequence[DeviceArray],
    totals: Sequence[DeviceArray],
) -> F32:
    """Return what `_write_order` writes."""
    n_means = made.means.size // made.n
    found = np.empty((data.n_rows, len(columns) * (n_means + 1)), np.float32)
    for place, (column, own, total) in enumerate(zip(columns, levels, totals, strict=True)):
        first = place * (n_means + 1)
        for launch in made.launches(own, total.shape[1], once=True):
            launch()
        found[:, first : first + n_means] = made.means.get().reshape(n_means, made.n).T
        counts = np.append(total.get()[0].astype(np.float32), np.float32(np.nan))
        found[:, first + n_means] = counts[data.level_codes(column)]  # -1 is the last one
    return found


def _table(column: int, totals: DeviceArray) -> LevelTable:
    found = totals.get().astype(np.int64)
    return LevelTable((Part(column),), (found.shape[1],), found[0], found[1:])
