"""Growth policies: which nodes split next.

    level-wise    every node of a level whose split gains enough; a step is a level
    symmetric     all nodes of a level, by one split; a step is a level
    best-first    the open leaf of the highest rank of every tree; a step is a split of each

For a new policy, write a class as these two, or derive one that changes ``rank``, and return it
from ``policy_of``. Sizes are fixed before the tree is grown: the host never waits for a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.dtypes import CANDIDATE
from pyopencl_gbdt.fit.policy import PolicySizes
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.variants import Candidates
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.growth.best_first import Pick
from pyopencl_gbdt.growth.level import Level
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import DEEPEST_LEVEL

#: Returns the launches that choose the nodes that split in a step, and make their children, from
#: what the search leaves.
Choose = Callable[[int, Batch, Candidates], list[Launch]]


class Policy(PolicySizes, Protocol):
    """Sizes of a tree's steps, and the launches that choose which nodes split."""

    def build(self, ws: Workspace, grow: Level) -> Choose:
        """Build the policy's kernels, after those for whose chunks they make tasks."""


@dataclass(frozen=True)
class LevelWise:
    """Every node of a level splits if its split gains enough.

    Attributes
    ----------
    deepest : int
        Most levels whose nodes may split.
    limits_leaves : bool
        Whether a tree may have too few leaves for all splits of a level; the first nodes of the
        level then split.
    """

    deepest: int
    limits_leaves: bool = False
    picks_leaves: bool = False
    fills_levels: bool = False
    moves_last_rows: bool = False

    def n_steps(self, most_leaves: int) -> int:
        """Return the number of levels whose nodes may split."""
        return min(self.deepest, max(1, most_leaves - 1))

    def capacity(self, step: int, most_leaves: int) -> int:
        """Return the most nodes of a level."""
        return min(1 << step, most_leaves)

    def slots(self, most_leaves: int) -> int:
        """Return the most nodes of a level that is searched: it takes the place of the last."""
        return self.capacity(self.n_steps(most_leaves) - 1, most_leaves)

    def plan(self, plan: MemoryPlan, n_trees: int, most_leaves: int) -> None:
        """Plan the gains of a level's nodes, if leaves are counted."""
        last = n_trees * self.capacity(self.n_steps(most_leaves), most_leaves)
        plan.add("open_gain", last if self.limits_leaves else 1, np.float32)
        plan.add("picked", 1, np.uint32)  # bound, never read

    def build(self, ws: Workspace, grow: Level) -> Choose:
        """Return what decides for a whole level."""
        return grow.choose


@dataclass(frozen=True)
class Symmetric(LevelWise):
    """All nodes of a level split by one feature and threshold, if that gains enough in their sum.

    ``growth.symmetric`` finds this split. What is decided of a node is as level by level.
    """

    fills_levels: bool = True


@dataclass(frozen=True)
class BestFirst:
    """The open leaf of the highest rank splits, one of every tree in each step.

    Attributes
    ----------
    rank : str
        A leaf's rank, an expression of C: of ``gain`` (float32, what its split gains) and ``node``
        (its ``node_t``). Of equal ranks the leaf that was made first is taken.
    """

    rank: str = "gain"
    limits_leaves: bool = False  # the number of steps does
    picks_leaves: bool = True
    fills_levels: bool = False
    moves_last_rows: bool = True

    def n_steps(self, most_leaves: int) -> int:
        """Return the most splits of a tree."""
        return max(1, most_leaves - 1)

    def capacity(self, step: int, most_leaves: int) -> int:
        """Return the children of one split; the root alone in step 0."""
        return min(step + 1, 2)

    def slots(self, most_leaves: int) -> int:
        """Return the most leaves: an open one keeps its histogram."""
        return most_leaves

    def plan(self, plan: MemoryPlan, n_trees: int, most_leaves: int) -> None:
        """Plan the list of open leaves of every tree, and the best split of every node."""
        plan.add("kept", n_trees * (2 * most_leaves - 1), CANDIDATE)
        plan.add("open", (n_trees, most_leaves), np.uint32)
        plan.add("open_gain", n_trees * most_leaves, np.float32)
        plan.add("open_at", n_trees, np.uint32)
        plan.add("picked", n_trees, np.uint32)

    def build(self, ws: Workspace, grow: Level) -> Choose:
        """Return what picks a leaf of every tree."""
        return Pick(ws, self.rank).choose


def policy_of(params: Parameters) -> Policy:
    """Return the policy that the parameters ask for."""
    if params.leaf_wise:
        return BestFirst()
    if params.symmetric_trees:
        return Symmetric(params.max_depth)
    return LevelWise(params.max_depth or DEEPEST_LEVEL, limits_leaves=params.max_leaves > 0)
