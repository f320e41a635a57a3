"""Growth policies: which nodes split next, and the launches that give these their children.

    level-wise    every node of a level whose split gains enough; a step is a level
    together      the same of all outputs' trees, by one split for the nodes at a place
    symmetric     all nodes of a level, by one split; a step is a level
    best-first    the open leaf of the highest rank of every tree; a step is a split of each

For a new policy, write a class as these two, or derive one that changes ``rank``, and return it
from ``choose_recipe``. Sizes are fixed before the tree is grown: the host never waits for a step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import LeavesAtATime
from pyopencl_gbdt.dtypes import BOUNDS, LEVEL, NODE, PAYLOAD, SUM, VALUE
from pyopencl_gbdt.fit.nodes import Batch, Candidates, Nodes, TreeSizes
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.parameters.values import ParameterValues

#: The step from which on the most nodes of a step stay the same.
LAST_SIZE = 64


def node_arrays(arena: Arena, rows: FitRows, nodes: Nodes) -> None:
    """Ask for the nodes and levels of trees, and for what nodes carry."""
    rows.array_of_pages("levels", nodes.n_levels + 1, LEVEL)
    rows.array_of_pages("nodes", nodes.max_nodes, NODE)
    arena.array("node_sums", (nodes.max_nodes, 2), SUM)
    arena.array("node_weights", nodes.max_nodes, VALUE)
    arena.array("node_values", nodes.max_nodes, VALUE)
    arena.array("node_bounds", nodes.max_nodes, BOUNDS)


def tree_arrays(arena: Arena, rows: FitRows, nodes: Nodes) -> None:
    """Ask for the nodes and levels of the trees that grow, tasks, and counts of children."""
    most_picked = nodes.n_trees * nodes.policy.picks  # a level of small trees has fewer nodes
    row_tasks = max(nodes.most_level_nodes, most_picked) + 1
    rows.array_of_pages("hist_task_begin", nodes.most_level_nodes + 2, np.uint32)
    rows.array_of_pages("row_task_begin", row_tasks, np.uint32)
    arena.array("child_rows", 2 * nodes.search_capacity, np.uint32)
    rows.array_of_pages("drawn", nodes.n_lists, np.uint32, zeros)  # every tree leaves them so
    node_arrays(arena, rows, nodes)
    rows.array_of_pages("splits_left", nodes.n_trees, np.uint32)
    if nodes.policy.picks_leaves:
        return
    last = nodes.level_capacity(nodes.n_levels)
    rows.array_of_pages("open_gain", last if nodes.policy.limits_leaves else 1, np.float32)


class Level:
    """Gives nodes their children, and these their places; all sizes stay on the device.

    Build it after the kernels of histograms, partition and leaves: its tasks have the sizes of
    their chunks. It is the ``Choose`` of policies that decide for a level; one that picks leaves
    has another class for that, such as ``Pick``.
    """

    def __init__(self, parts: FitParts) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        nodes, ways = self.nodes, self.ways
        self.program = ways.build_kernel(
            "plan",
            template="level",
            row_chunk=ways.variant("partition").params["chunk"],
            hist_chunk=ways.variant("histogram").params["chunk"],
            picked=nodes.policy.picks,
            limited=nodes.policy.limits_leaves,
            tables=nodes.policy.splits_alike,
            counted=nodes.params.limits_rows,
            smooth=nodes.params.smooths,
        )
        tree_arrays(self.arena, self.rows, self.nodes)

    def begin(self, batch: Batch) -> list[Action]:
        """Return the actions that make the roots of some trees, in every page.

        Where pages take turns, or a team enqueues its sums, roots get their rows, and in
        ``with_sums`` the sums of all rows.
        """
        rows = self.rows
        roots = [[self._root(batch, page)] for page in rows.pages]
        later = rows.schedule is not None or rows.team.enqueues
        before = [] if later else rows.sum(self.arena["sums"])
        return [*before, *rows.pagewise(roots)]

    def with_sums(self, searched: list[Action], batch: Batch) -> list[Action]:
        """Return the search of the roots' splits, with the sums of all rows in the roots.

        A team that enqueues sums adds up those of the roots and their histograms one after the
        other, which cards do as one sum.
        """
        from pyopencl_gbdt.fit.page_stream import RunPass

        rows = self.rows
        if rows.schedule is not None:
            at = 1 + next(i for i, action in enumerate(searched) if isinstance(action, RunPass))
        elif rows.team.enqueues:
            at = next(i for i, action in enumerate(searched) if not isinstance(action, Launch))
        else:
            return searched
        behind = at + rows.team.enqueues
        sums = [*rows.team.sum(self.arena["sums"]), *searched[at:behind]]
        roots = (self._root(batch, page) for page in rows.pages)
        return [*searched[:at], *sums, *roots, *searched[behind:]]

    def _root(self, batch: Batch, page: FitPage) -> Launch:
        rows = self.rows
        return self.program.bind(
            "begin_tree", batch.size, n_rows=page.part.n_rows, n_groups=rows.row_groups,
            most_leaves=self.nodes.policy.most_leaves, n_lists=self.nodes.n_lists,
            lists_drawn=rows.lists_drawn, **page.rows,
            **self.arena.arguments("sums", "node_sums", "node_bounds"),
            **page.arguments("drawn", "splits_left", "levels", "nodes", "hist_task_begin"),
        )  # fmt: skip

    def choose(self, depth: int, batch: Batch, found: Candidates) -> list[Launch]:
        """Return the launches that choose the nodes of a level that split."""
        return [self.decide(depth, page, found) for page in self.rows.pages]

    def settle(self, batch: Batch) -> list[Launch]:
        """Return no launches: the tree keeps every split."""
        return []

    def growing(self) -> bool:
        """Return True: all levels are enqueued at once."""
        return True

    def decide(self, depth: int, page: FitPage, found: Candidates) -> Launch:
        """Return the launch that turns the best splits into a page's nodes and row tasks."""
        p = self.nodes.params
        arena = self.arena
        return self.program.bind(
            "decide", 1, depth=depth, n_each=found.per_node, gamma=p.gamma,
            n_alike=self.nodes.n_alike,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            has_monotone=self.features.limits.monotone is not None, chosen=arena[found.array],
            wanted=page["open_gain"], min_child_weight=p.min_child_weight, **p.smoothing,
            **page.arguments("levels", "nodes", "splits_left", "row_task_begin"),
            **arena.arguments("leaf_rate", "monotone", "scale", "child_rows", *PAYLOAD),
        )  # fmt: skip

    def place(self, depth: int, batch: Batch) -> list[Action]:
        """Return the actions that give the children their rows, histogram slots and tasks.

        In a team, and where pages take turns, the smaller child of a node is the one of less
        Hessian: it is known without counting all rows. Histograms, and so trees, do not depend on
        the choice.
        """
        rows = self.rows
        by_hessian = rows.schedule is not None or rows.team.size > 1
        placed = [
            [self.program.bind(
                "place", 1, depth=depth, n_trees=batch.size, by_hessian=by_hessian,
                n_alike=self.nodes.n_alike, fixed_slot=self.nodes.fixed_slot(depth + 1),
                **self.arena.arguments("child_rows", "node_sums"),
                **page.arguments("levels", "nodes", *self.nodes.pick_arrays, "hist_task_begin"),
            )]
            for page in rows.pages
        ]  # fmt: skip
        return rows.pagewise(placed)


