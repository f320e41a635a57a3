"""What a node may split on, and what chance adds: masks of features, and random bits of each.

Symmetric trees are planned before they grow: the first node of every level is known::

    batch 0   |level 0: tree 0, tree 1|level 1: tree 0, tree 1| ..      planned_nodes
    batch 1   |level 0: tree 0|level 1: tree 0| ..
    levels    |batch 0|batch 1|                                         planned_levels

Draws of columns and of bits depend on nothing else, so one launch draws for all levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.dtypes import LEVEL, NODE
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.numerics.portable_math import portable_log

#: The stages of drawing columns; each draws from the columns of the stage before it.
_STAGES = ("tree", "level", "node")
#: Features that draws compare with each other: by work-groups of several work-items, and of one.
MOST_COMPARED = 256, 64
#: Work-groups that take the nodes of a level in turn, each with keys for all features.
_GROUPS = 256
#: The same, where a group only draws bits.
_DRAWING_GROUPS = 4096
#: The sum of four random bytes has a standard deviation of 147.8, see ``cl_kernels/noise.h``.
UNIT_NOISE = 1 / 147.8


class PlannedLevels:
    """The first nodes of all levels of a round's trees, as nodes of one level for each batch."""

    def __init__(self, arena: Arena, nodes: Nodes) -> None:
        self.arena, self.nodes = arena, nodes
        n_levels = nodes.n_levels
        sizes = [self.places(batch) for batch in nodes.batches]
        levels = np.zeros(len(sizes), LEVEL)
        levels["first"], levels["count"] = np.cumsum([0, *sizes[:-1]]), sizes
        planned = np.zeros(sum(sizes), NODE)
        trees = [np.tile(np.arange(batch.size), n_levels) for batch in nodes.batches]
        depths = [np.repeat(np.arange(n_levels), batch.size) for batch in nodes.batches]
        planned["tree"], planned["depth"] = np.concatenate(trees), np.concatenate(depths)
        planned["path"] = 1 << planned["depth"]
        arena.array("planned_nodes", planned.size, NODE, planned)
        arena.array("planned_levels", levels.size, LEVEL, levels)

    def places(self, batch: Batch) -> int:
        """Return how many levels the trees of a batch have together."""
        return batch.size * self.nodes.n_levels

    def number(self, batch: Batch) -> int:
        """Return the index of a batch's level."""
        return self.nodes.batches.index(batch)

    def arguments(self) -> dict[str, DeviceArray]:
        """Return the planned nodes and levels, by the names of those that grow."""
        return {"levels": self.arena["planned_levels"], "nodes": self.arena["planned_nodes"]}


def column_weights(arena: Arena, features: FitFeatures) -> None:
    """Ask for the weights by which features are drawn."""
    weights = features.limits.feature_weights
    size = 1 if weights is None else features.layout.n_features
    arena.array("feature_weights", size, np.float32, weights)


class FeatureMask:
    """Fills ``allowed``, a bit for each feature and node, where nodes may not use all features.

    With ``of_levels``, an array's name and its rows, fills that one with what trees and levels
    draw, as ``planned`` asks for it.
    """

    def __init__(
        self, arena: Arena, nodes: Nodes, features: FitFeatures, ways: Ways, *,
        of_levels: tuple[str, int] | None = None,
    ) -> None:  # fmt: skip
        self.arena, self.nodes, self.features = arena, nodes, features
        n = features.layout.n_features
        counts = nodes.params.column_counts(n)
        drawing = _STAGES if of_levels is None else _STAGES[:2]
        stages = [
            name
            for name, before, kept in zip(drawing, (n, *counts), counts, strict=False)
            if kept < before
        ]
        self.name, places = of_levels or ("allowed", nodes.search_capacity)
        self.n_groups = 0 if of_levels else len(features.limits.interactions)
        self.program = ways.build(
            "plan",
            lambda variant: ways.device.build(
                "feature_mask",
                wg_size=ways.wg_size(variant),
                weighted=features.limits.feature_weights is not None,
                stages=" ".join(stages),
                few=n <= MOST_COMPARED[ways.wg_size(variant) == 1],
            ),
        )
        self.groups = min(_GROUPS, nodes.search_capacity)
        n_words, n_groups = (
            -(-n // 32),
            max(1, len(features.limits.interactions)),
        )  # a bit for every feature
        arena.array(self.name, (places, n_words), np.uint32)
        arena.array("column_keys", (self.groups, n), np.uint32)
        column_weights(arena, features)
        bits = np.zeros((n_groups, 32 * n_words), np.uint8)
        for row, group in zip(bits, features.limits.interactions, strict=False):
            row[list(group)] = 1
        words = np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32)
        arena.array("column_groups", (n_groups, n_words), np.uint32, words)

    def level(self, depth: int, batch: Batch) -> Launch:
        """Return the launch for the nodes of a level."""
        level = self.arena.arguments("levels", "nodes")
        return self._choose(depth, batch, self.nodes.level_capacity(depth), level)

    def planned(self, batch: Batch, plan: PlannedLevels) -> Launch:
        """Return the launch for all levels of some trees, before these grow."""
        return self._choose(plan.number(batch), batch, plan.places(batch), plan.arguments())

    def _choose(
        self, depth: int, batch: Batch, most: int, level: dict[str, DeviceArray]
    ) -> Launch:  # fmt: skip
        n = self.features.layout.n_features
        arena, nodes = self.arena, self.nodes
        of_tree, of_level, of_node = nodes.params.column_counts(n)
        return self.program.bind(
            "choose_columns", min(self.groups, most), depth=depth,
            n_features=n, seed=nodes.params.random_state, n_batches=len(nodes.batches),
            first_tree=batch.first, of_tree=of_tree, of_level=of_level, of_node=of_node,
            n_groups=self.n_groups, header=arena["leaf_header"],
            weights=arena["feature_weights"], groups=arena["column_groups"],
            all_keys=arena["column_keys"], allowed=arena[self.name], **level,
        )  # fmt: skip


