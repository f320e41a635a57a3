"""What a node may split on: some features, and of each one border that is drawn at random."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.fit.features import FitFeatures
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import Ways

#: What draws columns, one of those of the other.
_STAGES = ("tree", "level", "node")
#: Work-groups that take the nodes of a level in turn, each with keys for all features.
_GROUPS = 256
#: The same, where a group only draws bits.
_DRAWING_GROUPS = 4096


class FeatureMask:
    """Fills ``allowed``, a bit a feature and node; for fits that do not let nodes have them all."""

    def __init__(self, arena: Arena, nodes: Nodes, features: FitFeatures, ways: Ways) -> None:
        self.arena, self.nodes, self.features = arena, nodes, features
        n = features.layout.n_features
        counts = nodes.params.column_counts(n)
        stages = [
            name
            for name, before, kept in zip(_STAGES, (n, *counts), counts, strict=False)
            if kept < before
        ]
        self.program = ways.build(
            "plan",
            lambda variant: ways.device.build(
                "feature_mask",
                wg_size=ways.wg_size(variant),
                weighted=features.limits.feature_weights is not None,
                stages=" ".join(stages),
                few=n <= (64 if ways.wg_size(variant) == 1 else 256),
            ),
        )
        self.groups = min(_GROUPS, nodes.search_capacity)
        n_words, n_groups = (
            -(-n // 32),
            max(1, len(features.limits.interactions)),
        )  # a bit for every feature
        weights = features.limits.feature_weights
        arena.array("allowed", (nodes.search_capacity, n_words), np.uint32)
        arena.array("column_keys", (self.groups, n), np.uint32)
        arena.array("feature_weights", 1 if weights is None else n, np.float32, weights)
        bits = np.zeros((n_groups, 32 * n_words), np.uint8)
        for row, group in zip(bits, features.limits.interactions, strict=False):
            row[list(group)] = 1
        words = np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32)
        arena.array("column_groups", (n_groups, n_words), np.uint32, words)

    def level(self, depth: int, batch: Batch) -> Launch:
        """Return the launch for the nodes of a level."""
        n = self.features.layout.n_features
        arena, nodes = self.arena, self.nodes
        of_tree, of_level, of_node = nodes.params.column_counts(n)
        return self.program.bind(
            "choose_columns", min(self.groups, nodes.level_capacity(depth)), depth=depth,
            n_features=n, seed=nodes.params.random_state, n_batches=len(nodes.batches),
            first_tree=batch.first, of_tree=of_tree, of_level=of_level, of_node=of_node,
            n_groups=len(self.features.limits.interactions), header=arena["leaf_header"],
            weights=arena["feature_weights"], groups=arena["column_groups"],
            all_keys=arena["column_keys"], **arena.arguments("levels", "nodes", "allowed"),
        )  # fmt: skip


def mask_of(parts: FitParts) -> FeatureMask | None:
    """Return what marks the features of nodes; None if nodes may split on all of them."""
    arena, _, nodes, features, ways = parts
    return FeatureMask(arena, nodes, features, ways) if features.masks_columns else None


class BorderDraws:
    """Fills ``draws``, 32 bits for each feature and node, or feature and level of a tree."""

    def __init__(self, parts: FitParts) -> None:
        self.arena, _, self.nodes, self.features, ways = parts
        self.shared = self.nodes.policy.fills_levels
        places = self.nodes.n_trees if self.shared else self.nodes.search_capacity
        self.arena.array("draws", (places, self.features.layout.n_features), np.uint32)
        self.program = ways.build_kernel("plan", template="border_draws")

    def level(self, step: int, batch: Batch) -> Launch:
        """Return the launch for the new nodes of a step."""
        arena, nodes = self.arena, self.nodes
        width = 1 << step if self.shared else 1
        places = max(1, nodes.level_capacity(step) // width)
        return self.program.bind(
            "draw_borders", min(_DRAWING_GROUPS, places), depth=step,
            width=width, n_features=self.features.layout.n_features,
            seed=nodes.params.random_state, n_batches=len(nodes.batches), first_tree=batch.first,
            header=arena["leaf_header"], **arena.arguments("levels", "nodes", "draws"),
        )  # fmt: skip


def draws_of(parts: FitParts) -> BorderDraws | None:
    """Return what draws a border of every feature; None if all borders may be splits."""
    return BorderDraws(parts) if parts.nodes.params.extra_trees else None


def draw_argument(arena: Arena, nodes: Nodes) -> dict[str, DeviceArray]:
    """Return the argument that only searches of drawn borders have."""
    return arena.arguments("draws") if nodes.params.extra_trees else {}
