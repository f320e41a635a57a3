"""Levels whose entries stay in the data's order, so that none moves: exact search, interleaved.

Near the root, nodes are few and large, and to move all entries to the children takes longer than to
find them where they are. So the entries of levels 1 to ``EntrySizes.interleaved_levels`` stay where
the root has them. They are cut into stretches; the entries of a node in a stretch are one of
the node's pieces, and each entry's rank tells where it is in one. Deeper, entries lie node by node,
see `growth.columns`.

Mitchell & Frank 2017, "Accelerating the XGBoost algorithm using GPU computing", who switch at depth
5. The model does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyopencl_gbdt.device import Program, Variant
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.growth.entries import EntrySizes

#: Most nodes of a tree whose entries a stretch lists: a byte has the number of one, or none.
MOST_NODES = 128


class Interleaved:
    """Finds the entries of a level's nodes where they lie in the data's order.

    Parameters
    ----------
    search : callable
        Builds the kernels that search along such entries, for a variant.

    Attributes
    ----------
    search : Program
        What it has built.
    """

    def __init__(
        self,
        arena: Arena,
        rows: FitRows,
        entries: EntrySizes,
        search: Callable[[Variant], Program],
    ) -> None:
        self.arena, self.rows, self.entries = arena, rows, entries
        self.nodes, ways = entries.nodes, entries.ways

        def build(variant: Variant) -> Program:
            self.search = search(variant)  # not kept: it may be bound to whoever keeps this
            return ways.device.build(
                "interleaved",
                wg_size=ways.wg_size(variant),
                chunk=variant.params["chunk"],
                most_nodes=MOST_NODES,
            )

        self.program = ways.build("interleaved", build)
        arena.array("entry_ranks", self.nodes.n_trees * entries.n_entries, np.uint16)
        for name in ("spans", "first_places", "piece_at"):
            arena.array(name, self.entries.most_stretch_pieces, np.uint32)

    def covers(self, step: int) -> bool:
        """Tell whether a step's nodes have their entries in the data's order; roots always do."""
        return 1 <= step <= self.entries.interleaved_levels

    def sorts(self, step: int) -> bool:
        """Tell whether entries move from the data's order to a step's nodes."""
        return 1 < step == self.entries.interleaved_levels + 1

    def pieces(self) -> dict[str, object]:
        """Return the kernels' arguments that say where the pieces of nodes are."""
        columns = self.rows.pages[0].columns
        arena = self.arena
        return {
            "all_rows": columns.rows, "all_places": columns.places, "n_entries": columns.n_entries,
            "n_stretches": self.entries.n_stretches,
            "all_quanta": arena[self.entries.quanta_of_roots],
            "ranks": arena["entry_ranks"], **arena.arguments("spans", "first_places"),
        }  # fmt: skip

    def follow(self, step: int) -> Action:
        """Return the launch that sends rows with a value of their node's feature to a child."""
        where = self._where(step)
        arena = self.arena
        capacity = min(self.nodes.level_capacity(step), MOST_Y)
        shared = max(1, 16 * arena.device.caps.compute_units // capacity)
        del where["all_quanta"], where["first_places"]
        return self.program.bind(
            "follow_pieces", (shared, capacity), feature_offset=arena["feature_offset"],
            row_nodes=arena["row_nodes"], **where,
        )  # fmt: skip

    def find(self, step: int, batch: Batch) -> list[Action]:
        """Return the launches that find the pieces of a step's new nodes."""
        where, levels = self._where(step), self.rows.pages[0]["levels"]
        arena = self.arena
        del where["all_quanta"]
        counted = {name: where[name] for name in ("step", "n_stretches", "levels", "nodes")}
        capacity = min(self.nodes.level_capacity(step), 16 * arena.device.caps.compute_units)
        return [
            self.program.bind(
                "list_stretches", 1, step=step, n_stretches=self.entries.n_stretches, levels=levels,
                task_begin=arena["piece_begin"], node_rough=arena["node_rough"],
            ),
            *self.entries.parts.bind(
                self.program, "rank_entries", (self.groups(batch), batch.size),
                row_nodes=arena["row_nodes"], **where,
            ),
            self.program.bind(
                "count_entries", capacity, **counted, **arena.arguments("spans", "piece_at")
            ),
        ]  # fmt: skip

    def sort(self, step: int, batch: Batch) -> list[Action]:
        """Return the launches that move all entries to a step's new nodes, each in order."""
        page = self.rows.pages[0]
        arena = self.arena
        side = "odd" if step % 2 else "even"
        where = self._where(step)
        del where["first_places"]
        moved = {f"moved_{name}": arena[f"{side}_{name}"] for name in ("rows", "places", "quanta")}
        return [
            *self.find(step, batch),
            self.program.bind(
                "place_nodes", 1, step=step, **page.arguments("levels", "nodes"),
                **arena.arguments("entry_begin", "entry_end"),
            ),
            *self.entries.parts.bind(
                self.program, "sort_entries", (self.groups(batch), batch.size), **moved, **where,
                **arena.arguments("row_nodes", "piece_at", "entry_begin"),
            ),
        ]  # fmt: skip

    def _where(self, step: int) -> dict[str, object]:
        nodes = self.rows.pages[0].arguments("levels", "nodes")
        return {**self.pieces(), **nodes, "step": step, "n_rows": self.rows.n_rows}

    def groups(self, batch: Batch) -> int:
        """Return the work-groups that share a tree's stretches."""
        shared = -(-16 * self.arena.device.caps.compute_units // batch.size)
        return min(self.entries.n_stretches, shared)
