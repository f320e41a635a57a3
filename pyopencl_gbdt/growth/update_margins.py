"""Every row's margin gets the value of its leaf."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace


class Leaf:
    """Adds finished trees to the margins of the training rows."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "update_margins",
            lambda row: ws.device.build(
                "update_margins",
                wg_size=ws.wg_size(row),
                walk=row.name == "walk",
                chunk=row.params["chunk"],
                code=ws.code_type,
            ),
        )

    def add(self, batch: Batch) -> Launch:
        """Return the launch that adds the trees that were finished last."""
        ws, bind = self.ws, self.program.bind
        row = ws.variant("update_margins")
        most_groups = 16 * ws.device.caps.compute_units
        if row.name == "walk":
            groups = min(most_groups, -(-ws.n_rows // self.program.wg_size))
            outputs = -(-batch.size // ws.n_parallel)
            return bind(
                "add_leaves", (groups, outputs), n_rows=ws.n_rows, first_tree=batch.first,
                n_trees=batch.size, n_parallel=ws.n_parallel, **ws.rows_page.row_arguments(),
                **ws.arguments("steps", "margins"),
            )  # fmt: skip
        most_tasks = ws.n_trees * ws.n_rows // row.params["chunk"] + ws.max_nodes
        return bind(
            "add_leaves", min(most_tasks, most_groups), n_rows=ws.n_rows, first_tree=batch.first,
            header=ws["leaf_header"], task_begin=ws["leaf_task_begin"],
            **ws.rows_page.column_arguments(),
            **ws.arguments("nodes", "even_rows", "odd_rows", "feature_bins", "margins"),
        )  # fmt: skip
