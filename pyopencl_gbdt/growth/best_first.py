"""Best-first growth: the open leaf of the highest rank of every tree splits, or several leaves do.

A step of a GPU takes as long for one leaf as for many. So there a step splits the leaf whose turn
it is, and those whose turn comes if no better ones are found meanwhile. Which splits the tree gets
is found by playing best-first growth with all that is known; so the tree is the same.
``templates/growth/best_leaves.cl.mako`` has a picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.dtypes import CANDIDATE, PAYLOAD
from pyopencl_gbdt.fit.nodes import Batch, Candidates, Nodes
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows

#: Trees with more leaves split one leaf a step: histograms of half as many leaves again, and one
#: work-group that compares all leaves with each other, would cost too much.
MOST_SEVERAL = 512


def open_leaves(rows: FitRows, nodes: Nodes) -> None:
    """Ask for the list of open leaves of every tree, and the best split of every node."""
    rows.array_of_pages("kept", nodes.max_nodes, CANDIDATE)
    rows.array_of_pages("open", (nodes.n_trees, nodes.policy.most_leaves), np.uint32)
    rows.array_of_pages("picked", nodes.n_trees * nodes.policy.picks, np.uint32)


class Pick:
    """Picks a leaf of every tree, step by step, and splits it.

    ``rank`` is that of ``growth.policy.BestFirst``.

    Build it after the kernels of histograms, partition and leaves: its tasks have the sizes of
    their chunks.
    """

    def __init__(self, parts: FitParts, rank: str) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        nodes, ways = self.nodes, self.ways
        self.program = ways.build_kernel(
            "plan",
            template="best_first",
            row_chunk=ways.variant("partition").params["chunk"],
            rank=rank,
            tables=nodes.policy.splits_alike,
            counted=nodes.params.limits_rows,
            smooth=nodes.params.smooths,
        )
        open_leaves(self.rows, self.nodes)
        self.rows.array_of_pages("open_gain", nodes.n_trees * nodes.policy.most_leaves, np.float32)
        self.rows.array_of_pages("open_at", nodes.n_trees, np.uint32)

    def choose(self, step: int, batch: Batch, found: Candidates) -> list[Launch]:
        """Return the launches that pick a leaf of every tree and split it."""
        pages = self.rows.pages
        picks = [self.pick(step, batch, page, found) for page in pages]
        return picks + [self.decide(step, batch, page) for page in pages]

    def settle(self, batch: Batch) -> list[Launch]:
        """Return no launches: the tree keeps every split."""
        return []

    def growing(self) -> bool:
        """Return True: all steps are enqueued at once."""
        return True

    def pick(self, step: int, batch: Batch, page: FitPage, found: Candidates) -> Launch:
        """Return the launch that picks a leaf of every tree."""
        p = self.nodes.params
        arena, place = self.arena, ["place_gain"] if self.nodes.policy.splits_alike else []
        return self.program.bind(
            "pick", batch.size, step=step, n_each=found.per_node,
            most_leaves=self.nodes.policy.most_leaves, max_depth=p.max_depth or 2**31,
            gamma=p.gamma, reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
            max_delta_step=p.max_delta_step, chosen=arena[found.array], **p.smoothing,
            **self._alike(),
            **page.arguments("levels", "nodes", "kept", "open", "open_gain", "open_at", "picked"),
            **arena.arguments("leaf_rate", "scale", *place, *PAYLOAD),
        )  # fmt: skip

    def _alike(self) -> dict[str, Any]:
        """Return the arguments of trees that split alike, whose splits may be idle in some."""
        p = self.nodes.params
        alike = self.nodes.policy.splits_alike
        return {"min_child_weight": p.min_child_weight} if alike else {}

    def decide(self, step: int, batch: Batch, page: FitPage) -> Launch:
        """Return the launch that splits the leaves that are picked."""
        p = self.nodes.params
        return self.program.bind(
            "decide_picked", 1, step=step, n_trees=batch.size, n_alike=self.nodes.n_alike,
            most_leaves=self.nodes.policy.most_leaves,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            has_monotone=self.features.limits.monotone is not None, **self._alike(),
            **page.arguments("levels", "nodes", "kept", "open_gain", "open_at", "picked",
                             "row_task_begin"),
            **self.arena.arguments("monotone", "scale", "child_rows", *PAYLOAD),
        )  # fmt: skip


class PickSeveral:
    """Picks leaves of every tree, step by step, and splits them; as ``best_first.Pick``."""

    def __init__(self, parts: FitParts, rank: str) -> None:
        self.arena, self.rows, self.nodes, self.features, self.ways = parts
        rows, nodes, ways = self.rows, self.nodes, self.ways
        self.program = ways.build_kernel(
            "plan",
            template="best_leaves",
            row_chunk=ways.variant("partition").params["chunk"],
            rank=rank,
            picked=nodes.policy.picks,
            most_open=MOST_SEVERAL,
            smooth=nodes.params.smooths,
        )
        open_leaves(self.rows, self.nodes)
        trees, made = nodes.n_trees, nodes.policy.made
        for name in ("known_gain", "known_rank"):
            rows.array_of_pages(name, nodes.max_nodes, np.float32)
        rows.array_of_pages("made", nodes.max_nodes, np.uint32)
        rows.array_of_pages("waiting", trees * made, np.uint32)
        rows.array_of_pages("reach", trees * made, np.float32)
        rows.array_of_pages("progress", (trees, 2), np.uint32)
        rows.array_of_pages("growing", trees, np.uint32)

    def choose(self, step: int, batch: Batch, found: Candidates) -> list[Launch]:
        """Return the launches that pick leaves of every tree and split them."""
        pages = self.rows.pages
        picks = [self._pick(step, batch, page, found) for page in pages]
        return picks + [self._decide(step, batch, page) for page in pages]

    def _pick(self, step: int, batch: Batch, page: FitPage, found: Candidates) -> Launch:
        p = self.nodes.params
        arena, nodes = self.arena, self.nodes
        return self.program.bind(
            "pick_leaves", batch.size, step=step, n_each=found.per_node,
            most_leaves=nodes.policy.most_leaves, most_made=nodes.policy.made,
            max_depth=p.max_depth or 2**31, gamma=p.gamma,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            chosen=arena[found.array], gains=page["known_gain"], ranks=page["known_rank"],
            open_leaves=page["open"], **p.smoothing,
            **page.arguments("levels", "nodes", "kept", "made", "waiting", "reach",
                             "progress", "growing", "picked"),
            **arena.arguments("leaf_rate", "scale", *PAYLOAD),
        )  # fmt: skip

    def _decide(self, step: int, batch: Batch, page: FitPage) -> Launch:
        p = self.nodes.params
        return self.program.bind(
            "decide_leaves", 1, step=step, n_steps=self.nodes.n_levels, n_trees=batch.size,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            has_monotone=self.features.limits.monotone is not None, gains=page["known_gain"],
            **page.arguments("levels", "nodes", "kept", "picked", "row_task_begin"),
            **self.arena.arguments("monotone", "scale", "child_rows", *PAYLOAD),
        )  # fmt: skip

    def settle(self, batch: Batch) -> list[Launch]:
        """Return the launches that take back the splits that the trees do not get."""
        p = self.nodes.params
        arena, nodes = self.arena, self.nodes
        groups = min(-(-nodes.max_nodes // self.program.wg_size), arena.device.caps.compute_units)
        return [
            self.program.bind(
                "settle", groups, n_steps=nodes.n_levels, reg_lambda=p.reg_lambda,
                reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step, **p.smoothing,
                **page.arguments("levels", "made", "nodes"),
                **arena.arguments("leaf_rate", "scale", *PAYLOAD),
            )
            for page in self.rows.pages
        ]  # fmt: skip

    def growing(self) -> bool:
        """Tell whether the last step split a leaf; waits for the device."""
        return bool(self.arena["growing"].get().any())
