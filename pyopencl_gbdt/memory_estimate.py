"""What a fit will take of a device's memory, from shapes and parameters alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.quantized import Layout
from pyopencl_gbdt.set_up import page_bytes, plan_set_up
from pyopencl_gbdt.steps.renew_leaves import reserve
from pyopencl_gbdt.workspace import Workspace


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes on the device.

    Attributes
    ----------
    set_up_bytes : int
        Most at a time while the data are quantised.
    training_bytes : int
        While trees grow: codes, histograms and everything else, evaluation sets too.
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


def estimate_memory(
    device: Device,
    params: Parameters,
    n_rows: int,
    n_features: int,
    *,
    weighted: bool = False,
    evaluation_rows: int = 0,
) -> MemoryEstimate:
    """Estimate what a fit takes; allocates nothing.

    Features are taken to have ``max_bin`` bins, or as many as there are rows: where they have only
    a few values, less is taken.

    Parameters
    ----------
    device : Device
    params : Parameters
    n_rows, n_features : int
    weighted : bool, default False
        Whether rows have weights.
    evaluation_rows : int, default 0
        Rows of all evaluation sets together.
    """
    n_bins = min(params.max_bin, n_rows)
    codes = page_bytes(device, n_rows, n_features, n_bins)
    layout = expected_layout(n_features, n_bins)
    ws = Workspace(device, params, layout, None, n_rows, weighted, 0, 0)
    objective, one = get_objective(params.objective, params), np.ones(1, np.float32)
    if objective.renews:
        weights = objective.leaf_weights(one, one if weighted else None)
        reserve(ws, weighted=weights is not None)
    plan = ws.plan()
    evaluation = evaluation_rows * (n_features + 2) * VALUE.itemsize  # with margin and label
    training = plan.total_bytes + codes + evaluation
    set_up = plan_set_up(device, n_rows, n_features, params.max_bin, weighted=weighted)
    return MemoryEstimate(set_up.n_bytes, training)
