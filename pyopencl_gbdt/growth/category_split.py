"""The best split of every categorical feature by a set of levels, of every node of a level."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.ways import Ways

#: Kinds of features: between bins, a level against the others, a set of levels.
NUMERIC, ONE_HOT, PARTITION = 0, 1, 2
#: Numbers that tell of the order of a feature's levels in a node; the template lists them.
FACTS = 6


def kinds_of(nodes: Nodes, features: FitFeatures) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the kind of every feature: uint32 array, shape (n_features,)."""
    categorical, levels = features.layout.categorical, features.layout.feature_bins
    assert categorical is not None
    few = levels < nodes.params.max_cat_to_onehot
    return np.where(categorical, np.where(few, ONE_HOT, PARTITION), NUMERIC).astype(np.uint32)


def _entries(nodes: Nodes, features: FitFeatures) -> tuple[np.ndarray[Any, Any], int]:
    """Return (feature, first entry, one-hot, 0) of categorical features, and all their levels."""
    kinds = kinds_of(nodes, features)
    own = np.flatnonzero(kinds)
    levels = features.layout.feature_bins[own].astype(np.int64)
    facts = (own, np.cumsum(levels) - levels, kinds[own] == ONE_HOT, np.zeros_like(own))
    return np.column_stack(facts).astype(np.uint32), int(levels.sum())


def facts_of(nodes: Nodes) -> int:
    """Return how many numbers tell of a feature's order; ``path_smooth`` adds one."""
    return FACTS + nodes.params.smooths


def order_arguments(nodes: Nodes) -> dict[str, Any]:
    """Return the kernels' arguments that say how levels are put in order."""
    p, all_rows = nodes.params, nodes.all_rows
    return {
        "all_rows": all_rows, "smooth_rows": min(math.ceil(p.cat_smooth), all_rows),
        "order_lambda": p.reg_lambda + p.cat_smooth, "min_child_weight": p.min_child_weight,
    }  # fmt: skip


class CategorySplit:
    """Searches the splits by sets of one level after another; fills its features' ``candidates``.

    Launched behind ``find``, which makes histograms parent minus sibling.
    """

    kernels: ClassVar[tuple[str, ...]] = ("category_split",)

    def __init__(self, arena: Arena, nodes: Nodes, features: FitFeatures, ways: Ways) -> None:
        self.arena, self.nodes, self.features, self.ways = arena, nodes, features, ways
        arena, features = self.arena, self.features
        self.program = self.ways.build(
            "category_split",
            lambda variant: self.ways.device.build(
                "category_split",
                wg_size=variant.params["wg_size"],
                digit=variant.params["digit"],
                monotone=features.limits.monotone is not None,
                masked=features.masks_columns,
                counted=nodes.params.limits_rows,
                drawn=nodes.params.extra_trees,
                noisy=nodes.params.random_strength > 0,
                smooth=nodes.params.smooths,
                n_facts=facts_of(nodes),
            ),
        )
        entries, n_order = _entries(nodes, features)
        kinds = kinds_of(nodes, features)
        arena.array("feature_kinds", kinds.size, np.uint32, kinds)
        arena.array("set_features", entries.shape, np.uint32, entries)
        for name in ("level_order", "spare_order"):
            arena.array(name, (self.nodes.search_capacity, max(n_order, 1)), np.uint64)
        facts = (nodes.search_capacity, len(entries), facts_of(nodes))
        arena.array("order_facts", facts, np.int64)

    def level(self, depth: int) -> list[Launch]:
        """Return the launches for a level."""
        p = self.nodes.params
        arena, nodes, features = self.arena, self.nodes, self.features
        (n_sets, _), n_order = arena["set_features"].shape, arena["level_order"].shape[1]
        groups = (n_sets, min(nodes.level_capacity(depth), MOST_Y))
        sizes = {
            "depth": depth, "n_features": features.layout.n_features,
            "n_codes": features.layout.n_codes,
            "n_order": n_order, "order": arena["level_order"], "facts": arena["order_facts"],
            **arena.arguments("set_features", "levels", "nodes", "node_sums", "scale",
                              "feature_offset", "fullest", "pool"),
        }  # fmt: skip
        rule: dict[str, Any] = {
            "reg_lambda": p.reg_lambda, "reg_alpha": p.reg_alpha,
            "max_delta_step": p.max_delta_step, **p.smoothing,
        }  # fmt: skip
        weighs = {**rule, **arena.arguments("node_weights")} if p.smooths else {}
        order = self.program.bind(
            "order_levels", groups, spare=arena["spare_order"], most=p.max_cat_threshold,
            **sizes, **order_arguments(nodes), **weighs,
            **features.masks(arena), **arena.arguments("feature_bins"),
        )  # fmt: skip
        least, all_rows = p.min_data_per_group, nodes.all_rows
        borders: dict[str, Any] = {
            "all_rows": all_rows, "most": p.max_cat_threshold,
            "group_rows": min(least, all_rows) if least > 1 else 0,
            "set_lambda": p.reg_lambda + p.cat_l2, "min_child_weight": p.min_child_weight,
            **rule, **sizes, **arena.arguments("candidates", "node_bounds", *nodes.draw_arrays),
        }  # fmt: skip
        kernels = ["find_sets", "sum_sets"] if p.smooths else ["find_sets"]
        return [order, *(self.program.bind(kernel, groups, **borders) for kernel in kernels)]
