"""How much device memory quantising takes: no more than training will, where that can be.

Training holds the codes, once row by row and once feature by feature, and 24 bytes a row: margin,
label, two quanta, two lists of row ids. Set-up has as much to spend, but `LEAST_BYTES` at least:

- values go to the device as a whole if they fit besides; otherwise in pieces of 16 MiB, once for
  every block of features that is cut, and once more to be encoded;
- as many sorted columns as fit wait for their cuts in a block;
- a few of them are sorted at a time, which takes as much again for scratch; where rows have
  weights, row ids and running sums of these few, too.

A device that shares the host's memory reads values where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.staging import PIECE_BYTES
from pyopencl_gbdt.dtypes import code_dtype
from pyopencl_gbdt.primitives.packed_codes import empty_codes
from pyopencl_gbdt.primitives.radix_plan import scratch_bytes

#: What training holds for each row beside its codes.
ROW_BYTES = 24
#: Any device has so much to spare: a million rows of 28 features are cut in one block.
LEAST_BYTES = 128 * 1024 * 1024
#: Keys that are sorted at a time: fewer leave a GPU idle between launches.
BATCH_BYTES = 32 * 1024 * 1024
#: Sorted columns of a device that reads values where they are. Memory that is touched for the
#: first time costs a CPU more than reading the values once more.
SHARED_BLOCK_BYTES = 32 * 1024 * 1024


class _Paper:
    """Stands in for a device, and counts what would be allocated."""

    def __init__(self, device: Device) -> None:
        self.caps, self.n_bytes = device.caps, 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        nobody: Any = self
        array = DeviceArray(nobody, shape, dtype, None)
        self.n_bytes += array.nbytes
        return array


def page_bytes(device: Device, n_rows: int, n_features: int, max_bin: int) -> int:
    """Return the bytes of all codes, of features with ``max_bin`` codes if there are the rows."""
    paper: Any = _Paper(device)
    empty_codes(paper, n_rows, n_features, code_dtype(min(max_bin, n_rows)))
    n_bytes: int = paper.n_bytes
    return n_bytes


def found_words(max_bin: int) -> int:
    """Return the uint32 that hold the cuts of a feature: three numbers, and both sides' values."""
    return 3 + 2 * max_bin


@dataclass(frozen=True)
class SetUp:
    """Sizes of a quantisation.

    Attributes
    ----------
    piece_rows : int
        Rows of a piece of values; all of them if values stay on the device as a whole.
    block : int
        Sorted columns that wait for their cuts.
    batch : int
        Columns that are sorted at a time.
    n_bytes : int
        Most bytes at a time.
    """

    piece_rows: int
    block: int
    batch: int
    n_bytes: int


def plan_set_up(
    device: Device,
    n_rows: int,
    n_features: int,
    max_bin: int,
    *,
    weighted: bool,
    resident: bool = False,
) -> SetUp:
    """Return sizes that keep to the budget, or the least possible ones.

    Values that are ``resident`` lie on the device already, in one piece.
    """
    caps = device.caps
    page = page_bytes(device, n_rows, n_features, max_bin)
    there = caps.global_bytes - device.allocated_bytes
    weights = 4 * n_rows if weighted else 4
    budget = min(max(page + ROW_BYTES * n_rows + weights, LEAST_BYTES), there)
    column = 4 * n_rows + 4 * found_words(max_bin)
    row = 4 * n_features
    most_rows = max(1, caps.max_alloc_bytes // row)

    batch = max(1, min(n_features, MOST_Y, BATCH_BYTES // (n_rows * (8 if weighted else 4))))
    if not caps.side_by_side and 2 * caps.compute_units * column <= budget // 2:
        batch = max(batch, min(n_features, caps.compute_units))  # a column for every core
    scratch = _scratch(device, n_rows, batch, weighted)

    piece_rows = n_rows if resident else min(n_rows, most_rows)
    values = 0 if device.borrows or resident else row * n_rows
    whole = weights + values + max(page, column + scratch) <= budget and piece_rows == n_rows
    if not (device.borrows or resident or whole):
        piece_rows = min(piece_rows, max(1, PIECE_BYTES // row))
        values = row * piece_rows
    fixed = weights + values

    fits = min((budget - fixed - scratch) // column, caps.max_alloc_bytes // (4 * n_rows))
    if device.borrows:
        fits = min(fits, max(batch, SHARED_BLOCK_BYTES // column))
    block = max(1, min(fits, n_features, MOST_Y))
    block = -(-n_features // -(-n_features // block))  # evenly full
    batch = min(batch, block)
    tables = 4 * n_features * (3 + 2 * max_bin)
    cutting = block * column + _scratch(device, n_rows, batch, weighted)
    return SetUp(piece_rows, block, batch, fixed + max(cutting, page + tables))


def _scratch(device: Device, n_rows: int, batch: int, weighted: bool) -> int:
    """Bytes of a sort, with row ids and running sums where rows have weights."""
    beside = 12 * n_rows * batch if weighted else 12
    return beside + scratch_bytes(device, n_rows, batch, has_values=weighted)
