"""Gradient sums per node, feature and bin, in the variant that the device gets."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.cache import cache_key, store_log
from pyopencl_gbdt.errors import KernelBuildError, KernelFallbackWarning
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


#: (device, driver, variant) that did not build in this process: not tried again.
_REFUSED: set[tuple[str, str, str]] = set()


def prepare(ws: Workspace) -> Histogram:
    """Build the kernels of the histogram, of the next variant where a driver fails to.

    Has to come before the workspace is allocated: the variant decides what is planned.

    Raises
    ------
    KernelBuildError
        If no variant builds, or the one that does not was asked for by name.
    """
    caps = ws.device.caps
    if ws.params.histogram == "auto":
        ws.refused |= {name for *of, name in _REFUSED if of == [caps.device_id, caps.driver]}
    while True:
        row = ws.variant("histogram")
        try:
            return Histogram(ws)
        except KernelBuildError as error:
            if ws.params.histogram != "auto" or row.name in ws.refused:
                raise
            ws.refused.add(row.name)
            other = ws.variant("histogram")
            if other.name in ws.refused:
                raise
            _REFUSED.add((caps.device_id, caps.driver, row.name))
            log = store_log(cache_key(caps.label, caps.driver, row.name), str(error))
            kept = f"; the compiler's log is in {log}" if log else ""
            warnings.warn(
                f"histogram: {row.name!r} does not build on {caps.label}, driver {caps.driver}: "
                f"{other.name!r} is used instead, which gives the same model, perhaps later{kept}. "
                f"Please report it with what `pyopencl-gbdt doctor` says",
                KernelFallbackWarning,
                stacklevel=2,
            )


class Histogram:
    """Builds the histograms of one level after another."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.variant, self.capacity = ws.variant("histogram"), ws.histogram_capacity
        self.cpu = self.variant.name == "cpu"
        self.partials = not self.variant.int64_atomics
        ranged = self.variant.name == "bin_range_passes"
        ranges = code_ranges(ws.layout, self.capacity, ws.block_codes, ranged=ranged)
        self.n_ranges = len(ranges)
        self.ranges = ws.device.upload(ranges)
        self.program = ws.device.build(
            "histogram",
            wg_size=1 if self.cpu else ws.params.work_group_size or self.variant.params["wg_size"],
            cpu=self.cpu,
            partials=self.partials,
            ranged=ranged,
            capacity=self.capacity,
            chunk=ws.variant("histogram").params["chunk"],
            block=ws.block_codes,
            one_block=self._in_one_block(ranges),
            # a CPU's compiler takes minutes to unroll the atomics, which are a GPU's choice
            unroll=self.cpu or ws.device.caps.kind != "cpu",
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
