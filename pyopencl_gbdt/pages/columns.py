"""Columns whose present values lie sorted, for searches that run along columns.

An entry is a present value: its row, and its place, which is the index of its bin among the bins of
all features. Exact search has a bin for every distinct value; histogram search of sparse data has
the bins that dense data would have.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics import weights
from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.pages.cuts import SHARES, CutRule, midpoints, run_begins, tops
from pyopencl_gbdt.pages.page import Layout, SortedColumns

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
#: Most entries and places: kernels number both by 31 bits.
MOST_ENTRIES = 2**31 - 1
#: Bytes of the host's objects in a fit, beside its arrays.
_HOST_BYTES = 90_000


@dataclass(frozen=True)
class ColumnSizes:
    """Sizes of sorted columns, as far as they are known before the columns are sorted.

    Attributes
    ----------
    n_entries : int
        Present values; at most so many while they are not counted yet.
    missing : bool
        Whether some row may have no entry in some feature.
    """

    n_entries: int
    missing: bool = True


@dataclass(frozen=True)
class Columns:
    """The present values of all columns, on the host.

    Attributes
    ----------
    starts : int64 array, shape (n_features + 1,)
        Index of the first entry of every column, then the number of entries.
    rows : uint32 array, shape (n_entries,)
        Ascending in a column.
    values : float32 array, shape (n_entries,)
    """

    starts: I64
    rows: U32
    values: F32
    n_rows: int

    @property
    def n_features(self) -> int:
        return self.starts.size - 1

    @property
    def missing(self) -> npt.NDArray[np.bool_]:
        """Whether some row has no entry, for every column."""
        return np.diff(self.starts) < self.n_rows

    @property
    def features(self) -> U32:
        """The column of every entry."""
        return np.repeat(np.arange(self.n_features, dtype=np.uint32), np.diff(self.starts))


def present_values(values: F32) -> Columns:
    """Return the columns of a matrix; NaN is missing."""
    there = ~np.isnan(values.T)
    starts = np.zeros(values.shape[1] + 1, np.int64)
    np.cumsum(there.sum(axis=1), out=starts[1:])
    rows = np.broadcast_to(np.arange(values.shape[0], dtype=np.uint32), there.shape)[there]
    return Columns(starts, rows, values.T[there], values.shape[0])


def entries_of(matrix: SparseMatrix) -> Columns:
    """Return the columns of a sparse matrix; what has no entry is missing."""
    starts, rows, values = matrix.by_column()
    return Columns(starts, rows.view(np.uint32), values, matrix.shape[0])


def sort_columns(columns: Columns) -> tuple[Columns, U64]:
    """Sort the entries of every column by value; of equal ones the lower row comes first.

    Returns
    -------
    sorted : Columns
    keys : uint64 array, shape (n_entries,)
        The column in the upper half, and a key in the order of values in the lower half.
    """
    keys = columns.features.astype(np.uint64) << np.uint64(32)
    keys |= ordered(columns.values)
    order = np.argsort(keys, kind="stable")
    rows, values = columns.rows[order], columns.values[order]
    return Columns(columns.starts, rows, values, columns.n_rows), keys[order]


@dataclass(frozen=True)
class _ColumnRuns:
    """Runs of equal values of the rows that count, in sorted columns.

    Attributes
    ----------
    first, last : int64 array, shape (n_runs,)
        Index of the first and the last of a run's entries that count.
    feature : uint32 array, shape (n_runs,)
    weight : int64 array, shape (n_runs,)
    """

    first: I64
    last: I64
    feature: U32
    weight: I64


def _runs(columns: Columns, keys: U64, weight: I64) -> _ColumnRuns:
    own = weight[columns.rows]
    counted = np.flatnonzero(own)
    kept = keys[counted]
    new = run_begins(kept)
    total = np.concatenate([[0], np.cumsum(own[counted])])
    ends = np.append(new[1:], kept.size)[: new.size]
    feature = (kept[new] >> np.uint64(32)).astype(np.uint32)
    return _ColumnRuns(counted[new], counted[ends - 1], feature, total[ends] - total[new])


def _bin_ends(columns: Columns, runs: _ColumnRuns, weight: I64, max_bin: int, rule: CutRule) -> I64:
    """Return the index of every bin's last run; a run is a bin unless a feature has too many."""
    ends = np.ones(runs.feature.size, np.bool_)
    n_runs = np.bincount(runs.feature, minlength=columns.n_features)
    begin = np.cumsum(n_runs) - n_runs
    n_counted = int(np.count_nonzero(weight))
    for feature in np.flatnonzero(n_runs >= max_bin):
        entries = slice(columns.starts[feature], columns.starts[feature + 1])
        present = int(np.count_nonzero(weight[columns.rows[entries]]))
        most = rule.most_bins(max_bin, some_missing=present < n_counted)
        own = slice(begin[feature], begin[feature] + n_runs[feature])
        ends[own] = False
        ends[begin[feature] + rule.bin_ends(runs.weight[own], most) - 1] = True
    return np.flatnonzero(ends)


