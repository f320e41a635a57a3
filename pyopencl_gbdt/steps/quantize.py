"""Feature values to cut points and codes, on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Capabilities, Device, DeviceArray, Program, build_variant
from pyopencl_gbdt.device.pace import Pace
from pyopencl_gbdt.dtypes import (
    SUM,
    VALUE,
    c_type,
    code_dtype,
    row_codes,
)
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.radix_sort import RadixSort
from pyopencl_gbdt.primitives.scan import Scan
from pyopencl_gbdt.workspace import Layout, QuantizedData, QuantizedPage, empty_page

F32 = npt.NDArray[np.float32]
#: Sorted columns wait for their cuts in a block of at most this many bytes.
_BLOCK_BYTES = 256 * 1024 * 1024
#: Values are uploaded in pieces of at most this many bytes where they do not fit as a whole.
_PIECE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class Cuts:
    """Cut points before thresholds: values on both sides of each, per feature.

    Attributes
    ----------
    below, above : float32 array, shape (n_features, max_bin)
        Last value of each bin and first value of the next; the last bin's are equal.
    n_bins : uint32 array, shape (n_features,)
    missing : bool array, shape (n_features,)
        Whether any row's value is missing.
    fullest : uint32 array, shape (n_features,)
        The bin with most rows; ``n_bins`` where more are missing than in any bin.
    """

    below: F32
    above: F32
    n_bins: npt.NDArray[np.uint32]
    missing: npt.NDArray[np.bool_]
    fullest: npt.NDArray[np.uint32]


def make_layout(cuts: Cuts) -> Layout:
    """Put thresholds half-way between neighbours and lay the codes of all features in a row.

    The last threshold of a feature lies beyond all its values: it parts values from missing ones.
    """
    used = np.arange(cuts.below.shape[1]) < cuts.n_bins[:, None]
    below, above = (np.where(used, side, 0).astype(np.float64) for side in (cuts.below, cuts.above))
    middle = ((below + above) / 2).astype(np.float32)
    middle = np.where(middle > cuts.below, middle, cuts.above)  # neighbours in float32
    n_bins = cuts.n_bins.astype(np.int64)
    offset = np.zeros(n_bins.size + 1, np.int64)
    np.cumsum(n_bins + cuts.missing, out=offset[1:])
    thresholds = np.zeros(int(offset[-1]), np.float32)
    largest = float(np.finfo(np.float32).max)
    for f in np.flatnonzero(n_bins):
        mine = middle[f, : n_bins[f]].copy()
        top = below[f, n_bins[f] - 1]
        mine[-1] = min(top + abs(top) + 1.0, largest)
        thresholds[offset[f] : offset[f] + n_bins[f]] = mine
    fullest = np.minimum(cuts.fullest, np.maximum(n_bins + cuts.missing, 1) - 1)
    return Layout(cuts.n_bins, offset.astype(np.uint32), thresholds, fullest.astype(np.uint32))


def column_block(
    caps: Capabilities, n_rows: int, n_features: int, max_bin: int, *, weighted: bool
) -> int:
    """Return how many sorted columns wait for their cuts at a time."""
    per_column = n_rows * (12 if weighted else 4) + 8 * max_bin
    return max(1, min(min(_BLOCK_BYTES, caps.max_alloc_bytes) // per_column, n_features))


def stays_whole(caps: Capabilities, free: int, n_rows: int, n_features: int) -> bool:
    """Tell whether values are uploaded once and stay; ``free`` is what they can take, in bytes."""
    return 4 * n_rows * n_features <= min(free // 2, caps.max_alloc_bytes)


class Quantizer:
    """Quantises a float32 matrix on a device.

    Parameters
    ----------
    device : Device
    values : float32 array, shape (n_rows, n_features), C order
        NaN is missing.
    weight : float32 array, shape (n_rows,), or None
    max_bin : int
        Most value bins of a feature, 2..65535.
    """

    def __init__(self, device: Device, values: F32, weight: F32 | None, max_bin: int) -> None:
        self.device, self.values, self.weight, self.max_bin = device, values, weight, max_bin
        self.n_rows, self.n_features = values.shape
        self.groups = max(1, min(8 * device.caps.compute_units, (self.n_rows + 255) // 256))
        self.weights = device.upload(weight if weight is not None else np.zeros(1, np.float32))
        self._whole: DeviceArray | None = None

    def run(self) -> QuantizedData:
        """Return codes and layout.

        Raises
        ------
        MemoryPlanError
            If the codes or one column do not fit the device.
        """
        self._check_memory()
        layout = make_layout(self.cuts())
        return QuantizedData([self.encode(layout)], layout)

    def _check_memory(self) -> None:
        caps = self.device.caps
        dtype = code_dtype(self.max_bin)
        codes = self.n_rows * row_codes(self.n_features, dtype) * dtype.itemsize
        columns = self.n_rows * (48 if self.weight is not None else 16)
        there = caps.global_bytes - self.device.allocated_bytes
        if 2 * codes + columns > there or codes > caps.max_alloc_bytes:
            raise MemoryPlanError(
                f"quantising {self.n_rows} x {self.n_features} values needs twice {codes} bytes, "
                f"each in one piece, and {columns} more on {caps.label}, which has {there} left "
                f"and allocates {caps.max_alloc_bytes} at most; use fewer rows or features, or "
                "max_bin <= 256"
            )

    def _free(self) -> int:
        """Bytes that values can take, beside what follows them."""
        dtype = code_dtype(self.max_bin)
        codes = self.n_rows * row_codes(self.n_features, dtype) * dtype.itemsize
        caps = self.device.caps
        return int(caps.global_bytes - self.device.allocated_bytes - codes - 64 * self.n_rows)

    # -- pieces of the input ---------------------------------------------------------------
    def _pieces(self) -> Iterator[tuple[int, DeviceArray]]:
        """Yield (first row, values on the device); kept there if all of them fit in one piece."""
        row_bytes = 4 * self.n_features
        caps, free = self.device.caps, self._free()
        if self._whole is None and stays_whole(caps, free, self.n_rows, self.n_features):
            self._whole = self.device.upload(self.values)
        if self._whole is not None:
            yield 0, self._whole
            return
        rows = max(1, min(_PIECE_BYTES, caps.max_alloc_bytes, max(free // 4, 1)) // row_bytes)
        for first in range(0, self.n_rows, rows):
            yield first, self.device.upload(self.values[first : first + rows])

    def _program(self, code: str = "u8") -> tuple[Program, int]:
        """Return the program and the values that one of its work-groups takes."""
        device, weighted = self.device, self.weight is not None
        row, program = build_variant(
            device,
            "quantize",
            "auto",
            lambda row: device.build(
                "quantize",
                wg_size=row.params["wg_size"],
                items=row.params["items"],
                weighted=weighted,
                code=code,
            ),
        )
        return program, row.params["items"] * program.wg_size

    # -- cuts ------------------------------------------------------------------------------
    def cuts(self) -> Cuts:
        """Sort every column and cut it by equal frequency."""
        device, n = self.device, self.n_rows
        weighted = self.weight is not None
        block = column_block(device.caps, n, self.n_features, self.max_bin, weighted=weighted)
        sorted_columns = device.empty((block, n), VALUE)
        running = device.empty((block, n) if weighted else (1, 1), SUM)
        below, above = (device.empty((block, self.max_bin), VALUE) for _ in range(2))
        n_bins, n_present, fullest = (device.empty(block, np.uint32) for _ in range(3))
        keys = device.empty(n, VALUE)
        ids = device.empty(n if weighted else 1, np.uint32)
        sort = self._sorter(keys, ids)
        program, _ = self._program()
        counted = n if self.weight is None else int(np.count_nonzero(self.weight))
        parts = []
        pace = Pace(device)
        for first in range(0, self.n_features, block):
            columns = min(block, self.n_features - first)
            for column in range(columns):
                self._fill_column(program, first + column, keys, ids)
                sort()
                device.copy(keys, sorted_columns, column * n)
                if weighted:
                    self._running_weight(ids, running, column)
                pace.round_enqueued()
            program.launch(
                "cuts", (columns + program.wg_size - 1) // program.wg_size, np.uint32(n),
                np.uint32(counted), np.uint32(columns), np.uint32(self.max_bin), sorted_columns,
                running, below, above, n_bins, n_present, fullest,
            )  # fmt: skip
            found = (below, above, n_bins, n_present, fullest)
            parts.append([array.get()[:columns] for array in found])
        a, b, bins, present, full = (np.concatenate(p) for p in zip(*parts, strict=True))
        missing = present < n
        if counted < n:  # rows without weight were set aside as missing: ask the values
            missing = np.isnan(self.values).any(axis=0)
        return Cuts(a, b, bins, missing, full)

    def _sorter(self, keys: DeviceArray, ids: DeviceArray) -> Callable[[], None]:
        weighted = self.weight is not None
        sort = RadixSort(self.device, self.n_rows, np.float32, np.uint32 if weighted else None)
        launches = sort.bind(keys, ids if weighted else None)
        if self.weight is not None:
            self._summand = self.device.empty(self.n_rows, SUM)
            scan = Scan(self.device, self.n_rows, np.int64, inclusive=True)
            self._scan_launches = scan.bind(self._summand, self._summand)
            top = int(np.frexp(self.weight)[1].max())
            # whole weights, exact for whole numbers, whose sum stays below 2^61
            self._weight_power = 61 - top - self.n_rows.bit_length()
        return partial(run, launches)

    def _fill_column(
        self, program: Program, feature: int, keys: DeviceArray, ids: DeviceArray
    ) -> None:
        for start, piece in self._pieces():
            program.launch(
                "column", self.groups, np.uint32(piece.shape[0]), np.uint32(self.n_features),
                np.uint32(feature), np.uint32(start), piece, self.weights, keys, ids,
            )  # fmt: skip

    def _running_weight(self, ids: DeviceArray, running: DeviceArray, column: int) -> None:
        self._program()[0].launch(
            "gather", self.groups, np.uint32(self.n_rows), np.int32(self._weight_power), ids,
            self.weights, self._summand,
        )  # fmt: skip
        for launch in self._scan_launches:
            launch()
        self.device.copy(self._summand, running, column * self.n_rows)

    # -- codes -----------------------------------------------------------------------------
    def encode(self, layout: Layout) -> QuantizedPage:
        """Return every value's code."""
        device = self.device
        dtype = code_dtype(layout.most_codes)
        program, per_group = self._program(c_type(dtype))
        offset, bins, thresholds = map(
            device.upload, (layout.feature_offset, layout.feature_bins, layout.thresholds)
        )
        page = empty_page(device, self.n_rows, self.n_features, dtype)
        stride = page.n_blocks * page.block_codes
        per_block, strides = np.uint32(page.block_features), page.code_strides()
        for start, piece in self._pieces():
            n_codes = piece.shape[0] * stride
            program.launch(
                "encode", -(-n_codes // per_group), np.uint64(n_codes),
                np.uint32(self.n_features), np.uint32(stride), per_block, *strides, piece,
                offset, bins, thresholds, np.uint64(start), page.codes,
            )  # fmt: skip
        program.launch(
            "transpose", (-(-self.n_rows // per_group), page.n_blocks), np.uint32(self.n_rows),
            np.uint32(self.n_features), per_block, *strides, page.codes, page.by_feature,
        )  # fmt: skip
        device.finish()
        return page
