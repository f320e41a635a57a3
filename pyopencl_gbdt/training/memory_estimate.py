"""Estimate a fit's device memory from shapes and parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth.policy import policy_of
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.budget import page_bytes, plan_set_up
from pyopencl_gbdt.pages.columns import ColumnSizes, columns_bytes, sorting_bytes
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.paged import tiles_of_sparse
from pyopencl_gbdt.pages.tiles import TileSizes, encoding_bytes
from pyopencl_gbdt.pages.value_counts import ValueCounts
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.reservations import Reservations
from pyopencl_gbdt.training.tree_method import of_sparse


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimated bytes, on the device unless a name says otherwise.

    Attributes
    ----------
    set_up_bytes : int
        Peak while the data are quantised, or their columns sorted.
    training_bytes : int
        During training: codes or sorted columns, histograms, evaluation sets and everything else.
    host_bytes : int
        Peak of the host's arrays while the columns of a sparse matrix are sorted, without the
        matrix; 0 for dense data, of which this is not estimated.
    """

    set_up_bytes: int
    training_bytes: int
    host_bytes: int = 0

    @property
    def peak_bytes(self) -> int:
        return max(self.set_up_bytes, self.training_bytes)


def expected_layout(n_features: int, n_bins: int) -> Layout:
    """Return the layout of features that all have ``n_bins`` bins and no missing values."""
    bins = np.full(n_features, n_bins, np.uint32)
    offset = n_bins * np.arange(n_features + 1, dtype=np.int64)
    zeros = np.zeros(n_features, np.uint32)
    thresholds = np.zeros(n_features * n_bins, np.float32)
    return Layout(bins, offset.astype(np.uint32), thresholds, zeros)


@dataclass
class _Columns:
    n_features: int
    feature_names: list[str] | None
    feature_weights: npt.NDArray[np.float32] | None = None


def estimate_memory(
    device: Device,
    params: Parameters,
    n_rows: int,
    n_features: int,
    *,
    weighted: bool = False,
    n_targets: int = 1,
    n_queries: int = 1,
    feature_names: list[str] | None = None,
    evaluation_rows: int = 0,
    counts: ValueCounts | None = None,
    evaluation_entries: int = 0,
) -> MemoryEstimate:
    """Estimate the device memory of a fit; allocates nothing.

    The estimate assumes ``max_bin`` bins per feature, or as many as rows; features with few
    distinct values take less, and so do tiled codes of dense data. With ``tree_method="exact"`` or
    ``"approx"`` it assumes a bin for every row and feature, and that no value is missing. Of a
    sparse matrix, ``counts`` says what it holds. If a few gradients are much larger than the
    others, a fit may take 8 bytes more per row and tree grown at a time.

    Parameters
    ----------
    device : Device
    params : Parameters
        Includes classes, quantiles, trees of a forest, sampling and constraints.
    n_rows, n_features : int
    weighted : bool, default False
        Whether rows have weights.
    n_targets : int, default 1
        Labels per row.
    n_queries : int, default 1
        Queries of a ranking task, assumed to be of equal size.
    feature_names : list of str or None
        Names of the columns, if constraints use them.
    evaluation_rows : int, default 0
        Total number of rows of all evaluation sets.
    counts : ValueCounts or None
        Present and distinct values of the columns of a sparse matrix; None is dense data.
    evaluation_entries : int, default 0
        Present values of all evaluation sets, where these are sparse.

    Raises
    ------
    ParameterError
        If ``counts`` is that of a matrix of another shape.
    """
    if counts is not None and (counts.n_rows, counts.n_features) != (n_rows, n_features):
        raise ParameterError(
            f"counts of {counts.n_rows} rows and {counts.n_features} columns: expected "
            f"{n_rows} and {n_features}; count the values of the matrix that is meant"
        )
    data = _dense(device, params, n_rows, n_features, weighted=weighted)
    if counts is not None:
        params = of_sparse(params, n_features, counts.density)
        data = _sparse(device, params, counts)
    objective = get_objective(params.objective, params)
    own_weights = weighted and not objective.applies_weights
    ws = Workspace(device, params, policy_of(params), data.layout, (), n_rows, own_weights, 0, 0)
    ws.columns, ws.tiled = data.columns, data.tiles
    ws.describe(objective, n_targets, limits_of(params, _Columns(n_features, feature_names)))
    longest = -(-n_rows // n_queries)
    ws.choose_trees(Reservations(objective, weighted, n_queries, longest).reserve)
    row = n_features + ws.n_outputs + n_targets  # values, margins and labels
    evaluated = evaluation_rows * row * VALUE.itemsize
    if counts is not None:
        row = ws.n_outputs + n_targets
        evaluated = evaluation_rows * row * VALUE.itemsize
        if not device.borrows:
            evaluated += 8 * (evaluation_rows + evaluation_entries)
    training = ws.plan().total_bytes + data.page_bytes + evaluated
    return MemoryEstimate(data.set_up_bytes, training, data.host_bytes)


@dataclass(frozen=True)
class _Data:
    """What data become on the device: their layout, sizes and bytes."""

    layout: Layout
    columns: ColumnSizes | None
    tiles: TileSizes | None
    page_bytes: int
    set_up_bytes: int
    host_bytes: int = 0


def _dense(
    device: Device, params: Parameters, n_rows: int, n_features: int, *, weighted: bool
) -> _Data:
    if params.search != "hist":
        layout, n_values = expected_layout(n_features, n_rows), n_rows * n_features
        columns = ColumnSizes(n_values)
        sizes = n_values, layout.n_codes
        return _Data(layout, columns, None, columns_bytes(*sizes), sorting_bytes(*sizes))
    n_bins = min(params.max_bin, n_rows)
    layout = expected_layout(n_features, n_bins)
    set_up = plan_set_up(device, n_rows, n_features, params.max_bin, weighted=weighted).n_bytes
    return _Data(layout, None, None, page_bytes(device, n_rows, n_features, n_bins), set_up)


def _sparse(device: Device, params: Parameters, counts: ValueCounts) -> _Data:
    max_bin = params.max_bin if params.search == "hist" else None
    layout = counts.layout(max_bin)
    n_rows, n_entries = counts.n_rows, counts.n_entries
    slots = policy_of(params).slots(params.most_leaves(n_rows))
    kind = params.page_kind
    tiles = tiles_of_sparse(
        device, n_rows, counts.present, params.search, kind, params.max_bin, slots
    )
    if tiles is not None:
        page, set_up = encoding_bytes(device, layout, n_rows, n_entries)
        return _Data(layout, None, tiles, page, set_up, counts.host_bytes(max_bin, tiled=True))
    page = columns_bytes(n_entries, layout.n_codes)
    set_up = page  # the host sorts
    if max_bin is None:
        set_up = sorting_bytes(n_entries, layout.n_codes) + 12 * counts.n_features
    missing = bool((counts.present < n_rows).any())
    sizes, host = ColumnSizes(n_entries, missing), counts.host_bytes(max_bin)
    return _Data(layout, sizes, None, page, set_up, host)
