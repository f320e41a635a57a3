"""Gradient sums per node, feature and bin, of a fit's levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Launch, Variant
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.switches import JOINT_CODES
from pyopencl_gbdt.dtypes import SUM
from pyopencl_gbdt.errors import KernelLaunchError
from pyopencl_gbdt.fit.page import FitFeatures, FitPage
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import LISTS, Ways
from pyopencl_gbdt.growth.joint_columns import JointBlocks, joins_blocks, order_of_places
from pyopencl_gbdt.growth.level_sums import LevelSums, NewSlots, OfAllFeatures
from pyopencl_gbdt.primitives.histogram_kernel import (
    OWN_BANKS,
    HistogramKernel,
    shared_groups,
    work_groups,
)
from pyopencl_gbdt.primitives.packed_codes import JoinedCodes, PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes
from pyopencl_gbdt.primitives.tiled_histogram_kernel import (
    TiledHistogramKernel,
    cell_ranges,
    range_capacity,
)


def reads_joint(ways: Ways) -> bool:
    """Whether the histograms of a fit read joint codes."""
    return ways.facts.pages.n_joined > 0 and joins_blocks(ways.facts)


def _of_joint(variant: Variant, ways: Ways) -> Variant:
    """Return the variant of the histogram with the work-groups that joint codes take."""
    if not reads_joint(ways):
        return variant
    own = ways.variant("joint_blocks").params
    groups = {"wg_size": own["histogram_size"], "groups_per_unit": own["histogram_groups"]}
    return replace(variant, params={**variant.params, **groups})


def histogram_groups(rows: FitRows, features: FitFeatures, ways: Ways) -> int:
    """Return the work-groups that share the histogram tasks of a level, for each range of codes."""
    layout, caps, variant = features.layout, ways.device.caps, ways.variant("histogram")
    if features.tiled is not None:
        capacity = range_capacity(variant, caps)
        ranges = cell_ranges(layout.feature_offset, rows.tiles, capacity)
        return shared_groups(variant, caps, len(ranges))
    if reads_joint(ways):
        layout, order = features.joined.layout(layout), order_of_places(features.joined, caps)
    else:
        assert isinstance(rows.codes, PackedCodes)
        order = rows.codes.order
    return work_groups(_of_joint(variant, ways), caps, order, rows.n_rows, layout.most_codes)


class Histogram:
    """Builds the histograms of one level after another.

    ``opened`` tells whether nodes need those of some features alone, see ``OpenColumns``.
    """

    def __init__(self, parts: FitParts, *, opened: bool = False) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        self.opened = opened
        arena = self.arena
        self.joint = JointBlocks(parts) if reads_joint(self.ways) else None
        if self.nodes.params.histogram != "auto":  # no other variant is tried
            self.kernel = self._built(self.ways.variant("histogram"))
        else:
            for attempt in self.ways.attempts("histogram"):
                if self.joint is not None and not reads_joint(self.ways):
                    self._reads_own_codes()
                with attempt as variant:
                    self.kernel = self._built(variant)
                    self.ways.built(attempt, self.kernel.program)
        n_codes, partials = (
            self.features.layout.n_codes,
            not self.ways.variant("histogram").atomic_sums,
        )
        self.groups = histogram_groups(self.rows, self.features, self.ways)
        if isinstance(self.kernel, HistogramKernel) and self.kernel.opens:
            from pyopencl_gbdt.growth.open_columns import open_places

            open_places(parts, self.groups, self.kernel.page.order.row_codes)
        if isinstance(self.kernel, HistogramKernel) and self.kernel.adds_words:
            arena.array("window_rows", self.kernel.n_ranges, np.uint32, zeros)
        groups, cells = (self.groups, n_codes) if partials else (1, 1)
        arena.array("pool", (self.nodes.slots, n_codes, 2), SUM)
        arena.array("partial", (groups, 2, cells, 2), SUM)

    def _reads_own_codes(self) -> None:
        """Read the columns' own codes, as the driver fails to build what reads joint ones.

        Raises
        ------
        KernelLaunchError
            If these are all that is stored: the fit starts again, and quantises its data again.
        """
        variant = self.ways.variant("histogram").name
        if isinstance(self.rows.codes, JoinedCodes):
            raise KernelLaunchError(
                f"joint codes are all that is stored, and {variant!r} does not read them; set "
                f"{JOINT_CODES}=off",
                "histogram", OWN_BANKS, variant,
            )  # fmt: skip
        self.joint = None
        self.arena.forget("joint_blocks")

    def _built(self, variant: Variant) -> HistogramKernel | TiledHistogramKernel:
        arena, rows, nodes = self.arena, self.rows, self.nodes
        size, adds = nodes.params.work_group_size, rows.adds_histograms
        if isinstance(rows.codes, TiledCodes):
            return TiledHistogramKernel(
                arena.device,
                rows.codes,
                self.features.layout.feature_offset,
                variant,
                wg_size=size,
                adds=adds,
            )
        if self.joint is not None:
            return HistogramKernel(
                arena.device, self.joint.codes, self.joint.layout, _of_joint(variant, self.ways),
                wg_size=size, adds=adds, joint=self.joint.sums,
            )  # fmt: skip
        assert not isinstance(rows.codes, JoinedCodes)
        skips = nodes.params.leaves_out_rows and not rows.lists_drawn
        return HistogramKernel(
            arena.device, rows.codes, self.features.layout, variant,
            wg_size=size, skips_unsampled=skips, adds=adds, opened=self.opened,
            lasting=self._codes_last(rows.codes),
        )  # fmt: skip

    def _codes_last(self, codes: PackedCodes) -> bool:
        """Tell whether all rows have one page, whose codes stay as they are for the whole fit."""
        rows = self.rows  # others gather rows, or share a device with other pages
        one_page = type(rows) is FitRows and len(rows.page_rows) == 1
        written = self.ways.facts.pages.has_statistics  # round by round
        return one_page and not written and codes.fullest is None

    def level(
        self, depth: int, sums: LevelSums | None = None, opened: dict[str, Any] | None = None
    ) -> list[Action]:
        """Return the actions that fill the pool slots of a level's nodes built from rows.

        ``sums`` are those of the level over a team; None is of all features. ``opened`` are the
        arguments that tell which features are open.
        """
        rows, nodes = self.rows, self.nodes
        high = ("high",) if rows.has_high else ()
        reads = (CODES, "quanta", *high, *rows.listed_rows(depth))
        lists = () if rows.leaves_have_lists else LISTS
        drops = ("quanta", *high, *lists) if depth + 1 == nodes.n_levels else ()
        opens = isinstance(self.kernel, HistogramKernel) and self.kernel.opens
        more = {**opened, **self.arena.arguments("open_places")} if opened and opens else {}
        pages = [self._page(depth, page, more) for page in rows.pages]
        picked = nodes.policy.picks_leaves and (depth > 0 or rows.lists_drawn)
        updates = LISTS if picked else ()
        built = rows.pagewise(pages, reads, drops=drops, updates=updates)
        done = rows.all_rows_done()
        if rows.team.size == 1:
            return [*built, *done]
        new = nodes.fixed_slots(depth)
        if new is not None:
            return [*built, *done, *rows.team.sum(self.arena["pool"], new)]
        sums = sums or OfAllFeatures(self.arena, rows.team, self.features.layout, depth)
        early = sums.levels
        summed = sums.histograms(NewSlots(early, depth))
        return [*built, *done, early, *summed] if done else [early, *built, *summed]

    def _most_tasks(self, depth: int) -> int:
        """Return the most tasks of a level of one device: other groups would have nothing to do."""
        nodes, parts = self.nodes, 2 if depth else 1  # of siblings, the smaller one has tasks
        chunk = self.ways.variant("histogram").params["chunk"]
        rows = nodes.n_trees * self.rows.n_rows // parts
        return rows // chunk + -(-nodes.level_capacity(depth) // parts)

    def _page(self, depth: int, page: FitPage, more: dict[str, Any]) -> list[Launch]:
        codes: Any = page.codes if self.joint is None else self.joint.codes  # of the kernel's kind
        of_rows = page.part.arguments("even_rows", "odd_rows", "quanta", "scale", "pool", "partial")
        arrays: dict[str, Any] = {**page.arguments("levels", "nodes"), **of_rows}
        if isinstance(self.kernel, HistogramKernel) and self.kernel.adds_words:
            arrays["windows"] = self.arena["window_rows"]
        if self.features.most_at_steps:
            arrays["n_first"] = self.features.n_at(depth)
        return self.kernel.level(
            codes,
            groups=min(self.groups, self._most_tasks(depth)),
            depth=depth,
            n_rows=page.part.n_rows,
            first_row=page.first_row,
            task_begin=page["hist_task_begin"],
            high_words=page.part["high"],
            **more,
            **arrays,
        )
