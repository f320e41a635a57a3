"""Gradient sums per node, feature and bin, in the variant that the device gets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch, Program, Variant
from pyopencl_gbdt.workspace import MOST_Y, Layout, Workspace


def code_ranges(
    layout: Layout, capacity: int, block: int, *, ranged: bool
) -> npt.NDArray[np.uint32]:
    """Cut the codes of all features into runs of at most ``capacity``.

    Parameters
    ----------
    layout : Layout
    capacity : int
        Codes that one work-group's accumulators hold.
    block : int
        Features whose codes are loaded at once: runs end between such blocks where they can.
    ranged : bool
        Whether a run may begin inside a feature; otherwise every feature must fit.

    Returns
    -------
    uint32 array, shape (n_ranges, 4)
        First feature, feature behind the last, first code, code behind the last.
    """
    offset = layout.feature_offset.astype(np.int64)
    ranges, begin = [], 0
    while begin < layout.n_codes:
        end = min(begin + capacity, layout.n_codes)
        if not ranged:
            first = int(np.searchsorted(offset, begin, side="right")) - 1
            behind = int(np.searchsorted(offset, end, side="right")) - 1
            if behind < layout.n_features and behind - behind % block > first:
                behind -= behind % block
            end = int(offset[behind])
        if end <= begin:
            raise ValueError(f"a feature has more than {capacity} codes")
        first = int(np.searchsorted(offset, begin, side="right")) - 1
        behind = int(np.searchsorted(offset, end, side="left"))
        ranges.append((first, behind, begin, end))
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
        ranges = code_ranges(ws.layout, ws.histogram_capacity, ws.block_codes, ranged=ranged)
        self.n_ranges = len(ranges)
        self.ranges = ws.device.upload(ranges)
        return ws.device.build(
            "histogram",
            wg_size=1 if cpu else ws.wg_size(row),
            cpu=cpu,
            partials=self.partials,
            ranged=ranged,
            capacity=ws.histogram_capacity,
            chunk=row.params["chunk"],
            block=ws.block_codes,
            one_block=self._in_one_block(ranges),
            # a CPU's compiler takes minutes to unroll the atomics, which are a GPU's choice
            unroll=cpu or ws.device.caps.kind != "cpu",
        )

    def _in_one_block(self, ranges: npt.NDArray[np.uint32]) -> bool:
        """Tell whether offsets can stay in registers: one block of features in every range.

        Partial histograms need the scalar registers themselves: AMD's gfx906 would spill.
        """
        block = self.ws.block_codes
        alone = ranges[:, 0] // block == (ranges[:, 1] - 1) // block
        return bool(alone.all()) and not self.partials

    def level(self, depth: int) -> list[Launch]:
        """Return the launches that fill the pool slots of a level's nodes built from rows."""
        ws, groups = self.ws, self.ws.histogram_groups
        rows = ws["odd_rows" if depth % 2 else "even_rows"]
        n_codes = np.uint32(ws.layout.n_codes)
        build = self.program.bind(
            "histogram", (self.n_ranges, groups), np.uint32(depth),
            np.uint32(ws.codes.shape[1] // ws.block_codes), n_codes, ws["levels"], ws["nodes"],
            ws["hist_task_begin"], rows, ws.codes, ws["quanta"], ws["gradients"], ws["scale"],
            ws["feature_offset"], self.ranges, ws["pool"], ws["partial"],
        )  # fmt: skip
        pieces = max(1, min(64, ws.layout.n_codes // 512))
        if not self.partials:
            zero = self.program.bind(
                "clear", (pieces, min(ws.level_capacity(depth), MOST_Y)), np.uint32(depth), n_codes,
                ws["levels"], ws["nodes"], ws["hist_task_begin"], ws["pool"],
            )  # fmt: skip
            return [zero, build]
        add_up = self.program.bind(
            "reduce", (pieces, groups), np.uint32(depth), n_codes, np.uint32(groups),
            ws["levels"], ws["nodes"], ws["hist_task_begin"], ws["pool"], ws["partial"],
        )  # fmt: skip
        return [build, add_up]
