"""Ordered target statistics on a device: a row's level, told by the rows before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.radix_plan import scratch_bytes
from pyopencl_gbdt.primitives.radix_sort import RadixSort
from pyopencl_gbdt.primitives.scan import Scan

F32 = npt.NDArray[np.float32]
U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]


def kept_bytes(device: Device, n: int, n_targets: int, n_priors: int) -> int:
    """Return the bytes that `OrderedStatistics` of ``n`` rows holds on a device."""
    planes_flags, order_rows_keys = 5 * (n_targets + 1), 12
    out = 4 * n_targets * n_priors
    return n * (planes_flags + order_rows_keys + out) + _sort_bytes(device, n)


def set_up_bytes(
    device: Device, n: int, n_targets: int, n_priors: int, n_levels: Sequence[int]
) -> int:
    """Return these and what columns with these numbers of levels take while they are computed."""
    begins = 4 * (max(n_levels) + 1)
    levels_of_rows = 4 * n * len(n_levels)
    kept = kept_bytes(device, n, n_targets, n_priors)
    return kept + levels_of_rows + begins + _sort_bytes(device, n)


def _sort_bytes(device: Device, n: int) -> int:
    return scratch_bytes(device, n, 1, has_values=True, key_dtype=np.uint32)


class OrderedStatistics:
    """Computes statistics of categorical columns in random orders of the rows.

    A row's statistic is ``(sum + prior) / (count + 1)`` over the rows of its level that come before
    it in the order (Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features",
    NeurIPS 2018). So it does not tell the row's own target. Rows are sorted into an order, then by
    level; a scan gives the running sums, which are integers.

    Parameters
    ----------
    device : Device
    hits : uint8 array, shape (n_targets, n_rows)
        1 where a row's target lies above a border, or is of a class.
    counted : uint8 array, shape (n_rows,)
        0 where a row has weight 0: it gets a statistic but is not part of any.
    priors : sequence of float
    seed : int
        Of the random orders.
    """

    def __init__(
        self, device: Device, hits: U8, counted: U8, priors: Sequence[float], seed: int
    ) -> None:
        self.device, self.seed = device, seed
        self.n_targets, self.n = hits.shape
        n = self.n
        self._program = build_variant_program(device, "ordered_statistics", "auto")[1]
        self._groups = device.caps.row_groups(n)
        self._planes = device.upload(np.concatenate([counted[None], hits & counted]))
        self._priors = device.upload(np.asarray(priors, np.float32))
        self._order, self._rows = device.empty((n,), np.uint32), device.empty((n,), np.uint32)
        self._keys = device.empty((n,), np.uint32)
        self._flags = device.empty((self._planes.size,), np.uint32)
        self._out = device.empty((self.n_targets, len(priors), n), np.float32)
        self._sort = RadixSort(device, n, np.uint32, np.uint32)
        self._scan = Scan(device, self._flags.size, np.uint32).bind(self._flags, self._flags)

    def draw(self, permutation: int) -> None:
        """Take the random order of this number for the following columns."""
        launch = self._program.launch
        launch(
            "draw_keys", self._groups, n=self.n, seed=self.seed, permutation=permutation,
            keys=self._keys, rows=self._order,
        )  # fmt: skip
        run(self._sort.bind(self._keys, self._order))

    def take_order(self, order: npt.NDArray[np.uint32]) -> None:
        """Take this order, shape (n_rows,), for the following columns."""
        self._order.set(order)

    def of(self, codes: I32, n_levels: int) -> DeviceArray:
        """Return the statistics of a column; the next call writes over them.

        Parameters
        ----------
        codes : int32 array, shape (n_rows,)
            Levels 0..n_levels - 1; below 0 is missing.
        n_levels : int

        Returns
        -------
        DeviceArray of float32, shape (n_targets, n_priors, n_rows)
            NaN where the level is missing.
        """
        return self.of_levels(self.levels_of(codes, n_levels), n_levels)

    def levels_of(self, codes: I32, n_levels: int) -> DeviceArray:
        """Return codes as `of_levels` takes them."""
        return self.device.upload(np.where(codes < 0, n_levels, codes).astype(np.uint32))

    def of_levels(self, levels: DeviceArray, n_levels: int) -> DeviceArray:
        """Return the statistics of levels on the device; ``n_levels`` is a missing one."""
        launch, n = self._program.launch, self.n
        launch(
            "gather_levels", self._groups, n=n, order=self._order, levels=levels,
            keys=self._keys, rows=self._rows,
        )  # fmt: skip
        bits = max(1, n_levels.bit_length())
        by_level = RadixSort(self.device, n, np.uint32, np.uint32, end_bit=bits)
        run(by_level.bind(self._keys, self._rows))
        begins = self.device.empty((n_levels + 1,), np.uint32)
        sorted_rows = {"keys": self._keys, "rows": self._rows}
        n_planes = self.n_targets + 1
        launch(
            "mark", self._groups, n=n, n_planes=n_planes, planes=self._planes, flags=self._flags,
            begins=begins, **sorted_rows,
        )  # fmt: skip
        run(self._scan)
        launch(
            "write_means", self._groups, n=n, n_planes=n_planes, n_priors=self._priors.size,
            missing=n_levels, begins=begins, running=self._flags, priors=self._priors,
            out=self._out, **sorted_rows,
        )  # fmt: skip
        return self._out
