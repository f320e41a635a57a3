"""Which rows the trees see, and what their gradients are multiplied by."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.objectives import Objective

#: Classes that rows are counted in by their importance.
CLASSES = 2048


def reserve(ws: Workspace) -> None:
    """Plan what sampling rows takes."""
    uniform = ws.params.sampling_method == "uniform"
    ws.reserve("factors", (ws.n_trees, ws.n_rows), VALUE)
    ws.reserve("classes", (ws.n_trees, 1 if uniform else CLASSES), np.uint32)


class Sample:
    """Fills ``factors``, shape (n_trees, n_rows), and the lists of the roots, if they have some.

    Built behind the leaves, whose variant says whether they have.
    """

    def __init__(self, ws: Workspace, objective: Objective) -> None:
        self.ws, self.given = ws, objective.given
        self.method = ws.params.sampling_method
        self.program = ws.build(
            "gradients",
            lambda row: ws.device.build(
                "sample",
                wg_size=ws.wg_size(row),
                method=self.method,
                loss=objective.statements,
                weighted=ws.weighted,
                listed=ws.lists_drawn,
            ),
        )
        reserve(ws)

    def launches(self, batch: Batch) -> list[Launch]:
        """Return the launches that draw the rows of some trees."""
        ws, p, bind = self.ws, self.ws.params, self.program.bind
        groups = (ws.row_groups, batch.size)
        where = ws.gradient_arguments(batch)
        draw = bind(
            "draw", groups, **where, seed=p.random_state, n_batches=len(ws.batches),
            all_before=p.rounds_of_all_rows if self.method == "goss" else 0, keep=p.keep_below,
            rate=p.top_rate if self.method == "goss" else p.subsample, other=p.other_rate,
            root_lambda=p.root_lambda, header=ws["leaf_header"], rows=ws["even_rows"],
            **ws.arguments("weights", "classes", "factors", "drawn"),
        )  # fmt: skip
        if self.method == "uniform":
            return [draw]
        clear = bind("clear_classes", batch.size, ws["classes"])
        count = bind(
            "count_classes", groups, **where, root_lambda=p.root_lambda,
            **ws.arguments("weights", "classes"),
        )  # fmt: skip
        return [clear, count, draw]
