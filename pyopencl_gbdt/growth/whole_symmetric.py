"""One launch grows the symmetric trees of a batch: for few rows on a CPU.

``templates/growth/whole_symmetric.cl.mako`` has a picture. The trees are those of ``Grower`` with
``SymmetricSearch``. Draws of columns, and bits for noise in scores, are made for all levels before.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.whole_trees import WholeTrees


class WholeSymmetric(WholeTrees):
    """Grows the symmetric trees of a batch by one launch; see `recipe.grows_whole`."""

    template: ClassVar[str] = "whole_symmetric"
    #: Phases of a level: search, compare, move.
    phases: ClassVar[int] = 3
    lists_columns: ClassVar[bool] = False
    joins_columns: ClassVar[bool] = False

    def __init__(self, parts: FitParts) -> None:
        from pyopencl_gbdt.growth.feature_mask import BorderDraws, PlannedLevels, mask_of

        super().__init__(parts)
        self.columns, n_levels = mask_of(parts), self.nodes.n_levels
        noisy = self.nodes.params.random_strength > 0
        self.draws = BorderDraws(parts, n_levels) if noisy else None
        self.plan = PlannedLevels(self.arena, self.nodes)

    def _ask_for_splits(self) -> None:
        arena, trees, layout = self.arena, self.nodes.n_trees, self.features.layout
        arena.array("candidates", (trees, layout.n_features), CANDIDATE)
        arena.array("chosen", self.nodes.search_capacity, CANDIDATE)
        arena.array("rough_sums", (trees, 2, layout.n_codes), np.float32)
        arena.array("rough_best", (trees, layout.n_features), np.float32)

    def _built_for(self) -> dict[str, int]:
        noisy = self.nodes.params.random_strength > 0
        return {"masked": self.features.masks_columns, "noisy": noisy}

    def tree(self, batch: Batch) -> list[Action]:
        """Return the launches that draw for all levels, and the one that grows some trees."""
        drawn = (self.columns, self.draws)
        before = [one.planned(batch, self.plan) for one in drawn if one is not None]
        more: dict[str, Any] = self.features.masks(self.arena)
        if self.draws is not None:
            more |= {**self.draws.sizes(), **self.arena.arguments("draws", "noisy_ranks")}
        found = ("rough_sums", "rough_best", "candidates", "chosen")
        return [*before, self._grow(batch, **self.arena.arguments(*found), **more)]
