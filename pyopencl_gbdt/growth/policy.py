"""Growth policies: which nodes split next.

    level-wise    every node of a level whose split gains enough; a step is a level
    together      the same of all outputs' trees, by one split for the nodes at a place
    symmetric     all nodes of a level, by one split; a step is a level
    best-first    the open leaf of the highest rank of every tree; a step is a split of each

For a new policy, write a class as these two, or derive one that changes ``rank``, and return it
from ``choose_recipe``. Sizes are fixed before the tree is grown: the host never waits for a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import LeavesAtATime
from pyopencl_gbdt.fit.nodes import Batch, Candidates, TreeSizes
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.best_first import Pick
from pyopencl_gbdt.growth.best_leaves import PickSeveral
from pyopencl_gbdt.growth.level import Level
from pyopencl_gbdt.parameters.values import ParameterValues

#: The step from which on the most nodes of a step stay the same.
LAST_SIZE = 64


class Choose(Protocol):
    """The launches that decide which nodes split."""

    def choose(self, step: int, batch: Batch, found: Candidates) -> list[Launch]:
        """Return what chooses the nodes that split in a step, and makes their children."""

    def settle(self, batch: Batch) -> list[Launch]:
        """Return what follows the last step of a tree."""

    def growing(self) -> bool:
        """Tell whether some tree has leaves that split; waits for the device."""


class Policy(Protocol):
    """Sizes of a tree's steps, and the launches that choose which nodes split.

    Every size is that of one tree with at most ``most_leaves`` leaves; attributes and methods are
    as in ``TreeSizes``.
    """

    @property
    def picks(self) -> int: ...

    @property
    def picks_leaves(self) -> bool: ...

    @property
    def limits_leaves(self) -> bool: ...

    @property
    def splits_alone(self) -> bool: ...

    @property
    def fills_levels(self) -> bool: ...

    @property
    def splits_alike(self) -> bool: ...

    @property
    def moves_last_rows(self) -> bool: ...

    def n_steps(self, most_leaves: int) -> int: ...

    def capacity(self, step: int, most_leaves: int) -> int:
        """Return the most new nodes of a step; from step ``LAST_SIZE`` on it stays the same."""

    def first_steps(self, most_leaves: int) -> int: ...

    def made(self, most_leaves: int) -> int: ...

    def slots(self, most_leaves: int) -> int: ...

    def build(self, parts: FitParts, grow: Level) -> Choose:
        """Build the policy's kernels, after the kernels whose chunks are their tasks."""


def tree_sizes(policy: Policy, params: ParameterValues, all_rows: int) -> TreeSizes:
    """Return the sizes of a tree that grows on so many rows."""
    leaves = 1 << params.max_depth if policy.fills_levels else params.most_leaves(all_rows)
    n_steps = policy.n_steps(leaves)
    capacities = (policy.capacity(step, leaves) for step in range(min(n_steps, LAST_SIZE) + 1))
    return TreeSizes(
        leaves, n_steps, policy.first_steps(leaves), tuple(capacities), policy.made(leaves),
        policy.slots(leaves), policy.picks, policy.picks_leaves, policy.limits_leaves,
        policy.splits_alone, policy.fills_levels, policy.splits_alike, policy.moves_last_rows,
    )  # fmt: skip


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
    picks: int = 0
    picks_leaves: bool = False
    fills_levels: bool = False
    splits_alike: bool = False
    moves_last_rows: bool = False

    @property
    def splits_alone(self) -> bool:
        """All that gain enough split, unless leaves are counted or a level splits alike."""
        return not (self.limits_leaves or self.splits_alike)

    def n_steps(self, most_leaves: int) -> int:
        """Return the number of levels whose nodes may split."""
        return min(self.deepest, max(1, most_leaves - 1))

    def capacity(self, step: int, most_leaves: int) -> int:
        """Return the most nodes of a level."""
        return min(1 << step, most_leaves)

    def first_steps(self, most_leaves: int) -> int:
        """Return all steps."""
        return self.n_steps(most_leaves)

    def made(self, most_leaves: int) -> int:
        """Return the leaves of a tree."""
        return most_leaves

    def slots(self, most_leaves: int) -> int:
        """Return the most nodes of a level that is searched: it takes the place of the last."""
        return self.capacity(self.n_steps(most_leaves) - 1, most_leaves)

    def build(self, parts: FitParts, grow: Level) -> Choose:
        """Return what decides for a whole level."""
        return grow


@dataclass(frozen=True)
class Symmetric(LevelWise):
    """All nodes of a level split by one feature and threshold, if that gains enough in their sum.

    ``growth.symmetric`` finds this split. What is decided of a node is as level by level.
    """

    fills_levels: bool = True
    splits_alike: bool = True


@dataclass(frozen=True)
class Together(LevelWise):
    """Nodes of all outputs' trees at a place split alike, if that gains enough in their sum.

    ``growth.vector_split`` finds this split.
    """

    splits_alike: bool = True


@dataclass(frozen=True)
class BestFirst:
    """The open leaf of the highest rank splits, one of every tree after another.

    Of trees whose outputs split alike, the gain is the sum over the outputs.

    Attributes
    ----------
    rank : str
        A leaf's rank, an expression of C: of ``gain`` (float32, what its split gains) and ``node``
        (its ``node_t``). Of equal ranks the leaf that was made first is taken.
    picks : int
        Leaves of a tree that split in a step at most. With several, some split too early, and the
        tree does not get them: it is the same for any number.
    """

    rank: str = "gain"
    picks: int = 1
    limits_leaves: bool = False  # the number of steps does
    picks_leaves: bool = True
    splits_alone: bool = False
    fills_levels: bool = False
    splits_alike: bool = False
    moves_last_rows: bool = True

    def n_steps(self, most_leaves: int) -> int:
        """Return the most splits of a tree; one more step settles the last of several picks."""
        return max(1, most_leaves - 1) + (self.picks > 1)

    def first_steps(self, most_leaves: int) -> int:
        """Return how many steps most trees take, if several leaves split in a step."""
        steps = self.n_steps(most_leaves)
        if self.picks == 1:
            return steps
        return min(steps, 2 * most_leaves.bit_length() + 2 * most_leaves // self.picks + 4)

    def capacity(self, step: int, most_leaves: int) -> int:
        """Return the children of the leaves that split; the root alone in step 0."""
        return min(1 << min(step, 31), 2 * self.picks)

    def made(self, most_leaves: int) -> int:
        """Return the most leaves: half as many again if some may split too early."""
        return most_leaves if self.picks == 1 else most_leaves + most_leaves // 2

    def slots(self, most_leaves: int) -> int:
        """Return the most leaves: an open one keeps its histogram."""
        return self.made(most_leaves)

    def build(self, parts: FitParts, grow: Level) -> Choose:
        """Return what picks leaves of every tree."""
        return (Pick if self.picks == 1 else PickSeveral)(parts, self.rank)


def agreed(policy: Policy, team: Team) -> Policy:
    """Return the policy of all members of a team: as many leaves a step as the fewest."""
    if not isinstance(policy, BestFirst):
        return policy
    return replace(policy, picks=team.least(LeavesAtATime, policy.picks))
