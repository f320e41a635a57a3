"""What one fit holds on its device: sizes known beforehand, one plan, all arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.device.team_messages import ForestBlock, RowGroups, TreesAtATime
from pyopencl_gbdt.dtypes import KEPT, QUANTA
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit.page import RowPart
from pyopencl_gbdt.fit.row_arrays import RowArrays
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.pages.page import histogram_rows
from pyopencl_gbdt.primitives.packed_codes import PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes

#: Trees wait on the device in a block of at most this many bytes before the host reads them.
FOREST_BYTES = 16 * 1024 * 1024
_ADVICE = (
    "lower max_depth (0 is no limit) or max_bin, give max_leaves, or use fewer rows or features"
)
#: Builds the steps of a fit on paper; returns the workspace that these have asked for their arrays.
OnPaper = Callable[["Workspace"], "Workspace"]


@dataclass
class Workspace(RowArrays):
    """Sizes, variants and device arrays of one fit; every step takes it.

    The constructors of the steps ask it for their arrays, and ``allocate`` brings these to the
    device. On paper, the same constructors tell what the fit takes.

    Attributes
    ----------
    drawn : Workspace or None
        ``DrawnRows``, of the gathered rows that trees grow on, see ``fit.drawn_rows``.
    agreed_block : int
        ``forest_block`` as the team has agreed on it; 0 before.
    beside : MemoryPlan
        What evaluation sets and their metrics will take: checked with the plan, allocated later.
    """

    beside: MemoryPlan = field(default_factory=MemoryPlan)
    agreed_block: int = 0
    drawn: Workspace | None = None

    @property
    def grown(self) -> Workspace:
        """The workspace that trees grow in."""
        return self.drawn or self

    def join(self, share: Share) -> None:
        """Become a member of a team; call it before ``choose_trees``."""
        self.share = share
        if share.team.size > 1:
            self.team_groups = share.team.least(RowGroups, self.row_groups)

    def choose_trees(self, on_paper: OnPaper) -> None:
        """Grow all trees of a round at a time, or as many as memory allows.

        Parameters
        ----------
        on_paper : callable
            Builds the fit's steps on paper, for ``n_trees``.
        """
        self.n_trees = self.round_trees
        while self.n_trees > 1 and not self._trees_fit(on_paper):
            outputs = self.n_trees // self.n_parallel
            self.n_trees = (
                (outputs + 1) // 2 * self.n_parallel if outputs > 1 else (self.n_trees + 1) // 2
            )
        self.n_trees = self.team.least(TreesAtATime, self.n_trees)
        self.agreed_block = self.team.least(ForestBlock, self.forest_block)

    def _trees_fit(self, on_paper: OnPaper) -> bool:
        if self.turns is not None:
            return self.n_trees <= MOST_Y  # pages are made to fit
        # rows and entries of all trees have numbers of 32 bits, with room for a step behind
        each = self.n_rows if self.columns is None else max(self.n_rows, self.columns.n_entries)
        counts = self.n_trees * each <= 2**32 - 2**16 and self.n_trees <= MOST_Y
        return counts and self._histograms_are_short() and self.fits(on_paper)

    def _histograms_are_short(self) -> bool:
        """Tell whether the largest page's histogram of all trees takes no longer than it may."""
        caps = self.device.caps
        if not caps.copy_speed or self.columns is not None or self.tiled is not None:
            return True
        rows = self.n_trees * max(n_rows for _, n_rows in self.page_rows)
        return rows <= histogram_rows(caps, self.block_order.row_bytes)

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays that a kernel calls as the workspace does."""
        return {name: self[name] for name in names}

    def category_arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays that kernels ask for where features are categorical; else nothing."""
        return self.arguments(*names) if self.has_categories else {}

    def set_arguments(self) -> dict[str, Any]:
        """Return the sets of codes and their size, for kernels that move rows; else nothing."""
        return {"set_words": self.set_words, "sets": self["sets"]} if self.has_categories else {}

    def gradient_arguments(self, batch: Batch, part: RowPart | None = None) -> dict[str, Any]:
        """Return the kernels' arguments that say what gradients of some trees are taken of.

        Margins and labels, or gradients and Hessians that are given; rows, the first tree, trees
        of an output, and the distance of two outputs' labels.

        Parameters
        ----------
        batch : Batch
        part : RowPart or None
            None is all rows.
        """
        part = part or self.parts[0]
        margins, labels = (part[name] for name in self.gradients_of)
        stride = part.n_rows if self.given or self.n_targets > 1 else 0
        return {
            "margins": margins, "labels": labels, "n_rows": part.n_rows, "first_tree": batch.first,
            "n_parallel": self.n_parallel, "label_stride": stride,
        }  # fmt: skip

    @property
    def gradients_of(self) -> tuple[str, str]:
        """The arrays of rows that gradients of trees are taken of."""
        if self.given:
            return "given_g", "given_h"
        return "before" if self.keeps_margins else self.gradients_at, "labels"

    @property
    def row_weights(self) -> tuple[str, ...]:
        """The array of the rows' weights, if they have some."""
        return ("weights",) if self.weighted else ()

    @property
    def forest_block(self) -> int:
        """Batches of trees that wait on the device before the host reads them."""
        if self.agreed_block:
            return self.agreed_block
        room = min(FOREST_BYTES, self.device.caps.max_alloc_bytes // 4)
        if self.turns is not None:
            room = min(room, self.device.caps.global_bytes // 64)
        sets = self.most_sets * self.set_words * 4 if self.has_categories else 0
        most = room // (self.max_nodes * len(KEPT) * 4 + sets)
        batches = len(self.batches)  # those of a round are read together
        return max(batches, min(most, self.params.n_estimators * batches))

    @property
    def codes(self) -> PackedCodes | TiledCodes:
        """The codes of the first page."""
        return self.pages[0].codes

    @property
    def code_bytes(self) -> int:
        """Bytes of a code."""
        return self.codes.code_bytes

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's codes, padding included; their mean if rows differ."""
        return self.codes.row_bytes

    @property
    def code_type(self) -> str:
        """The kernels' word for the codes: their type, or tiled."""
        return self.codes.code_type

    def fits(self, on_paper: OnPaper) -> bool:
        """Return whether the fit's steps fit the device, with codes that are there or to come."""
        try:
            on_paper(self).check()
        except MemoryPlanError:
            return False
        return True

    def check(self) -> None:
        """Refuse what cannot fit; allocate nothing.

        Raises
        ------
        MemoryPlanError
        """
        self.ask_for_slots()
        plan = MemoryPlan(self.arena.plan.arrays | self.beside.arrays)
        also = "; or leave out an evaluation set, or metrics" if self.beside.arrays else ""
        if self.is_ordered:
            also += "; or lower permutation_count, or leave out boosting_type='ordered'"
        plan.check(self.device, _ADVICE + also)

    def allocate(self) -> None:
        """Bring the arrays that the steps have asked for to the device, with their contents.

        Raises
        ------
        MemoryPlanError
            Before anything is allocated.
        """
        self.check()
        # where pages take turns, arrays of slots are written beside the kernels
        self.arena.allocate(joins=self.visits is None)
        if self.visits is not None:
            self.fill_slots()
        self.fill_rows()

    def make_room_for_high_words(self, turn: Callable[[Workspace], None] | None = None) -> None:
        """Make room for them; the steps have to be built anew.

        Where trees grow on gathered rows, they then grow on the pages, without high words. Where
        pages take turns, fewer lie on the device at a time.

        Parameters
        ----------
        turn : callable or None
            Chooses again how many pages lie on the device at a time.

        Raises
        ------
        MemoryPlanError
        """
        self.has_high = self.drawn is None
        if self.visits is None:
            self.arena.forget("high")
            self.array("high", (self.n_trees * self.n_rows, 2), QUANTA)
            return
        assert turn is not None
        self.gather_no_rows()
        stored = self.visits.stored
        self.visits.use([])
        self.forget_arrays()
        turn(self)
        self.take_turns(stored)

    def forget_arrays(self) -> None:
        """Let go of all pages and arrays, whoever may keep the workspace alive."""
        self.page_list = ()
        self.forget_steps()

    def forget_steps(self) -> None:
        """Let go of what the steps have asked for; others may be built then."""
        self.arena, self.row_arrays, self.first_values = Arena(self.device), {}, {}
        if self.drawn is not None:
            self.drawn.arena, self.drawn.row_arrays = self.arena, {}

    def gather_no_rows(self) -> None:
        """Grow trees on the pages again."""
        self.drawn, self.gathers = None, False
