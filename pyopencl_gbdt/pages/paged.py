"""How a data set becomes pages: the one place that decides."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.pages.columns import (
    ColumnSizes,
    check_entries,
    cut_columns,
    entries_of,
    present_values,
    uploaded_columns,
)
from pyopencl_gbdt.pages.cuts import (
    SHARES,
    CutRule,
    cut_features,
    layout_of,
    make_layout,
    most_levels,
)
from pyopencl_gbdt.pages.page import Layout, QuantizedData
from pyopencl_gbdt.pages.quantize import Quantizer, joins_none
from pyopencl_gbdt.pages.tiles import EntryRows, TileMaker, TileSizes, suited_layout, tiled_bounds
from pyopencl_gbdt.primitives.packed_codes import bytes_of_codes
from pyopencl_gbdt.primitives.tiled_codes import MOST_CELLS
from pyopencl_gbdt.primitives.tiled_histogram_kernel import tile_capacity

if TYPE_CHECKING:
    from pyopencl_gbdt.pages.joiner import Joiner

#: How splits are found; ``parameters.table`` has the same names.
Method = Literal["hist", "exact", "approx"]
I64 = npt.NDArray[np.int64]


#: Tiles are for data of which at most this share of the values is present, and whose dense codes
#: take at least this many bytes. PoCL, 2 cores, ms a round with dense and with tiled codes: 50 k x
#: 300 with 30 % present 575 and 96, with 60 % 239 and 119, with 90 % 156 and 154; 100 k x 968 with
#: 19 % 985 and 128. H200, 1.07 M x 968 with 19 %: 2.5 and 2.5, with 2235 and 733 MB of memory.
MOST_PRESENT = 0.3
LEAST_DENSE_BYTES = 16 * 1024 * 1024
#: Most bytes of the dense codes of a value: those of a column alone, which has a block a row.
MOST_CODE_BYTES = 18
#: Sparse data are tiled, if they are as large, where they have at least so many entries for each
#: bin, ... PoCL, 2 cores, ms of both a round of depth 6 with sorted columns and with tiles
#: (entries a bin): 20 k x 1000 with 2 % present 7.4 and 15 (1.6), 5 % 16 and 21 (3.9), 10 % 40 and
#: 27 (7.8), 30 % 152 and 57 (23), 20 % with 12 values a column 98 and 14 (333); 8 k x 15 000 with
#: 0.5 % 14 and 37 (1); 60 k x 300 with 3 % 8.7 and 9.3 (7), 50 k x 300 with 10 % 33 and 15 (20);
#: 100 k x 1000 with 1 % 47 and 29 (3.9). Depths 4 and 8: the same way. H200: 250 k x 968 with 19 %
#: 10.7 and 1.6 (170), 250 k x 300 with 5 % 1.7 and 0.7 (48), 100 k x 5000 with 2 % 3.4 and 1.9
#: (7.8), 30 k x 20 000 with 0.5 % 1.6 and 3.8 (1). GPUs without 64-bit atomics were not measured.
LEAST_ENTRIES_A_BIN = 6
#: ... and a tree's histograms, which sorted columns do not have, take at most this share of memory.
MOST_HISTOGRAMS = 1 / 16
_SUMS_BYTES = 16
#: Rows that are looked at to estimate the share of present values.
_SAMPLED_ROWS = 2048
#: Main memory of a fit for each column, however few values it has. Two rows, measured with
#: ``getrusage``: 69 bytes on PoCL, where the device's arrays count too; 50 without them.
_HOST_BYTES_A_COLUMN = 50


def check_width(n_features: int) -> None:
    """Refuse sparse data of more columns than the machine's memory has tables for.

    Raises
    ------
    DataError
    """
    check_free(
        _HOST_BYTES_A_COLUMN * n_features,
        f"X has {n_features} columns, whose tables",
        "leave out columns without entries, or hash the names of features to fewer",
    )


def _present_share(data: Dataset) -> float:
    """Estimate the share of present values, by rows that lie evenly in the data on the host."""
    values = data.features
    if isinstance(values, BatchedRows):
        return 1 - values.n_missing / (data.n_rows * data.n_features)
    if not isinstance(values, np.ndarray):
        return 1.0
    rows = np.linspace(0, data.n_rows - 1, min(data.n_rows, _SAMPLED_ROWS)).astype(np.int64)
    return 1 - float(np.isnan(values[rows]).mean())


def expected_tiles(
    data: Dataset, device: Device, method: Method, kind: str, max_bin: int, slots: int = 1
) -> TileSizes | None:
    """Return the sizes of tiled codes before they are made; None for another kind of page.

    Parameters
    ----------
    method : {"hist", "exact"}
    kind : {"auto", "dense", "tiled", "sorted"}
        As the parameter ``page``; "auto" chooses tiles where they take less memory than dense
        codes, for large data that are mostly missing and lie on the host.
    slots : int, default 1
        Histograms of a tree that are kept at a time.
    """
    if method == "hist" and data.sparse is not None and kind in ("auto", "tiled"):
        present = np.bincount(data.sparse.columns, minlength=data.n_features).astype(np.int64)
        return tiles_of_sparse(device, data.n_rows, present, method, kind, max_bin, slots)
    if method != "hist" or kind in ("dense", "sorted", "streamed") or data.categories:
        return None
    n_values = data.n_rows * data.n_features
    dense = bytes_of_codes(device, data.n_rows, data.n_features, max_bin)
    if kind == "auto" and dense < LEAST_DENSE_BYTES:
        return None
    share = _present_share(data)
    sizes = TileSizes(int(share * n_values))
    if kind == "tiled":
        return sizes
    taken = sizes.plan(data.n_rows, _most_tiles(device, data.n_features, max_bin)).total_bytes
    return sizes if share <= MOST_PRESENT and taken < dense else None


def tiles_of_sparse(
    device: Device, n_rows: int, present: I64, method: Method, kind: str, max_bin: int, slots: int
) -> TileSizes | None:
    """Return the sizes of tiled codes of a sparse matrix; None for sorted columns.

    Parameters
    ----------
    present : int64 array, shape (n_features,)
        Present values of every column.
    method, kind, max_bin, slots
        As for ``expected_tiles``.
    """
    sizes = TileSizes(int(present.sum()))
    if method != "hist" or kind not in ("auto", "tiled"):
        return None
    if kind == "tiled":
        return sizes
    large = bytes_of_codes(device, n_rows, present.size, max_bin) >= LEAST_DENSE_BYTES
    bins = int(np.minimum(present + 1, max_bin).sum())
    fits = slots * bins * _SUMS_BYTES <= device.caps.global_bytes * MOST_HISTOGRAMS
    return sizes if large and fits and sizes.n_entries >= LEAST_ENTRIES_A_BIN * bins else None


def _most_tiles(device: Device, n_features: int, max_bin: int) -> int:
    each = max(1, tile_capacity(device.caps) // min(max_bin, MOST_CELLS))
    return -(-n_features // each)


def expected_columns(data: Dataset, method: Method) -> ColumnSizes | None:
    """Return the sizes of sorted columns before they are made; None for pages of codes."""
    if data.sparse is not None:
        return ColumnSizes(data.sparse.n_entries)
    if method == "hist":
        return None
    return ColumnSizes(int(_present_share(data) * data.n_rows * data.n_features))


def paged(
    data: Dataset,
    device: Device,
    method: Method,
    max_bin: int,
    n_pages: int = 0,
    tiles: TileSizes | None = None,
    *,
    exact: bool = True,
    rule: CutRule = SHARES,
    code_bytes: int = 0,
    joiner_of: Callable[[Layout], Joiner | None] = joins_none,
) -> QuantizedData:
    """Return a data set as pages on a device.

    Dense data become codes, or sorted columns for exact search. Sparse data become sorted columns.

    Parameters
    ----------
    method : {"hist", "exact", "approx"}
    max_bin : int
        Most bins of a feature, for ``hist``.
    n_pages : int
        Pages of codes; 0 is the fewest that the device can allocate.
    tiles : TileSizes or None
        As ``expected_tiles`` returns it; None is dense codes.
    exact : bool
        As for ``Quantizer``; sparse data are always cut exactly.
    rule : CutRule
        Where bins of ``hist`` end.
    code_bytes, joiner_of
        As for ``Quantizer``, of dense codes.

    Raises
    ------
    MemoryPlanError
        If the pages, or the arrays to compute them, do not fit the device.
    """
    if tiles is not None:
        return _tiled(data, device, max_bin, n_pages, tiles, exact=exact, rule=rule)
    if method != "hist" or data.sparse is not None:
        return _in_columns(data, device, max_bin if method == "hist" else None, rule)
    quantizer = Quantizer(
        device, data.features_for(device), data.weight, max_bin, n_pages,
        code_bytes, most_levels(data), cut_features(data), exact=exact, rule=rule,
    )  # fmt: skip
    return quantizer.run(partial(layout_of, data=data), joiner_of)


def _in_columns(data: Dataset, device: Device, most: int | None, rule: CutRule) -> QuantizedData:
    """Sort the present values of every column; ``most`` bins of a feature, or all values."""
    from pyopencl_gbdt.pages.column_bins import sorted_on_device

    columns = present_values(data.values) if data.sparse is None else entries_of(data.sparse)
    check_entries(columns.rows.size)
    every_row_counts = data.weight is None or bool(data.weight.all())
    if most is None and every_row_counts and columns.rows.size:
        page, layout = sorted_on_device(device, columns)
    else:
        page, layout = uploaded_columns(device, columns, data.weight, most, rule)
    return QuantizedData([page], layout)


def _tiled(
    data: Dataset,
    device: Device,
    max_bin: int,
    n_pages: int,
    sizes: TileSizes,
    *,
    exact: bool,
    rule: CutRule,
) -> QuantizedData:
    """Cut columns as those of dense codes are cut, and encode them in tiles."""
    source: EntryRows | Quantizer
    if data.sparse is not None:
        _, _, layout = cut_columns(entries_of(data.sparse), data.weight, max_bin, rule)
        entries = data.sparse.row_starts, data.sparse.columns, data.sparse.values
        source = EntryRows(device, *entries)
    else:
        taken = sizes.plan(data.n_rows, _most_tiles(device, data.n_features, max_bin)).total_bytes
        values = data.features_for(device)
        source = Quantizer(
            device, values, data.weight, max_bin, code_bytes=taken, exact=exact, rule=rule
        )
        layout = make_layout(source.cuts())
    shape = data.n_rows, data.n_features
    return tiled_codes(device, source, layout, shape, sizes.n_entries, n_pages)


def tiled_codes(
    device: Device,
    source: EntryRows | Quantizer,
    layout: Layout,
    shape: tuple[int, int],
    n_entries: int,
    n_pages: int = 0,
) -> QuantizedData:
    """Return rows of a shape, with about so many present values, as tiled codes."""
    layout = suited_layout(layout)
    maker = TileMaker(device, layout)
    bounds = tiled_bounds(device, *shape, maker.n_tiles, n_entries, n_pages)
    return QuantizedData(maker.encode(source, bounds), layout)
