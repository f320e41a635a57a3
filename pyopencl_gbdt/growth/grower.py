"""Grow the nodes of a tree: search splits, choose the nodes that split, move their rows."""

from __future__ import annotations

from pyopencl_gbdt.device.team import Action
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth.level import Level
from pyopencl_gbdt.growth.partition import Partition
from pyopencl_gbdt.growth.policy import Policy
from pyopencl_gbdt.growth.search import SplitSearch


class Grower:
    """Joins a search, a policy and a partition; built behind the search and the partition.

    Parameters
    ----------
    ws : Workspace
    search : SplitSearch
    policy : Policy
    partition : Partition
    """

    def __init__(
        self, ws: Workspace, search: SplitSearch, policy: Policy, partition: Partition
    ) -> None:
        self.ws, self.search, self.partition = ws, search, partition
        self.level = Level(ws)
        self.choose = policy.build(ws, self.level)

    def tree(self, batch: Batch) -> list[Action]:
        """Return the actions of all steps of some trees, bound to the workspace's arrays."""
        ws, level = self.ws, self.level
        actions: list[Action] = [*level.begin(batch), *self.partition.begin(batch)]
        for step in range(ws.n_levels):
            searched = self.search.search(step, batch)
            actions += searched if step else level.with_sums(searched, batch)
            actions += self.choose(step, batch, self.search.candidates(step))
            if step + 1 < ws.n_levels or ws.moves_last_rows:
                actions += self.partition.move(step, batch)
                actions += level.place(step, batch)
            else:
                actions += self.partition.last(step, batch)
        return actions
