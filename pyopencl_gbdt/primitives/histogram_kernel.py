"""The histogram's kernels: sum gradients and Hessians per node, feature and code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Program, Variant, build_variant
from pyopencl_gbdt.device.arena import uploaded
from pyopencl_gbdt.device.variants import LOCAL_HEADROOM
from pyopencl_gbdt.primitives.checks import ceil_div
from pyopencl_gbdt.primitives.histogram_plan import (
    ANY_CODES,
    BYTES_OF_BANKS,
    OWN_BANKS,
    JointSums,
    capacity_of,
    codes_of_banks,
    sums_pairs,
    work_groups,
)
from pyopencl_gbdt.primitives.packed_codes import PackedCodes

#: Numbers of local accumulators that kernels are built for; few sizes need few programs.
CELLS = (1024, 2048, 3072, 4352)
#: Most copies of a code's accumulator in local memory.
_MOST_COPIES = 8
#: Number of rows ahead for which a CPU's kernel prefetches codes.
_AHEAD = 24
#: Codes of which a CPU's work-group has sums of its own: fewer have room in the first cache as they
#: are. Each takes 16 bytes of local memory.
_LEAST_PAIRS, _MOST_PAIRS = 2048, 8192


class CodeLayout(Protocol):
    """Where each feature's codes lie in a histogram; ``pages.page.Layout`` is one."""

    @property
    def feature_offset(self) -> npt.NDArray[np.uint32]:
        """First code of every feature, then the number of codes; shape (n_features + 1,)."""

    @property
    def fullest(self) -> npt.NDArray[np.uint32]:
        """The code of every feature that histograms may leave out; shape (n_features,)."""


def code_ranges(
    layout: CodeLayout, capacity: int, places: npt.NDArray[np.int64], block: int, *, ranged: bool
) -> npt.NDArray[np.uint32]:
    """Cut the codes of all features into ranges of at most ``capacity``, each in one block.

    Parameters
    ----------
    layout : CodeLayout
    capacity : int
        Codes that one work-group's accumulators hold.
    places : int64 array, shape (n_features,)
        Index of each feature's code in a row of packed codes.
    block : int
        Codes in a block; no range has features of two blocks.
    ranged : bool
        Whether a range may begin inside a feature; otherwise every feature must fit.

    Returns
    -------
    uint32 array, shape (n_ranges, 4)
        First place, last place + 1, first code, last code + 1.
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
    """Cut the codes into ranges of whole blocks.

    A range has at most ``capacity`` codes, unless a single block has more.

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