def _layout(columns: Columns, runs: _ColumnRuns, ends: I64, rule: CutRule) -> tuple[Layout, U32]:
    """Return the layout of the bins that end at these runs, and the place of every bin."""
    feature = runs.feature[ends].astype(np.int64)
    n_bins = np.bincount(feature, minlength=columns.n_features).astype(np.int64)
    offset = np.zeros(n_bins.size + 1, np.int64)
    np.cumsum(n_bins + columns.missing, out=offset[1:])
    if offset[-1] > MOST_ENTRIES:
        raise MemoryPlanError(
            f"the columns have {offset[-1]} distinct values: expected {MOST_ENTRIES} at most; "
            "lower max_bin, or round the values"
        )
    places = offset[feature] + np.arange(ends.size) - (np.cumsum(n_bins) - n_bins)[feature]
    below = columns.values[runs.last[ends]]
    following = np.minimum(ends + 1, runs.feature.size - 1)
    above = columns.values[runs.first[following]]
    top = np.append(feature[1:] != feature[:-1], True)[: ends.size]
    thresholds = np.zeros(int(offset[-1]), np.float32)
    between = midpoints(rule.lower_sides(below, above), above)
    thresholds[places] = np.where(top, tops(below), between)
    fullest = np.zeros(n_bins.size, np.uint32)
    layout = Layout(n_bins.astype(np.uint32), offset.astype(np.uint32), thresholds, fullest)
    return layout, places.astype(np.uint32)


def _places(
    columns: Columns,
    keys: U64,
    weight: I64,
    runs: _ColumnRuns,
    ends: I64,
    layout: Layout,
    of_bin: U32,
) -> tuple[U32, U32]:
    """Return rows and places of all entries whose feature has bins."""
    bins = np.zeros(runs.feature.size, np.int64)
    bins[ends[:-1] + 1] = 1
    of_run = of_bin[np.cumsum(bins)] if ends.size else of_bin
    counted = weight[columns.rows] > 0
    lengths = np.diff(np.append(runs.first, keys.size))
    if counted.all():
        return columns.rows, np.repeat(of_run, lengths)
    edges = ordered(layout.thresholds[of_bin]).astype(np.uint64)
    edges |= runs.feature[ends].astype(np.uint64) << np.uint64(32)
    number = np.searchsorted(edges, keys, side="right")  # thresholds that the value reaches
    feature = columns.features
    filled = layout.feature_bins[feature] > 0
    last = np.cumsum(layout.feature_bins.astype(np.int64))[feature] - 1
    number = np.minimum(number, last)[filled]
    return columns.rows[filled], of_bin[number]


def cut_columns(
    columns: Columns, weight: F32 | None, max_bin: int | None, rule: CutRule = SHARES
) -> tuple[U32, U32, Layout]:
    """Return rows and places of sorted entries, and the layout of the places.

    Parameters
    ----------
    weight : float32 array, shape (n_rows,), or None
        Rows of weight 0 do not count: their values make no bins.
    max_bin : int or None
        Most bins of a feature; None is a bin for every distinct value.
    """
    own = np.ones(columns.n_rows) if weight is None else weight.astype(np.float64)
    whole = weights.whole(own) if weight is not None else own.astype(np.int64)
    columns, keys = sort_columns(columns)
    runs = _runs(columns, keys, whole)
    ends = (
        np.arange(runs.feature.size)
        if max_bin is None
        else _bin_ends(columns, runs, whole, max_bin, rule)
    )
    layout, of_bin = _layout(columns, runs, ends, rule)
    rows, places = _places(columns, keys, whole, runs, ends, layout, of_bin)
    return rows, places, layout


