"""Rows that are known by their sizes alone, for a fit that is built on paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.batches.rows import BatchedRows
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.column_bins import sorted_on_device
from pyopencl_gbdt.pages.columns import Columns, ValueCounts, columns_on
from pyopencl_gbdt.pages.cuts import Cuts, layout_of
from pyopencl_gbdt.pages.page import Layout, QuantizedData
from pyopencl_gbdt.pages.paged import tiled_codes, tiles_of_sparse
from pyopencl_gbdt.pages.quantize import FullBins
from pyopencl_gbdt.pages.summary_cuts import SUMMARY_KERNELS, full_summary
from pyopencl_gbdt.pages.tiles import EntryRows
from pyopencl_gbdt.parameters.parameters import Parameters

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]


def repeated(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """Return an array of any size that takes the memory of one 0."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def sparse_rows(n_rows: int, n_features: int, n_entries: int) -> SparseMatrix:
    """Return a sparse matrix whose rows have equally many entries."""
    starts = np.linspace(0, n_entries, n_rows + 1).astype(np.int64)
    columns, values = repeated(n_entries, np.int32), repeated(n_entries)
    return SparseMatrix((n_rows, n_features), starts, columns, values)


class PaperBatches(BatchedRows):
    """Rows in batches of one size."""

    n_missing = 0

    def __init__(self, shape: tuple[int, int], most_rows: int, n_levels: Mapping[int, int]) -> None:
        self.shape, self.most_rows, self._n_levels = shape, most_rows, n_levels

    def parts(self) -> Iterator[tuple[int, Any]]:
        n_rows, n_features = self.shape
        for first in range(0, n_rows, self.most_rows):
            size = min(self.most_rows, n_rows - first)
            yield first, Features(repeated((size, n_features)))

    def level_counts(self, feature: int) -> I64:
        return np.zeros(self._n_levels[feature] + 1, np.int64)

    def coded_by(self, categories: Mapping[int, Any]) -> BatchedRows:
        return self


@dataclass(frozen=True)
class DataFacts:
    """What the memory of a fit depends on; the attributes are arguments of ``estimate_memory``."""

    n_rows: int
    n_features: int
    weighted: bool = False
    n_targets: int = 1
    n_queries: int = 1
    feature_names: list[str] | None = None
    counts: ValueCounts | None = None
    n_levels: Mapping[int, int] = field(default_factory=dict)
    batch_rows: int = 0

    def dataset(self, n_labels: int) -> Dataset:
        """Return rows of these sizes, with so many different labels."""
        n_rows, shape = self.n_rows, (self.n_rows, self.n_features)
        values: Any = repeated(shape)
        if self.counts is not None:
            values = sparse_rows(*shape, self.counts.n_entries)
        elif self.batch_rows:
            values = PaperBatches(shape, self.batch_rows, self.n_levels)
        label = (np.arange(n_rows, dtype=np.int32) % n_labels).astype(np.float32)
        if self.n_targets > 1:
            label = np.broadcast_to(label[:, None], (n_rows, self.n_targets))
        levels = {c: Levels(np.arange(n, dtype=np.int64)) for c, n in self.n_levels.items()}
        edges = np.linspace(0, n_rows, self.n_queries + 1).astype(np.int64)
        n_weights = n_rows if self.n_queries == 1 else self.n_queries
        weight = np.broadcast_to(np.float32(1), n_weights) if self.weighted else None
        return Dataset(
            Features(values, self.feature_names, levels), label, weight,
            group=np.diff(edges) if self.n_queries > 1 else None,
        )  # fmt: skip

    def evaluation_set(self, n_rows: int, n_entries: int, n_features: int) -> Dataset:
        """Return so many rows to evaluate, sparse ones if the rows of the training are."""
        values: Any = repeated((n_rows, n_features))
        if self.counts is not None:
            values = sparse_rows(n_rows, n_features, n_entries)
        label = repeated(n_rows if self.n_targets == 1 else (n_rows, self.n_targets))
        return Dataset(Features(values), label)

    @property
    def all_present(self) -> ValueCounts:
        """Counts of dense rows whose values all differ."""
        each = np.full(self.n_features, self.n_rows, np.int64)
        return ValueCounts(self.n_rows, each, each)


def answer(paper: PaperDevice, params: Parameters, facts: DataFacts, bins: U32 | None) -> None:
    """Let kernels on paper find as many bins and present values as there can be.

    ``bins`` are those of every column to cut, if these do not have as many as ``max_bin``.
    """
    n_rows, counts = facts.n_rows, facts.counts or facts.all_present
    n_bins = max(1, min(params.max_bin, n_rows))
    FullBins(bins, int(params.cut_rule != "shares")).tell(paper)
    paper.answers |= dict.fromkeys(SUMMARY_KERNELS, partial(full_summary, n_entries=n_bins))
    paper.answers["tiles", "total"] = partial(_cells, counts.n_entries / max(1, n_rows))
    paper.answers["column_bins", "count"] = partial(_distinct, counts.distinct)


def full_layout(data: Dataset, n_bins: int, *, missing: bool = False) -> Layout:
    """Return the layout of rows whose columns of numbers all have so many bins."""
    n_features = data.n_features
    edges = np.broadcast_to(np.arange(n_bins, dtype=np.float32), (n_features, n_bins))
    bins, zeros = np.full(n_features, n_bins, np.uint32), np.zeros(n_features, np.uint32)
    return layout_of(Cuts(edges, edges, bins, np.full(n_features, missing), zeros), data)


def codes_of(
    paper: PaperDevice, params: Parameters, counts: ValueCounts, slots: int
) -> QuantizedData:
    """Return sparse rows, or those of an exact search, as pages on paper.

    ``slots`` are the histograms of a tree that are kept at a time.
    """
    n_rows, n = counts.n_rows, counts.n_entries
    method, max_bin = params.search, params.max_bin if params.search == "hist" else None
    layout = counts.layout(max_bin)
    kind = method, params.page_kind, params.max_bin, slots
    if tiles_of_sparse(paper, n_rows, counts.present, *kind) is not None:
        rows = sparse_rows(n_rows, counts.n_features, n)
        source = EntryRows(paper, rows.row_starts, repeated(n, np.uint32), rows.values)
        return tiled_codes(paper, source, layout, (n_rows, counts.n_features), n)
    starts = np.concatenate([[0], np.cumsum(counts.present)])
    columns = Columns(starts, repeated(n, np.uint32), repeated(n), n_rows)
    if max_bin is None:
        page, layout = sorted_on_device(paper, columns)
    else:
        page = columns_on(paper, columns, columns.rows, columns.rows, layout)
    return QuantizedData([page], layout)


def _cells(a_row: float, arguments: Mapping[str, Any]) -> None:
    n_rows = arguments["row_begin"].shape[1] - 1
    arguments["n_cells"].handle = np.array([round(a_row * n_rows)], np.uint32)


def _distinct(distinct: I64, arguments: Mapping[str, Any]) -> None:
    arguments["n_bins"].handle = distinct.astype(np.uint32)
