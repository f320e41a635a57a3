"""Estimate a fit's device memory from shapes and parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth.policy import policy_of
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.budget import page_bytes, plan_set_up
from pyopencl_gbdt.pages.columns import ColumnSizes, columns_bytes, sorting_bytes
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.reservations import Reservations


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimated bytes on the device.

    Attributes
    ----------
    set_up_bytes : int
        Peak while the data are quantised, or their columns sorted.
    training_bytes : int
        During training: codes or sorted columns, histograms, evaluation sets and everything else.
    """

    set_up_bytes: int
    training_bytes: int

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
) -> MemoryEstimate:
    """Estimate the device memory of a fit; allocates nothing.

    The estimate assumes ``max_bin`` bins per feature, or as many as rows; features with few
    distinct values take less, and so do tiled codes. With ``tree_method="exact"`` it assumes a
    bin for every row and feature, and that no value is missing. If a few gradients are much larger
    than the others, a fit may take 8 bytes more per row and tree grown at a time.

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
    """
    exact = params.search == "exact"
    n_bins = n_rows if exact else min(params.max_bin, n_rows)
    layout = expected_layout(n_features, n_bins)
    objective = get_objective(params.objective, params)
    own_weights = weighted and not objective.applies_weights
    ws = Workspace(device, params, policy_of(params), layout, (), n_rows, own_weights, 0, 0)
    if exact:
        ws.columns = ColumnSizes(n_rows * n_features)
    ws.describe(objective, n_targets, limits_of(params, _Columns(n_features, feature_names)))
    longest = -(-n_rows // n_queries)
    ws.choose_trees(Reservations(objective, weighted, n_queries, longest).reserve)
    if exact:
        page = columns_bytes(n_rows * n_features, layout.n_codes)
        set_up = sorting_bytes(n_rows * n_features, layout.n_codes)
    else:
        page = page_bytes(device, n_rows, n_features, n_bins)
        set_up = plan_set_up(device, n_rows, n_features, params.max_bin, weighted=weighted).n_bytes
    row = n_features + ws.n_outputs + n_targets  # values, margins and labels
    training = ws.plan().total_bytes + page + evaluation_rows * row * VALUE.itemsize
    return MemoryEstimate(set_up, training)
