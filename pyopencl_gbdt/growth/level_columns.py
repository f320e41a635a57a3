"""The features that the levels of each tree draw, listed.

    level 0: 1    level 1: 5    level 2: 1 4
    drawn    1 4 5 0                            one more, where all levels might draw four
    level 0  1 4 5 0    level 1: 1 4 5    level 2: 1 4        of which histograms are built

A tree gathers the codes of these, as it does of columns that it draws itself. They are known before
it grows. Those that the last level draws come first, then those of the level before it, and so on:
what a level and all below it draw has the first places. What a level or node does not draw is
masked.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import gathered_columns
from pyopencl_gbdt.growth.feature_mask import FeatureMask, PlannedLevels


def most_at_steps(parts: FitParts) -> tuple[int, ...]:
    """Return how many columns each level and those below it draw at most."""
    _, _, nodes, features, ways = parts
    _, of_level, _ = nodes.params.column_counts(features.layout.n_features)
    n, n_drawn = nodes.n_levels, gathered_columns(ways.facts)
    return tuple(min(n_drawn, (n - level) * of_level) for level in range(n))


class LevelColumns:
    """Fills ``drawn_columns``: for each tree the features that its levels draw.

    Others, the first ones, are behind them, up to as many as the levels draw at most.
    """

    def __init__(self, parts: FitParts) -> None:
        self.arena, _, self.nodes, features, ways = parts
        self.n_features, self.n_drawn = features.layout.n_features, gathered_columns(ways.facts)
        self.plan = PlannedLevels(self.arena, self.nodes)
        places = self.nodes.n_trees * self.nodes.n_levels
        self.levels = FeatureMask(
            self.arena, self.nodes, features, ways, of_levels=("level_columns", places)
        )
        self.program = ways.build_kernel("plan", template="level_columns")
        self.arena.array("drawn_columns", (self.nodes.n_trees, self.n_drawn), np.uint32)

    def draws(self, batch: Batch) -> list[Launch]:
        """Return the launches that list the features of some trees."""
        listed = self.program.bind(
            "list_levels", batch.size, n_features=self.n_features, n_drawn=self.n_drawn,
            n_levels=self.nodes.n_levels, n_words=-(-self.n_features // 32),
            opened=self.arena["level_columns"], drawn=self.arena["drawn_columns"],
        )  # fmt: skip
        return [self.levels.planned(batch, self.plan), listed]
