"""The features that each tree draws, listed, where its nodes may split on all of these."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.feature_mask import MOST_COMPARED, column_weights


class DrawnColumns:
    """Fills ``drawn_columns``: for each tree the features that it draws, ascending.

    They are those that ``FeatureMask`` marks.
    """

    def __init__(self, parts: FitParts) -> None:
        self.arena, _, self.nodes, self.features, ways = parts
        n, self.n_drawn = self.features.layout.n_features, ways.facts.n_drawn
        self.program = ways.build(
            "plan",
            lambda variant: ways.device.build(
                "drawn_columns",
                wg_size=ways.wg_size(variant),
                weighted=self.features.limits.feature_weights is not None,
                few=n <= MOST_COMPARED[ways.wg_size(variant) == 1],
            ),
        )
        column_weights(self.arena, self.features)
        self.arena.array("column_keys", (self.nodes.n_trees, n), np.uint32)
        self.arena.array("drawn_columns", (self.nodes.n_trees, self.n_drawn), np.uint32)

    def draw(self, batch: Batch) -> Launch:
        """Return the launch that lists the features of some trees."""
        arena, nodes = self.arena, self.nodes
        return self.program.bind(
            "draw_columns", batch.size, n_features=self.features.layout.n_features,
            n_drawn=self.n_drawn, seed=nodes.params.random_state, n_batches=len(nodes.batches),
            first_tree=batch.first, header=arena["leaf_header"], weights=arena["feature_weights"],
            all_keys=arena["column_keys"], drawn=arena["drawn_columns"],
        )  # fmt: skip
