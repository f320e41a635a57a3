"""Gradient sums per node, feature and bin, in the variant that the device gets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch, Program, Variant
from pyopencl_gbdt.quantized import Layout
from pyopencl_gbdt.workspace import Workspace

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
        Places in a block: no run has features of two.
    ranged : bool
        Whether a run may begin inside a feature; otherwise every feature must fit.

    Returns
    -------
    uint32 array, shape (n_ranges, 4)
        First place, place behind the last, first code, code behind the last.
    """
    offset = layout.feature_offset.astype(np.int64)
    in_block = places // block
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


def block_ranges(
    layout: Layout, capacity: int, places: npt.NDArray[np.int64], block: int
) -> npt.NDArray[np.uint32]:
    """Cut the codes into runs of whole blocks, of at most ``capacity`` where a block is less.

    Parameters and result are those of ``code_ranges``.
    """
    offset = layout.feature_offset.astype(np.int64)
    firsts = np.flatnonzero(np.diff(places // block, prepend=-1))
    bounds = np.append(firsts, places.size)
    ranges, at = [], 0
    while at < firsts.size:
        fits = int(np.searchsorted(offset[bounds], offset[bounds[at]] + capacity, side="right"))
        behind = max(at + 1, fits - 1)
        first, last = bounds[at], bounds[behind] - 1
        ranges.append((places[first], places[last] + 1, offset[first], offset[last + 1]))
        at = behind
    return np.array(ranges, np.uint32)


class Histogram:
    """Builds the histograms of one level after another."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build("histogram", self._build)

    def _build(self, row: Variant) -> Program:
        ws, page = self.ws, self.ws.rows_page
        cpu, ranged = row.name == "cpu", row.name == "bin_range_passes"
        self.partials = not row.int64_atomics
        capacity = ws.histogram_capacity
        if cpu and page.by_block:
            capacity = 1  # blocks have padding, which ranges of several would count as features
        where = (ws.layout, capacity, ws.places, page.block_codes)
        ranges = block_ranges(*where) if cpu else code_ranges(*where, ranged=ranged)
        self.n_ranges = len(ranges)
        self.ranges = ws.device.upload(ranges)
        self.place_offset = ws.device.upload(ws.in_row_order(ws.layout.feature_offset[:-1]))
        self.fullest = ws.device.upload(ws.in_row_order(ws.layout.fullest), ws.codes.dtype)
        chunk = row.params["chunk"]
        if cpu:
            caps = ws.device.caps  # a simulator has no such instruction
            ahead = 24 if caps.kind == "cpu" and not caps.is_simulator else 0
            return ws.device.build(
                "histogram_cpu",
                wg_size=1,
                chunk=chunk,
                block=page.block_codes,
                places=4,
                prefetch=ahead,
                sampled=ws.params.samples_rows and not ws.lists_drawn,
            )
        most = int((ranges[:, 3] - ranges[:, 2]).max())
        if row.name == "private":
            return self._build_private(row, capacity, most)
        copies = 1
        while copies < _MOST_COPIES and 2 * copies * most <= capacity:
            copies *= 2
        cells = next((n for n in _CELLS if copies * most <= n <= capacity), capacity)
        # a CPU's compiler takes minutes to unroll the atomics, which are a GPU's choice
        unroll = ws.device.caps.kind != "cpu"
        return ws.device.build(
            "histogram",
            wg_size=ws.wg_size(row),
            partials=self.partials,
            ranged=ranged,
            cells=cells,
            copies=copies,
            chunk=chunk,
            block=page.block_codes,
            split_blocks=len(ranges) > page.n_blocks,
            unroll=unroll,
            # with partial histograms AMD's gfx906 would spill
            in_registers=unroll and not self.partials,
        )

    def _build_private(self, row: Variant, capacity: int, most: int) -> Program:
        """Build for as many copies as work-items and local memory allow."""
        ws, block = self.ws, self.ws.rows_page.block_codes
        codes = next((n for n in (256, 512, 1024) if most <= n <= capacity), capacity)
        copies = max(1, min(ws.wg_size(row) // (2 * block), capacity // codes))
        return ws.device.build(
            "histogram_private",
            wg_size=ws.wg_size(row),
            codes=codes,
            copies=copies,
            chunk=row.params["chunk"],
            block=block,
        )

    def level(self, depth: int) -> list[Launch]:
        """Return the launches that fill the pool slots of a level's nodes built from rows."""
        ws, groups = self.ws, self.ws.histogram_groups
        n_codes = np.uint32(ws.layout.n_codes)
        build = self.program.bind(
            "histogram", (self.n_ranges, groups), np.uint32(depth),
            *ws.rows_page.block_strides(), n_codes, np.uint32(ws.n_rows), ws["levels"],
            ws["nodes"], ws["hist_task_begin"], ws["even_rows"], ws["odd_rows"], ws.codes,
            ws["quanta"], ws["high"], ws["scale"], self.place_offset, self.fullest, self.ranges,
            ws["pool"], ws["partial"],
        )  # fmt: skip
        if not self.partials:
            return [build]
        cells = 512 if ws.device.caps.kind == "cpu" else 128
        pieces = max(1, min(64, ws.layout.n_codes // cells))
        add_up = self.program.bind(
            "reduce", (pieces, groups), np.uint32(depth), n_codes, np.uint32(groups),
            ws["levels"], ws["nodes"], ws["hist_task_begin"], ws["pool"], ws["partial"],
        )  # fmt: skip
        return [build, add_up]
