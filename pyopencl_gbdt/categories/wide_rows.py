"""Rows of values on a device, with room for the statistics of their categorical columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.device.staging import PIECE_BYTES, Staging

F32 = npt.NDArray[np.float32]


class WideRows(DeviceMatrix):
    """A matrix that gets more columns on a device, until it is released.

    Parameters
    ----------
    device : Device
    values : float32 array or DeviceArray, shape (n_rows, n_given), C order
    n_more : int
        Columns behind the given ones; their values are undefined until they are written.
    """

    def __init__(self, device: Device, values: F32 | DeviceArray, n_more: int) -> None:
        n_rows, self._n_given = int(values.shape[0]), int(values.shape[1])
        self.device, self.shape = device, (n_rows, self._n_given + n_more)
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

    def take_levels(self, column: int, n_levels: int) -> DeviceArray:
        """Return the codes of a column, uint32 (n_rows,), and empty it; ``n_levels`` is missing."""
        n = self.shape[0]
        levels = self.device.empty((n,), np.uint32)
        self._program.launch(
            "take_levels", self.device.caps.row_groups(n), n=n, n_wide=self.shape[1],
            column=column, missing=n_levels, wide=self.array, levels=levels,
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
        n_levels : int
        totals : DeviceArray of uint32, shape (n, n_levels)
            Its first row holds the counts.
        out : DeviceArray of float32
        column : int
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

    def release(self) -> None:
        """Free the device's memory; the values cannot be read any more."""
        self._there = None
