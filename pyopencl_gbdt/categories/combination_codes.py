"""Codes of combinations of columns on a device: a perfect hash by sort, scan and scatter."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from pyopencl_gbdt.categories.parts import Combination, Part, Rows, part_codes, sizes_of
from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.radix_sort import RadixSort
from pyopencl_gbdt.primitives.scan import Scan


class CombinationCodes:
    """Numbers the combinations of levels that rows have.

    Rows of equal levels get equal codes, 0, 1, 2, ..., in the order of ``combined_keys``. A row
    with a missing level has the code ``n_rows``. The host does not wait.

    Parameters
    ----------
    device : Device
    rows : Rows
    n_levels : mapping of int to int
        Number of levels of each categorical column.
    """

    def __init__(self, device: Device, rows: Rows, n_levels: Mapping[int, int]) -> None:
        self.device, self._data, self._n_levels = device, rows, n_levels
        self.n = n = rows.values.shape[0]
        self._program = build_variant_program(device, "combination", "auto")[1]
        self._groups = device.caps.row_groups(n)
        self._keys, self._rows = device.empty((n,), np.uint64), device.empty((n,), np.uint32)
        self._runs, self._codes = device.empty((n,), np.uint32), device.empty((n,), np.uint32)
        self._scan = Scan(device, n, np.uint32, inclusive=True).bind(self._runs, self._runs)
        self._columns: dict[int, DeviceArray] = {}

    def of(self, parts: Combination) -> DeviceArray:
        """Return the code of every row, uint32 (n_rows,); the next call writes over them."""
        launch, n = self._program.launch, self.n
        sizes = sizes_of(parts, self._n_levels)
        for place, (part, size) in enumerate(zip(parts, sizes, strict=True)):
            given = {
                "n": n,
                "missing": size,
                "levels": self._levels(part, size),
                "keys": self._keys,
            }
            if place == 0:
                launch("begin_keys", self._groups, rows=self._rows, **given)
            else:
                launch("extend_keys", self._groups, size=np.uint64(size), **given)
        bits = max(1, math.prod(sizes).bit_length())
        sort = RadixSort(self.device, n, np.uint64, np.uint32, end_bit=bits)
        run(sort.bind(self._keys, self._rows))
        launch("mark_heads", self._groups, n=n, keys=self._keys, heads=self._runs)
        run(self._scan)
        launch(
            "scatter_codes", self._groups, n=n, keys=self._keys, rows=self._rows, runs=self._runs,
            codes=self._codes,
        )  # fmt: skip
        return self._codes

    def _levels(self, part: Part, size: int) -> DeviceArray:
        """Return a part's codes; ``size`` where they are missing. Those of columns stay there."""
        if part.column in self._columns and part.threshold is None:
            return self._columns[part.column]
        codes = part_codes(self._data, part)
        there = self.device.upload(np.where(codes < 0, size, codes).astype(np.uint32))
        if part.threshold is None:
            self._columns[part.column] = there
        return there
