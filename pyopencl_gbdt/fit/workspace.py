"""What one fit holds on its device: sizes known beforehand, one plan, all arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.dtypes import (
    KEPT,
    QUANTA,
    ROW,
    VALUE,
    code_dtype,
    row_codes,
)
from pyopencl_gbdt.fit.page import FitPage, name_of
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.variants import FitVariants
from pyopencl_gbdt.primitives.packed_codes import PackedCodes
from pyopencl_gbdt.primitives.tiled_codes import TiledCodes

#: Trees wait on the device in a block of at most this many bytes before the host reads them.
FOREST_BYTES = 16 * 1024 * 1024
_ADVICE = (
    "lower max_depth (0 is no limit) or max_bin, give max_leaves, or use fewer rows or features"
)


@dataclass
class Workspace(FitVariants):
    """Sizes, variants and device arrays of one fit; every step takes it.

    Attributes
    ----------
    has_high : bool
        Whether there is room for quanta of more than 32 bits.
    reserved : dict of str to (shape, dtype)
        What the steps have reserved, see ``reserve``.
    reserved_for_pages : dict of str to (shape, dtype)
        What the steps have reserved for every page, see ``reserve_for_pages``.
    agreed_block : int
        ``forest_block`` as the team has agreed on it; 0 before.
    beside : MemoryPlan
        What evaluation sets and their metrics will take: checked with the plan, allocated later.
    arrays : dict of str to DeviceArray
        As planned; see ``plan``.
    """

    arrays: dict[str, DeviceArray] = field(default_factory=dict)
    has_high: bool = False
    reserved: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    reserved_for_pages: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    beside: MemoryPlan = field(default_factory=MemoryPlan)
    agreed_block: int = 0

    def join(self, share: Share) -> None:
        """Become a member of a team; call it before ``choose_trees``."""
        self.share = share
        if share.team.size > 1:
            self.team_groups = share.team.least(self.row_groups)

    def reserve(self, name: str, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> None:
        """Plan an array of a step; call again if the number of trees at a time changes."""
        self.reserved[name] = (shape, dtype)

    def reserve_for_pages(
        self, name: str, shape: int | tuple[int, ...], dtype: npt.DTypeLike
    ) -> None:
        """Plan an array that every page has for itself, see ``FitPage``."""
        self.reserved_for_pages[name] = (shape, dtype)

    def __getitem__(self, name: str) -> DeviceArray:
        return self.arrays[name]

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
        plan, caps = self._plan_with_codes(), self.device.caps
        there = caps.global_bytes - self.device.allocated_bytes - self.beside.total_bytes
        largest = max(map(plan.bytes_of, plan.arrays))
        # rows and entries of all trees have numbers of 32 bits, with room for a step behind
        each = self.n_rows if self.columns is None else max(self.n_rows, self.columns.n_entries)
        counts = self.n_trees * each <= 2**32 - 2**16 and self.n_trees <= MOST_Y
        return counts and plan.total_bytes <= there and largest <= caps.max_alloc_bytes

    def arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays that a kernel calls as the workspace does."""
        return {name: self[name] for name in names}

    def category_arguments(self, *names: str) -> dict[str, DeviceArray]:
        """Return arrays that kernels ask for where features are categorical; else nothing."""
        return self.arguments(*names) if self.has_categories else {}

    def set_arguments(self) -> dict[str, Any]:
        """Return the sets of codes and their size, for kernels that move rows; else nothing."""
        return {"set_words": self.set_words, "sets": self["sets"]} if self.has_categories else {}

    def gradient_arguments(self, batch: Batch) -> dict[str, Any]:
        """Return the kernels' arguments that say what gradients of some trees are taken of.

        Margins and labels, or gradients and Hessians that are given; rows, the first tree, trees
        of an output, and the distance of two outputs' labels.
        """
        names = ("given_g", "given_h") if self.given else (self.gradients_at, "labels")
        margins, labels = (self[name] for name in names)
        if self.keeps_margins:
            margins = self["before"]
        stride = self.n_rows if self.given or self.n_targets > 1 else 0
        return {
            "margins": margins, "labels": labels, "n_rows": self.n_rows, "first_tree": batch.first,
            "n_parallel": self.n_parallel, "label_stride": stride,
        }  # fmt: skip

    @property
    def forest_block(self) -> int:
        """Batches of trees that wait on the device before the host reads them."""
        if self.agreed_block:
            return self.agreed_block
        room = min(FOREST_BYTES, self.device.caps.max_alloc_bytes // 4)
        sets = self.most_sets * self.set_words * 4 if self.has_categories else 0
        most = room // (self.max_nodes * len(KEPT) * 4 + sets)
        batches = len(self.batches)  # those of a round are read together
        return max(batches, min(most, self.params.n_estimators * batches))

    def plan(self) -> MemoryPlan:
        """Return every array of the fit, before one is allocated.

        These are the rows' arrays and the bins' tables, and what the steps have reserved.
        """
        n, n_features = self.n_rows, self.layout.n_features
        plan = MemoryPlan()
        plan.add("margins", self.margin_shape(n), VALUE)
        if self.keeps_margins:
            plan.add("before", self.margin_shape(n), VALUE)
        plan.add("labels", n if self.n_targets == 1 else (self.n_targets, n), VALUE)
        plan.add("weights", n if self.weighted else 1, VALUE)
        for name in ("given_g", "given_h"):
            plan.add(name, (self.n_outputs, n) if self.given else (1, 1), VALUE)
        plan.add("leaf_rate", 1, np.float32)
        plan.add("feature_offset", n_features + 1, np.uint32)
        plan.add("fullest", n_features, np.uint32)
        plan.add("feature_bins", n_features, np.uint32)
        plan.add("thresholds", self.layout.n_codes, VALUE)
        for name, (shape, dtype) in self.reserved.items():
            plan.add(name, shape, dtype)
        for index in range(len(self.page_rows)):
            for name, (shape, dtype) in self.reserved_for_pages.items():
                plan.add(name_of(name, index), shape, dtype)
        return plan

    @property
    def pages(self) -> list[FitPage]:
        """The pages, with their arrays if these are allocated."""
        return [FitPage(i, page, self.arrays) for i, page in enumerate(self.page_list)]

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

    def check(self) -> None:
        """Refuse what cannot fit; allocate nothing.

        Raises
        ------
        MemoryPlanError
        """
        plan = self._plan_with_codes()
        plan.arrays |= self.beside.arrays
        also = "; or leave out an evaluation set, or metrics" if self.beside.arrays else ""
        if self.is_ordered:
            also += "; or lower permutation_count, or leave out boosting_type='ordered'"
        plan.check(self.device, _ADVICE + also)

    def _plan_with_codes(self) -> MemoryPlan:
        """Return the plan, with codes that are not there yet."""
        plan, n_features = self.plan(), self.layout.n_features
        if not self.page_list and self.tiled is not None:
            for name, (shape, dtype) in self.tiled.arrays(self.n_rows, self.tiles.size - 1).items():
                plan.add(f"tiled {name}", shape, dtype)
        elif not self.page_list and self.columns is not None:
            for name in ("rows", "places"):
                plan.add(f"sorted {name}", self.columns.n_entries, ROW)
        elif not self.page_list:
            dtype = code_dtype(self.layout.most_codes)
            for index, (_, n_rows) in enumerate(self.page_rows):
                plan.add(name_of("codes", index), (n_rows, row_codes(n_features, dtype)), dtype)
                plan.add(name_of("by_feature", index), (n_features, n_rows), dtype)
        return plan

    def allocate(self) -> None:
        """Plan, refuse what cannot fit, allocate and fill what never changes.

        Raises
        ------
        MemoryPlanError
            Before anything is allocated.
        """
        self.check()
        self.arrays = self.plan().allocate(self.device)
        self["feature_offset"].set(self.layout.feature_offset)
        self["feature_bins"].set(self.layout.feature_bins)
        self["thresholds"].set(self.layout.thresholds)
        self["fullest"].set(self.layout.fullest)
        self["leaf_rate"].set([self.leaf_rate(self.params.learning_rate)])

    def make_room_for_high_words(self) -> None:
        """Allocate them; the steps have to begin again, with launches that are bound anew.

        Raises
        ------
        MemoryPlanError
        """
        self.has_high = True
        self.arrays["high"] = self.device.empty((self.n_trees * self.n_rows, 2), QUANTA)
