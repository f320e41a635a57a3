"""The steps of a tree, built for one fit, and their order: the one place that joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.groups import whole_offsets
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.transfers import copy_launch
from pyopencl_gbdt.fit.drawn_rows import follow
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.gradients import gather_drawn, gradients, sample, sources
from pyopencl_gbdt.gradients.gather_drawn import GatherDrawn
from pyopencl_gbdt.gradients.gradients import Gradients
from pyopencl_gbdt.gradients.sample import Sample
from pyopencl_gbdt.gradients.sources import source_of
from pyopencl_gbdt.growth import (
    category_sets,
    category_split,
    column_search,
    columns,
    exact,
    feature_mask,
    finalize,
    histogram,
    level,
    ordered_leaves,
    partition,
    renew_leaves,
    split,
    symmetric,
    symmetric_sets,
    walked_leaves,
    whole_trees,
)
from pyopencl_gbdt.growth.column_search import ColumnSearch, PartitionOfRows
from pyopencl_gbdt.growth.columns import PartitionByColumns, UpdateMarginsByNode
from pyopencl_gbdt.growth.exact import ExactSearch
from pyopencl_gbdt.growth.finalize import Finalize
from pyopencl_gbdt.growth.grower import Grower, TreeGrower
from pyopencl_gbdt.growth.ordered_leaves import OrderedLeaves
from pyopencl_gbdt.growth.partition import PartitionByCodes
from pyopencl_gbdt.growth.policy import Policy
from pyopencl_gbdt.growth.renew_leaves import RenewLeaves
from pyopencl_gbdt.growth.search import HistogramSearch
from pyopencl_gbdt.growth.symmetric import SymmetricSearch
from pyopencl_gbdt.growth.update_margins import MarginUpdate, UpdateMargins
from pyopencl_gbdt.growth.walked_leaves import WalkedLeaves
from pyopencl_gbdt.growth.whole_trees import WholeTrees
from pyopencl_gbdt.objectives import Objective


def reserve(ws: Workspace) -> None:
    """Plan the arrays of all steps; again if the number of trees at a time changes."""
    grown = ws.grown
    gradients.reserve(ws)
    if ws.drawn is not None:
        follow(ws.drawn, ws)
        gather_drawn.reserve(ws.drawn)
    for part in (level, *_parts(grown), finalize):
        part.reserve(grown)
    if ws.has_categories:
        _sets(grown).reserve(grown)
        category_sets.reserve(grown)
    if ws.params.samples_rows:
        sample.reserve(ws)
    if ws.masks_columns:
        feature_mask.reserve(grown)


def reserve_fit(ws: Workspace, objective: Objective, data: Dataset) -> None:
    """Plan the arrays of all steps, and those that follow from the loss and the data."""
    reserve(ws)
    if objective.given:
        sizes = np.diff(whole_offsets(data.group_offsets, data.n_rows))
        sources.reserve(objective, ws, sizes.size, int(sizes.max()))
    if ws.is_ordered:
        ordered_leaves.reserve(ws)
    if ws.walks_leaves:
        walked_leaves.reserve(ws)
    if objective.renews:
        one = np.ones(1, np.float32)
        weights = objective.leaf_weights(one, None if data.weight is None else one)
        renew_leaves.reserve(ws, weighted=weights is not None)


def _parts(ws: Workspace) -> tuple[ModuleType, ...]:
    """Return the modules that plan the arrays of the search of splits."""
    if ws.grows_whole:
        return (whole_trees,)
    if ws.columns is None:
        return histogram, symmetric if ws.policy.fills_levels else split, partition
    return (column_search,) if ws.walks_columns else (exact, columns)


def _sets(ws: Workspace) -> ModuleType:
    """Return the module that searches splits by sets of levels."""
    return symmetric_sets if ws.policy.fills_levels else category_split


def begin(ws: Workspace) -> None:
    """Set what the first tree expects, once the arrays are allocated."""
    gradients.begin(ws)
    if ws.drawn is not None:
        gather_drawn.begin(ws.drawn)
    for part in (split, finalize):
        part.begin(ws.grown)
    if ws.has_categories:
        _sets(ws).begin(ws.grown)


def _ways(ws: Workspace, policy: Policy) -> tuple[TreeGrower, MarginUpdate]:
    """Return what grows trees and adds leaves: by codes, or along columns."""
    whole = WholeTrees.built(ws)
    if whole is not None:
        return whole, UpdateMargins(ws)
    if ws.columns is None:
        leaf, grown = UpdateMargins(ws), ws.grown
        search = SymmetricSearch(grown) if ws.policy.fills_levels else HistogramSearch(grown)
        return Grower(grown, search, policy, PartitionByCodes(grown)), leaf
    if ws.walks_columns:
        walks = ColumnSearch(ws)
        rows = PartitionOfRows(ws, walks)
        return Grower(ws, walks, policy, rows), UpdateMarginsByNode(ws, rows.rows)
    exactly = ExactSearch(ws)
    moves = PartitionByColumns(ws, exactly.nodes, exactly.interleaved)
    return Grower(ws, exactly, policy, moves), UpdateMarginsByNode(ws, moves.rows)


class LeafValues(Protocol):
    """What replaces the leaf values of finished trees."""

    def begin(self) -> None:
        """Set what the first tree expects."""

    def launches(self, batch: Batch) -> list[Action]:
        """Return the launches that do it, before margins move."""


class Steps:
    """The kernels of one fit, built."""

    def __init__(self, ws: Workspace, policy: Policy, objective: Objective, data: Dataset) -> None:
        self.ws = ws
        self.source = source_of(objective, ws, data) if objective.given else None
        self.sample = Sample(ws, objective) if ws.params.samples_rows else None
        self.gradients = Gradients(ws, objective)
        self.gather = None if ws.drawn is None else GatherDrawn(ws, ws.drawn)
        self.grower, self.leaf = _ways(ws, policy)
        self.finish = Finalize(ws.grown)
        self.ordered = OrderedLeaves(ws, objective, data) if ws.is_ordered else None
        renewal = RenewLeaves(ws, objective, data) if objective.renews else None
        self.renewal: LeafValues | None = self.ordered or renewal
        if ws.walks_leaves:
            self.renewal = self.leaf = WalkedLeaves(ws)
        reserve(ws)  # again: another variant than planned may have been built

    def begin(self) -> None:
        """Set what the first tree expects; again if a fit starts over."""
        begin(self.ws)
        for part in (self.source, self.renewal):
            if part is not None:
                part.begin()

    def start(
        self,
        margins: float | npt.NDArray[np.float32],
        state: Mapping[str, npt.NDArray[np.float32]],
    ) -> None:
        """Take the margins of the rows before the first round, and what ``state`` has returned."""
        if self.ordered is not None:
            self.ordered.start(margins, state)

    def state(self) -> dict[str, npt.NDArray[np.float32]]:
        """Return what the rounds to come need beside the trees; waits for the device."""
        return {} if self.ordered is None else self.ordered.state()

    def round_begins(self) -> Sequence[Sequence[Action]]:
        """Return what a round begins with, before its trees; rounds take turns."""
        if self.ordered is not None:
            return self.ordered.round_begins(self.source)
        return [[] if self.source is None else self.source.launches()]

    def kept_margins(self) -> list[Action]:
        """Return what keeps a round's margins, if its trees are not grown all at a time."""
        ws, names = self.ws, ("margins", "before")
        if not ws.keeps_margins:
            return []
        copies = [[copy_launch(*(part[name] for name in names))] for part in ws.parts]
        return ws.pagewise(copies, ("margins",), ("before",))

    def trees(self, batch: Batch, turn: Sequence[Action] = ()) -> list[Action]:
        """Return what trees that are grown at a time take, bound to the workspace's arrays.

        ``turn`` changes the rows' codes between the search of splits and that of leaf values.
        """
        drawn = [] if self.sample is None else self.sample.launches(batch)
        gathered = [] if self.gather is None else self.gather.launches()
        grown = [*self.gradients.launches(batch), *gathered, *self.grower.tree(batch)]
        renewed = [] if self.renewal is None else self.renewal.launches(batch)
        sets = self.grower.finish_sets()
        finished = [*self.finish.tree(batch), *sets, *turn, *renewed, self.finish.keep()]
        return self.ws.in_order([*drawn, *grown, *finished, *self.leaf.add(batch)])