def uploaded_columns(
    device: Device,
    columns: Columns,
    weight: F32 | None,
    max_bin: int | None,
    rule: CutRule = SHARES,
) -> tuple[SortedColumns, Layout]:
    """Sort and cut columns on the host; return them on a device, and the layout of their bins."""
    rows, places, layout = cut_columns(columns, weight, max_bin, rule)
    return columns_on(device, columns, rows, places, layout), layout


def columns_on(
    device: Device, columns: Columns, rows: U32, places: U32, layout: Layout
) -> SortedColumns:
    """Return sorted entries on a device; the arguments are those of ``cut_columns``."""
    offset = layout.feature_offset.astype(np.int64)
    features = np.repeat(np.arange(columns.n_features, dtype=np.uint32), offset[1:] - offset[:-1])
    return SortedColumns(
        rows=device.upload(rows),
        places=device.upload(places),
        features=device.upload(features),
        n_rows=columns.n_rows,
        missing=bool(columns.missing.any()),
    )


def check_entries(n_entries: int) -> None:
    """Raise ``MemoryPlanError`` for more entries than kernels can number."""
    if n_entries > MOST_ENTRIES:
        raise MemoryPlanError(
            f"X has {n_entries} present values: expected {MOST_ENTRIES} at most; train on a sample"
        )


@dataclass(frozen=True)
class ValueCounts:
    """Present and distinct values of every column.

    Attributes
    ----------
    present : int64 array, shape (n_features,)
    distinct : int64 array, shape (n_features,)
    """

    n_rows: int
    present: I64
    distinct: I64

    @classmethod
    def of(cls, matrix: SparseMatrix) -> ValueCounts:
        """Count the values of a matrix; the host sorts them, and takes 30 bytes for each."""
        columns = entries_of(matrix)
        keys = columns.features.astype(np.uint64) << np.uint64(32)
        keys |= ordered(columns.values)
        keys.sort()
        features = (keys[run_begins(keys)] >> np.uint64(32)).astype(np.int64)
        distinct = np.bincount(features, minlength=columns.n_features)
        return cls(columns.n_rows, np.diff(columns.starts), distinct.astype(np.int64))

    @property
    def n_features(self) -> int:
        return int(self.present.size)

    @property
    def n_entries(self) -> int:
        return int(self.present.sum())

    @property
    def density(self) -> float:
        """The share of values that are present, 0 to 1."""
        return self.n_entries / (self.n_rows * self.n_features)

    def host_bytes(self, max_bin: int | None, *, tiled: bool = False) -> int:
        """Return the peak bytes of the host's arrays while columns are sorted or encoded.

        The matrix itself is not counted. NumPy's arrays ask no arena: the factors were measured
        with ``tracemalloc`` on four matrices of 60 k to 300 k entries.

        ``max_bin``: as for ``layout``; None is sorted on the device.
        ``tiled``: whether codes are tiled; else columns are kept sorted.
        """
        n_codes = self.layout(max_bin).n_codes
        if max_bin is None:  # entries by column, and values on both sides of thresholds
            return _HOST_BYTES + (
                8 * self.n_entries + 8 * n_codes + 12 * min(n_codes, 1 << 20) + 57 * self.n_features
            )
        each = 52 if tiled else 60
        n_distinct = int(self.distinct.sum())
        return _HOST_BYTES + (
            each * self.n_entries + 48 * n_distinct + 11 * n_codes + 27 * self.n_features
        )

    def layout(self, max_bin: int | None) -> Layout:
        """Return the layout of these values with at most ``max_bin`` bins; None is one for each.

        Thresholds and fullest codes are 0. Where a few values have most of a column's rows, a
        column gets fewer bins than this says.
        """
        missing = self.present < self.n_rows
        bins = self.distinct
        if max_bin is not None:
            bins = np.minimum(bins, np.where((max_bin == 256) & missing, 255, max_bin))
        offset = np.zeros(self.n_features + 1, np.int64)
        np.cumsum(bins + missing, out=offset[1:])
        thresholds = np.zeros(int(offset[-1]), np.float32)
        fullest = np.zeros(self.n_features, np.uint32)
        return Layout(bins.astype(np.uint32), offset.astype(np.uint32), thresholds, fullest)
