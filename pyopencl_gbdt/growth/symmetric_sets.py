"""Splits by sets of levels that all nodes of a level of a symmetric tree share.

The levels of a feature are put in order once for a tree: by the sums of its root, which are those
of all nodes of any level. Then borders between levels are searched as those between bins.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch, Variant
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.fit.nodes import Batch, Nodes
from pyopencl_gbdt.fit.page import FitFeatures, FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.growth.category_sets import CategorySets
from pyopencl_gbdt.growth.category_split import FACTS, ONE_HOT, kinds_of, order_arguments

U32 = npt.NDArray[np.uint32]


def _tables(nodes: Nodes, features: FitFeatures) -> tuple[U32, U32, int, int]:
    """Return what kernels know of features with levels, and of all features; entries and cells.

    The first has (feature, first entry, one-hot, first cell) of those with levels; the second has
    (1 for sets, 2 for one level, else 0; first cell, cells, index into the first) of all.
    """
    kinds, most = kinds_of(nodes, features), nodes.params.max_cat_threshold
    with_levels = np.flatnonzero(kinds)
    levels = features.layout.feature_bins[with_levels].astype(np.int64)
    one_hot = kinds[with_levels] == ONE_HOT
    cells = np.where(one_hot, levels, np.minimum(levels, 2 * most + 1))
    begin = np.cumsum(cells + 1) - (cells + 1)  # one more for the rest
    own = np.column_stack([with_levels, np.cumsum(levels) - levels, one_hot, begin])
    borders = np.zeros((kinds.size, 4), np.uint32)
    borders[with_levels] = np.column_stack([1 + one_hot, begin, cells, np.arange(levels.size)])
    return own.astype(np.uint32), borders, int(levels.sum()), int((cells + 1).sum())


def _options(nodes: Nodes, variant: Variant) -> dict[str, Any]:
    """Return the parameters of the template."""
    picked = nodes.policy.picks if nodes.has_vectors else 0
    return {
        "wg_size": variant.params["wg_size"], "n_facts": FACTS, "led": nodes.has_vectors,
        "picked": picked,
    }  # fmt: skip


def most_borders(nodes: Nodes, features: FitFeatures) -> int:
    """Return the most borders of a feature."""
    if not features.has_categories:
        return int(features.layout.feature_bins.max())
    categorical, borders = features.layout.categorical, _tables(nodes, features)[1]
    assert categorical is not None
    return int(np.where(categorical, borders[:, 2], features.layout.feature_bins).max())


def order_sizes(arena: Arena) -> dict[str, int]:
    """Return the numbers of entries and of words of a tree."""
    sizes = {"n_order": "level_order", "n_words": "ordered_bits"}
    return {size: arena[name].shape[1] for size, name in sizes.items()}


class LevelBorders:
    """Fills the cells of borders between levels, of one level of trees after another."""

    kernels: ClassVar[tuple[str, ...]] = ("category_split", "symmetric_sets")

    def __init__(self, arena: Arena, nodes: Nodes, features: FitFeatures, ways: Ways) -> None:
        self.arena, self.nodes, self.features, self.ways = arena, nodes, features, ways
        arena, nodes, ways = self.arena, self.nodes, self.ways
        self._led = nodes.has_vectors
        self.order = ways.build(
            "category_split",
            lambda variant: ways.device.build(
                "category_split",
                **variant.params,
                monotone=False,
                masked=False,
                counted=self._led and nodes.params.limits_rows,
                drawn=False,
                noisy=False,
                smooth=False,
                n_facts=FACTS,
            ),
        )
        self.program = ways.build(
            "symmetric_sets",
            lambda variant: ways.device.build("symmetric_sets", **_options(nodes, variant)),
        )
        own, borders, n_order, n_cells = _tables(self.nodes, self.features)
        arena.array("set_features", own.shape, np.uint32, own)
        arena.array("set_borders", borders.shape, np.uint32, borders)
        for name in ("level_order", "spare_order"):
            arena.array(name, (nodes.n_trees, max(n_order, 1)), np.uint64)
        arena.array("order_facts", (nodes.n_trees, len(own), FACTS), np.int64)
        arena.array("ordered_bits", (nodes.n_trees, n_order // 32 + len(own) + 1), np.uint32)
        arena.array("border_flags", (nodes.n_trees, n_cells), np.uint32)
        arena.array("border_sums", (nodes.slots, n_cells, 2), np.int64)
        if self._led:
            arena.array("leads", (nodes.n_trees, len(own)), np.uint32)
            arena.array("root_sets", (nodes.n_trees, features.layout.n_features), CANDIDATE)

    def arguments(self) -> dict[str, DeviceArray | int | float]:
        """Return what the search of borders asks for besides numeric features."""
        p = self.nodes.params
        arena = self.arena
        return {
            "n_cells": arena["border_flags"].shape[1], "set_lambda": p.reg_lambda + p.cat_l2,
            "borders": arena["set_borders"], **arena.arguments("border_flags", "border_sums"),
        }  # fmt: skip

    def level(self, depth: int, batch: Batch) -> list[Launch]:
        """Return the launches of a level; they read histograms before these are added up."""
        p = self.nodes.params
        arena, features = self.arena, self.features
        n_sets, n_cells = arena["set_features"].shape[0], arena["border_flags"].shape[1]
        of_tree = {"order": arena["level_order"], "facts": arena["order_facts"]}
        shared = {
            "n_codes": features.layout.n_codes, "most": p.max_cat_threshold, **of_tree,
            **arena.arguments("set_features", "nodes", "node_sums", "feature_offset",
                              "feature_bins", "fullest", "pool"),
        }  # fmt: skip
        capacity = self.nodes.level_capacity(depth)
        pairs = min(max(1, capacity // 2 if depth else capacity), MOST_Y)
        add_up = self.program.bind(
            "add_up_sets", (n_sets, pairs), depth=depth, n_cells=n_cells, **order_sizes(self.arena),
            **shared, **arena.arguments("levels", "ordered_bits", "border_sums", *self._leads),
        )  # fmt: skip
        if depth:
            return [add_up]
        order, least = order_arguments(self.nodes), p.min_data_per_group
        put = self.order.bind(
            "order_levels", (n_sets, batch.size), depth=0, n_features=features.layout.n_features,
            n_order=arena["level_order"].shape[1], spare=arena["spare_order"], **shared, **order,
            **arena.arguments("levels", "scale"),
        )  # fmt: skip
        opened = self.program.bind(
            "open_borders", (n_sets, batch.size), n_cells=n_cells,
            all_rows=order["all_rows"], smooth_rows=order["smooth_rows"],
            group_rows=min(least, order["all_rows"]) if least > 1 else 0,
            **order_sizes(self.arena), **shared, **arena.arguments("ordered_bits", "border_flags"),
        )  # fmt: skip
        return [put, opened, *(self._leaders(batch) if self._led else []), add_up]

    @property
    def _leads(self) -> tuple[str, ...]:
        return ("leads",) if self._led else ()

    def _leaders(self, batch: Batch) -> list[Launch]:
        """Return the launches that choose the output in whose order a tree has its levels."""
        arena, nodes, p = self.arena, self.nodes, self.nodes.params
        n_sets, n_features = arena["set_features"].shape[0], self.features.layout.n_features
        rule = {
            "reg_lambda": p.reg_lambda, "reg_alpha": p.reg_alpha,
            "max_delta_step": p.max_delta_step,
            **arena.arguments("set_features", "node_sums", "scale"),
        }  # fmt: skip
        all_rows, least = nodes.all_rows, p.min_data_per_group
        found = self.order.bind(
            "find_sets", (n_sets, batch.size), depth=0, n_features=n_features,
            n_codes=self.features.layout.n_codes, n_order=arena["level_order"].shape[1],
            all_rows=all_rows, group_rows=min(least, all_rows) if least > 1 else 0,
            most=p.max_cat_threshold, set_lambda=p.reg_lambda + p.cat_l2,
            min_child_weight=p.min_child_weight, order=arena["level_order"],
            facts=arena["order_facts"], candidates=arena["root_sets"], **rule,
            **arena.arguments("levels", "nodes", "node_bounds", "feature_offset", "fullest",
                              "pool"),
        )  # fmt: skip
        chosen = self.program.bind(
            "choose_leads", (n_sets, batch.size // nodes.n_outputs), n_outputs=nodes.n_outputs,
            n_features=n_features, **rule, **arena.arguments("root_sets", "leads"),
        )  # fmt: skip
        return [found, chosen]


class LevelSets(CategorySets):
    """Writes the sets of a level's splits: one set for all nodes of a tree."""

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.nodes, self.ways = parts.arena, parts.nodes, parts.ways
        super().__init__(parts)
        self.of_levels = self.ways.build(
            "symmetric_sets",
            lambda variant: self.ways.device.build(
                "symmetric_sets", **_options(self.nodes, variant)
            ),
        )

    def _page(self, depth: int, batch: Batch, page: FitPage) -> Launch:
        arena, nodes = self.arena, self.nodes
        picks = nodes.policy.picks_leaves
        trees = {"n_trees": batch.size} if picks else {}
        leads = ("leads",) if nodes.has_vectors else ()
        return self.of_levels.bind(
            "write_level_sets", nodes.level_capacity(depth), depth=depth, **trees,
            most=nodes.params.max_cat_threshold, n_sets=arena["set_features"].shape[0],
            set_words=nodes.set_words, **order_sizes(self.arena),
            borders=arena["set_borders"], order=arena["level_order"], facts=arena["order_facts"],
            **page.arguments("levels", "nodes", *nodes.pick_arrays),
            **arena.arguments("set_features", "feature_bins", "ordered_bits", "sets", *leads),
        )  # fmt: skip
