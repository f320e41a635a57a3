"""The best split of every node of a step, by walks along whole columns; entries never move.

On a CPU, what a tree knows of its rows fits a cache: gradients and node of every row. So a
work-item walks a column's entries in the order of values, looks up their rows, and keeps a running
sum for every node that it meets. All trees share the data's own list of entries. Moving entries to
the children, as ``growth.exact`` does, would write and read 16 bytes of memory for each instead.

The splits are those of exact search: Chen & Guestrin 2016, algorithms 1 and 3. A column is left out
from the node on in which it has no split with children of ``min_child_weight``: below, it has none
either.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch, Variant
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action, Program
from pyopencl_gbdt.dtypes import CANDIDATE, SUM
from pyopencl_gbdt.fit.nodes import Batch, Candidates, Nodes
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.growth import split

#: Borders that are scored at a time; a node's borders in a column take a multiple of them.
_VECTOR = 8
#: Work-groups beyond which a core has no more than one: 64 with room for 65 536 rows take 84 MB.
_MANY_GROUPS = 64


def n_groups(ways: Ways) -> int:
    """Return the work-groups that share the columns of all trees.

    Several for each core even out their work. Each has room for the borders of a column, so where
    there are many cores, each core has one.
    """
    units = ways.device.caps.compute_units
    several = ways.variant("column_search").params["groups_per_unit"]
    return units * max(1, min(several, _MANY_GROUPS // units))


def most_nodes(nodes: Nodes) -> int:
    """Return the most nodes of a tree in a step that is searched."""
    return nodes.search_capacity // nodes.n_trees


def most_borders(nodes: Nodes, n_rows: int) -> int:
    """Return the room for the borders of a column, of all nodes of a tree."""
    return n_rows + (_VECTOR - 1) * min(most_nodes(nodes), n_rows)


class ColumnSearch:
    """Finds splits between any two neighbouring values of a column, without moving entries."""

    kernels: ClassVar[tuple[str, ...]] = ("column_search",)

    def __init__(self, parts: FitParts) -> None:
        from pyopencl_gbdt.growth.feature_mask import mask_of

        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        arena, nodes = self.arena, self.nodes
        self.columns = mask_of(parts)
        self.program = self.ways.build("column_search", self._build)
        self._ask_for_walks()
        arena.array("row_nodes", (nodes.n_trees, self.rows.n_rows), np.uint32)
        arena.array("chosen", nodes.search_capacity, CANDIDATE)
        split.constraints(self.arena, self.features)

    def _ask_for_walks(self) -> None:
        """Ask for each work-group's array of a column and a tree; steps leave zeros there."""
        n_features = self.features.layout.n_features
        arena = self.arena
        groups, nodes = n_groups(self.ways), most_nodes(self.nodes)
        borders = most_borders(self.nodes, self.rows.n_rows)
        arena.array("column_begin", n_features + 1, np.uint32, self._begin_columns)
        arena.array("closed_columns", (self.nodes.n_trees, n_features), np.uint8)
        arena.array("column_found", (groups + self.nodes.n_trees, nodes), CANDIDATE)
        arena.array("column_sums", (groups, nodes, 4), SUM, zeros)
        arena.array("node_spots", (groups, 5 * nodes), np.uint32, zeros)
        arena.array("border_sums", (groups, 2, borders), SUM)
        arena.array("border_places", (groups, borders), np.uint32)
        arena.array("node_rough", self.nodes.most_level_nodes, np.uint32, zeros)

    def _build(self, variant: Variant) -> Program:
        return self.ways.device.build(
            "column_search",
            wg_size=1,
            chunk=variant.params["chunk"],
            masked=self.features.masks_columns,
            clipped=self.nodes.params.max_delta_step > 0,
            counted=self.nodes.params.limits_rows,
        )

    def _begin_columns(self, column_begin: DeviceArray) -> None:
        """Find where columns begin."""
        page = self.rows.pages[0].columns
        self.program.launch(
            "begin_columns", n_groups(self.ways), n_entries=page.n_entries,
            n_features=self.features.layout.n_features, all_places=page.places,
            feature_offset=self.arena["feature_offset"], column_begin=column_begin,
        )  # fmt: skip

    def candidates(self, step: int) -> Candidates:
        """Return that a node's best split is left."""
        return Candidates(True, self.features.layout.n_features)

    def search(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that fill ``chosen`` for the new nodes of a step."""
        p, bind = self.nodes.params, self.program.bind
        arena, rows = self.arena, self.rows
        masks: list[Launch] = [] if self.columns is None else [self.columns.level(step, batch)]
        groups, page = n_groups(self.ways), rows.pages[0]
        common = {
            "step": step, "n_trees": batch.size, "n_entries": page.columns.n_entries,
            "n_nodes": most_nodes(self.nodes), "found": arena["column_found"],
            **page.arguments("levels", "nodes"), **arena.arguments("node_rough"),
        }  # fmt: skip
        return [
            *masks,
            bind(
                "find", groups, n_rows=rows.n_rows, n_features=self.features.layout.n_features,
                n_borders=most_borders(self.nodes, rows.n_rows), reg_lambda=p.reg_lambda,
                max_delta_step=p.max_delta_step, min_child_weight=p.min_child_weight,
                all_rows=page.columns.rows, all_places=page.columns.places,
                **common, **self.features.masks(arena),
                **arena.arguments("node_sums", "scale", "column_begin", "quanta", "high",
                               "row_nodes", "closed_columns", "column_sums", "node_spots",
                               "border_sums", "border_places"),
            ),
            bind(
                "best", self.nodes.level_capacity(step), n_groups=groups, **common,
                **arena.arguments("feature_offset", "chosen"),
            ),
        ]  # fmt: skip


class PartitionOfRows:
    """Writes every row's child, by the column of its node's split; entries stay in place."""

    kernels: ClassVar[tuple[str, ...]] = ("row_nodes",)

    def __init__(self, parts: FitParts, search: ColumnSearch) -> None:
        self.arena, self.rows, self.nodes = parts.arena, parts.rows, parts.nodes
        self.program = search.program
        self.row_nodes = parts.ways.build_kernel("row_nodes", picked=False)

    def begin(self, batch: Batch) -> list[Action]:
        """Return nothing: the first step finds all rows in the roots."""
        return []

    def move(self, step: int, batch: Batch) -> list[Action]:
        """Return the launches that send rows to the children."""
        page = self.rows.pages[0]
        arena, rows = self.arena, self.rows
        common = {
            "step": step, "n_rows": rows.n_rows, "nodes": page["nodes"],
            "row_nodes": arena["row_nodes"],
        }  # fmt: skip
        return [
            self.row_nodes.bind("follow", (rows.row_groups, batch.size), **common),
            self.program.bind(
                "follow_column",
                min(self.nodes.level_capacity(step), 8 * arena.device.caps.compute_units),
                levels=page["levels"], all_rows=page.columns.rows,
                all_places=page.columns.places, **common,
                **arena.arguments("feature_offset", "column_begin"),
            ),
        ]  # fmt: skip

    def last(self, step: int, batch: Batch) -> list[Action]:
        """Return the same launches: rows find their leaves by them."""
        return self.move(step, batch)
