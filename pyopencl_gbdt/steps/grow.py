"""What is decided for a whole level at once: nodes, their children's places, tasks."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit_shape import Batch
from pyopencl_gbdt.workspace import Workspace


class Grow:
    """Grows a tree level by level; all sizes stay on the device.

    Built behind the kernels for whose chunks it makes tasks. Where leaves are picked, ``Pick``
    decides.
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
                picked=ws.params.leaf_wise,
                limited=ws.params.max_leaves > 0 and not ws.params.leaf_wise,
            ),
        )

    def begin(self, batch: Batch) -> Launch:
        """Return the launch that makes the roots of some trees."""
        ws = self.ws
        return self.program.bind(
            "begin_tree", batch.size, np.uint32(ws.n_rows), np.uint32(ws.row_groups),
            np.uint32(ws.most_leaves), np.uint32(ws.lists_drawn), ws["drawn"], ws["sums"],
            ws["splits_left"], ws["levels"], ws["nodes"], ws["hist_task_begin"],
        )  # fmt: skip

    def decide(self, depth: int, learning_rate: float | None = None) -> Launch:
        """Return the launch that turns the best splits into nodes, children and row tasks.

        The learning rate is that of the parameters if it is None. A launch of another one may run
        for a round alone, and is prepared rather than bound: 0.03 ms, not 0.4 (PoCL).
        """
        ws, p = self.ws, self.ws.params
        rate = ws.leaf_rate(learning_rate)
        few = ws.few_candidates(depth)
        bind = self.program.bind if learning_rate is None else self.program.prepare
        return bind(
            "decide", 1, np.uint32(depth), np.uint32(ws.layout.n_features if few else 1),
            rate, np.float32(p.gamma), np.float32(p.reg_lambda),
            np.float32(p.reg_alpha), np.float32(p.max_delta_step),
            np.uint32(ws.monotone is not None), ws["monotone"], ws["levels"], ws["nodes"],
            ws["scale"], ws["candidates" if few else "chosen"], ws["splits_left"], ws["open_gain"],
            ws["row_task_begin"],
        )  # fmt: skip

    def place(self, depth: int, batch: Batch) -> Launch:
        """Return the launch that gives the children their rows, histogram slots and tasks."""
        ws = self.ws
        return self.program.bind(
            "place", 1, np.uint32(depth), np.uint32(batch.size), ws["levels"], ws["nodes"],
            ws["picked"], ws["hist_task_begin"],
        )  # fmt: skip
