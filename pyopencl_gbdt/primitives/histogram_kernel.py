"""The histogram's kernels: sum gradients and Hessians per node, feature and code.

``choose_histogram`` takes the variant for a device and data set; sizes that depend on it follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import (
    Capabilities,
    Device,
    DeviceArray,
    Launch,
    Program,
    Variant,
    build_variant,
)
from pyopencl_gbdt.device.arena import uploaded
from pyopencl_gbdt.device.variants import LOCAL_HEADROOM, choose, fallbacks
from pyopencl_gbdt.primitives.checks import ceil_div
from pyopencl_gbdt.primitives.histogram_local import (
    CodeLayout,
    build_local,
    build_private,
    code_ranges,
)
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, JointSums, PackedCodes

#: Work-groups of a histogram launch, as a multiple of those that a device runs at a time; where a
#: range has many groups, the first of these that leaves fewest idle in the last wave. H200, 1 M x
#: 200, 80 classes: 82 groups for each of 13 ranges are 4.04 waves; with 142, or 6.99 waves, a round
#: took 4 % less. 50 k x 3072, 192 ranges: 11 groups took 2 % longer than 6; each had 2 or 3 tasks.
_WAVES = range(4, 9)
_MANY_GROUPS = 32
#: Bytes of a code's local accumulators: 32 bits for the gradient, 32 for the Hessian.
_BYTES_PER_CODE = 8
#: Bytes of local memory for a code of all features of a block: a bank for each of 32 sums.
BYTES_OF_BANKS = 128
#: Most codes of a feature that kernels are built for, with a bank for each sum of a block.
_CODES_OF_BANKS = (32, 64, 128, 256, 272)
#: Blocks of all rows from which on work-groups sum pairs of them. H200, CUDA, ms a round with and
#: without pairs: 11 M x 28 1.65 and 1.69, 4 M 0.736 and 0.755, 1 M 0.361 and 0.360, 10 k x 20 0.247
#: and 0.215; 1 M x 200, 80 classes, 50.3 and 53.5.
_LEAST_PAIRED = 4_000_000
#: Most features of a block.
_BLOCK_FEATURES = 16
#: The variant with a bank of local memory for each sum of a block.
OWN_BANKS = "own_banks"
#: The variant for features with any number of codes: work-groups sum ranges of codes.
ANY_CODES = "bin_range_passes"
#: Number of rows ahead for which a CPU's kernel prefetches codes.
_AHEAD = 24
#: Codes of which a CPU's work-group has sums of its own: fewer have room in the first cache as they
#: are. Each takes 16 bytes of local memory.
_LEAST_PAIRS, _MOST_PAIRS = 2048, 8192


def choose_histogram(caps: Capabilities, most_codes: int, name: str = "auto") -> Variant:
    """Return the variant for features of at most ``most_codes`` codes.

    If the local accumulators of the device's variants hold fewer, this is ``ANY_CODES``.

    Raises
    ------
    ParameterError
        If ``name`` is unknown, or the device lacks what it needs.
    """
    variants = fallbacks("histogram", caps) if name == "auto" else [choose("histogram", caps, name)]
    for variant in variants:
        if can_hold(variant, caps, most_codes):
            return variant
    return choose("histogram", caps, ANY_CODES)


def can_hold(variant: Variant, caps: Capabilities, most_codes: int) -> bool:
    """Tell whether a variant can sum a feature of ``most_codes`` codes."""
    return variant.name in ("cpu", ANY_CODES) or most_codes <= local_codes(variant, caps)


def local_codes(variant: Variant, caps: Capabilities) -> int:
    """Return the number of codes whose sums fit in a work-group's local memory.

    These are codes of one feature, if a block's other features can have as many beside them.
    """
    each = _BYTES_PER_CODE * (2 if variant.name == "private" else 1)  # 64-bit sums in "private"
    if variant.name == OWN_BANKS:
        each = BYTES_OF_BANKS
    return min((caps.local_bytes - LOCAL_HEADROOM) // each, variant.params["codes"])


def capacity_of(variant: Variant, caps: Capabilities) -> int:
    """Return the number of codes that a work-group sums at a time."""
    if variant.name == "cpu":  # its sums are in global memory
        return variant.params["codes"]
    codes = local_codes(variant, caps)
    return codes * _BLOCK_FEATURES if variant.name == OWN_BANKS else codes


def sums_pairs(
    variant: Variant, caps: Capabilities, order: BlockOrder, n_rows: int, most_codes: int
) -> bool:
    """Tell whether a work-group sums a pair of blocks at a time: it reads rows once for both.

    Two such groups have to find room on a compute unit.
    """
    few = n_rows * order.n_blocks < _LEAST_PAIRED
    if variant.name != OWN_BANKS or order.together != 2 or few:
        return False
    each = 2 * codes_of_banks(variant, caps, most_codes) * BYTES_OF_BANKS + LOCAL_HEADROOM
    return 2 * each <= caps.unit_local_bytes


def codes_of_banks(variant: Variant, caps: Capabilities, most_codes: int) -> int:
    """Return for how many codes of a feature the kernel with own banks is built."""
    capacity = local_codes(variant, caps)
    return next((n for n in _CODES_OF_BANKS if most_codes <= n <= capacity), capacity)


def work_groups(
    variant: Variant, caps: Capabilities, order: BlockOrder, n_rows: int, most_codes: int
) -> int:
    """Return the number of work-groups that share the tasks of a level, for each range of codes.

    With many ranges, few work-groups for each are enough to keep the device busy.
    """
    pairs = sums_pairs(variant, caps, order, n_rows, most_codes)
    return shared_groups(variant, caps, order.n_blocks // 2 if pairs else order.n_used)


def shared_groups(variant: Variant, caps: Capabilities, n_ranges: int) -> int:
    """Return the number of work-groups for each of some ranges; ``work_groups`` says more."""
    groups = caps.compute_units * variant.params["groups_per_unit"]
    if variant.name == "cpu":
        return groups
    least = min(groups, -(-_WAVES[0] * groups // n_ranges))
    # elsewhere each group has sums of its own, which take memory and time
    if least == groups or least < _MANY_GROUPS or not variant.atomic_sums:
        return least
    waves = max(_WAVES, key=lambda waves: waves * groups // n_ranges * n_ranges / waves)
    return waves * groups // n_ranges


def in_row_order(order: BlockOrder, values: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Return one value per feature in the order of a row's codes, with 0 for padding."""
    ordered = np.zeros(order.row_codes, np.uint32)
    ordered[order.places] = values
    return ordered


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
    variant : Variant or callable
        As for ``build_variant``.
    wg_size : int, default 0
        Work-items of a work-group; 0 takes the variant's size.
    skips_unsampled : bool, default False
        Whether the kernel skips rows that were not sampled, if the variant can.
    adds : bool, default False
        Whether sums are added to those of other pages or devices.
    joint : JointSums, optional
        How histograms of joint codes become those of features; for the variant with own banks.
    opened : bool, default False
        Whether nodes need the histograms of some features alone, if the variant can leave others
        out; see ``opens``.

    Attributes
    ----------
    variant : Variant
        The variant that was built.
    partials : bool
        Whether each work-group writes sums of its own, which another launch adds up.
    adds_words : bool
        Whether rows of large nodes are added by words: a level's launch takes ``windows``, a
        uint32 array of ``n_ranges`` that is 0 before the first one.
    """

    adds_words = False

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
        lasting: bool = False,
    ) -> None:
        self.device, self.page, self.layout, self._joint = device, page, layout, joint
        self._opened, self._lasting = opened, lasting
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
        where = (layout, capacity, order.places, order.block_codes)
        ranges = block_ranges(*where) if cpu else code_ranges(*where, ranged=ranged)
        self.n_ranges = self._groups_in_x = len(ranges)
        self._begins = ranges[:, 2]
        self._numbers: dict[str, int | np.uint64 | DeviceArray] = {}
        if copied:
            self._numbers["copy_codes"] = np.uint64(self.page.copy_codes)
            if variant.name not in ("cpu", OWN_BANKS):
                self._numbers["row_blocks"] = order.n_blocks
        offset = in_row_order(order, layout.feature_offset[:-1])
        fullest = in_row_order(order, layout.fullest).astype(order.dtype)
        self.ranges, self.place_offset, self.fullest = uploaded(device, (ranges, offset, fullest))
        if self.page.fullest is not None:
            self.fullest = self.page.fullest
        most = int((ranges[:, 3] - ranges[:, 2]).max())
        if cpu:
            return self._build_cpu(variant, most, int((ranges[:, 1] - ranges[:, 0]).max()))
        if variant.name == OWN_BANKS:
            return self._build_banks(variant)
        shared: dict[str, Any] = {
            "wg_size": self._size(variant), "block": order.block_codes, "adds": self._adds,
            "copied": copied,
        }  # fmt: skip
        if variant.name == "private":
            return build_private(device, variant, capacity, most, **shared)
        shared["split_blocks"] = self.n_ranges > order.n_used
        return build_local(device, variant, capacity, most, ranged=ranged, **shared)

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
        self.adds_words = self._lasting and own_sums and byte and self.page.n_copies == 1
        self.adds_words &= not self._opened
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
            words=self.adds_words,
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
            ends = [in_row_order(order, one) for one in (begins[:-1], begins[1:])]
            runs = np.column_stack(ends)
            tables = uploaded(self.device, (runs, self._joint.entries))
            self._numbers |= dict(zip(("sum_begin", "sums_of"), tables, strict=True))
        if pair:
            self._groups_in_x = ceil_div(self.n_ranges, 2)
            program.large_local = 2 * codes * BYTES_OF_BANKS
        return program

    @property
    def opens(self) -> bool:
        """Whether a level's launch takes the arrays that tell which features nodes need."""
        return self._opened and self.variant.name == "cpu"

    @property
    def groups(self) -> int:
        """Number of work-groups that share the tasks of a level, for each range of codes."""
        most_codes = int(np.diff(self.layout.feature_offset).max())
        caps, order = self.device.caps, self.page.order
        return work_groups(self.variant, caps, order, self._n_rows, most_codes)

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
            How many features need histograms, from the first one on; 0 for all.
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
            **page.block_arguments,
            **arrays,
        )
        if not self.partials:
            return [build]
        return [build, add_up(self.device, self.program, self.n_codes, groups, depth, arrays)]
