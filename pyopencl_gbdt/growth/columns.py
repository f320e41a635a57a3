"""Rows and entries of split nodes follow their splits; for columns whose entries lie sorted."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.growth.column_search import PartitionOfRows
from pyopencl_gbdt.growth.exact import TURNS, ExactSearch, entry_arguments


def row_words(rows: FitRows) -> int:
    """Return the words that have a bit for every row."""
    return -(-rows.n_rows // 32)


class PartitionByColumns:
    """Finds every row's child by the entries of the split's feature, then moves all entries."""

    kernels: ClassVar[tuple[str, ...]] = ("columns", "row_nodes")

    def __init__(self, parts: FitParts, search: ExactSearch) -> None:
        arena, rows, nodes, _, ways = parts
        self.arena, self.rows, self.nodes = arena, rows, nodes
        self.node_pieces, self.interleaved = search.node_pieces, search.interleaved
        self.entries = search.entries
        picked = nodes.policy.picks_leaves
        self.row_nodes = ways.build_kernel("row_nodes", picked=picked)
        self.program = ways.build_kernel("columns", of_variant=("chunk",), picked=picked)
        tasks, chunk = self.entries.most_tasks, ways.variant("columns").params["chunk"]
        self.groups = min(tasks, 16 * arena.device.caps.compute_units)
        arena.array("row_nodes", (nodes.n_trees, rows.n_rows), np.uint32)
        arena.array("move_begin", nodes.most_level_nodes + 1, np.uint32)
        arena.array("row_sides", (nodes.n_trees, row_words(rows)), np.uint32)
        arena.array("piece_lefts", tasks, np.uint32)
        arena.array("entry_sides", (tasks, chunk // 32), np.uint32)

    def begin(self, batch: Batch) -> list[Action]:
        """Return the launch that gives the roots all entries."""
        arena = self.arena
        return [
            self.node_pieces.bind(
                "begin_entries", batch.size, n_entries=self.rows.pages[0].columns.n_entries,
                task_begin=arena["piece_begin"],
                **arena.arguments("entry_begin", "entry_end", "node_rough"),
            )
        ]  # fmt: skip

    def move(self, step: int, batch: Batch) -> list[Action]:
        """Return the actions that send rows and entries to the children, and list new pieces."""
        page, interleaved = self.rows.pages[0], self.interleaved
        arena = self.arena
        if interleaved is not None and interleaved.covers(step + 1):
            return [*self.last(step, batch), *interleaved.find(step + 1, batch)]
        if interleaved is not None and interleaved.sorts(step + 1):
            moved = interleaved.sort(step + 1, batch)
        else:
            moved = self._move(step, batch)
        pieces = self.node_pieces.bind(
            "list_pieces", 1, step=step + 1, levels=page["levels"], task_begin=arena["piece_begin"],
            **arena.arguments("entry_begin", "entry_end", "node_rough"),
        )  # fmt: skip
        return [*self.last(step, batch), *moved, pieces]

    def _move(self, step: int, batch: Batch) -> list[Action]:
        """Return the launches that move the entries of each node to its children."""
        parts = self.entries.parts
        arena = self.arena
        page, capacity = self.rows.pages[0], self.nodes.level_capacity(step)
        nodes = page.arguments("levels", "nodes", *self.nodes.pick_arrays)
        where = entry_arguments(self.arena, self.rows, self.entries, "move_begin")
        ends = {name: where[name] for name in ("entry_begin", "entry_end", "task_begin")}
        step_of = {"step": step, "n_trees": batch.size}
        tasks = {**where, **nodes, **step_of, "entry_sides": arena["entry_sides"]}
        moved = {f"moved_{name}": arena[name] for name in TURNS}
        lefts, words = arena["piece_lefts"], row_words(self.rows)
        return [
            self.row_nodes.bind(
                "pack_sides", (-(-words // self.row_nodes.wg_size), batch.size),
                n_rows=self.rows.n_rows, row_words=words, n_trees=batch.size,
                **arena.arguments("row_nodes", "row_sides"),
            ),
            self.node_pieces.bind("list_moves", 1, **step_of, **nodes, **ends),
            *parts.bind(
                self.program, "count_lefts", self.groups, row_words=words,
                row_sides=arena["row_sides"], lefts=lefts, **tasks,
            ),
            self.node_pieces.bind(
                "place_entries", capacity, lefts=lefts, **step_of, **nodes, **ends
            ),
            *parts.bind(
                self.program, "move_entries", self.groups, lefts=lefts, **moved, **tasks
            ),
        ]  # fmt: skip

    def last(self, step: int, batch: Batch) -> list[Action]:
        """Return the launches that send rows, but not entries, to the children."""
        page = self.rows.pages[0]
        arena, rows = self.arena, self.rows
        where = entry_arguments(self.arena, self.rows, self.entries, "move_begin")
        for name in ("task_begin", "all_quanta", "even_quanta", "odd_quanta"):
            del where[name]
        capacity = min(self.nodes.level_capacity(step), MOST_Y)
        shared = max(1, 16 * arena.device.caps.compute_units // capacity)
        common = {"step": step, "n_rows": rows.n_rows, "row_nodes": arena["row_nodes"]}
        follow = self.row_nodes.bind(
            "follow", (rows.row_groups, batch.size), nodes=page["nodes"], **common
        )
        if self.interleaved is not None and self.interleaved.covers(step):
            return [follow, self.interleaved.follow(step)]
        return [
            follow,
            self.row_nodes.bind(
                "follow_split", (shared, capacity), n_trees=batch.size,
                feature_offset=arena["feature_offset"], quanta=arena["even_quanta"], **where,
                **common,
                **page.arguments("levels", "nodes", *self.nodes.pick_arrays),
            ),
        ]  # fmt: skip


class UpdateMarginsByNode:
    """Adds finished trees to the margins of the training rows, by the rows' nodes.

    ``partition``: has built the kernels of ``row_nodes``.
    """

    kernels: ClassVar[tuple[str, ...]] = ()

    def __init__(self, parts: FitParts, partition: PartitionByColumns | PartitionOfRows) -> None:
        self.arena, self.rows, self.nodes = parts.arena, parts.rows, parts.nodes
        self.program = partition.row_nodes

    def add(self, batch: Batch) -> list[Launch]:
        """Return the launch that adds the trees that were finished last."""
        arena, rows, nodes = self.arena, self.rows, self.nodes
        outputs = -(-batch.size // nodes.n_parallel)
        return [
            self.program.bind(
                "add_leaves", (rows.row_groups, outputs), n_rows=rows.n_rows,
                first_tree=batch.first,
                n_trees=batch.size, n_parallel=nodes.n_parallel,
                **arena.arguments("node_values", "row_nodes", "margins"),
            )
        ]  # fmt: skip
