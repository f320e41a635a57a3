"""What is done when a tree has all its nodes."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.dtypes import KEPT, LEVEL, STEP, WALK
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace


class Finalize:
    """Finishes trees; built behind the kernels of leaves, for whose chunks it makes tasks."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "plan",
            lambda variant: ws.device.build(
                "finalize",
                wg_size=ws.wg_size(variant),
                leaf_chunk=ws.variant("update_margins").params["chunk"],
                tables=ws.policy.fills_levels,
            ),
        )
        nodes, block = ws.max_nodes, ws.forest_block
        ws.array("walk", nodes, WALK)
        ws.array("steps", nodes, STEP)
        ws.array("roots", ws.n_trees, np.uint32, np.arange(ws.n_trees))
        ws.array("forest_nodes", (block, len(KEPT), nodes), np.uint32)
        ws.array("forest_levels", (block, ws.n_levels + 1), LEVEL)
        ws.array_of_pages("leaf_task_begin", nodes + 1, np.uint32)
        done = ws.first_round * len(ws.batches)  # it will wait at 0
        ws.array_of_pages("leaf_header", 4, np.uint32, [0, 0, block - 1, done])

    def set_rate(self, learning_rate: float) -> None:
        """Enqueue another learning rate for the rounds to come; nothing waits."""
        rate = self.ws.leaf_rate(learning_rate)
        self.program.launch("set_leaf_rate", 1, rate, self.ws["leaf_rate"])

    def tree(self, batch: Batch) -> list[Launch]:
        """Return the launches that make the last leaves, leaf tasks and the trees that rows walk.

        Every page makes the same trees, and leaf tasks of its own.
        """
        return [self._page(batch, page) for page in self.ws.pages]

    def _page(self, batch: Batch, page: FitPage) -> Launch:
        ws, p = self.ws, self.ws.params
        depth = 2**31 if ws.policy.moves_last_rows else ws.n_levels
        block = (1, 1)  # steps are not walked along columns
        if ws.columns is None:
            block = page.codes.block_features, page.codes.block_codes
        return self.program.bind(
            "finish_tree", 1, level=ws.n_levels, depth=depth, n_trees=batch.size,
            features_per_block=block[0], block=block[1], most_kept=ws.forest_block,
            reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha, max_delta_step=p.max_delta_step,
            min_child_weight=p.min_child_weight,
            **page.arguments("levels", "nodes", "leaf_task_begin", "leaf_header", "drawn"),
            **ws.arguments("leaf_rate", "scale", "feature_offset", "feature_bins", "thresholds",
                           "walk", "steps", "exponents"),
        )  # fmt: skip

    def keep(self) -> Launch:
        """Return the launch that puts the trees where they wait for the host."""
        ws = self.ws
        groups = min(-(-ws.max_nodes // self.program.wg_size), ws.device.caps.compute_units)
        return self.program.bind(
            "keep", groups, most_nodes=ws.max_nodes, level_words=ws["levels"].nbytes // 4,
            levels=ws["levels"].words(), forest_levels=ws["forest_levels"].words(),
            **ws.arguments("leaf_header", "nodes", "forest_nodes"),
        )  # fmt: skip
