"""Gradient sums per node, feature and bin, of a fit's levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team_sums import EarlyCopy
from pyopencl_gbdt.dtypes import SUM
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.pagewise import CODES
from pyopencl_gbdt.fit.row_arrays import LISTS
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth.level_sums import LevelSums, OfAllFeatures
from pyopencl_gbdt.primitives.histogram_kernel import HistogramKernel
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes
from pyopencl_gbdt.primitives.tiled_histogram_kernel import TiledHistogramKernel


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


class Histogram:
    """Builds the histograms of one level after another."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.kernel = self._built()
        n_codes, partials = ws.layout.n_codes, not ws.variant("histogram").int64_atomics
        groups, cells = (ws.histogram_groups, n_codes) if partials else (1, 1)
        ws.array("pool", (ws.slots, n_codes, 2), SUM)
        ws.array("partial", (groups, 2, cells, 2), SUM)

    def _built(self) -> HistogramKernel | TiledHistogramKernel:
        ws = self.ws
        named = ws.params.histogram != "auto"
        variant = ws.variant("histogram") if named else partial(ws.variant, "histogram")
        size, adds = ws.params.work_group_size, ws.adds_histograms
        if isinstance(ws.codes, TiledCodes):
            return TiledHistogramKernel(
                ws.device, ws.codes, ws.layout.feature_offset, variant, wg_size=size, adds=adds
            )
        skips = ws.params.samples_rows and not ws.lists_drawn
        return HistogramKernel(
            ws.device, ws.codes, ws.layout, variant,
            wg_size=size, skips_unsampled=skips, adds=adds,
        )  # fmt: skip

    def level(self, depth: int, sums: LevelSums | None = None) -> list[Action]:
        """Return the actions that fill the pool slots of a level's nodes built from rows.

        ``sums`` are those of the level over a team; None is of all features.
        """
        ws = self.ws
        high = ("high",) if ws.has_high else ()
        reads = (CODES, "quanta", *high, *ws.listed_rows(depth))
        lists = () if ws.leaves_have_lists else LISTS
        drops = ("quanta", *high, *lists) if depth + 1 == ws.n_levels else ()
        pages = [self._page(depth, page) for page in ws.pages]
        picked = ws.policy.picks_leaves and (depth > 0 or ws.lists_drawn)
        updates = LISTS if picked else ()
        built = ws.pagewise(pages, reads, drops=drops, updates=updates)
        done = ws.all_rows_done()
        if ws.team.size == 1:
            return [*built, *done]
        begin = ws.fixed_slot(depth)
        if begin:
            new = slice(begin, min(2 * begin, ws.slots))
            return [*built, *done, *ws.team.sum(ws["pool"], new)]
        sums = sums or OfAllFeatures(ws, depth)
        early = sums.levels
        summed = sums.histograms(NewSlots(early, depth))
        return [*built, *done, early, *summed] if done else [early, *built, *summed]

    def _page(self, depth: int, page: FitPage) -> list[Launch]:
        ws = self.ws
        codes: Any = page.codes  # of the kernel's kind
        return self.kernel.level(
            codes,
            groups=ws.histogram_groups,
            depth=depth,
            n_rows=page.part.n_rows,
            first_row=page.first_row,
            task_begin=page["hist_task_begin"],
            high_words=page.part["high"],
            **page.arguments("levels", "nodes"),
            **page.part.arguments("even_rows", "odd_rows", "quanta", "scale", "pool", "partial"),
        )
