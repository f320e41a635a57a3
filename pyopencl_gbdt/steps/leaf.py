"""Every row's margin gets the value of its leaf."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit_shape import Batch
from pyopencl_gbdt.workspace import Workspace


class Leaf:
    """Adds finished trees to the margins of the training rows."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "leaf",
            lambda row: ws.device.build(
                "leaf",
                wg_size=ws.wg_size(row),
                walk=row.name == "walk",
                chunk=row.params["chunk"],
                code=ws.code_type,
            ),
        )

    def add(self, batch: Batch) -> Launch:
        """Return the launch that adds the trees that were finished last."""
        ws, bind = self.ws, self.program.bind
        row = ws.variant("leaf")
        most_groups = 16 * ws.device.caps.compute_units
        if row.name == "walk":
            groups = min(most_groups, -(-ws.n_rows // self.program.wg_size))
            outputs = -(-batch.size // ws.n_parallel)
            return bind(
                "add_leaves", (groups, outputs), np.uint32(ws.n_rows), np.uint32(batch.first),
                np.uint32(batch.size), np.uint32(ws.n_parallel), *ws.rows_page.code_strides(),
                ws["steps"], ws.codes, ws["margins"],
            )  # fmt: skip
        columns, *strides = ws.rows_page.columns()
        most_tasks = ws.n_trees * ws.n_rows // row.params["chunk"] + ws.max_nodes
        return bind(
            "add_leaves", min(most_tasks, most_groups), np.uint32(ws.n_rows),
            np.uint32(batch.first), *strides, ws["leaf_header"],
            ws["leaf_task_begin"], ws["nodes"], ws["even_rows"], ws["odd_rows"], columns,
            ws["feature_bins"], ws["margins"],
        )  # fmt: skip