class Choose(Protocol):
    """The launches that decide which nodes split."""

    def choose(self, step: int, batch: Batch, found: Candidates) -> list[Launch]:
        """Return the launches that choose which nodes split in a step, and make their children."""

    def settle(self, batch: Batch) -> list[Launch]:
        """Return the launches that follow the last step of a tree."""

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
        """All nodes that gain enough split, unless leaves are limited or a level shares a split."""
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
        """Return the step that decides which nodes of a level split."""
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

    If the outputs of a tree split alike, the gain is the sum over the outputs.

    Attributes
    ----------
    rank : str
        A leaf's rank, an expression of C: of ``gain`` (float32, what its split gains) and ``node``
        (its ``node_t``). Of equal ranks the leaf that was made first is taken.
    picks : int
        Most leaves of a tree that split in one step. With several, some split too early, and the
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
        """Return the step that picks the leaves of every tree that split."""
        from pyopencl_gbdt.growth.best_first import Pick, PickSeveral

        return (Pick if self.picks == 1 else PickSeveral)(parts, self.rank)


def agreed(policy: Policy, team: Team) -> Policy:
    """Return the policy of all members of a team: as many leaves a step as the fewest."""
    if not isinstance(policy, BestFirst):
        return policy
    return replace(policy, picks=team.least(LeavesAtATime, policy.picks))
