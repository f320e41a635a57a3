"""What is decided for a whole level at once: nodes, their children's places, tasks."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.workspace import Workspace


class Grow:
    """Grows a tree level by level; all sizes stay on the device.

    Built behind the kernels for whose chunks it makes tasks.
    """

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "plan",
            lambda row: ws.device.build(
                "grow",
                wg_size=ws.wg_size(row),
                row_chunk=ws.variant("partition").params["chunk"],
                hist_chunk=ws.variant("histogram").params["chunk"],
                leaf_chunk=ws.variant("leaf").params["chunk"],
            ),
        )

    def begin(self) -> Launch:
        """Return the launch that makes the root."""
        ws = self.ws
        return self.program.bind(
            "begin_tree", 1, np.uint32(ws.n_rows), np.uint32(ws.row_groups), ws["sums"],
            ws["levels"], ws["nodes"], ws["hist_task_begin"],
        )  # fmt: skip

    def decide(self, depth: int) -> Launch:
        """Return the launch that turns ``chosen`` into splits, leaves and row tasks."""
        ws, p = self.ws, self.ws.params
        return self.program.bind(
            "decide", 1, np.uint32(depth), np.uint32(depth == ws.max_depth),
            np.float32(p.learning_rate), np.float32(p.gamma), np.float32(p.reg_lambda),
            np.float32(p.reg_alpha), np.float32(p.max_delta_step), ws["levels"], ws["nodes"],
            ws["scale"], ws["chosen"], ws["row_task_begin"],
        )  # fmt: skip

    def place(self, depth: int) -> Launch:
        """Return the launch that gives the children their rows, histogram slots and tasks."""
        ws = self.ws
        return self.program.bind(
            "place", 1, np.uint32(depth), ws["levels"], ws["nodes"], ws["hist_task_begin"],
        )  # fmt: skip

    def finish(self) -> Launch:
        """Return the launch that makes leaf tasks and the tree that rows walk."""
        ws, page = self.ws, self.ws.rows_page
        return self.program.bind(
            "finish_tree", 1, np.uint32(ws.max_depth), np.uint32(page.block_features),
            np.uint32(page.block_codes), ws["levels"], ws["nodes"], ws["feature_offset"],
            ws["feature_bins"], ws["thresholds"], ws["leaf_task_begin"], ws["leaf_header"],
            ws["walk"], ws["steps"], ws["exponents"],
        )  # fmt: skip
