"""Row sampling: draw the rows of every tree, and the factors of their gradients."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device.team import Action
from pyopencl_gbdt.dtypes import VALUE
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.objectives import Objective

#: Number of classes of importance in which rows are counted.
CLASSES = 2048


def reserve(ws: Workspace) -> None:
    """Plan the memory of row sampling."""
    uniform = ws.params.sampling_method == "uniform"
    ws.reserve("factors", (ws.n_trees, ws.n_rows), VALUE)
    ws.reserve("classes", (ws.n_trees, 1 if uniform else CLASSES), np.uint32)


class Sample:
    """Computes ``factors``, shape (n_trees, n_rows), and the roots' row lists, if they have any.

    Build it after the leaves: their variant decides whether roots have row lists.
    """

    def __init__(self, ws: Workspace, objective: Objective) -> None:
        self.ws, self.given = ws, objective.given
        self.method = ws.params.sampling_method
        self.program = ws.build(
            "gradients",
            lambda variant: ws.device.build(
                "sample",
                wg_size=ws.wg_size(variant),
                method=self.method,
                loss=objective.statements,
                weighted=ws.weighted,
                listed=ws.lists_drawn,
            ),
        )

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that draw the rows for a batch of trees."""
        ws, p, bind = self.ws, self.ws.params, self.program.bind
        groups = (ws.row_groups, batch.size)
        where = ws.gradient_arguments(batch)
        draw: list[Action] = [
            bind(
                "draw", groups, **where, **page.rows, first_id=ws.share.first_row,
                seed=p.random_state, n_batches=len(ws.batches), keep=p.keep_below,
                all_before=p.rounds_of_all_rows if self.method == "goss" else 0,
                rate=p.top_rate if self.method == "goss" else p.subsample, other=p.other_rate,
                root_lambda=p.root_lambda, header=page["leaf_header"], rows=ws["even_rows"],
                drawn=page["drawn"], **ws.arguments("weights", "classes", "factors"),
            )
            for page in ws.pages
        ]  # fmt: skip
        if self.method == "uniform":
            return draw
        clear = bind("clear_classes", batch.size, ws["classes"])
        count = bind(
            "count_classes", groups, **where, root_lambda=p.root_lambda,
            **ws.arguments("weights", "classes"),
        )  # fmt: skip
        return [clear, count, *ws.team.sum(ws["classes"]), *draw]
