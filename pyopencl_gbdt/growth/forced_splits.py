"""Splits that are given for the top of every tree; LightGBM's ``forcedsplits_filename``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.nodes import Batch, Candidates
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.parameters.constraints import ForcedSplit


def last_left_bin(layout: Layout, split: ForcedSplit) -> int:
    """Return the bin of a forced split's threshold, which is the last one that goes left."""
    begin = int(layout.feature_offset[split.feature])
    inner = max(0, int(layout.feature_bins[split.feature]) - 1)
    thresholds = layout.thresholds[begin : begin + inner].astype(np.float64)
    return int(np.searchsorted(thresholds, split.threshold, side="left"))


def _table(layout: Layout, forced: tuple[ForcedSplit, ...]) -> npt.NDArray[np.uint32]:
    """Return feature, last bin on the left, split above and side of every forced split."""
    rows = [(one.feature, last_left_bin(layout, one), one.parent, one.side) for one in forced]
    return np.array(rows, np.int64).astype(np.uint32)  # -1, no split above: NO_NODE


class ForcedSplits:
    """Puts the splits that are given before all candidates of their nodes.

    Built behind the search. A split that gains too little is left out, with those below it.
    """

    def __init__(self, parts: FitParts) -> None:
        self.arena, _, self.nodes, self.features, ways = parts
        limits = self.features.limits
        table = _table(self.features.layout, limits.forced)
        assert np.uint32(NO_NODE & 0xFFFFFFFF) == table[0, 2]
        self.n_splits, n_trees = len(table), self.nodes.n_trees
        self.program = ways.build_kernel(
            "plan", template="forced_splits", monotone=limits.monotone is not None
        )
        self.arena.array("forced_splits", table.shape, np.uint32, table)
        self.arena.array("forced_nodes", (n_trees, self.n_splits), np.uint32)
        self.arena.array("forced_gains", (n_trees, self.n_splits), np.float32)

    def level(self, step: int, batch: Batch, found: Candidates) -> Launch:
        """Return the launch for the new nodes of a step, behind their search."""
        p, arena = self.nodes.params, self.arena
        return self.program.bind(
            "force", (self.n_splits, batch.size), step=step, n_each=found.per_node,
            n_codes=self.features.layout.n_codes, gamma=p.gamma, reg_lambda=p.reg_lambda,
            reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            splits=arena["forced_splits"], constraints=arena["monotone"],
            chosen=arena[found.array],
            **arena.arguments("levels", "nodes", "node_sums", "node_bounds", "scale",
                              "feature_offset", "feature_bins", "fullest", "pool",
                              "forced_nodes", "forced_gains"),
        )  # fmt: skip

    def settle(self, batch: Batch) -> Launch:
        """Return the launch that gives a tree's forced splits their own gains."""
        return self.program.bind(
            "tell_gains", 1, n_all=batch.size * self.n_splits,
            **self.arena.arguments("nodes", "forced_nodes", "forced_gains"),
        )  # fmt: skip
