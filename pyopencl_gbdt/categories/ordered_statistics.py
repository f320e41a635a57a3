"""Ordered target statistics on a device: a row's level, told by the rows before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, build_variant_program
from pyopencl_gbdt.model.statistics import Priors, prior_sum
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.radix_sort import RadixSort
from pyopencl_gbdt.primitives.scan import Scan

F32 = npt.NDArray[np.float32]
U8 = npt.NDArray[np.uint8]
#: Key of a row where a part of a combination is missing.
NO_KEY = np.uint64(2**64 - 1)
#: Most compute units for each order with which it pays that a work-item walks along it alone.
#: PoCL, 1 thread beside other programs, 26 k rows, two orders, processor ms of a column: walks
#: 0.73, sorts and scans 4.2, from which codes have to be made.
MOST_UNITS_WALKING = 8
#: Most compute units with which one work-item adds up totals of levels: it takes no atomics.
MOST_UNITS_ALONE = 4


class LevelMeans:
    """Looks up the means of levels, by totals of all training rows.

    Parameters
    ----------
    priors : float array-like, shape (n_targets, n_priors)
    weight : int
        The rows that a prior counts as.
    """

    def __init__(self, device: Device, priors: Priors, weight: int) -> None:
        self.device, self._weight = device, weight
        self.program = build_variant_program(device, "ordered_statistics", "auto")[1]
        sums = [[prior_sum(prior, weight) for prior in own] for own in priors]
        self.priors = device.upload(np.array(sums, np.float32))
        self._n_priors = len(sums[0]) if sums else 1

    def look_up(
        self,
        keys: DeviceArray,
        found: DeviceArray | None,
        totals: DeviceArray,
        out: DeviceArray,
        first: int,
    ) -> None:
        """Write the means of rows.

        Parameters
        ----------
        keys : DeviceArray of uint64, shape (n_rows,)
            The rows', as ``CombinationKeys`` has them.
        found : DeviceArray of uint64, shape (n_levels,), or None
            The keys of levels, ascending; None: a level's key is its number.
        totals : DeviceArray of uint32, shape (n_targets + 1, n_levels)
        out : DeviceArray of float32, shape (n_rows, n_columns)
        first : int
            The first column there.
        """
        n = keys.size
        self.program.launch(
            "look_up", self.device.caps.row_groups(n), n=n, n_found=totals.shape[1],
            direct=found is None, n_planes=totals.shape[0], n_priors=self._n_priors,
            weight=self._weight, no_key=NO_KEY, first=first, row_step=out.shape[1], keys=keys,
            found=keys if found is None else found, totals=totals, priors=self.priors, out=out,
        )  # fmt: skip


class OrderedStatistics:
    """Computes statistics of categorical columns in random orders of the rows.

    A row's statistic is ``(sum + weight * prior) / (count + weight)`` over the rows of its level
    that come before it in the order (Prokhorenkova et al., "CatBoost: unbiased boosting with
    categorical features", NeurIPS 2018). So it does not tell the row's own target. Rows are sorted
    into an order, then by level; a scan gives the running sums, which are integers.

    Parameters
    ----------
    hits : uint8 array, shape (n_targets, n_rows)
        1 where a row's target lies above a border, or is of a class.
    counted : uint8 array, shape (n_rows,)
        0 where a row has weight 0: it gets a statistic but is not part of any.
    priors : float array-like, shape (n_targets, n_priors)
    weight : int
        The rows that a prior counts as.
    seed : int
        The seed of the random orders.

    Attributes
    ----------
    means : DeviceArray of float32, shape (n_targets, n_priors, n_rows)
        Where statistics are written unless another array is given.
    order : DeviceArray of uint32, shape (n_rows,)
        The rows in the order taken last.
    is_sequential : bool
        Whether the kernels' work-groups have one work-item.
    """

    def __init__(
        self, device: Device, hits: U8, counted: U8, priors: Priors, weight: int, seed: int
    ) -> None:
        self.device, self.seed = device, seed
        self.n_targets, self.n = hits.shape
        n = self.n
        self.level_means = LevelMeans(device, priors, weight)
        self._program, self._priors = self.level_means.program, self.level_means.priors
        self._groups, self._weight = device.caps.row_groups(n), weight
        self._planes = device.upload(np.concatenate([counted[None], hits & counted]))
        self._n_priors = n_priors = len(priors[0]) if priors else 1
        self.is_sequential = self._program.wg_size == 1
        self.order, self._rows = device.empty((n,), np.uint32), device.empty((n,), np.uint32)
        self._keys = device.empty((n,), np.uint32)
        self._flags = device.empty((self._planes.size,), np.uint32)
        self.means = device.empty((self.n_targets, n_priors, n), np.float32)
        self._sort = RadixSort(device, n, np.uint32, np.uint32)
        self._begins: dict[int, DeviceArray] = {}  # of launches that are bound
        self._into_order = self._sort.bind(self._keys, self.order)
        self._scan = Scan(device, self._flags.size, np.uint32).bind(self._flags, self._flags)

    def draw(self, permutation: int) -> None:
        """Take the random order of this number for the following columns."""
        self._program.launch(
            "draw_keys", self._groups, n=self.n, seed=self.seed, permutation=permutation,
            keys=self._keys, rows=self.order,
        )  # fmt: skip
        run(self._into_order)

    def take(self, number: int, *, in_time: bool) -> None:
        """Take the random order of this number, or that of time, in which the rows are."""
        if in_time:
            self.take_order(np.arange(self.n, dtype=np.uint32))
        else:
            self.draw(number)

    def take_order(self, order: npt.NDArray[np.uint32]) -> None:
        """Take this order, shape (n_rows,), for the following columns."""
        self.order.set(order)

    def launches(
        self,
        levels: DeviceArray,
        n_levels: int,
        out: DeviceArray | None = None,
        first: int = 0,
        *,
        once: bool = False,
    ) -> list[Launch]:
        """Return the launches that compute a column's statistics in the latest order.

        Parameters
        ----------
        levels : DeviceArray of uint32, shape (n_rows,)
            Levels 0..n_levels - 1; ``n_levels`` is missing, and gets NaN.
        out : DeviceArray of float32, shape (n_rows, n_columns), or None
            Where the statistics of a row are written side by side; None is ``means``.
        first : int
            The first column there.
        once : bool
            Whether the launches will run only once.
        """
        n, n_planes, program = self.n, self.n_targets + 1, self._program
        bind = program.prepare if once else program.bind
        begins = self._begins.get(n_levels) or self.device.empty((n_levels + 1,), np.uint32)
        if not once:
            self._begins[n_levels] = begins
        sorted_rows = {"keys": self._keys, "rows": self._rows}
        steps = {"first": first, "mean_step": n if out is None else 1}
        steps["row_step"] = 1 if out is None else out.shape[1]
        return [
            bind(
                "gather_levels", self._groups, n=n, order=self.order, levels=levels, **sorted_rows
            ),
            *self._sort.bind(
                self._keys, self._rows, end_bit=max(1, n_levels.bit_length()), once=once
            ),
            bind(
                "mark", self._groups, n=n, n_planes=n_planes, planes=self._planes,
                flags=self._flags, begins=begins, **sorted_rows,
            ),
            *self._scan,
            bind(
                "write_means", self._groups, n=n, n_planes=n_planes, n_priors=self._n_priors,
                weight=self._weight, missing=n_levels, begins=begins, running=self._flags,
                priors=self._priors,
                out=self.means if out is None else out, **steps, **sorted_rows,
            ),
        ]  # fmt: skip

    def totals(self, levels: DeviceArray, n_levels: int) -> DeviceArray:
        """Return how many rows of each level count, and how many of them hit each target.

        Parameters
        ----------
        levels : DeviceArray of uint32, shape (n_rows,)
            Levels 0..n_levels - 1; larger ones are missing.

        Returns
        -------
        DeviceArray of uint32, shape (n_targets + 1, n_levels)
            Counts, then the hits of each target.
        """
        found = self.device.zeros((self.n_targets + 1, n_levels), np.uint32)
        alone = self.is_sequential and self.device.caps.compute_units <= MOST_UNITS_ALONE
        if n_levels:
            self._program.launch(
                "add_totals", 1 if alone else self._groups, n=self.n, n_planes=found.shape[0],
                missing=n_levels, levels=levels, planes=self._planes, totals=found,
            )  # fmt: skip
        return found

    def bind_walk(self, n_orders: int, **arguments: Any) -> Launch:
        """Bind the walks along so many orders, whose other arguments `WalkedOrders` has."""
        return self._program.bind(
            "walk_codes", n_orders, n=self.n, n_planes=self.n_targets + 1,
            n_priors=self._n_priors, weight=self._weight, planes=self._planes,
            priors=self._priors, **arguments,
        )  # fmt: skip


class WalkedOrders:
    """All orders side by side: a work-item walks along each, and no rows are sorted.

    It adds up each level's rows as it comes to them, and writes codes of statistics.

    ``in_time``: whether the rows' own order is the only one.

    Attributes
    ----------
    order : DeviceArray of uint32, shape (n_rows,)
        The order 0.
    """

    def __init__(self, ordered: OrderedStatistics, n_orders: int, *, in_time: bool) -> None:
        self._ordered, device, n = ordered, ordered.device, ordered.n
        self._orders = device.empty((n_orders, n), np.uint32)
        self._counters = device.empty((n_orders, n, ordered.n_targets + 1), np.uint32)
        self.order = self._orders.reshaped((n,))
        self._bound: dict[int, Launch] = {}
        for number in range(n_orders):
            ordered.take(number, in_time=in_time)
            device.copy(ordered.order, self._orders, number * n)

    @staticmethod
    def pay(ordered: OrderedStatistics, n_orders: int) -> bool:
        """Tell whether walks take less time than sorts and scans."""
        units = ordered.device.caps.compute_units
        return ordered.is_sequential and units <= MOST_UNITS_WALKING * n_orders

    def walk(self, levels: DeviceArray, codes: DeviceArray, feature: int, n_bins: int) -> None:
        """Write the codes of a column's statistics in every order.

        Parameters
        ----------
        levels : DeviceArray of uint32, shape (n_rows,)
            Below ``n_rows``, which is missing. Always the same array, as are ``codes``.
        codes : DeviceArray of uint8, shape (n_orders, n_features, n_rows), written
        feature : int
            That of the first statistic; the others come behind it.
        n_bins : int
            Equal parts of 0..1, a power of 2; missing statistics have this code.
        """
        if feature not in self._bound:
            n = self._ordered.n
            self._bound[feature] = self._ordered.bind_walk(
                self._orders.shape[0], n_bins=n_bins, first=np.uint64(feature * n),
                order_step=np.uint64(codes.shape[1] * n), orders=self._orders, levels=levels,
                counters=self._counters, codes=codes,
            )  # fmt: skip
        self._bound[feature]()
