"""What is done when a tree has all its nodes."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
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

    def tree(self, batch: Batch) -> Launch:
        """Return the launch that makes the last leaves, leaf tasks and the trees that rows walk."""
        ws, page, p = self.ws, self.ws.rows_page, self.ws.params
        depth = 2**31 if ws.policy.moves_last_rows else ws.n_levels
        return self.program.bind(
            "finish_tree", 1, level=ws.n_levels, depth=depth, n_trees=batch.size,
            features_per_block=page.block_features, block=page.block_codes,
            most_kept=ws.forest_block, reg_lambda=p.reg_lambda, reg_alpha=p.reg_alpha,
            max_delta_step=p.max_delta_step,
            **ws.arguments("leaf_rate", "levels", "nodes", "scale", "feature_offset",
                           "feature_bins", "thresholds", "leaf_task_begin", "leaf_header", "walk",
                           "steps", "exponents", "drawn"),
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
