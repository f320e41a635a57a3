"""Gradient sums per node, feature and bin, of a fit's levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyopencl_gbdt.device import Launch, Variant
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.sums import EarlyCopy
from pyopencl_gbdt.dtypes import SUM
from pyopencl_gbdt.fit.features import FitFeatures
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.row_lists import LISTS
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.growth.level_sums import LevelSums, OfAllFeatures
from pyopencl_gbdt.primitives.histogram_kernel import HistogramKernel
from pyopencl_gbdt.primitives.histogram_plan import shared_groups, work_groups
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes
from pyopencl_gbdt.primitives.tiled_histogram_kernel import (
    TiledHistogramKernel,
    cell_ranges,
    range_capacity,
)


@dataclass(frozen=True)
class NewSlots:
    """Returns the pool's slots that a level's nodes built from rows have.

    Roots have the first slots; the smaller children of every level follow.

    Attributes
    ----------
    levels : EarlyCopy
        Of the levels; it goes before the kernels that fill the slots. Then the host knows the slots
        while these kernels run.
    depth : int
    """

    levels: EarlyCopy
    depth: int

    def __call__(self) -> slice:
        levels = self.levels.values()
        n_trees = int(levels["count"][0])
        first, count = (int(levels[name][self.depth]) for name in ("first", "count"))
        if self.depth == 0:
            return slice(0, n_trees)
        begin = (first - n_trees) // 2 + n_trees
        return slice(begin, begin + count // 2)


def histogram_groups(rows: FitRows, features: FitFeatures, ways: Ways) -> int:
    """Return the work-groups that share the histogram tasks of a level, for each range of codes."""
    layout, caps, variant = features.layout, ways.device.caps, ways.variant("histogram")
    if features.tiled is not None:
        capacity = range_capacity(variant, caps)
        ranges = cell_ranges(layout.feature_offset, rows.tiles, capacity)
        return shared_groups(variant, caps, len(ranges))
    return work_groups(variant, caps, layout.n_features, rows.n_rows, layout.most_codes)


class Histogram:
    """Builds the histograms of one level after another."""

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        arena = self.arena
        if self.nodes.params.histogram != "auto":  # no other variant is tried
            self.kernel = self._built(self.ways.variant("histogram"))
        else:
            for attempt in self.ways.attempts("histogram"):
                with attempt as variant:
                    self.kernel = self._built(variant)
                    self.ways.built(attempt, self.kernel.program)
        n_codes, partials = (
            self.features.layout.n_codes,
            not self.ways.variant("histogram").int64_atomics,
        )
        self.groups = histogram_groups(self.rows, self.features, self.ways)
        groups, cells = (self.groups, n_codes) if partials else (1, 1)
        arena.array("pool", (self.nodes.slots, n_codes, 2), SUM)
        arena.array("partial", (groups, 2, cells, 2), SUM)

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
        skips = nodes.params.samples_rows and not rows.lists_drawn
        return HistogramKernel(
            arena.device, rows.codes, self.features.layout, variant,
            wg_size=size, skips_unsampled=skips, adds=adds,
        )  # fmt: skip

    def level(self, depth: int, sums: LevelSums | None = None) -> list[Action]:
        """Return the actions that fill the pool slots of a level's nodes built from rows.

        ``sums`` are those of the level over a team; None is of all features.
        """
        rows, nodes = self.rows, self.nodes
        high = ("high",) if rows.has_high else ()
        reads = (CODES, "quanta", *high, *rows.listed_rows(depth))
        lists = () if rows.leaves_have_lists else LISTS
        drops = ("quanta", *high, *lists) if depth + 1 == nodes.n_levels else ()
        pages = [self._page(depth, page) for page in rows.pages]
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

    def _page(self, depth: int, page: FitPage) -> list[Launch]:
        codes: Any = page.codes  # of the kernel's kind
        return self.kernel.level(
            codes,
            groups=self.groups,
            depth=depth,
            n_rows=page.part.n_rows,
            first_row=page.first_row,
            task_begin=page["hist_task_begin"],
            high_words=page.part["high"],
            **page.arguments("levels", "nodes"),
            **page.part.arguments("even_rows", "odd_rows", "quanta", "scale", "pool", "partial"),
        )
