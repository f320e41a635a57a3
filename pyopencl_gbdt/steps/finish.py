"""What is done when a tree has all its nodes."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit_shape import Batch
from pyopencl_gbdt.workspace import Workspace


class Finish:
    """Finishes trees; built behind the kernels of leaves, for whose chunks it makes tasks."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "plan",
            lambda row: ws.device.build(
                "finish",
                wg_size=ws.wg_size(row),
                leaf_chunk=ws.variant("leaf").params["chunk"],
            ),
        )

    def tree(self, batch: Batch, learning_rate: float | None = None) -> Launch:
        """Return the launch that makes the last leaves, leaf tasks and the trees that rows walk.

        The learning rate is that of the parameters if it is None, see ``Grow.decide``.
        """
        ws, page, p = self.ws, self.ws.rows_page, self.ws.params
        rate = ws.leaf_rate(learning_rate)
        depth = 2**31 if p.leaf_wise else ws.n_levels
        bind = self.program.bind if learning_rate is None else self.program.prepare
        return bind(
            "finish_tree", 1, np.uint32(ws.n_levels), np.uint32(depth), np.uint32(batch.size),
            np.uint32(page.block_features), np.uint32(page.block_codes),
            np.uint32(ws.forest_block), rate, np.float32(p.reg_lambda), np.float32(p.reg_alpha),
            np.float32(p.max_delta_step), ws["levels"], ws["nodes"], ws["scale"],
            ws["feature_offset"], ws["feature_bins"], ws["thresholds"], ws["leaf_task_begin"],
            ws["leaf_header"], ws["walk"], ws["steps"], ws["exponents"],
            ws["drawn"],
        )  # fmt: skip

    def keep(self) -> Launch:
        """Return the launch that puts the trees where they wait for the host."""
        ws = self.ws
        groups = min(-(-ws.max_nodes // self.program.wg_size), ws.device.caps.compute_units)
        return self.program.bind(
            "keep", groups, np.uint32(ws.max_nodes), np.uint32(ws["levels"].nbytes // 4),
            ws["leaf_header"], ws["nodes"], ws["levels"], ws["forest_nodes"], ws["forest_levels"],
        )  # fmt: skip
