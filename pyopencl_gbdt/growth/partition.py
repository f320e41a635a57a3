"""Rows of split nodes move to their children."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import ROW
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import FitPage, PerRow
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import LISTS, Ways

if TYPE_CHECKING:
    from pyopencl_gbdt.growth.category_sets import CategorySets
    from pyopencl_gbdt.growth.split import SplitSearch

#: Number of rows ahead for which a CPU's kernel prefetches codes.
_AHEAD = 48
#: Pieces of a node's histogram that work-groups clear.
_PIECES = 32


def row_lists(rows: FitRows, nodes: Nodes) -> None:
    """Ask for the two lists of row ids."""
    for name in LISTS:
        rows.array_of_rows(name, PerRow(each=nodes.n_lists), ROW)


class Partition(Protocol):
    """What moves the rows of nodes that split to the children; ``kernels`` as in `SplitSearch`."""

    kernels: ClassVar[tuple[str, ...]]

    def __init__(self, parts: FitParts, search: Any) -> None: ...

    def begin(self, batch: Batch) -> list[Action]:
        """Return the actions that give the roots their rows."""

    def last(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions of the last step, if the policy leaves its children without rows."""

    def move(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that move the rows of a step, and count them in the children.

        They leave each child's rows of a page in its node, those of the device's pages in
        ``child_rows``, and the histograms that several work-groups or pages will add to at 0.
        """


def _most_tasks(rows: FitRows, nodes: Nodes, ways: Ways) -> int:
    """Return the most tasks of a pass: whole chunks, and one more for every node's rest."""
    chunk = int(ways.variant("partition").params["chunk"])
    return nodes.n_lists * rows.n_rows // chunk + nodes.search_capacity


class PartitionByCodes:
    """Moves the rows of one level after another between two row lists.

    Built behind the histogram, as it clears what several of its tasks add to.
    """

    kernels: ClassVar[tuple[str, ...]] = ("partition",)

    def __init__(self, parts: FitParts, search: SplitSearch | None = None) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        arena, ways = self.arena, self.ways
        for attempt in ways.attempts("partition"):
            with attempt as variant:
                made = ways.device.build(
                    "partition",
                    wg_size=ways.wg_size(variant),
                    chunk=variant.params["chunk"],
                    code=self.rows.codes.code_type,
                    prefetch=_AHEAD if arena.device.caps.prefetches else 0,
                    picked=self.nodes.policy.picks,
                    ballots=variant.warp_words,
                    categories=self.features.has_categories,
                    pieces=_PIECES,
                )
                self.program = ways.built(attempt, made)
        row_lists(self.rows, self.nodes)
        self.sets = self._sets(parts) if self.features.has_categories else None

    def _sets(self, parts: FitParts) -> CategorySets:
        from pyopencl_gbdt.growth.category_sets import CategorySets
        from pyopencl_gbdt.growth.symmetric_sets import LevelSets

        return (LevelSets if self.nodes.orders_levels_once else CategorySets)(parts)

    def _groups(self, step: int, cells: int) -> int:
        """Return the work-groups that move the rows of a step, and clear so many sums of nodes.

        In small fits each piece that may be cleared has a group of its own, where few would clear
        one after the other. H100, CUDA, 10 k x 20, depth 6, one call: 0.195 and 0.177 ms a round.
        """
        groups = _most_tasks(self.rows, self.nodes, self.ways)
        if cells and self.program.wg_size > 1:
            groups = max(groups, _PIECES * self.nodes.level_capacity(step))
        return min(groups, 16 * self.arena.device.caps.compute_units)

    def begin(self, batch: Batch) -> list[Action]:
        """Return no launches: roots have all rows in order, or a list of the drawn rows."""
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
        pages = self.rows.pages
        rows = self.rows
        sets = [] if self.sets is None else self.sets.write(step, batch)
        later = [[self._page(step, batch, page, clears=page.index == 0)] for page in pages]
        if rows.schedule is None:
            return [*sets, *rows.pagewise(later)]
        first = [[self._page(step, batch, page, clears=True)] for page in pages]
        later = [[self._page(step, batch, page, clears=False)] for page in pages]
        source = rows.listed_rows(step)
        drops = () if rows.leaves_have_lists else source
        picks = self.nodes.policy.picks_leaves
        target: tuple[str, ...] = LISTS if picks else (LISTS[(step + 1) % 2],)
        of_nodes = picks or rows.leaves_have_lists  # others write a whole list
        whole, updates = ((), target) if of_nodes else (target, ())
        moved = rows.pagewise(later, (CODES, *source), whole, drops, first, updates)
        return [*sets, *moved]

    def _page(self, depth: int, batch: Batch, page: FitPage, *, clears: bool) -> Launch:
        last = depth + 1 == self.nodes.n_levels and not self.nodes.policy.picks_leaves
        # children of the last level are leaves, which have no place for sums
        part, cells = page.part, self.rows.cells_to_clear if clears and not last else 0
        least_cleared = 0
        if (
            not self.rows.adds_histograms
        ):  # a histogram of one task is cleared by its own work-group
            least_cleared = self.ways.variant("histogram").params["chunk"] + 1
        return self.program.bind(
            "move", self._groups(depth, cells), depth=depth, n_rows=part.n_rows,
            first_row=page.first_row, n_trees=batch.size,
            fixed_slot=self.nodes.fixed_slot(depth + 1), slot_cells=cells,
            least_cleared=least_cleared, task_begin=page["row_task_begin"],
            **page.codes.column_arguments,
            **page.arguments("levels", "nodes", *self.nodes.pick_arrays),
            **self.features.moved_sets(self.arena),
            **part.arguments("child_rows", "feature_bins", "pool", "even_rows", "odd_rows"),
        )  # fmt: skip
