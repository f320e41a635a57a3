"""Rows of split nodes move to their children."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace


class Partition:
    """Moves the rows of one level after another between two row lists.

    Built behind the histogram, as it clears what several of its tasks add to.
    """

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self.program = ws.build(
            "partition",
            lambda row: ws.device.build(
                "partition",
                wg_size=ws.wg_size(row),
                chunk=row.params["chunk"],
                hist_chunk=ws.variant("histogram").params["chunk"],
                code=ws.code_type,
                picked=ws.policy.picks_leaves,
            ),
        )
        self.groups = min(ws.most_row_tasks, 16 * ws.device.caps.compute_units)

    def move(self, depth: int, batch: Batch) -> Launch:
        """Return the launch that moves the rows of a level and counts them in the children.

        It also clears the histograms that several work-groups will add to.
        """
        ws = self.ws
        return self.program.bind(
            "move", self.groups, depth=depth, n_rows=ws.n_rows, n_trees=batch.size,
            slot_cells=ws.cells_to_clear, task_begin=ws["row_task_begin"], picks=ws["picked"],
            **ws.rows_page.column_arguments(),
            **ws.arguments("levels", "nodes", "feature_bins", "pool", "even_rows", "odd_rows"),
        )  # fmt: skip
