"""Leaves take a quantile of their rows' residuals, for losses whose Hessian says nothing."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.weights import fraction_of
from pyopencl_gbdt.workspace import Workspace

#: Words that hold a node's counts.
COUNTS = 512


def reserve(ws: Workspace, *, weighted: bool) -> None:
    """Plan what renewing leaves takes."""
    ws.reserve("renew_weights", ws.n_rows if weighted else 0, np.int64)
    ws.reserve("renew_leaf", ws.n_rows, np.uint32)
    ws.reserve("renew_key", ws.n_rows, np.uint32)
    ws.reserve("renew_counts", (ws.max_nodes, COUNTS), np.uint32)
    ws.reserve("renew_prefix", (ws.max_nodes, 2), np.uint32)
    ws.reserve("renew_rank", (ws.max_nodes, 2), np.int64)
    ws.reserve("renew_fraction", ws.max_nodes, np.float32)


class RenewLeaves:
    """Selects quantiles digit by digit, without a sort; sums are integers.

    Parameters
    ----------
    ws : Workspace
        Its memory is not planned yet.
    objective : Objective
        One that ``renews``.
    data : Dataset
    """

    def __init__(self, ws: Workspace, objective: Objective, data: Dataset) -> None:
        self.ws, self.objective = ws, objective
        self.weights = objective.leaf_weights(data.label, data.weight)
        weighted = self.weights is not None
        reserve(ws, weighted=weighted)
        self.program = ws.build(
            "renew_leaves",
            lambda row: ws.device.build(
                "renew_leaves",
                wg_size=ws.wg_size(row),
                weighted=weighted,
                code=ws.code_type,
            ),
        )

    def begin(self) -> None:
        """Set what the first tree expects."""
        self.ws.device.clear(self.ws["renew_counts"])  # every tree leaves them so
        if self.weights is not None:
            self.ws["renew_weights"].set(self.weights)
            self.weights = None  # they stay on the device

    def launches(self, output: int = 0) -> list[Launch]:
        """Return what gives the leaves of a finished tree their values, before margins move.

        Parameters
        ----------
        output : int
            Output of the tree.
        """
        ws, bind = self.ws, self.program.bind
        groups, n_rows = ws.row_groups, np.uint32(ws.n_rows)
        found = [
            bind(
                "count_first", groups, n_rows, *ws.rows_page.code_strides(), ws["steps"], ws.codes,
                ws["labels"], ws["margins"], ws["renew_weights"], ws["renew_leaf"],
                ws["renew_key"], ws["renew_counts"],
            ),
            self._pick(24, output),
        ]  # fmt: skip
        for shift in (16, 8, 0):
            count = bind(
                "count_next", groups, n_rows, np.uint32(shift), ws["renew_leaf"], ws["renew_key"],
                ws["renew_weights"], ws["renew_prefix"], ws["renew_counts"],
            )  # fmt: skip
            found += [count, self._pick(shift, output)]
        return [*found, self.renew()]

    def _pick(self, shift: int, output: int) -> Launch:
        ws = self.ws
        groups = min(ws.max_nodes, 8 * ws.device.caps.compute_units)
        alpha = map(np.uint32, fraction_of(self.objective.leaf_alpha(output)))
        return self.program.bind(
            "pick", groups, np.uint32(shift), *alpha, ws["leaf_header"], ws["renew_prefix"],
            ws["renew_rank"], ws["renew_fraction"], ws["renew_counts"],
        )  # fmt: skip

    def renew(self, learning_rate: float | None = None) -> Launch:
        """Return the launch that sets the values; the learning rate as for ``Grow.decide``."""
        ws = self.ws
        rate = ws.params.learning_rate if learning_rate is None else learning_rate
        bind = self.program.bind if learning_rate is None else self.program.prepare
        groups = min(-(-ws.max_nodes // self.program.wg_size), 8 * ws.device.caps.compute_units)
        return bind(
            "renew", groups, np.float32(rate), ws["leaf_header"], ws["renew_prefix"],
            ws["renew_rank"], ws["renew_fraction"], ws["nodes"], ws["walk"], ws["steps"],
        )  # fmt: skip
