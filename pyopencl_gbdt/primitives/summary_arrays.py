"""The arrays of a weighted quantile summary."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.primitives.checks import check_array, check_length, own_device

#: Most entries: places are uint32.
MAX_ENTRIES = 2**32 - 1
MAX_COLUMNS = 2**31 - 1


@dataclass(frozen=True)
class QuantileSummary:
    """Weighted quantile summaries of several columns, on a device.

    A summary has some values of a column, and what is known of their ranks. It is the quantile
    summary of Chen & Guestrin, "XGBoost" (2016, appendix A), which extends Greenwald & Khanna
    (2001) to weights. Here weights are integers, so ranks are exact integers. Its **error** is the
    largest weight by which the rank of any value is uncertain.

    Attributes
    ----------
    values : DeviceArray of float32, shape (capacity,)
        The columns' values one after the other; they ascend in each column.
    ranks : DeviceArray of int64, shape (capacity, 3)
        Per value: ``below``, at most the weight of all smaller values of the column; ``up_to``,
        at least the weight of all values that are not greater; ``weight``, at most its own.
    offsets : DeviceArray of uint32, shape (n_columns + 1,)
        Column c has the entries ``offsets[c]..offsets[c + 1] - 1``. The first offset is 0; elements
        of the other arrays from the last offset on are undefined.
    """

    values: DeviceArray
    ranks: DeviceArray
    offsets: DeviceArray

    @classmethod
    def empty(cls, device: Device, n_columns: int, capacity: int) -> QuantileSummary:
        """Allocate the arrays; their contents are undefined.

        Raises
        ------
        ParameterError
            If a size is not an integer, or too large.
        """
        check_length("n_columns", n_columns, MAX_COLUMNS)
        check_length("capacity", capacity, MAX_ENTRIES)
        return cls(
            device.empty(capacity, np.float32),
            device.empty((capacity, 3), np.int64),
            device.empty(n_columns + 1, np.uint32),
        )

    @classmethod
    def upload(
        cls, device: Device, values: npt.ArrayLike, ranks: npt.ArrayLike, offsets: npt.ArrayLike
    ) -> QuantileSummary:
        """Copy a summary from the host, as ``get`` returned it, for example on another machine.

        Raises
        ------
        DataError
            If shapes differ from those above, offsets do not ascend from 0 to the number of values,
            a column's values do not ascend, or ranks contradict each other.
        """
        host = np.asarray(values), np.asarray(ranks), np.asarray(offsets)
        _check_host(*host)
        dtypes = (np.float32, np.int64, np.uint32)
        return cls(*(device.upload(a, dtype) for a, dtype in zip(host, dtypes, strict=True)))

    def get(
        self,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        """Copy values, ranks and offsets to the host, without undefined elements; waits."""
        offsets = self.offsets.get()
        n = int(offsets[-1])
        return self.values.get()[:n], self.ranks.get()[:n], offsets

    def errors(self) -> npt.NDArray[np.int64]:
        """Return each column's error, the largest weight by which a rank is uncertain; waits."""
        _, ranks, offsets = self.get()
        below, up_to, weight = ranks.T
        wide = up_to - weight - below
        first = np.repeat(offsets[:-1], np.diff(offsets))
        inner = np.flatnonzero(np.arange(len(wide)) > first)  # entries behind another one
        between = up_to[inner] - weight[inner] - below[inner - 1] - weight[inner - 1]
        wide[inner] = np.maximum(wide[inner], between)
        found = np.zeros(self.n_columns, np.int64)
        np.maximum.at(found, np.repeat(np.arange(self.n_columns), np.diff(offsets)), wide)
        return found

    @property
    def device(self) -> Device:
        """The device of all arrays."""
        return self.values.device

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.offsets.size - 1

    @property
    def capacity(self) -> int:
        """Entries for which the arrays have room."""
        return self.values.size


def _check_host(
    values: npt.NDArray[Any], ranks: npt.NDArray[Any], offsets: npt.NDArray[Any]
) -> None:
    """Raise DataError unless arrays are those of a summary."""
    n = values.size
    if values.ndim != 1 or ranks.shape != (n, 3) or offsets.ndim != 1 or not offsets.size:
        raise DataError(
            f"values, ranks, offsets: shapes {values.shape}, {ranks.shape}, {offsets.shape}; "
            "expected (n,), (n, 3), (n_columns + 1,); pass what QuantileSummary.get returned"
        )
    if any(a.dtype.kind not in "iu" for a in (ranks, offsets)) or values.dtype != np.float32:
        raise DataError(
            f"values, ranks, offsets: dtypes {values.dtype}, {ranks.dtype}, {offsets.dtype}; "
            "expected float32 and integers; pass what QuantileSummary.get returned"
        )
    ends = offsets.astype(np.int64)
    if ends[0] != 0 or ends[-1] != n or (np.diff(ends) < 0).any():
        raise DataError(
            f"offsets: run from {ends[0]} to {ends[-1]}; expected to ascend from 0 to {n}, the "
            "number of values; pass what QuantileSummary.get returned"
        )
    below, up_to, weight = ranks.T
    same = np.ones(max(0, n - 1), bool)  # whether an entry and the next one are of one column
    same[ends[(ends > 0) & (ends < n)] - 1] = False
    wrong = np.isnan(values) | (below < 0) | (weight < 1) | (up_to - below < weight)
    wrong[1:] |= same & ~(values[1:] > values[:-1])
    wrong[1:] |= same & (below[1:] < below[:-1] + weight[:-1])
    wrong[1:] |= same & (up_to[1:] - weight[1:] < up_to[:-1])
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"ranks: entry {at} has value {values[at]} and ranks {ranks[at].tolist()}; expected "
            "ascending values with ranks that contain each other; pass what QuantileSummary.get "
            "returned"
        )


def check_summary(
    name: str, summary: object, device: Device, n_columns: int, least: int, most: int
) -> QuantileSummary:
    """Return ``summary`` if a prepared operation can use it.

    Parameters
    ----------
    summary : object
    n_columns : int
        Columns that it must have.
    least, most : int
        Bounds of its capacity.

    Raises
    ------
    DataError
        If it is no ``QuantileSummary``, or is of another device or size.
    """
    found = own_summary(name, summary)
    check_array(f"{name}.values", found.values, device, [np.float32])
    check_array(f"{name}.ranks", found.ranks, device, [np.int64], 3 * found.capacity)
    check_array(f"{name}.offsets", found.offsets, device, [np.uint32])
    if found.n_columns != n_columns:
        raise DataError(
            f"{name}: {found.n_columns} columns; expected {n_columns}; pass summaries of the same "
            "columns"
        )
    if not least <= found.capacity <= most:
        expected = f"{least}" if least == most else f"{least} or more"
        raise DataError(
            f"{name}: room for {found.capacity} entries; expected {expected}; use "
            f"QuantileSummary.empty(device, {n_columns}, {least})"
        )
    return found


def own_summary(name: str, summary: object) -> QuantileSummary:
    """Return ``summary``; raises DataError if it is no ``QuantileSummary`` of device arrays."""
    if not isinstance(summary, QuantileSummary):
        raise DataError(
            f"{name}: {type(summary).__name__}; expected a QuantileSummary; use "
            "quantile_summary.build"
        )
    own_device(f"{name}.values", summary.values)
    return summary
