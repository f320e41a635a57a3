"""Bins that are cut anew while a tree grows, by Hessians: ``tree_method="approx"``.

``hist`` cuts every feature into bins once, before the first tree; each bin has about equally many
rows. ``approx`` cuts bins that have about equal sums of Hessians, so they follow the rows that the
loss still weighs. ``proposal="global"`` cuts once for every tree, ``"local"`` once for every node.

Of one feature, in the root or in a node, let T be the sum of Hessians of all its rows, and H that
of the rows with a smaller value. A value belongs to bin floor(H * max_bin / T). A feature with at
most ``max_bin`` distinct values keeps a bin for each. Splits lie between bins; thresholds lie
half-way between neighbouring values of the whole column, as in exact search.

All sums are integers, and the columns are sorted, so these quantiles are exact: no sketch is
needed. ``max_bin`` plays the part of ``1 / sketch_eps`` in XGBoost's paper.

Zhang 2016, "Efficient approximate boosting"; Chen & Guestrin 2016, "XGBoost: A scalable tree
boosting system", section 3.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from pyopencl_gbdt.device import Variant
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth.entries import EntrySizes
from pyopencl_gbdt.pages.page import Layout


def first_cuts(layout: Layout, max_bin: int) -> np.ndarray:
    """Return where the cuts of each feature begin, then their number; few values have none."""
    most = np.where(layout.feature_bins > max_bin, max_bin, 0)
    return np.concatenate([[0], np.cumsum(most, dtype=np.int64)]).astype(np.uint32)


class Bins(ABC):
    """Cuts bins between the sums of pieces and the search of splits.

    Attributes
    ----------
    name : str
        The value of the parameter ``bins`` of the search's template.
    """

    name = ""

    def __init__(self, arena: Arena, layout: Layout, entries: EntrySizes) -> None:
        self.arena, self.layout, self.entries = arena, layout, entries
        self.nodes, self.ways = entries.nodes, entries.ways
        self._ask()

    @abstractmethod
    def _ask(self) -> None:
        """Ask for the ends of bins."""

    def build(self, variant: Variant) -> None:
        """Build the kernels for pieces of the size that a variant of the search has."""
        self.program = self.ways.device.build(
            "approx",
            wg_size=self.ways.wg_size(variant),
            search_chunk=variant.params["chunk"],
            max_bin=self.nodes.params.max_bin,
            by_node=self.name == "node",
        )

    @abstractmethod
    def cut(self, step: int, batch: Batch, where: dict[str, object], groups: int) -> list[Action]:
        """Return the launches that cut bins for a step.

        ``where``: the kernels' arguments that say where the entries of the step's nodes are.
        ``groups``: work-groups that share the pieces.
        """

    @abstractmethod
    def arguments(self) -> dict[str, object]:
        """Return the additional kernel arguments of the search."""

    def _listed(self, where: dict[str, object]) -> dict[str, object]:
        """Return where entries are, for the kernels here: they take roots' quanta as even ones."""
        listed = {**where, "even_quanta": where["all_quanta"]}
        del listed["all_quanta"]
        return listed

    def _marking(self, where: dict[str, object]) -> dict[str, object]:
        arena = self.arena
        tables = arena.arguments("feature_offset", "feature_bins")
        return {**self._listed(where), **tables, "carries": arena["piece_carries"]}


class BinsOfTree(Bins):
    """Cuts bins of the roots; all nodes of a tree have them."""

    name = "tree"

    def _ask(self) -> None:
        trees = self.nodes.n_trees
        arena = self.arena
        first = first_cuts(self.layout, self.nodes.params.max_bin)
        arena.array("first_cut", first.size, np.uint32, first)
        # cuts of a feature whose rows are all left out stay unset
        arena.array("cuts", (trees, max(1, int(first[-1]))), np.uint32, zeros)
        arena.array("bin_ends", (trees, self.layout.n_codes), np.uint32)

    def cut(self, step: int, batch: Batch, where: dict[str, object], groups: int) -> list[Action]:
        if step > 0:
            return []
        arena = self.arena
        common = {"n_cuts": arena["cuts"].shape[1], **arena.arguments("first_cut", "cuts")}
        features = where["features"]
        shared = min(16 * arena.device.caps.compute_units, -(-self.layout.n_codes // 256))
        return [
            *self.entries.parts.bind(
                self.program, "cut_roots", groups, **common, **self._marking(where)
            ),
            self.program.bind(
                "fill_ends", (shared, batch.size), features=features, **common, **self.arguments(),
                **arena.arguments("feature_offset", "feature_bins"),
            ),
        ]  # fmt: skip

    def arguments(self) -> dict[str, object]:
        return {"n_places": self.layout.n_codes, "bin_ends": self.arena["bin_ends"]}


class BinsOfNodes(Bins):
    """Cuts bins of every node by itself."""

    name = "node"

    def _ask(self) -> None:
        self.arena.array("ends_bin", self.nodes.n_trees * self.entries.n_entries, np.uint8)

    def cut(self, step: int, batch: Batch, where: dict[str, object], groups: int) -> list[Action]:
        parts, ends = self.entries.parts, self.arguments()
        marking = self._marking(where)
        unread = ("n_rows", "scale", "features", "high")
        every = self._listed(where)
        listed = {name: value for name, value in every.items() if name not in unread}
        return [
            *parts.bind(self.program, "clear_ends", groups, **listed, **ends),
            *parts.bind(self.program, "mark_ends", groups, **marking, **ends),
        ]

    def arguments(self) -> dict[str, object]:
        return {"ends_bin": self.arena["ends_bin"]}


def bins_of(arena: Arena, layout: Layout, entries: EntrySizes) -> Bins | None:
    """Return the object that cuts bins, by the parameters; None if every value is a bin."""
    params = entries.nodes.params
    if params.search != "approx":
        return None
    kind = BinsOfNodes if params.proposal == "local" else BinsOfTree
    return kind(arena, layout, entries)
