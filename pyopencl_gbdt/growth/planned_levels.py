"""What is known of symmetric trees before they grow: the first node of every level.

    batch 0   |level 0: tree 0, tree 1|level 1: tree 0, tree 1| ..      planned_nodes
    batch 1   |level 0: tree 0|level 1: tree 0| ..
    levels    |batch 0|batch 1|                                         planned_levels

Draws of columns and of bits depend on nothing else, so one launch draws for all levels.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.dtypes import LEVEL, NODE
from pyopencl_gbdt.fit.nodes import Batch, Nodes


class PlannedLevels:
    """The first nodes of all levels of a round's trees, as nodes of one level for each batch."""

    def __init__(self, arena: Arena, nodes: Nodes) -> None:
        self.arena, self.nodes = arena, nodes
        n_levels = nodes.n_levels
        sizes = [self.places(batch) for batch in nodes.batches]
        levels = np.zeros(len(sizes), LEVEL)
        levels["first"], levels["count"] = np.cumsum([0, *sizes[:-1]]), sizes
        planned = np.zeros(sum(sizes), NODE)
        trees = [np.tile(np.arange(batch.size), n_levels) for batch in nodes.batches]
        depths = [np.repeat(np.arange(n_levels), batch.size) for batch in nodes.batches]
        planned["tree"], planned["depth"] = np.concatenate(trees), np.concatenate(depths)
        planned["path"] = 1 << planned["depth"]
        arena.array("planned_nodes", planned.size, NODE, planned)
        arena.array("planned_levels", levels.size, LEVEL, levels)

    def places(self, batch: Batch) -> int:
        """Return how many levels the trees of a batch have together."""
        return batch.size * self.nodes.n_levels

    def number(self, batch: Batch) -> int:
        """Return the index of a batch's level."""
        return self.nodes.batches.index(batch)

    def arguments(self) -> dict[str, DeviceArray]:
        """Return the planned nodes and levels, by the names of those that grow."""
        return {"levels": self.arena["planned_levels"], "nodes": self.arena["planned_nodes"]}
