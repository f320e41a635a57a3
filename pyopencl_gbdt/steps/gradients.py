"""Margins and labels to gradients and Hessians in fixed point."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.workspace import Workspace


class Gradients:
    """Computes the gradients of a tree."""

    def __init__(self, ws: Workspace, objective: Objective) -> None:
        self.ws, self.given = ws, objective.given
        self.program = ws.build(
            "gradients",
            lambda row: ws.device.build(
                "gradients",
                wg_size=ws.wg_size(row),
                loss="g = margin; h = label;" if objective.given else objective.kernel,
                weighted=ws.weighted,
            ),
        )

    def launches(self) -> list[Launch]:
        """Return the launches that fill ``quanta``, ``scale`` and ``sums``.

        They also clear the root's histogram, unless the histogram's variant does so itself.
        ``high`` holds the high words of the quanta where ``scale.wide`` is set. Where they are
        needed and there is no room for them, ``needs_high`` is set and the tree is void.
        """
        ws, bind = self.ws, self.program.bind
        groups, n_rows = ws.row_groups, np.uint32(ws.n_rows)
        inputs = ("given_g", "given_h") if self.given else ("margins", "labels")
        margins, labels = (ws[name] for name in inputs)
        return [
            bind(
                "gradients", groups, n_rows, margins, labels, ws["weights"], ws["exponents"],
            ),
            bind(
                "quantize_gradients", groups, n_rows, np.int32(ws.weight_bits),
                np.int32(ws.weight_shift), np.uint32(ws.cells_to_clear), np.uint32(ws.has_high),
                ws["needs_high"], margins, labels, ws["weights"], ws["exponents"],
                ws["scale"], ws["quanta"], ws["high"], ws["sums"], ws["pool"],
            ),
        ]  # fmt: skip
