"""The trainer's histogram step, set up for a level of one node: what ``histogram`` is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, choose
from pyopencl_gbdt.dtypes import LEVEL, NODE, QUANTA, SCALE, SUM
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.primitives.checks import ceil_div
from pyopencl_gbdt.quantized import Layout, empty_page, smallest_layout
from pyopencl_gbdt.steps.histogram import Histogram
from pyopencl_gbdt.workspace import Workspace


@dataclass
class _Arrays(Workspace):
    """What the step takes of a fit."""

    row: Variant | None = None
    """Row of the variant table to take; default: as a fit chooses."""

    def variant(self, kernel: str) -> Variant:
        if self.row is None:
            return super().variant(kernel)
        caps = self.device.caps
        return self.row if self._can_hold(self.row) else choose(kernel, caps, "bin_range_passes")

    @property
    def histogram_groups(self) -> int:
        """As in a fit, but none for whom there is nothing to do: each may have partial sums."""
        tasks = ceil_div(self.n_rows, self.variant("histogram").params["chunk"])
        return max(1, min(super().histogram_groups, tasks))


class OneNode:
    """A page of codes, and levels of one node over it.

    Parameters
    ----------
    device : Device
    n_rows, n_features : int
    n_bins : int
        Of every feature; none is for missing values.
    variant : str or Variant

    Attributes
    ----------
    page : QuantizedPage
        Without ``by_feature``; the codes are to be set.
    row : Variant
        What was built.
    clears : bool
        Whether sums are cleared before a level.

    Raises
    ------
    ParameterError
        If ``variant`` is unknown, or the device lacks what it needs.
    """

    def __init__(
        self, device: Device, n_rows: int, n_features: int, n_bins: int, variant: str | Variant
    ) -> None:
        self.device, self.n_rows = device, n_rows
        self.n_features, self.n_bins = max(1, n_features), n_bins
        given = variant if isinstance(variant, Variant) else None
        name = given.name if given else str(variant)
        choose("histogram", device.caps, name)  # refuses what is not there
        params = Parameters.from_dict({"histogram": name})
        layout = smallest_layout(self.n_features)
        self._ws = _Arrays(device, params, layout, None, n_rows, False, 0, 0, row=given)
        self._step = self._build()
        self._allocate()
        self.page = self._ws.rows_page
        self.row = self._ws.variant("histogram")
        self.clears = self._ws.cells_to_clear > 0

    def _build(self) -> Histogram:
        """Build the step for codes as narrow as the variant that builds can take."""
        ws, n_features = self._ws, self.n_features
        bins = np.full(n_features, self.n_bins, np.uint32)
        offset = np.arange(n_features + 1, dtype=np.uint32) * np.uint32(self.n_bins)
        while True:
            dtype = self._packed_dtype()
            # the step leaves this code out of histograms: no row has it
            fullest = np.full(n_features, np.iinfo(dtype).max, np.uint32)
            ws.layout = Layout(bins, offset, np.zeros(0, np.float32), fullest)
            ws.page = empty_page(self.device, self.n_rows, n_features, dtype, columns=False)
            step = Histogram(ws)
            if self._packed_dtype() == dtype:
                return step

    def _packed_dtype(self) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
        """Return the smallest dtype with a code that no row has; the CPU's row leaves out none."""
        spare = self._ws.variant("histogram").name != "cpu"
        return np.dtype(np.uint8) if self.n_bins + spare <= 256 else np.dtype(np.uint16)

    def _allocate(self) -> None:
        """Allocate what the step reads beside the caller's arrays, and its partial sums."""
        ws, device = self._ws, self.device
        groups = ws.histogram_groups if self._step.partials else 0
        cells = ws.layout.n_codes if groups else 1
        ws.arrays = {
            "scale": device.zeros(1, SCALE),  # no high words
            "high": device.zeros((1, 2), QUANTA),
            "partial": device.empty((max(1, groups), 2, cells, 2), SUM),
        }

    def level(
        self, pairs: DeviceArray, out: DeviceArray, rows: DeviceArray | None, count: int
    ) -> list[Launch]:
        """Bind a level: of depth 0 its node has all rows in order, below a list of ``count``."""
        depth = 0 if rows is None else 1
        tasks = ceil_div(count, self.row.params["chunk"])
        levels, nodes = np.zeros(2, LEVEL), np.zeros(1, NODE)
        levels[depth] = (0, 1, 0, tasks)
        nodes["count"], nodes["depth"], nodes["in_order"] = count, depth, rows is None
        upload, unused = self.device.upload, self._ws["high"]
        arrays = {
            "levels": upload(levels),
            "nodes": upload(nodes),
            "hist_task_begin": upload([0, tasks], np.uint32),
            "even_rows": unused,
            "odd_rows": unused if rows is None else rows,
            "quanta": pairs,
            "pool": out,
        }
        kept = self._ws.arrays
        self._ws.arrays = {**kept, **arrays}
        try:
            return self._step.level(depth)
        finally:
            self._ws.arrays = kept  # the caller's are bound, not kept
