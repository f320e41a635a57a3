"""What is decided for a whole level at once: nodes, their children's places, tasks."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import BOUNDS, LEVEL, NODE, PAYLOAD, SUM, VALUE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.policy import Candidates
from pyopencl_gbdt.fit.visits import RunPass


def tree_arrays(ws: FitParts) -> None:
    """Ask for the nodes and levels of the trees that grow, tasks, and counts of children."""
    rows, nodes = ws.rows, ws.nodes
    most_picked = nodes.n_trees * nodes.policy.picks  # a level of small trees has fewer nodes
    row_tasks = max(nodes.most_level_nodes, most_picked) + 1
    rows.array_of_pages("hist_task_begin", nodes.most_level_nodes + 2, np.uint32)
    rows.array_of_pages("row_task_begin", row_tasks, np.uint32)
    ws.arena.array("child_rows", 2 * nodes.search_capacity, np.uint32)
    rows.array_of_pages("drawn", nodes.n_trees, np.uint32, zeros)  # every tree leaves them so
    rows.array_of_pages("levels", nodes.n_levels + 1, LEVEL)
    rows.array_of_pages("nodes", nodes.max_nodes, NODE)
    ws.arena.array("node_sums", (nodes.max_nodes, 2), SUM)
    ws.arena.array("node_weights", nodes.max_nodes, VALUE)
    ws.arena.array("node_values", nodes.max_nodes, VALUE)
    ws.arena.array("node_bounds", nodes.max_nodes, BOUNDS)
    rows.array_of_pages("splits_left", nodes.n_trees, np.uint32)
    if nodes.policy.picks_leaves:
        return
    last = nodes.level_capacity(nodes.n_levels)
    rows.array_of_pages("open_gain", last if nodes.policy.limits_leaves else 1, np.float32)
    rows.array_of_pages("picked", 1, np.uint32)  # bound, never read


class Level:
    """Grows a tree level by level; all sizes stay on the device.

    Built behind the kernels for whose chunks it makes tasks. A policy that picks leaves has another
    class that decides, such as ``Pick``.
    """

    def __init__(self, ws: FitParts) -> None:
        nodes, ways = ws.nodes, ws.ways
        self.ws = ws
        self.program = ways.build_kernel(
            "plan",
            template="level",
            row_chunk=ways.variant("partition").params["chunk"],
            hist_chunk=ways.variant("histogram").params["chunk"],
            picked=nodes.policy.picks,
            limited=nodes.policy.limits_leaves,
            tables=nodes.policy.fills_levels,
        )
        tree_arrays(ws)

    def begin(self, batch: Batch) -> list[Action]:
        """Return the actions that make the roots of some trees, in every page.

        Where pages take turns, or a team enqueues its sums, roots get their rows, and in
        ``with_sums`` the sums of all rows.
        """
        ws = self.ws
        rows = ws.rows
        roots = [[self._root(batch, page)] for page in rows.pages]
        later = rows.turns is not None or rows.team.enqueues
        before = [] if later else rows.sum(ws.arena["sums"])
        return [*before, *rows.pagewise(roots)]

    def with_sums(self, searched: list[Action], batch: Batch) -> list[Action]:
        """Return the search of the roots' splits, with the sums of all rows in the roots.

        A team that enqueues sums adds up those of the roots and their histograms one after the
        other, which cards do as one sum.
        """
        ws = self.ws
        rows = ws.rows
        if rows.turns is not None:
            at = 1 + next(i for i, action in enumerate(searched) if isinstance(action, RunPass))
        elif rows.team.enqueues:
            at = next(i for i, action in enumerate(searched) if not isinstance(action, Launch))
        else:
            return searched
        behind = at + rows.team.enqueues
        sums = [*rows.team.sum(ws.arena["sums"]), *searched[at:behind]]
        roots = (self._root(batch, page) for page in rows.pages)
        return [*searched[:at], *sums, *roots, *searched[behind:]]

    def _root(self, batch: Batch, page: FitPage) -> Launch:
        ws = self.ws
        rows = ws.rows
        return self.program.bind(
            "begin_tree", batch.size, n_rows=page.part.n_rows, n_groups=rows.row_groups,
            most_leaves=ws.nodes.policy.most_leaves, lists_drawn=rows.lists_drawn, **page.rows,
            **ws.arena.arguments("sums", "node_sums", "node_bounds"),
            **page.arguments("drawn", "splits_left", "levels", "nodes", "hist_task_begin"),
        )  # fmt: skip

    def choose(self, depth: int, batch: Batch, found: Candidates) -> list[Launch]:
        """Return the launches that choose the nodes of a level that split."""
        return [self.decide(depth, page, found) for page in self.ws.rows.pages]

    def settle(self, batch: Batch) -> list[Launch]:
        """Return nothing: every split is the tree's."""
        return []

    def growing(self) -> bool:
        """Return True: all levels are enqueued at once."""
        return True

    def decide(self, depth: int, page: FitPage, found: Candidates) -> Launch:
        """Return the launch that turns the best splits into a page's nodes and row tasks."""
        ws, p = self.ws, self.ws.nodes.params
        arena = ws.arena
        return self.program.bind(
            "decide", 1, depth=depth, n_each=found.per_node, gamma=p.gamma,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            has_monotone=ws.features.limits.monotone is not None, chosen=arena[found.array],
            wanted=page["open_gain"], min_child_weight=p.min_child_weight,
            **page.arguments("levels", "nodes", "splits_left", "row_task_begin"),
            **arena.arguments("leaf_rate", "monotone", "scale", "child_rows", *PAYLOAD),
        )  # fmt: skip

    def place(self, depth: int, batch: Batch) -> list[Action]:
        """Return the actions that give the children their rows, histogram slots and tasks.

        In a team, and where pages take turns, the smaller child of a node is the one of less
        Hessian: it is known without counting all rows. Histograms, and so trees, do not depend on
        the choice.
        """
        ws = self.ws
        rows = ws.rows
        by_hessian = rows.turns is not None or rows.team.size > 1
        placed = [
            [self.program.bind(
                "place", 1, depth=depth, n_trees=batch.size, by_hessian=by_hessian,
                fixed_slot=ws.nodes.fixed_slot(depth + 1),
                **ws.arena.arguments("child_rows", "node_sums"),
                **page.arguments("levels", "nodes", "picked", "hist_task_begin"),
            )]
            for page in rows.pages
        ]  # fmt: skip
        return rows.pagewise(placed)
