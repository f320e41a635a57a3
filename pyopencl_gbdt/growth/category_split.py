"""The best split of every categorical feature by a set of levels, of every node of a level."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.fit.workspace import Workspace

#: Kinds of features: between bins, a level against the others, a set of levels.
NUMERIC, ONE_HOT, PARTITION = 0, 1, 2


def kinds_of(ws: Workspace) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the kind of every feature: uint32 array, shape (n_features,)."""
    categorical, levels = ws.layout.categorical, ws.layout.feature_bins
    assert categorical is not None
    few = levels < ws.params.max_cat_to_onehot
    return np.where(categorical, np.where(few, ONE_HOT, PARTITION), NUMERIC).astype(np.uint32)


def _entries(ws: Workspace) -> tuple[np.ndarray[Any, Any], int]:
    """Return (feature, first entry, one-hot, 0) of categorical features, and all their levels."""
    features = np.flatnonzero(kinds_of(ws))
    levels = ws.layout.feature_bins[features].astype(np.int64)
    one_hot = kinds_of(ws)[features] == ONE_HOT
    facts = (features, np.cumsum(levels) - levels, one_hot, np.zeros_like(features))
    return np.column_stack(facts).astype(np.uint32), int(levels.sum())


def order_arguments(ws: Workspace) -> dict[str, Any]:
    """Return the kernels' arguments that say how levels are put in order."""
    p, all_rows = ws.params, ws.all_rows
    return {
        "all_rows": all_rows, "smooth_rows": min(math.ceil(p.cat_smooth), all_rows),
        "order_lambda": p.reg_lambda + p.cat_smooth, "min_child_weight": p.min_child_weight,
    }  # fmt: skip


class CategorySplit:
    """Searches the splits by sets of one level after another; fills its features' ``candidates``.

    Launched behind ``find``, which makes histograms parent minus sibling.
    """

    kernels: ClassVar[tuple[str, ...]] = ("category_split",)

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "category_split",
            lambda variant: ws.device.build(
                "category_split",
                wg_size=variant.params["wg_size"],
                digit=variant.params["digit"],
                monotone=ws.monotone is not None,
                masked=ws.masks_columns,
            ),
        )
        entries, n_order = _entries(ws)
        ws.array("feature_kinds", ws.layout.n_features, np.uint32, kinds_of(ws))
        ws.array("set_features", entries.shape, np.uint32, entries)
        for name in ("level_order", "spare_order"):
            ws.array(name, (ws.search_capacity, max(n_order, 1)), np.uint64)
        ws.array("order_facts", (ws.search_capacity, len(entries), 6), np.int64)

    def level(self, depth: int) -> list[Launch]:
        """Return the launches for a level."""
        ws, p = self.ws, self.ws.params
        (n_sets, _), n_order = ws["set_features"].shape, ws["level_order"].shape[1]
        groups = (n_sets, min(ws.level_capacity(depth), MOST_Y))
        sizes = {
            "depth": depth, "n_features": ws.layout.n_features, "n_codes": ws.layout.n_codes,
            "n_order": n_order, "order": ws["level_order"], "facts": ws["order_facts"],
            **ws.arguments("set_features", "levels", "nodes", "scale", "feature_offset", "fullest",
                           "pool"),
        }  # fmt: skip
        order = self.program.bind(
            "order_levels", groups, spare=ws["spare_order"], most=p.max_cat_threshold,
            **sizes, **order_arguments(ws), **ws.arguments("allowed", "feature_bins"),
        )  # fmt: skip
        least, all_rows = p.min_data_per_group, ws.all_rows
        find = self.program.bind(
            "find_sets", groups, all_rows=all_rows, most=p.max_cat_threshold,
            group_rows=min(least, all_rows) if least > 1 else 0, set_lambda=p.reg_lambda + p.cat_l2,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            min_child_weight=p.min_child_weight, candidates=ws["candidates"], **sizes,
        )  # fmt: skip
        return [order, find]
