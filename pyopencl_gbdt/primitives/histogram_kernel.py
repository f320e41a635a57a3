"""The histogram's kernels: gradient sums per node, feature and code, of packed codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, Launch, Program, Variant, build_variant
from pyopencl_gbdt.primitives.histogram_plan import ANY_CODES, capacity_of, work_groups
from pyopencl_gbdt.primitives.packed_codes import PackedCodes

#: Sizes of local accumulators that kernels are built for, so that few programs serve all data.
_CELLS = (1024, 2048, 3072, 4352)
#: Most accumulators of one code.
_MOST_COPIES = 8
#: Rows that a CPU's kernel looks ahead, so that their codes are in the cache when it comes to them.
_AHEAD = 24


class CodeLayout(Protocol):
    """Where each feature's codes lie in a histogram; ``pages`` has it for data sets."""

    @property
    def feature_offset(self) -> npt.NDArray[np.uint32]:
        """First code of every feature, and behind the last; shape (n_features + 1,)."""

    @property
    def fullest(self) -> npt.NDArray[np.uint32]:
        """The code of every feature that histograms may leave out; shape (n_features,)."""


def code_ranges(
    layout: CodeLayout, capacity: int, places: npt.NDArray[np.int64], block: int, *, ranged: bool
) -> npt.NDArray[np.uint32]:
    """Cut the codes of all features into runs of at most ``capacity``, within blocks.

    Parameters
    ----------
    layout : CodeLayout
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
    while begin < offset[-1]:
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
    layout: CodeLayout, capacity: int, places: npt.NDArray[np.int64], block: int
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


class HistogramKernel:
    """Builds the histograms of one level of nodes after another.

    Parameters
    ----------
    device : Device
    page : PackedCodes
    layout : CodeLayout
    variant : Variant or callable
        Row of the variant table; a callable is asked again where a row does not build, as
        ``build_variant`` does.
    wg_size : int, default 0
        Work-items of a work-group; 0 is the variant's own.
    skips_unsampled : bool, default False
        Whether rows without gradients are looked for and left out, where the variant can.

    Attributes
    ----------
    row : Variant
        What was built.
    partials : bool
        Whether work-groups have sums of their own, which another launch adds up.
    """

    def __init__(
        self,
        device: Device,
        page: PackedCodes,
        layout: CodeLayout,
        variant: Variant | Callable[[], Variant],
        *,
        wg_size: int = 0,
        skips_unsampled: bool = False,
    ) -> None:
        self.device, self.page, self.layout = device, page, layout
        self._wg_size, self._skips = wg_size, skips_unsampled
        self.n_features = int(layout.fullest.size)
        self.n_codes = int(layout.feature_offset[-1])
        self.row, self.program = build_variant(device, "histogram", variant, self._build)

    def _build(self, row: Variant) -> Program:
        device, page, layout = self.device, self.page, self.layout
        cpu, ranged = row.name == "cpu", row.name == ANY_CODES
        self.partials = not row.int64_atomics
        capacity = capacity_of(row, device.caps)
        if cpu and page.by_block:
            capacity = 1  # blocks have padding, which ranges of several would count as features
        where = (layout, capacity, page.places(self.n_features), page.block_codes)
        ranges = block_ranges(*where) if cpu else code_ranges(*where, ranged=ranged)
        self.n_ranges = len(ranges)
        self.ranges = device.upload(ranges)
        self.place_offset = device.upload(page.in_row_order(layout.feature_offset[:-1]))
        self.fullest = device.upload(page.in_row_order(layout.fullest), page.codes.dtype)
        most = int((ranges[:, 3] - ranges[:, 2]).max())
        if cpu:
            return self._build_cpu(row)
        if row.name == "private":
            return self._build_private(row, capacity, most)
        return self._build_local(row, capacity, most, ranged=ranged)

    def _size(self, row: Variant) -> int:
        return self._wg_size or row.params["wg_size"]

    def _build_cpu(self, row: Variant) -> Program:
        return self.device.build(
            "histogram_cpu",
            wg_size=1,
            chunk=row.params["chunk"],
            block=self.page.block_codes,
            places=4,
            prefetch=_AHEAD if self.device.caps.prefetches else 0,
            sampled=self._skips,
        )

    def _build_local(self, row: Variant, capacity: int, most: int, *, ranged: bool) -> Program:
        """Build for accumulators in local memory, in several copies where there is room."""
        device, page = self.device, self.page
        copies = 1
        while copies < _MOST_COPIES and 2 * copies * most <= capacity:
            copies *= 2
        cells = next((n for n in _CELLS if copies * most <= n <= capacity), capacity)
        # a CPU's compiler takes minutes to unroll the atomics, which are a GPU's choice
        unroll = device.caps.side_by_side
        return device.build(
            "histogram",
            wg_size=self._size(row),
            partials=self.partials,
            ranged=ranged,
            cells=cells,
            copies=copies,
            chunk=row.params["chunk"],
            block=page.block_codes,
            split_blocks=self.n_ranges > page.n_blocks,
            unroll=unroll,
            # with partial histograms AMD's gfx906 would spill
            in_registers=unroll and not self.partials,
        )

    def _build_private(self, row: Variant, capacity: int, most: int) -> Program:
        """Build for as many copies as work-items and local memory allow."""
        block, wg_size = self.page.block_codes, self._size(row)
        codes = next((n for n in (256, 512, 1024) if most <= n <= capacity), capacity)
        copies = max(1, min(wg_size // (2 * block), capacity // codes))
        return self.device.build(
            "histogram_private",
            wg_size=wg_size,
            codes=codes,
            copies=copies,
            chunk=row.params["chunk"],
            block=block,
        )

    @property
    def groups(self) -> int:
        """Work-groups that share the tasks of a level, for each range of codes."""
        most_codes = int(np.diff(self.layout.feature_offset).max())
        return work_groups(self.row, self.device.caps, self.n_features, most_codes)

    def level(self, *, groups: int, depth: int, **arrays: Any) -> list[Launch]:
        """Return the launches that fill the histograms of a level's nodes that come from rows.

        Parameters
        ----------
        groups : int
            Work-groups for each range of codes; ``partial`` has room for so many.
        depth : int
            Of the level; rows of even levels are listed in ``even_rows``.
        **arrays
            ``n_rows``, and the kernel's arrays: ``levels``, ``nodes``, ``task_begin``,
            ``even_rows``, ``odd_rows``, ``quanta``, ``high_words``, ``scale``, ``pool``
            and ``partial``; templates/histogram.cl.mako tells of each.
        """
        build = self.program.bind(
            "histogram",
            (self.n_ranges, groups),
            depth=depth,
            n_codes=self.n_codes,
            place_offset=self.place_offset,
            fullest=self.fullest,
            ranges=self.ranges,
            **self.page.block_arguments(),
            **arrays,
        )
        if not self.partials:
            return [build]
        cells = 128 if self.device.caps.side_by_side else 512
        names = ("levels", "nodes", "task_begin", "pool", "partial")
        add_up = self.program.bind(
            "reduce",
            (max(1, min(64, self.n_codes // cells)), groups),
            depth=depth,
            n_codes=self.n_codes,
            n_groups=groups,
            **{name: arrays[name] for name in names},
        )
        return [build, add_up]