def mask_of(parts: FitParts) -> FeatureMask | None:
    """Return the step that marks the features of nodes; None if nodes may split on all of them."""
    arena, _, nodes, features, ways = parts
    return FeatureMask(arena, nodes, features, ways) if features.masks_columns else None


class BorderDraws:
    """Fills ``draws``, 32 bits for each feature and node, or feature and level of a tree.

    With noise in scores, fills ``noise`` too, the size of a tree's.

    ``levels``: levels of a tree that are drawn at a time, where nodes of a level share their bits.
    """

    def __init__(self, parts: FitParts, levels: int = 1) -> None:
        self.arena, _, self.nodes, self.features, ways = parts
        self.shared = self.nodes.policy.fills_levels
        places = self.nodes.n_trees * levels if self.shared else self.nodes.search_capacity
        self.arena.array("draws", (places, self.features.layout.n_features), np.uint32)
        self.noisy, n_trees = self.nodes.params.random_strength > 0, self.nodes.n_trees
        if self.noisy:
            self.arena.array("noise", n_trees, np.float32)
            self.arena.array("noisy_ranks", (places, self.features.layout.n_features), np.float32)
        self.program = ways.build_kernel("plan", template="border_draws", noisy=self.noisy)
        self.row_groups = parts.rows.row_groups

    def level(self, step: int, batch: Batch) -> list[Launch]:
        """Return the launches for the new nodes of a step."""
        return [*self._scale(step, batch), self._draw(step, batch)]

    def _scale(self, step: int, batch: Batch) -> list[Launch]:
        """Return the launch that tells how large noise in scores is, once for a tree."""
        if step or not self.noisy:
            return []
        scale = self.program.bind(
            "scale_noise", batch.size, n_groups=self.row_groups,
            node_sums=self.arena["node_sums"], **self.sizes(),
        )  # fmt: skip
        return [scale]

    def sizes(self) -> dict[str, Any]:
        """Return the arguments that tell how large noise in scores is."""
        p, arena = self.nodes.params, self.arena
        log_rows = portable_log(np.array([self.nodes.all_rows], np.float32))
        return {
            "n_batches": len(self.nodes.batches), "strength": p.random_strength * UNIT_NOISE,
            "learning_rate": p.learning_rate, "log_rows": float(log_rows[0]),
            "header": arena["leaf_header"], **arena.arguments("squares", "noise"),
        }  # fmt: skip

    def _draw(self, step: int, batch: Batch) -> Launch:
        width = 1 << step if self.shared else 1
        places = max(1, self.nodes.level_capacity(step) // width)
        return self._bits(step, batch, width, places, self.arena.arguments("levels", "nodes"))

    def planned(self, batch: Batch, plan: PlannedLevels) -> Launch:
        """Return the launch for all levels of some symmetric trees, before these grow."""
        return self._bits(plan.number(batch), batch, 1, plan.places(batch), plan.arguments())

    def _bits(
        self, depth: int, batch: Batch, width: int, places: int, level: dict[str, DeviceArray]
    ) -> Launch:  # fmt: skip
        arena, nodes = self.arena, self.nodes
        return self.program.bind(
            "draw_borders", min(_DRAWING_GROUPS, places), depth=depth,
            width=width, n_features=self.features.layout.n_features,
            seed=nodes.params.random_state, n_batches=len(nodes.batches), first_tree=batch.first,
            header=arena["leaf_header"], draws=arena["draws"], **level,
        )  # fmt: skip
