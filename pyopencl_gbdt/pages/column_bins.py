"""Sort columns on a device, with a bin for every distinct value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program
from pyopencl_gbdt.pages.columns import Columns
from pyopencl_gbdt.pages.cuts import midpoints, tops
from pyopencl_gbdt.pages.page import Layout, SortedColumns
from pyopencl_gbdt.primitives.checks import run
from pyopencl_gbdt.primitives.scan import Scan
from pyopencl_gbdt.primitives.segmented_radix_sort import SegmentedRadixSort

F32 = npt.NDArray[np.float32]
#: Thresholds that the host computes at a time: their doubles take some megabytes.
_AT_ONCE = 1 << 20


def sorted_on_device(device: Device, columns: Columns) -> tuple[SortedColumns, Layout]:
    """Return the columns' entries sorted by value, and the layout of their distinct values.

    All rows count; the result is that of ``columns.cut_columns`` without a limit of bins. The
    device holds 28 bytes for each entry meanwhile, and the sort's scratch of 8.
    """
    n, n_columns = columns.rows.size, columns.n_features
    starts = device.upload(columns.starts.astype(np.uint32))
    values, rows = device.upload(columns.values), device.upload(columns.rows)
    longest = int((columns.starts[1:] - columns.starts[:-1]).max(initial=0))
    sort = SegmentedRadixSort(
        device, n, n_columns, np.float32, np.uint32, longest=longest, offset_dtype=np.uint32
    )
    run(sort.bind(values, starts, rows))
    del sort
    _, program = build_variant_program(device, "column_bins", "auto")
    of_entry, runs = device.empty((n,), np.uint32), device.empty((n,), np.uint32)
    groups = device.caps.row_groups(max(1, n))
    program.launch(
        "heads", groups, n=n, n_columns=n_columns, starts=starts, values=values,
        columns=of_entry, heads_of=runs,
    )  # fmt: skip
    run(Scan(device, n, np.uint32, inclusive=True).bind(runs, runs))
    counts = device.empty((n_columns,), np.uint32)
    program.launch(
        "count", device.caps.row_groups(n_columns), n_columns=n_columns, starts=starts, runs=runs,
        n_bins=counts,
    )  # fmt: skip
    n_bins = counts.get().astype(np.int64)
    offset = np.zeros(n_columns + 1, np.int64)
    np.cumsum(n_bins + columns.missing, out=offset[1:])
    before = np.zeros(n_columns + 1, np.uint32)
    np.cumsum(columns.missing, out=before[1:])
    places, features = device.empty((n,), np.uint32), device.empty((int(offset[-1]),), np.uint32)
    below, above = (device.empty((int(offset[-1]),), np.float32) for _ in range(2))
    for array in (features, below, above):
        device.clear(array)
    program.launch(
        "bins", groups, n=n, starts=starts, missing_before=device.upload(before), values=values,
        columns=of_entry, runs=runs, places=places, features=features, below=below, above=above,
    )  # fmt: skip
    layout = Layout(
        n_bins.astype(np.uint32),
        offset.astype(np.uint32),
        _thresholds(below, above, offset, n_bins),
        np.zeros(n_columns, np.uint32),
    )
    page = SortedColumns(
        rows=rows,
        places=places,
        features=features,
        n_rows=columns.n_rows,
        missing=bool(columns.missing.any()),
    )
    return page, layout


def _thresholds(
    below: DeviceArray, above: DeviceArray, offset: npt.NDArray[np.int64],
    n_bins: npt.NDArray[np.int64],
) -> F32:  # fmt: skip
    """Return the thresholds between neighbouring values; the last of a column is above all."""
    under, over = below.get(), above.get()
    filled = np.flatnonzero(n_bins)
    last = offset[filled] + n_bins[filled] - 1
    top = tops(under[last])
    for first in range(0, under.size, _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        over[part] = midpoints(under[part], over[part])
    over[last] = top
    return over
