"""What is decided for a whole level at once: nodes, their children's places, tasks."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import BOUNDS, LEVEL, NODE, PAYLOAD, SUM, VALUE
from pyopencl_gbdt.fit.nodes import Batch, Candidates, Nodes
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.page_stream import RunPass
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows


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
    """Grows a tree level by level; all sizes stay on the device.

    Build it after the kernels of histograms, partition and leaves: its tasks have the sizes of
    their chunks. A policy that picks leaves has another class that decides, such as ``Pick``.
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
        """Return nothing: every split is the tree's."""
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
