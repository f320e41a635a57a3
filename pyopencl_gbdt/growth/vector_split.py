"""One split for the nodes of all outputs at a place: trees whose leaves are vectors.

With symmetric trees, a place has all nodes of a tree's level.

A tree of several outputs grows as a tree for each, in step: all trees of a round split alike, so
their nodes at a place have the same rows. The score of a split is the sum over outputs of what it
gains, as in XGBoost's ``multi_strategy="multi_output_tree"``. In an output where a side has no
rows, or a lighter sum of Hessians than ``min_child_weight``, it gains nothing, and both children
keep the node's weight.

Zhang & Jung 2020, "GBDT-MO: gradient boosted decision trees for multiple outputs".
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pyopencl_gbdt.device import Program, Variant
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.fit.nodes import Batch, Candidates
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth import split
from pyopencl_gbdt.growth.symmetric_sets import LevelBorders


class VectorSearch:
    """Finds the split of every place of a level, between bins; fills ``chosen``."""

    kernels: ClassVar[tuple[str, ...]] = ("histogram", "tiled_histogram", "vector_split")

    def __init__(self, parts: FitParts) -> None:
        from pyopencl_gbdt.growth.feature_mask import mask_of
        from pyopencl_gbdt.growth.histogram import Histogram

        arena, _, nodes, features, ways = parts
        self.arena, self.nodes, self.features, self.ways = arena, nodes, features, ways
        self.columns = mask_of(parts)
        self.histogram = Histogram(parts)
        self.sets = LevelBorders(arena, nodes, features, ways) if features.has_categories else None
        self.program = ways.build("vector_split", self._build)
        alike = nodes.policy.fills_levels
        places = nodes.n_parallel if alike else nodes.search_capacity // nodes.n_outputs
        arena.array("candidates", (places, features.layout.n_features), CANDIDATE)
        arena.array("chosen", nodes.search_capacity, CANDIDATE)
        if nodes.policy.picks_leaves:
            arena.array("place_gain", nodes.search_capacity, np.float32)
        split.constraints(arena, features)

    def _build(self, variant: Variant) -> Program:
        return self.ways.device.build(
            "vector_split", wg_size=self.ways.wg_size(variant), run=variant.params["run"],
            masked=self.features.masks_columns, shrunk=self.nodes.params.reg_alpha > 0,
            monotone=self._monotone,
            counted=self.nodes.params.limits_rows, ranked=self.nodes.policy.picks_leaves,
            categories=self.features.has_categories,
        )  # fmt: skip

    @property
    def _monotone(self) -> bool:
        return self.features.limits.monotone is not None

    def candidates(self, step: int) -> Candidates:
        """Return candidates: every node has its place's split, with its own sums and gain."""
        return Candidates(True, self.features.layout.n_features)

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that find the splits of a level."""
        masks = [] if self.columns is None else [self.columns.level(step, batch)]
        sets = [] if self.sets is None else self.sets.level(step, batch)
        return [*self.histogram.level(step), *masks, *sets, *self._find(step, batch)]

    def _find(self, step: int, batch: Batch) -> list[Action]:
        p, bind, arena, layout = (
            self.nodes.params,
            self.program.bind,
            self.arena,
            self.features.layout,
        )
        capacity, n_features = self.nodes.level_capacity(step), layout.n_features
        width = 1 << step if self.nodes.policy.fills_levels else 1
        shape = {"depth": step, "n_codes": layout.n_codes}
        level = arena.arguments(
            "levels", "nodes", "node_sums", "feature_offset", "feature_bins", "pool"
        )
        rule = {
            **shape, **level, "n_outputs": self.nodes.n_outputs, "width": width,
            "n_features": n_features, "reg_lambda": p.reg_lambda, "reg_alpha": p.reg_alpha,
            "max_delta_step": p.max_delta_step, "min_child_weight": p.min_child_weight,
            **arena.arguments("scale", "candidates"),
        }  # fmt: skip
        borders, flags, kinds = {}, {}, {}
        if self.sets is not None:
            borders = self.sets.arguments()
            kinds = {"borders": borders["borders"]}
            flags = {"n_sets": arena["set_features"].shape[0], **arena.arguments("leads")}
            flags["border_flags"] = borders.pop("border_flags")
        bounds, limits = {}, {}
        if self._monotone:
            bounds, limits = arena.arguments("node_bounds"), {"constraints": arena["monotone"]}
        ranked = ["place_gain"] if self.nodes.policy.picks_leaves else []
        found = arena.arguments("chosen", *ranked)
        pairs = min(max(1, capacity // 2 if step else capacity), MOST_Y)
        places = min(max(1, capacity // self.nodes.n_outputs // width), MOST_Y)
        return [
            bind(
                "add_up", (n_features, pairs), **shape, **level, fullest=arena["fullest"], **kinds
            ),
            bind(
                "find", (n_features, places), **rule, **bounds, **limits, **borders, **flags,
                **self.features.masks(arena),
            ),
            bind("share", places, **rule, **bounds, **borders, gamma=p.gamma, **found),
        ]  # fmt: skip
