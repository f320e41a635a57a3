"""Gradient sums per node, feature and bin, in the variant that the device gets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch, Program, Variant
from pyopencl_gbdt.workspace import Layout, Workspace

#: Sizes of local accumulators that kernels are built for, so that few programs serve all data.
_CELLS = (1024, 2048, 3072, 4352)
#: Most accumulators of one code.
_MOST_COPIES = 8


def code_ranges(
    layout: Layout, capacity: int, places: npt.NDArray[np.int64], block: int, *, ranged: bool
) -> npt.NDArray[np.uint32]:
    """Cut the codes of all features into runs of at most ``capacity``, within blocks.

    Parameters
    ----------
    layout : Layout
    capacity : int
        Codes that one work-group's accumulators hold.
    places : int64 array, shape (n_features,)
        Where a row has each feature's code.
    block : int
        Places in a block: no run has features of two; 0: runs may have any.
    ranged : bool
        Whether a run may begin inside a feature; otherwise every feature must fit.

    Returns
    -------
    uint32 array, shape (n_ranges, 4)
        First place, place behind the last, first code, code behind the last.
    """
    offset = layout.feature_offset.astype(np.int64)
    in_block = places // block if block else np.zeros_like(places)
    block_end = offset[np.searchsorted(in_block, in_block, side="right")]
    ranges, begin = [], 0
    while begin < layout.n_codes:
        first = int(np.searchsorted(offset, begin, side="right")) - 1
        end = min(begin + capacity, int(block_end[first]))
        if not ranged:
            end = int(offset[np.searchsorted(offset, end, side="right") - 1])
        if end <= begin:
            raise ValueError(f"a feature has more than {capacity} codes")
        last = int(np.searchsorted(offset, end, side="left")) - 1
        ranges.append((places[first], places[last] + 1, begin, end))
        begin = end
    return np.array(ranges, np.uint32)


class Histogram:
    """Builds the histograms of one level after another."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build("histogram", self._build)

    def _build(self, row: Variant) -> Program:
        ws = self.ws
        cpu, ranged = row.name == "cpu", row.name == "bin_range_passes"
        self.partials = not row.int64_atomics
        page, capacity = ws.rows_page, ws.histogram_capacity
        block = 0 if cpu else page.block_codes
        ranges = code_ranges(ws.layout, capacity, ws.places, block, ranged=ranged)
        self.n_ranges = len(ranges)
        self.ranges = ws.device.upload(ranges)
        self.place_offset = ws.device.upload(ws.in_row_order(ws.layout.feature_offset[:-1]))
        self.fullest = ws.device.upload(ws.in_row_order(ws.layout.fullest), ws.codes.dtype)
        most = int((ranges[:, 3] - ranges[:, 2]).max())
        copies = 1
        while copies < _MOST_COPIES and 2 * copies * most <= capacity:
            copies *= 2
        cells = next((n for n in _CELLS if copies * most <= n <= capacity), capacity)
        # a CPU's compiler takes minutes to unroll the atomics, which are a GPU's choice
        unroll = cpu or ws.device.caps.kind != "cpu"
        return ws.device.build(
            "histogram",
            wg_size=1 if cpu else ws.wg_size(row),
            cpu=cpu,
            partials=self.partials,
            ranged=ranged,
            cells=cells,
            copies=copies,
            chunk=row.params["chunk"],
            block=page.block_codes,
            split_blocks=len(ranges) > page.n_blocks,
            unroll=unroll,
            # with partial histograms AMD's gfx906 would spill
            in_registers=unroll and not self.partials,
        )

    def level(self, depth: int) -> list[Launch]:
        """Return the launches that fill the pool slots of a level's nodes built from rows."""
        ws, groups = self.ws, self.ws.histogram_groups
        rows = ws["odd_rows" if depth % 2 else "even_rows"]
        n_codes = np.uint32(ws.layout.n_codes)
        build = self.program.bind(
            "histogram", (self.n_ranges, groups), np.uint32(depth),
            *ws.rows_page.block_strides(), n_codes, ws["levels"], ws["nodes"],
            ws["hist_task_begin"], rows, ws.codes, ws["quanta"], ws["high"], ws["scale"],
            self.place_offset, self.fullest, self.ranges, ws["pool"], ws["partial"],
        )  # fmt: skip
        if not self.partials:
            return [build]
        pieces = max(1, min(64, ws.layout.n_codes // 512))
        add_up = self.program.bind(
            "reduce", (pieces, groups), np.uint32(depth), n_codes, np.uint32(groups),
            ws["levels"], ws["nodes"], ws["hist_task_begin"], ws["pool"], ws["partial"],
        )  # fmt: skip
        return [build, add_up]
