"""The best split of every categorical feature by a set of levels, of every node of a level."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.fit.parts import FitParts

#: Kinds of features: between bins, a level against the others, a set of levels.
NUMERIC, ONE_HOT, PARTITION = 0, 1, 2
#: Numbers that tell of the order of a feature's levels in a node; the template lists them.
FACTS = 6


def kinds_of(ws: FitParts) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the kind of every feature: uint32 array, shape (n_features,)."""
    categorical, levels = ws.features.layout.categorical, ws.features.layout.feature_bins
    assert categorical is not None
    few = levels < ws.nodes.params.max_cat_to_onehot
    return np.where(categorical, np.where(few, ONE_HOT, PARTITION), NUMERIC).astype(np.uint32)


def _entries(ws: FitParts) -> tuple[np.ndarray[Any, Any], int]:
    """Return (feature, first entry, one-hot, 0) of categorical features, and all their levels."""
    features = np.flatnonzero(kinds_of(ws))
    levels = ws.features.layout.feature_bins[features].astype(np.int64)
    one_hot = kinds_of(ws)[features] == ONE_HOT
    facts = (features, np.cumsum(levels) - levels, one_hot, np.zeros_like(features))
    return np.column_stack(facts).astype(np.uint32), int(levels.sum())


def order_arguments(ws: FitParts) -> dict[str, Any]:
    """Return the kernels' arguments that say how levels are put in order."""
    p, all_rows = ws.nodes.params, ws.nodes.all_rows
    return {
        "all_rows": all_rows, "smooth_rows": min(math.ceil(p.cat_smooth), all_rows),
        "order_lambda": p.reg_lambda + p.cat_smooth, "min_child_weight": p.min_child_weight,
    }  # fmt: skip


class CategorySplit:
    """Searches the splits by sets of one level after another; fills its features' ``candidates``.

    Launched behind ``find``, which makes histograms parent minus sibling.
    """

    kernels: ClassVar[tuple[str, ...]] = ("category_split",)

    def __init__(self, ws: FitParts) -> None:
        arena, features = ws.arena, ws.features
        self.ws = ws
        self.program = ws.ways.build(
            "category_split",
            lambda variant: ws.ways.device.build(
                "category_split",
                wg_size=variant.params["wg_size"],
                digit=variant.params["digit"],
                monotone=features.limits.monotone is not None,
                masked=features.masks_columns,
                n_facts=FACTS,
            ),
        )
        entries, n_order = _entries(ws)
        arena.array("feature_kinds", features.layout.n_features, np.uint32, kinds_of(ws))
        arena.array("set_features", entries.shape, np.uint32, entries)
        for name in ("level_order", "spare_order"):
            arena.array(name, (ws.nodes.search_capacity, max(n_order, 1)), np.uint64)
        arena.array("order_facts", (ws.nodes.search_capacity, len(entries), FACTS), np.int64)

    def level(self, depth: int) -> list[Launch]:
        """Return the launches for a level."""
        ws, p = self.ws, self.ws.nodes.params
        arena, nodes, features = ws.arena, ws.nodes, ws.features
        (n_sets, _), n_order = arena["set_features"].shape, arena["level_order"].shape[1]
        groups = (n_sets, min(nodes.level_capacity(depth), MOST_Y))
        sizes = {
            "depth": depth, "n_features": features.layout.n_features,
            "n_codes": features.layout.n_codes,
            "n_order": n_order, "order": arena["level_order"], "facts": arena["order_facts"],
            **arena.arguments("set_features", "levels", "nodes", "node_sums", "scale",
                              "feature_offset", "fullest", "pool"),
        }  # fmt: skip
        order = self.program.bind(
            "order_levels", groups, spare=arena["spare_order"], most=p.max_cat_threshold,
            **sizes, **order_arguments(ws), **arena.arguments("allowed", "feature_bins"),
        )  # fmt: skip
        least, all_rows = p.min_data_per_group, nodes.all_rows
        find = self.program.bind(
            "find_sets", groups, all_rows=all_rows, most=p.max_cat_threshold,
            group_rows=min(least, all_rows) if least > 1 else 0, set_lambda=p.reg_lambda + p.cat_l2,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            min_child_weight=p.min_child_weight, **sizes,
            **arena.arguments("candidates", "node_bounds"),
        )  # fmt: skip
        return [order, find]
