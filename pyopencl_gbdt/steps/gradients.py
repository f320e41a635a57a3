"""Margins and labels to gradients and Hessians in fixed point."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.fit_shape import Batch
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.workspace import Workspace


class Gradients:
    """Computes the gradients of a tree."""

    def __init__(self, ws: Workspace, objective: Objective) -> None:
        self.ws = ws
        self.program = ws.build(
            "gradients",
            lambda row: ws.device.build(
                "gradients",
                wg_size=ws.wg_size(row),
                loss=objective.statements,
                weighted=ws.weighted,
                sampled=ws.params.samples_rows,
            ),
        )

    def launches(self, batch: Batch) -> list[Launch]:
        """Return the launches that fill ``quanta``, ``scale`` and ``sums`` for some trees.

        They also clear the roots' histograms, unless the histogram's variant does so itself.
        ``high`` holds the high words of the quanta where ``scale.wide`` is set. Where they are
        needed and there is no room for them, ``needs_high`` is set and the trees are void.
        """
        ws, bind = self.ws, self.program.bind
        groups = (ws.row_groups, batch.size)
        margins, labels, where = ws.gradient_inputs(batch)
        factors = ws["factors"] if ws.params.samples_rows else ws["weights"]
        return [
            bind(
                "gradients", groups, *where, margins, labels, ws["weights"], factors,
                ws["exponents"],
            ),
            bind(
                "quantize_gradients", groups, *where, np.int32(ws.weight_bits),
                np.int32(ws.weight_shift), np.uint32(ws.cells_to_clear), np.uint32(ws.has_high),
                ws["needs_high"], margins, labels, ws["weights"], factors,
                ws["exponents"],
                ws["scale"], ws["quanta"], ws["high"], ws["sums"], ws["pool"],
            ),
        ]  # fmt: skip
