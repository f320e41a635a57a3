"""What is done when a tree has all its nodes."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.page import FitPage
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace


class Finish:
    """Finishes trees; built behind the kernels of leaves, for whose chunks it makes tasks."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "plan",
            lambda row: ws.device.build(
                "finalize",
                wg_size=ws.wg_size(row),
                leaf_chunk=ws.variant("update_margins").params["chunk"],
            ),
        )

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
        return self.program.bind(
            "finish_tree", 1, level=ws.n_levels, depth=depth, n_trees=batch.size,
            features_per_block=page.codes.block_features, block=page.codes.block_codes,
            most_kept=ws.forest_block, reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
            max_delta_step=p.max_delta_step,
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
