"""Compute gradients and Hessians in fixed point from margins and labels."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device.team import Action
from pyopencl_gbdt.dtypes import QUANTA, SCALE, SUM
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.objectives import Objective


def reserve(ws: Workspace) -> None:
    """Plan the quanta of all trees, their scales, and the sums of the roots."""
    trees, n = ws.n_trees, ws.n_rows
    ws.reserve("exponents", (trees, 512), np.uint32)
    ws.reserve("scale", trees, SCALE)
    ws.reserve("quanta", (trees * n, 2), QUANTA)
    ws.reserve("high", (trees * n if ws.has_high else 1, 2), QUANTA)
    ws.reserve("needs_high", 1, np.uint32)
    ws.reserve("sums", (trees * ws.row_groups, 2), SUM)


def begin(ws: Workspace) -> None:
    """Set what the first tree expects; every tree leaves it so."""
    ws.device.clear(ws["exponents"])
    ws["needs_high"].set([0])


class Gradients:
    """Computes gradients and Hessians for the trees of a batch."""

    def __init__(self, ws: Workspace, objective: Objective) -> None:
        self.ws = ws
        self.program = ws.build(
            "gradients",
            lambda variant: ws.device.build(
                "gradients",
                wg_size=ws.wg_size(variant),
                loss=objective.statements,
                weighted=ws.weighted,
                sampled=ws.params.samples_rows,
            ),
        )

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that compute ``quanta``, ``scale`` and ``sums`` for a batch of trees.

        They also clear the roots' histograms, unless the histogram's variant does so itself. If
        ``scale.wide`` is set, ``high`` has the high words of the quanta. If high words are needed
        but ``high`` is not allocated, ``needs_high`` is set and the trees are invalid.
        """
        ws, bind = self.ws, self.program.bind
        groups = (ws.row_groups, batch.size)
        where = ws.gradient_arguments(batch)
        factors = ws["factors"] if ws.params.samples_rows else ws["weights"]
        return [
            bind(
                "gradients", groups, **where, factors=factors,
                **ws.arguments("weights", "exponents"),
            ),
            *ws.team.sum(ws["exponents"]),
            bind(
                "quantize_gradients", groups, **where, weight_bits=ws.weight_bits,
                weight_shift=ws.weight_shift, root_cells=ws.cells_to_clear, has_high=ws.has_high,
                factors=factors,
                **ws.arguments("needs_high", "weights", "exponents", "scale", "quanta", "high",
                               "sums", "pool"),
            ),
            *ws.team.sum(ws["sums"]),
        ]  # fmt: skip
