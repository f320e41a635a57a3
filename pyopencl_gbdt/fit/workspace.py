"""What one fit holds on its device: sizes known beforehand, one plan, all arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.dtypes import (
    KEPT,
    QUANTA,
    ROW,
    VALUE,
)
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit.page import RowPart, in_slot, name_of
from pyopencl_gbdt.fit.pagewise import CODES
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


@dataclass
class Workspace(RowArrays):
    """Sizes, variants and device arrays of one fit; every step takes it.

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
            self.team_groups = share.team.least(self.row_groups)

    def choose_trees(self, reserve: Callable[[Workspace], None]) -> None:
        """Grow all trees of a round at a time, or as many as memory allows.

        Parameters
        ----------
        reserve : callable
            Plans what the fit's own steps take, for ``n_trees``.
        """
        self.n_trees = self.round_trees
        reserve(self)
        while self.n_trees > 1 and not self._trees_fit():
            outputs = self.n_trees // self.n_parallel
            self.n_trees = (
                (outputs + 1) // 2 * self.n_parallel if outputs > 1 else (self.n_trees + 1) // 2
            )
            reserve(self)
        agreed = self.team.least(self.n_trees)
        if agreed < self.n_trees:
            self.n_trees = agreed
            reserve(self)
        self.agreed_block = self.team.least(self.forest_block)

    def _trees_fit(self) -> bool:
        if self.turns is not None:
            return self.n_trees <= MOST_Y  # pages are made to fit
        plan, caps = self.plan_with_codes(), self.device.caps
        there = caps.global_bytes - self.device.allocated_bytes - self.beside.total_bytes
        largest = max(map(plan.bytes_of, plan.arrays))
        # rows and entries of all trees have numbers of 32 bits, with room for a step behind
        each = self.n_rows if self.columns is None else max(self.n_rows, self.columns.n_entries)
        counts = self.n_trees * each <= 2**32 - 2**16 and self.n_trees <= MOST_Y
        fits = plan.total_bytes <= there and largest <= caps.max_alloc_bytes
        return counts and fits and self._histograms_are_short()

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

    def plan(self) -> MemoryPlan:
        """Return every array of the fit, before one is allocated.

        These are the rows' arrays and the bins' tables, and what the steps have reserved.
        """
        plan = self.shared_plan()
        rows = self.row_arrays()
        for name, (shape_of, dtype) in rows.items():
            if self.turns is None:
                plan.add(name, shape_of(self.n_rows), dtype)
                continue
            for slot in range(0 if self.turns.in_place else self.turns.n_slots):
                plan.add(in_slot(name, slot), shape_of(self.turns.most_rows), dtype)
        return plan

    def shared_plan(self) -> MemoryPlan:
        """Return the arrays of the fit without those that have elements for every row."""
        n_features, rows = self.layout.n_features, self.row_arrays()
        plan = MemoryPlan()
        if not self.weighted:
            plan.add("weights", 1, VALUE)
        if not self.given:
            for name in ("given_g", "given_h"):
                plan.add(name, (1, 1), VALUE)
        plan.add("leaf_rate", 1, np.float32)
        plan.add("feature_offset", n_features + 1, np.uint32)
        plan.add("fullest", n_features, np.uint32)
        plan.add("feature_bins", n_features, np.uint32)
        plan.add("thresholds", self.layout.n_codes, VALUE)
        for name, (shape, dtype) in self.reserved.items():
            if name not in rows:
                plan.add(name, shape, dtype)
        n_pages = len(self.page_rows if self.turns is None else self.turns.bounds)
        for index in range(n_pages):
            for name, (shape, dtype) in self.reserved_for_pages.items():
                plan.add(name_of(name, index), shape, dtype)
        if self.drawn is not None:
            plan.add_missing(self.drawn.plan_with_codes())
        return plan

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

    def fits(self) -> bool:
        """Return whether ``check`` would refuse nothing."""
        try:
            self.check()
        except MemoryPlanError:
            return False
        return True

    def check(self) -> None:
        """Refuse what cannot fit; allocate nothing.

        Raises
        ------
        MemoryPlanError
        """
        plan = self.plan_with_codes()
        plan.arrays |= self.beside.arrays
        also = "; or leave out an evaluation set, or metrics" if self.beside.arrays else ""
        if self.is_ordered:
            also += "; or lower permutation_count, or leave out boosting_type='ordered'"
        plan.check(self.device, _ADVICE + also)

    def plan_with_codes(self) -> MemoryPlan:
        """Return the plan, with codes that are not there yet."""
        plan, n_features = self.plan(), self.layout.n_features
        if self.turns is not None:
            stay = bool(self.page_list) or self.turns.codes_stay
            for slot in range(0 if stay else self.turns.n_slots):
                nbytes = self.slot_bytes(self.turns.most_rows)[CODES]
                plan.add(in_slot(CODES, slot), nbytes, np.uint8)
            return plan
        if not self.page_list and self.tiled is not None:
            for name, (shape, dtype) in self.tiled.arrays(self.n_rows, self.tiles.size - 1).items():
                plan.add(f"tiled {name}", shape, dtype)
        elif not self.page_list and self.columns is not None:
            for name in ("rows", "places"):
                plan.add(f"sorted {name}", self.columns.n_entries, ROW)
        elif not self.page_list:
            order = self.block_order
            for index, (_, n_rows) in enumerate(self.page_rows):
                plan.add(name_of("codes", index), order.shape(n_rows), order.dtype)
                plan.add(name_of("by_feature", index), (n_features, n_rows), order.dtype)
        return plan

    def allocate(self) -> None:
        """Plan, refuse what cannot fit, allocate and fill what never changes.

        Raises
        ------
        MemoryPlanError
            Before anything is allocated.
        """
        self.check()
        # where pages take turns, arrays of slots are written beside the kernels
        self.arrays = self.plan().allocate(self.device, joins=self.visits is None)
        if self.drawn is not None:
            self.drawn.arrays = self.arrays
        self["feature_offset"].set(self.layout.feature_offset)
        self["feature_bins"].set(self.layout.feature_bins)
        self["thresholds"].set(self.layout.thresholds)
        self["fullest"].set(self.layout.fullest)
        if self.visits is not None:
            self.fill_slots()
        self["leaf_rate"].set([self.leaf_rate(self.params.learning_rate)])

    def make_room_for_high_words(self, turn: Callable[[Workspace], None] | None = None) -> None:
        """Allocate them; the steps have to begin again, with launches that are bound anew.

        Where trees grow on gathered rows, the steps have to be built anew instead, without these.

        Where pages take turns, fewer lie on the device at a time then.

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
            self.arrays["high"] = self.device.empty((self.n_trees * self.n_rows, 2), QUANTA)
            return
        assert turn is not None
        self.gather_no_rows()
        stored = self.visits.stored
        self.visits.use([])
        self.page_list, self.arrays = (), {}
        turn(self)
        self.take_turns(stored)
        self.allocate()

    def gather_no_rows(self) -> None:
        """Grow trees on the pages again; the steps have to be planned anew."""
        if self.drawn is not None:
            self.drawn, self.gathers = None, False
            self.forget_reserved()
