"""Margins and labels to gradients and Hessians in fixed point."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import Launch
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
                loss=objective.kernel,
                weighted=ws.weighted,
            ),
        )

    def launches(self) -> list[Launch]:
        """Return the launches that fill ``quanta``, ``scale``, ``sums`` and ``even_rows``.

        Afterwards ``even_rows`` lists all rows in order, and ``gradients`` holds the high words of
        the quanta, which are 0 unless ``scale.wide`` is set.
        """
        ws, bind = self.ws, self.program.bind
        groups, n_rows = ws.row_groups, np.uint32(ws.n_rows)
        return [
            bind(
                "gradients", groups, n_rows, ws["margins"], ws["labels"], ws["weights"],
                ws["gradients"], ws["exponents"],
            ),
            bind(
                "choose_scale", 1, np.uint32(groups), np.int32(ws.weight_bits),
                np.int32(ws.weight_shift), ws["exponents"], ws["scale"],
            ),
            bind(
                "quantize_gradients", groups, n_rows, ws["weights"], ws["scale"], ws["gradients"],
                ws["quanta"], ws["even_rows"], ws["sums"],
            ),
        ]  # fmt: skip
