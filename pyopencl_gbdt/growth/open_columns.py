"""The features whose histograms a level needs: those that its nodes, or nodes below, may split on.

    constraints        a node below a may use a b c: histograms below it have no others
    draws of levels    level 0: b   level 1: a   level 2: b c
    open               level 0: a b c, level 1: a b c, level 2: b c

A child's open features are open in its parent, too: the parent's histogram less the sibling's
is the child's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.feature_mask import FeatureMask, PlannedLevels

#: Levels draw at most this share of all features, or histograms are of all: only those of the last
#: levels would leave features out. PoCL, 2 busy cores, depth 6, processor ms a round with all
#: features and with open ones: 50 k x 300, levels draw 50 % 98 to 113 and 90 to 110, 25 % 95 to 102
#: and 83 to 96, 10 % 91 and 58; 5 groups that interact 85 to 94 and 70, 2 groups 98 to 100 and 89;
#: 100 k x 50, 25 % 16 to 18 and 15 to 17, 10 % 16 to 18 and 12, 5 groups 19 to 21 and 13 to 15.
MOST_OF_LEVELS = 0.25


class OpenColumns:
    """Tells which features are open: by node, as ``FeatureMask`` marks them, or by level.

    Attributes
    ----------
    by_level : bool
        Whether levels draw features, and which ones is known before a tree grows.
    """

    def __init__(self, parts: FitParts, *, by_level: bool) -> None:
        self.arena, _, self.nodes, features, ways = parts
        self.by_level, self.n_words = by_level, -(-features.layout.n_features // 32)
        if not by_level:
            return
        self.plan = PlannedLevels(self.arena, self.nodes)
        places = self.nodes.n_trees * self.nodes.n_levels
        self.levels = FeatureMask(
            self.arena, self.nodes, features, ways, of_levels=("open_columns", places)
        )
        self.program = ways.build_kernel("plan", template="open_columns")

    def begin(self, batch: Batch) -> list[Launch]:
        """Return the launches that go before the first level of some trees."""
        if not self.by_level:
            return []
        union = self.program.bind(
            "open_levels", max(1, batch.size * self.n_words // self.program.wg_size),
            n_trees=batch.size, n_levels=self.nodes.n_levels, n_words=self.n_words,
            opened=self.arena["open_columns"],
        )  # fmt: skip
        return [self.levels.planned(batch, self.plan), union]

    def arguments(self, step: int, batch: Batch) -> dict[str, Any]:
        """Return the arguments that tell kernels where a node's bits lie."""
        return {
            "opened": self.arena["open_columns" if self.by_level else "allowed"],
            "open_first": step * batch.size if self.by_level else 0,
            "open_of_tree": int(self.by_level), "open_words": self.n_words,
        }  # fmt: skip


def open_columns_of(parts: FitParts) -> OpenColumns | None:
    """Return the step that lists the open features, if a fit masks some; None if all are open.

    That is on CPUs, for dense codes, whose kernels leave features out. Draws of nodes leave out
    next to none: what one node does not draw, its sibling may.
    """
    _, _, nodes, features, ways = parts
    facts, params = ways.facts, nodes.params
    n, pages = features.layout.n_features, facts.pages
    of_tree, of_level, of_node = params.column_counts(n)
    if pages.kind != "dense" or pages.has_sets or params.forced_splits:
        return None
    if ways.variant("histogram").name != "cpu":
        return None
    if of_level < of_tree and not nodes.policy.picks_leaves and of_level <= MOST_OF_LEVELS * n:
        return OpenColumns(parts, by_level=True)
    few = pages.limits_paths or of_tree <= MOST_OF_LEVELS * n
    return OpenColumns(parts, by_level=False) if of_node == of_tree and few else None


def open_places(parts: FitParts, groups: int, row_codes: int) -> None:
    """Ask for the lists of open features that a histogram's work-groups make."""
    parts.arena.array("open_places", (groups, row_codes, 2), np.uint32)
