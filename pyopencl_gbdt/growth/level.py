"""What is decided for a whole level at once: nodes, their children's places, tasks."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import LEVEL, NODE
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.variants import Candidates
from pyopencl_gbdt.fit.visits import RunPass
from pyopencl_gbdt.fit.workspace import Workspace


def tree_arrays(ws: Workspace) -> None:
    """Ask for the nodes and levels of the trees that grow, tasks, and counts of children."""
    most_picked = ws.n_trees * ws.policy.picks  # a level of small trees has fewer nodes
    row_tasks = max(ws.most_level_nodes, most_picked) + 1
    ws.array_of_pages("hist_task_begin", ws.most_level_nodes + 2, np.uint32)
    ws.array_of_pages("row_task_begin", row_tasks, np.uint32)
    ws.array("child_rows", 2 * ws.search_capacity, np.uint32)
    ws.array_of_pages("drawn", ws.n_trees, np.uint32, zeros)  # every tree leaves them so
    ws.array_of_pages("levels", ws.n_levels + 1, LEVEL)
    ws.array_of_pages("nodes", ws.max_nodes, NODE)
    ws.array_of_pages("splits_left", ws.n_trees, np.uint32)
    if ws.policy.picks_leaves:
        return
    last = ws.level_capacity(ws.n_levels)
    ws.array_of_pages("open_gain", last if ws.policy.limits_leaves else 1, np.float32)
    ws.array_of_pages("picked", 1, np.uint32)  # bound, never read


class Level:
    """Grows a tree level by level; all sizes stay on the device.

    Built behind the kernels for whose chunks it makes tasks. A policy that picks leaves has another
    class that decides, such as ``Pick``.
    """

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "plan",
            lambda variant: ws.device.build(
                "level",
                wg_size=ws.wg_size(variant),
                row_chunk=ws.variant("partition").params["chunk"],
                hist_chunk=ws.variant("histogram").params["chunk"],
                picked=ws.policy.picks,
                limited=ws.policy.limits_leaves,
                tables=ws.policy.fills_levels,
            ),
        )
        tree_arrays(ws)

    def begin(self, batch: Batch) -> list[Action]:
        """Return the actions that make the roots of some trees, in every page.

        Where pages take turns, roots get their rows, and in ``with_sums`` the sums of all rows.
        """
        ws = self.ws
        roots = [[self._root(batch, page)] for page in ws.pages]
        before = [] if ws.turns is not None else ws.sum(ws["sums"])
        return [*before, *ws.pagewise(roots)]

    def with_sums(self, searched: list[Action], batch: Batch) -> list[Action]:
        """Return the search of the roots' splits, with the sums of all rows in the roots."""
        ws = self.ws
        if ws.turns is None:
            return searched
        at = 1 + next(i for i, action in enumerate(searched) if isinstance(action, RunPass))
        again = [*ws.team.sum(ws["sums"]), *(self._root(batch, page) for page in ws.pages)]
        return [*searched[:at], *again, *searched[at:]]

    def _root(self, batch: Batch, page: FitPage) -> Launch:
        ws = self.ws
        return self.program.bind(
            "begin_tree", batch.size, n_rows=page.part.n_rows, n_groups=ws.row_groups,
            most_leaves=ws.most_leaves, lists_drawn=ws.lists_drawn, sums=ws["sums"], **page.rows,
            **page.arguments("drawn", "splits_left", "levels", "nodes", "hist_task_begin"),
        )  # fmt: skip

    def choose(self, depth: int, batch: Batch, found: Candidates) -> list[Launch]:
        """Return the launches that choose the nodes of a level that split."""
        return [self.decide(depth, page, found) for page in self.ws.pages]

    def settle(self, batch: Batch) -> list[Launch]:
        """Return nothing: every split is the tree's."""
        return []

    def growing(self) -> bool:
        """Return True: all levels are enqueued at once."""
        return True

    def decide(self, depth: int, page: FitPage, found: Candidates) -> Launch:
        """Return the launch that turns the best splits into a page's nodes and row tasks."""
        ws, p = self.ws, self.ws.params
        return self.program.bind(
            "decide", 1, depth=depth, n_each=found.per_node, gamma=p.gamma,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            has_monotone=ws.monotone is not None, chosen=ws[found.array],
            wanted=page["open_gain"], min_child_weight=p.min_child_weight,
            **page.arguments("levels", "nodes", "splits_left", "row_task_begin"),
            **ws.arguments("leaf_rate", "monotone", "scale", "child_rows"),
        )  # fmt: skip

    def place(self, depth: int, batch: Batch) -> list[Action]:
        """Return the actions that give the children their rows, histogram slots and tasks.

        In a team, and where pages take turns, the smaller child of a node is the one of less
        Hessian: it is known without counting all rows. Histograms, and so trees, do not depend on
        the choice.
        """
        ws = self.ws
        by_hessian = ws.turns is not None or ws.team.size > 1
        placed = [
            [self.program.bind(
                "place", 1, depth=depth, n_trees=batch.size, by_hessian=by_hessian,
                fixed_slot=ws.fixed_slot(depth + 1), child_rows=ws["child_rows"],
                **page.arguments("levels", "nodes", "picked", "hist_task_begin"),
            )]
            for page in ws.pages
        ]  # fmt: skip
        return ws.pagewise(placed)