def add_up(
    device: Device,
    program: Program,
    n_codes: int,
    groups: int,
    depth: int,
    arrays: Mapping[str, Any],
) -> Launch:
    """Return the launch that adds up the partial histograms of work-groups."""
    cells = 128 if device.caps.hides_latency else 512
    names = ("levels", "nodes", "task_begin", "pool", "partial")
    return program.bind(
        "reduce",
        (max(1, min(64, n_codes // cells)), groups),
        depth=depth,
        n_codes=n_codes,
        n_groups=groups,
        **{name: arrays[name] for name in names},
    )


class HistogramKernel:
    """Computes the histograms of a level of nodes.

    Parameters
    ----------
    device : Device
    page : PackedCodes
    layout : CodeLayout
    variant : Variant or callable
        As for ``build_variant``.
    wg_size : int, default 0
        Work-items of a work-group; 0 takes the variant's size.
    skips_unsampled : bool, default False
        Whether the kernel skips rows that were not sampled, if the variant can.
    adds : bool, default False
        Whether sums are added to those of other pages or devices.
    joint : JointSums, optional
        Of joint codes, whose histogram becomes that of features; for the variant with own banks.
    opened : bool, default False
        Whether nodes need the histograms of some features alone, if the variant can leave others
        out; see ``opens``.

    Attributes
    ----------
    variant : Variant
        The variant that was built.
    partials : bool
        Whether each work-group writes sums of its own, which another launch adds up.
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
        adds: bool = False,
        joint: JointSums | None = None,
        opened: bool = False,
    ) -> None:
        self.device, self.page, self.layout, self._joint = device, page, layout, joint
        self._opened = opened
        self._wg_size, self._skips, self._adds = wg_size, skips_unsampled, adds
        self._n_rows = page.codes.shape[1]
        self.n_features = int(layout.fullest.size)
        self.n_codes = int(layout.feature_offset[-1]) if joint is None else joint.n_codes
        if isinstance(variant, Variant):
            self.variant, self.program = variant, self._build(variant)
            self.program.kernel = "histogram"
        else:
            self.variant, self.program = build_variant(device, "histogram", variant, self._build)

    def _build(self, variant: Variant) -> Program:
        device, order, layout = self.device, self.page.order, self.layout
        cpu, ranged = variant.name == "cpu", variant.name == ANY_CODES
        copied = self.page.n_copies > 1
        self.partials = not variant.atomic_sums
        capacity = capacity_of(variant, device.caps)
        if cpu and (order.together < order.n_blocks or order.block_features < order.block_codes):
            capacity = 1  # one block a range: others lie elsewhere, or behind padding
        where = (layout, capacity, order.places(), order.block_codes)
        ranges = block_ranges(*where) if cpu else code_ranges(*where, ranged=ranged)
        self.n_ranges = self._groups_in_x = len(ranges)
        self._begins = ranges[:, 2]
        self._numbers: dict[str, int | np.uint64 | DeviceArray] = {}
        if copied:
            self._numbers["copy_codes"] = np.uint64(self.page.copy_codes)
            if variant.name not in ("cpu", OWN_BANKS):
                self._numbers["row_blocks"] = order.n_blocks
        offset = order.in_row_order(layout.feature_offset[:-1])
        fullest = order.in_row_order(layout.fullest).astype(order.dtype)
        self.ranges, self.place_offset, self.fullest = uploaded(device, (ranges, offset, fullest))
        if self.page.fullest is not None:
            self.fullest = self.page.fullest
        most = int((ranges[:, 3] - ranges[:, 2]).max())
        if cpu:
            return self._build_cpu(variant, most, int((ranges[:, 1] - ranges[:, 0]).max()))
        if variant.name == OWN_BANKS:
            return self._build_banks(variant)
        if variant.name == "private":
            return self._build_private(variant, capacity, most)
        return self._build_local(variant, capacity, most, ranged=ranged)

    def _size(self, variant: Variant) -> int:
        return self._wg_size or variant.params["wg_size"]

    def _build_cpu(self, variant: Variant, most: int, most_places: int) -> Program:
        byte = self.page.code_bytes == 1  # a feature's sums begin at a multiple of 256
        own_sums = most > _LEAST_PAIRS and not self._skips
        own_sums &= (256 * most_places if byte else most) <= _MOST_PAIRS
        own_sums &= self.device.caps.local_bytes >= 16 * _MOST_PAIRS + LOCAL_HEADROOM
        if self._opened:
            order = self.page.order
            self._numbers |= {"block_features": order.block_features, "row_codes": order.row_codes}
        return self.device.build(
            "histogram_cpu",
            wg_size=1,
            chunk=variant.params["chunk"],
            block=self.page.order.block_codes,
            places=4,
            prefetch=_AHEAD if self.device.caps.prefetches else 0,
            sampled=self._skips,
            pairs=_MOST_PAIRS if own_sums else 0,
            adds=self._adds,
            copied=self.page.n_copies > 1,
            opened=self._opened,
        )

    def _build_local(self, variant: Variant, capacity: int, most: int, *, ranged: bool) -> Program:
        """Build with accumulators in local memory, in several copies if there is room."""
        device, order = self.device, self.page.order
        copies = 1
        while copies < _MOST_COPIES and 2 * copies * most <= capacity:
            copies *= 2
        cells = next((n for n in CELLS if copies * most <= n <= capacity), capacity)
        unroll = device.caps.unrolls_atomics
        return device.build(
            "histogram",
            wg_size=self._size(variant),
            ranged=ranged,
            cells=cells,
            copies=copies,
            chunk=variant.params["chunk"],
            block=order.block_codes,
            split_blocks=self.n_ranges > order.n_used,
            unroll=unroll,
            in_registers=unroll,
            adds=self._adds,
            copied=self.page.n_copies > 1,
        )

    def _build_banks(self, variant: Variant) -> Program:
        """Build with a bank for each sum of a block; a block's features share their capacity."""
        caps, most = self.device.caps, int(np.diff(self.layout.feature_offset).max())
        order, codes = self.page.order, codes_of_banks(variant, caps, most)
        pair = sums_pairs(variant, caps, order, self._n_rows, most)
        program = self.device.build(
            "histogram_banks",
            wg_size=self._size(variant),
            codes=codes,
            chunk=variant.params["chunk"],
            block=order.block_codes,
            pair=pair,
            adds=self._adds,
            copied=self.page.n_copies > 1,
            joint=self._joint is not None,
            dot=caps.warp_words,
        )
        self._numbers["n_ranges"] = self.n_ranges
        if self._joint is not None:
            begins = self._joint.begins
            runs = np.column_stack([order.in_row_order(ends) for ends in (begins[:-1], begins[1:])])
            tables = uploaded(self.device, (runs, self._joint.entries))
            self._numbers |= dict(zip(("sum_begin", "sums_of"), tables, strict=True))
        if pair:
            self._groups_in_x = ceil_div(self.n_ranges, 2)
            program.large_local = 2 * codes * BYTES_OF_BANKS
        return program

    def _build_private(self, variant: Variant, capacity: int, most: int) -> Program:
        """Build with as many copies of the accumulators as work-items and local memory allow."""
        block, wg_size = self.page.order.block_codes, self._size(variant)
        codes = next((n for n in (256, 512, 1024) if most <= n <= capacity), capacity)
        copies = max(1, min(wg_size // (2 * block), capacity // codes))
        return self.device.build(
            "histogram_private",
            wg_size=wg_size,
            codes=codes,
            copies=copies,
            chunk=variant.params["chunk"],
            block=block,
            adds=self._adds,
            copied=self.page.n_copies > 1,
        )

    @property
    def opens(self) -> bool:
        """Whether a level's launch takes the arrays that tell which features nodes need."""
        return self._opened and self.variant.name == "cpu"

    @property
    def groups(self) -> int:
        """Number of work-groups that share the tasks of a level, for each range of codes."""
        most_codes = int(np.diff(self.layout.feature_offset).max())
        return work_groups(
            self.variant, self.device.caps, self.n_features, self._n_rows, most_codes
        )

    def level(
        self, page: PackedCodes, *, groups: int, depth: int, n_first: int = 0, **arrays: Any
    ) -> list[Launch]:
        """Return the launches that compute histograms of a level's nodes from a page's rows.

        Parameters
        ----------
        page : PackedCodes
            A page of the same features as the first one.
        groups : int
            Work-groups for each range of codes; ``partial`` must have room for them.
        depth : int
            The level's depth. Rows of even levels are listed in ``even_rows``.
        n_first : int, default 0
            Of how many features, from the first one on, histograms are needed; 0: of all.
        **arrays
            ``n_rows``, ``first_row`` and the kernel's arrays: ``levels``, ``nodes``,
            ``task_begin``, ``even_rows``, ``odd_rows``, ``quanta``, ``high_words``, ``scale``,
            ``pool`` and ``partial``; templates/primitives/histogram.cl.mako describes each.
        """
        numbers, in_x = self._numbers, self._groups_in_x
        if n_first:
            n_ranges = int(np.searchsorted(self._begins, self.layout.feature_offset[n_first]))
            in_x = ceil_div(n_ranges, ceil_div(self.n_ranges, in_x))
            numbers = {**numbers, **({"n_ranges": n_ranges} if "n_ranges" in numbers else {})}
        build = self.program.bind(
            "histogram",
            (in_x, groups),
            depth=depth,
            n_codes=self.n_codes,
            **numbers,
            place_offset=self.place_offset,
            fullest=self.fullest,
            ranges=self.ranges,
            **page.block_arguments(),
            **arrays,
        )
        if not self.partials:
            return [build]
        return [build, add_up(self.device, self.program, self.n_codes, groups, depth, arrays)]
