"""What a fit will take of a device's memory, from shapes and parameters alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Capabilities, Device, DeviceArray, choose
from pyopencl_gbdt.dtypes import SUM, VALUE, code_dtype, row_codes
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.steps.quantize import column_block, stays_whole
from pyopencl_gbdt.workspace import Layout, Workspace, empty_page

_ID = np.dtype(np.uint32)


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


class _Paper:
    """Stands in for a device, and counts what would be allocated."""

    def __init__(self, caps: Capabilities) -> None:
        self.caps, self.n_bytes = caps, 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        nobody: Any = self
        array = DeviceArray(nobody, shape, dtype, None)
        self.n_bytes += array.nbytes
        return array


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
    paper: Any = _Paper(device.caps)
    empty_page(paper, n_rows, n_features, code_dtype(n_bins))
    codes = paper.n_bytes
    layout = expected_layout(n_features, n_bins)
    plan = Workspace(device, params, layout, None, n_rows, weighted, 0, 0).plan()
    evaluation = evaluation_rows * (n_features + 1) * VALUE.itemsize
    training = plan.total_bytes + codes + evaluation
    return MemoryEstimate(_set_up(device, params, n_rows, n_features, weighted, codes), training)


def _set_up(
    device: Device, params: Parameters, n_rows: int, n_features: int, weighted: bool, codes: int
) -> int:
    """Bytes while columns are sorted and cut, or while values are replaced by codes."""
    values = n_rows * n_features * VALUE.itemsize
    code = code_dtype(params.max_bin)
    rest = n_rows * (row_codes(n_features, code) * code.itemsize + 64)
    free = device.caps.global_bytes - device.allocated_bytes - rest
    whole = values if stays_whole(device.caps, free, n_rows, n_features) else 0
    weights = n_rows * (VALUE.itemsize + SUM.itemsize) if weighted else 0  # and their summands
    block = column_block(device.caps, n_rows, n_features, params.max_bin, weighted=weighted)
    column = n_rows * (VALUE.itemsize + (SUM.itemsize if weighted else 0))
    cuts = block * (column + 2 * params.max_bin * VALUE.itemsize)
    row = choose("radix_sort", device.caps)
    groups = row.params["groups_per_unit"] * device.caps.compute_units
    counters = (groups << row.params["radix_bits"]) * _ID.itemsize
    sort = 2 * n_rows * (VALUE.itemsize + (_ID.itemsize if weighted else 0)) + counters
    return whole + weights + max(cuts + sort, codes)
