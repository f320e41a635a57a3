"""Codes of combinations of columns on a device: a perfect hash by sort, scan and scatter."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, build_variant_program
from pyopencl_gbdt.model.combinations import CategoryRows, Combination, Part, sizes_of
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.radix_sort import RadixSort
from pyopencl_gbdt.primitives.scan import Scan

#: Most columns of numbers that stay on the device to be compared with thresholds.
MOST_NUMBERS = 16
#: A sort's passes are bound once for every so many bits of keys.
_BITS = 16
#: Most compute units with which one work-item numbers pairs of columns; more sort by radix. PoCL, 1
#: thread beside other programs, 26 k rows: 0.29 ms for a pair, 0.73 to 0.81 by radix.
MOST_UNITS_ALONE = 2


class CombinationKeys:
    """Keys of the combinations of levels that rows have, as ``combined_keys`` numbers them.

    ``n_levels``: number of levels of each categorical column in training.
    ``there``: columns whose levels are on the device, as ``levels_there`` has them.

    Attributes
    ----------
    keys : DeviceArray of uint64, shape (n_rows,)
        2^64 - 1 where a part is missing, 2^64 - 2 where training has not seen a level.
    """

    def __init__(
        self,
        device: Device,
        rows: CategoryRows,
        n_levels: Mapping[int, int],
        there: Mapping[int, DeviceArray] | None = None,
    ) -> None:
        self.device, self._data, self._n_levels = device, rows, n_levels
        self.n = n = int(rows.values.shape[0])
        self._program = build_variant_program(device, "combination", "auto")[1]
        self._groups = device.caps.row_groups(n)
        self.keys, self._bit = device.empty((n,), np.uint64), device.empty((n,), np.uint32)
        self._columns: dict[int, DeviceArray] = dict(there or {})
        self._numbers: dict[int, DeviceArray] = {}

    def write(self, parts: Combination) -> None:
        """Write the keys of a combination; the host does not wait."""
        sizes = sizes_of(parts, self._n_levels)
        for place, (part, size) in enumerate(zip(parts, sizes, strict=True)):
            levels = self.levels(part.column, size) if part.threshold is None else self._bits(part)
            given = {"n": self.n, "missing": size, "levels": levels, "keys": self.keys}
            if place == 0:
                self._program.launch("begin_keys", self._groups, **given)
            else:
                self._program.launch("extend_keys", self._groups, size=np.uint64(size), **given)

    def levels(self, column: int, n_levels: int) -> DeviceArray:
        """Return the codes of a categorical column, as ``levels_there`` does; they stay there."""
        if column not in self._columns:
            self._columns[column] = levels_there(self.device, self._data, column, n_levels)
        return self._columns[column]

    def _bits(self, part: Part) -> DeviceArray:
        """Return whether each row's number is at or above a part's threshold; it stays there."""
        column = part.column
        if column not in self._numbers:
            if len(self._numbers) == MOST_NUMBERS:
                del self._numbers[next(iter(self._numbers))]
            self._numbers[column] = self.device.upload(
                np.ascontiguousarray(self._data.values[:, column])
            )
        self._program.launch(
            "compare", self._groups, n=self.n, threshold=part.threshold,
            values=self._numbers[column], levels=self._bit,
        )  # fmt: skip
        return self._bit

    @staticmethod
    def columns_on_paper(
        paper: Device, n_rows: int, n_categorical: int, n_numbers: int
    ) -> list[DeviceArray]:
        """Return arrays as keys come to hold them, of so many columns of each kind."""
        held = [paper.empty((n_rows,), np.uint32) for _ in range(n_categorical)]
        numbers = range(min(n_numbers, MOST_NUMBERS))
        return held + [paper.empty((n_rows,), np.float32) for _ in numbers]


class CombinationCodes:
    """Numbers the combinations of levels that rows have.

    Rows of equal levels get equal codes, 0, 1, 2, ..., in the order of ``combined_keys``. A row
    with a missing level has the code ``n_rows``. The parameters are those of `CombinationKeys`.
    """

    def __init__(
        self,
        device: Device,
        rows: CategoryRows,
        n_levels: Mapping[int, int],
        there: Mapping[int, DeviceArray] | None = None,
    ) -> None:
        self.device, self._n_levels = device, n_levels
        self._made = CombinationKeys(device, rows, n_levels, there)
        self.n = n = self._made.n
        self._program = build_variant_program(device, "combination", "auto")[1]
        self._groups = device.caps.row_groups(n)
        self._keys, self._rows = self._made.keys, device.empty((n,), np.uint32)
        self._runs, self._n_found = device.empty((n,), np.uint32), device.empty((1,), np.uint32)
        self._counters: DeviceArray | None = None
        if self._program.wg_size == 1 and device.caps.compute_units <= MOST_UNITS_ALONE:
            self._counters = device.empty((max(n_levels.values(), default=1),), np.uint32)
        self._lists_keys = False
        self._sort = RadixSort(device, n, np.uint64, np.uint32)
        self._sorts: dict[int, list[Launch]] = {}
        scan = Scan(device, n, np.uint32, inclusive=True).bind(self._runs, self._runs)
        mark = self._program.bind("mark_heads", self._groups, n, self._keys, self._runs)
        self._number = [mark, *scan]

    def levels(self, column: int) -> DeviceArray:
        """Return the codes of a categorical column; the number of levels is missing."""
        return self._made.levels(column, self._n_levels[column])

    def of(self, parts: Combination, codes: DeviceArray) -> None:
        """Write the code of every row, uint32 (n_rows,); the host does not wait."""
        self._lists_keys = len(parts) == 2 and all(part.threshold is None for part in parts)
        self._lists_keys &= self._counters is not None
        if self._lists_keys:
            one, other = parts
            self._program.launch(
                "number_pairs", 1, n=self.n, n_one=self._n_levels[one.column],
                n_other=self._n_levels[other.column], one=self.levels(one.column),
                other=self.levels(other.column), counters=self._counters, by_other=self._runs,
                rows=self._rows, keys=self._keys, codes=codes, n_found=self._n_found,
            )  # fmt: skip
            return
        self._made.write(parts)
        self._sort.number(self._rows)
        run(self._sorted(math.prod(sizes_of(parts, self._n_levels)).bit_length()))
        run(self._number)
        self._program.launch(
            "scatter_codes", self._groups, n=self.n, keys=self._keys, rows=self._rows,
            runs=self._runs, codes=codes, n_found=self._n_found,
        )  # fmt: skip

    def keys(self) -> DeviceArray:
        """Return the key of each code of the last combination, uint64; the host waits."""
        n_found = int(self._n_found.get()[0])
        found = self.device.empty((n_found,), np.uint64)
        if self._lists_keys:
            self.device.copy(self._keys.reshaped((n_found,)), found, 0)
            return found
        self._program.launch(
            "list_keys", self._groups, n=self.n, keys=self._keys, runs=self._runs, found=found
        )
        return found

    def _sorted(self, bits: int) -> list[Launch]:
        """Return the launches that sort keys by a number of bits."""
        end = min(64, -(-bits // _BITS) * _BITS)
        if end not in self._sorts:
            self._sorts[end] = self._sort.bind(self._keys, self._rows, end_bit=end)
        return self._sorts[end]


def levels_there(device: Device, rows: CategoryRows, column: int, n_levels: int) -> DeviceArray:
    """Upload the codes of a categorical column, uint32 (n_rows,).

    ``n_levels`` is missing, ``n_levels + 1`` a level that training has not seen.
    """
    codes: npt.NDArray[np.int32] = rows.level_codes(column)
    own = np.where(codes < 0, n_levels, np.where(codes < n_levels, codes, n_levels + 1))
    return device.upload(own.astype(np.uint32))
