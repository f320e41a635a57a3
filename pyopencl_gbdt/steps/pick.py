"""Leaf-wise growth: the leaf of every tree whose split gains most."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit_shape import Batch
from pyopencl_gbdt.workspace import Workspace


class Pick:
    """Picks a leaf of every tree, step by step, and splits it.

    Built behind the kernels for whose chunks it makes tasks.
    """

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "plan",
            lambda row: ws.device.build(
                "pick",
                wg_size=ws.wg_size(row),
                row_chunk=ws.variant("partition").params["chunk"],
            ),
        )

    def pick(self, step: int, batch: Batch, learning_rate: float | None = None) -> Launch:
        """Return the launch that picks a leaf of every tree; the rate as for ``Grow.decide``."""
        ws, p = self.ws, self.ws.params
        few = ws.few_candidates(step)
        bind = self.program.bind if learning_rate is None else self.program.prepare
        return bind(
            "pick", batch.size, np.uint32(step), np.uint32(ws.layout.n_features if few else 1),
            np.uint32(ws.most_leaves), np.uint32(p.max_depth or 2**31),
            ws.leaf_rate(learning_rate), np.float32(p.gamma), np.float32(p.reg_lambda),
            np.float32(p.reg_alpha), np.float32(p.max_delta_step), ws["levels"], ws["nodes"],
            ws["scale"], ws["candidates" if few else "chosen"], ws["kept"], ws["open"],
            ws["open_gain"], ws["open_at"], ws["picked"],
        )  # fmt: skip

    def decide(self, step: int, batch: Batch) -> Launch:
        """Return the launch that splits the leaves that are picked."""
        ws, p = self.ws, self.ws.params
        return self.program.bind(
            "decide_picked", 1, np.uint32(step), np.uint32(batch.size), np.uint32(ws.most_leaves),
            np.float32(p.reg_lambda), np.float32(p.reg_alpha), np.float32(p.max_delta_step),
            np.uint32(ws.monotone is not None), ws["monotone"], ws["levels"], ws["nodes"],
            ws["scale"], ws["kept"], ws["open_gain"], ws["open_at"], ws["picked"],
            ws["row_task_begin"],
        )  # fmt: skip
