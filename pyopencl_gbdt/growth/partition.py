"""Rows of split nodes move to their children."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import ROW
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.pagewise import CODES
from pyopencl_gbdt.fit.row_arrays import LISTS
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth.category_sets import CategorySets
from pyopencl_gbdt.growth.search import SplitSearch
from pyopencl_gbdt.growth.symmetric_sets import LevelSets

#: Number of rows ahead for which a CPU's kernel prefetches codes.
_AHEAD = 48


def row_lists(ws: Workspace) -> None:
    """Ask for the two lists of row ids."""
    trees = ws.n_trees
    for name in LISTS:
        ws.array_of_rows(name, lambda n: trees * n, ROW)


class Partition(Protocol):
    """What moves the rows of nodes that split to the children; ``kernels`` as in `SplitSearch`."""

    kernels: ClassVar[tuple[str, ...]]

    def __init__(self, ws: Workspace, search: Any) -> None: ...

    def begin(self, batch: Batch) -> list[Action]:
        """Return the actions that give the roots their rows."""

    def last(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions of the last step, if the policy leaves its children without rows."""

    def move(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that move the rows of a step, and count them in the children.

        They leave each child's rows of a page in its node, those of the device's pages in
        ``child_rows``, and the histograms that several work-groups or pages will add to at 0.
        """


class PartitionByCodes:
    """Moves the rows of one level after another between two row lists.

    Built behind the histogram, as it clears what several of its tasks add to.
    """

    kernels: ClassVar[tuple[str, ...]] = ("partition",)

    def __init__(self, ws: Workspace, search: SplitSearch | None = None) -> None:
        self.ws = ws
        self.program = ws.build(
            "partition",
            lambda variant: ws.device.build(
                "partition",
                wg_size=ws.wg_size(variant),
                chunk=variant.params["chunk"],
                code=ws.code_type,
                prefetch=_AHEAD if ws.device.caps.prefetches else 0,
                picked=ws.policy.picks,
                ballots=variant.warp_words,
                categories=ws.has_categories,
            ),
        )
        row_lists(ws)
        sets = LevelSets if ws.policy.fills_levels else CategorySets
        self.sets = sets(ws) if ws.has_categories else None
        self.groups = min(ws.most_row_tasks, 16 * ws.device.caps.compute_units)

    def begin(self, batch: Batch) -> list[Action]:
        """Return nothing: roots have all rows in order, or a list of those that were drawn."""
        return []

    def last(self, step: int, batch: Batch) -> list[Action]:
        """Return nothing: margins are updated by the parents' lists, or by walking the tree.

        Both need the sets of codes of the last splits.
        """
        return [] if self.sets is None else [*self.sets.write(step, batch)]

    def move(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that move the rows of a level and count them in the children.

        They also clear the histograms that several work-groups or pages will add to.
        """
        ws, pages = self.ws, self.ws.pages
        sets = [] if self.sets is None else self.sets.write(step, batch)
        later = [[self._page(step, batch, page, clears=page.index == 0)] for page in pages]
        if ws.turns is None:
            return [*sets, *ws.pagewise(later)]
        first = [[self._page(step, batch, page, clears=True)] for page in pages]
        later = [[self._page(step, batch, page, clears=False)] for page in pages]
        source = ws.listed_rows(step)
        drops = () if ws.leaves_have_lists else source
        updates = ws.updated_rows(step)
        moved = ws.pagewise(later, (CODES, *source), ws.moved_rows(step), drops, first, updates)
        return [*sets, *moved]

    def _page(self, depth: int, batch: Batch, page: FitPage, *, clears: bool) -> Launch:
        ws, part = self.ws, page.part
        least_cleared = 0
        if not ws.adds_histograms:  # a histogram of one task is cleared by its own work-group
            least_cleared = ws.variant("histogram").params["chunk"] + 1
        return self.program.bind(
            "move", self.groups, depth=depth, n_rows=part.n_rows, first_row=page.first_row,
            n_trees=batch.size, fixed_slot=ws.fixed_slot(depth + 1),
            slot_cells=ws.cells_to_clear if clears else 0,
            least_cleared=least_cleared, task_begin=page["row_task_begin"], picks=page["picked"],
            **page.codes.column_arguments(), **page.arguments("levels", "nodes"),
            **ws.set_arguments(),
            **part.arguments("child_rows", "feature_bins", "pool", "even_rows", "odd_rows"),
        )  # fmt: skip
