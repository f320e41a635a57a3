"""One split for all nodes of a level: symmetric trees, also called oblivious trees.

The score of a split is the sum of what it gains in the level's nodes. In a node where a side has no
rows, or a lighter sum of Hessians than ``min_child_weight``, it gains nothing, and both children
keep the node's weight. So a tree is a table of 2^depth values, which depth splits lead to.

Prokhorenkova et al. 2018, "CatBoost: unbiased boosting with categorical features", section 4.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch, Program, Variant
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.fit.nodes import Batch, Candidates, Nodes
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.growth import split
from pyopencl_gbdt.growth.symmetric_sets import LevelBorders, most_borders


def _groups(nodes: Nodes, features: FitFeatures, ways: Ways) -> int:
    """Return how many work-groups share the borders of a feature."""
    variant = ways.variant("symmetric")
    each = ways.wg_size(variant) * variant.params["run"]
    return max(1, -(-most_borders(nodes, features) // each))


class SymmetricSearch:
    """Finds the split of every level of every tree, between bins; fills ``chosen``."""

    kernels: ClassVar[tuple[str, ...]] = ("histogram", "tiled_histogram", "symmetric")

    def __init__(self, parts: FitParts) -> None:
        from pyopencl_gbdt.growth.feature_mask import BorderDraws, mask_of
        from pyopencl_gbdt.growth.histogram import Histogram

        arena, _, nodes, features, ways = parts
        own = self.arena, self.nodes, self.features, self.ways = arena, nodes, features, ways
        self.columns = mask_of(parts)
        self.draws = BorderDraws(parts) if nodes.params.draws_splits else None
        self.histogram = Histogram(parts)
        self.sets = LevelBorders(*own) if features.has_categories else None
        self.program = ways.build("symmetric", self._build)
        n_features, trees = features.layout.n_features, nodes.n_trees
        arena.array("candidates", (trees, n_features), CANDIDATE)
        arena.array("chosen", self.nodes.search_capacity, CANDIDATE)
        arena.array("rough_sums", (trees, 2, features.layout.n_codes), np.float32)
        arena.array(
            "rough_best",
            (trees, n_features * _groups(self.nodes, self.features, self.ways)),
            np.float32,
        )
        split.constraints(self.arena, self.features)

    def _build(self, variant: Variant) -> Program:
        shrunk, monotone = (
            self.nodes.params.reg_alpha > 0,
            self.features.limits.monotone is not None,
        )
        return self.ways.device.build(
            "symmetric",
            wg_size=self.ways.wg_size(variant),
            run=variant.params["run"],
            monotone=monotone,
            masked=self.features.masks_columns,
            shrunk=shrunk,
            clipped=not (shrunk or monotone) and self.nodes.params.max_delta_step > 0,
            categories=self.features.has_categories,
            counted=self.nodes.params.limits_rows,
            drawn=self.nodes.params.extra_trees,
            noisy=self.nodes.params.random_strength > 0,
        )

    def candidates(self, step: int) -> Candidates:
        """Return candidates: every node has its level's split, with its own sums and gain."""
        return Candidates(True, self.features.layout.n_features)

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that find the splits of a level."""
        masks = [] if self.columns is None else [self.columns.level(step, batch)]
        masks += [] if self.draws is None else self.draws.level(step, batch)
        sets = [] if self.sets is None else self.sets.level(step, batch)
        return [*self.histogram.level(step), *masks, *sets, *self._find(step, batch)]

    def _find(self, step: int, batch: Batch) -> list[Launch]:
        p, bind = self.nodes.params, self.program.bind
        arena = self.arena
        n_features, capacity = self.features.layout.n_features, self.nodes.level_capacity(step)
        shape = {"depth": step, "n_codes": self.features.layout.n_codes}
        level = arena.arguments(
            "levels", "nodes", "node_sums", "feature_offset", "feature_bins", "pool"
        )
        rule = {
            **shape, **level, "n_features": n_features, "reg_lambda": p.reg_lambda,
            "reg_alpha": p.reg_alpha, "max_delta_step": p.max_delta_step,
            "min_child_weight": p.min_child_weight, **arena.arguments("node_bounds", "scale"),
            **({} if self.sets is None else self.sets.arguments()),
        }  # fmt: skip
        groups_of = _groups(self.nodes, self.features, self.ways)
        drawn = arena.arguments(*self.nodes.draw_arrays)
        ranks = {name: drawn.pop(name) for name in ("noisy_ranks",) if name in drawn}
        borders = {
            **rule, **self.features.masks(arena), "constraints": arena["monotone"],
            "n_parts": groups_of, **drawn,
        }  # fmt: skip
        rough = {} if p.extra_trees else arena.arguments("rough_sums", "rough_best")
        candidates = {"candidates": arena["candidates"], **ranks}
        groups = min(-(-capacity // self.program.wg_size), 16 * arena.device.caps.compute_units)
        pairs = min(max(1, capacity // 2 if step else capacity), MOST_Y)
        trees = n_features, batch.size
        kinds = {} if self.sets is None else {"borders": arena["set_borders"]}
        return [
            bind(
                "add_up",
                (n_features, pairs),
                **shape,
                **level,
                fullest=arena["fullest"],
                **kinds,
            ),
            *(
                bind("find_roughly", (n_features * groups_of, batch.size), **borders, **rough)
                for _ in range(bool(rough))
            ),
            bind("find", trees, **borders, **rough, **candidates),
            bind("share", groups, **rule, **candidates, gamma=p.gamma, chosen=arena["chosen"]),
        ]
