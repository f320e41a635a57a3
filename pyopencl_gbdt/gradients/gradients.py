"""Compute gradients and Hessians in fixed point from margins and labels."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.dtypes import QUANTA, SCALE, SUM
from pyopencl_gbdt.fit.page import RowPart
from pyopencl_gbdt.fit.shape import Batch
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.objectives import Objective


class Gradients:
    """Computes gradients and Hessians for the trees of a batch."""

    def __init__(self, ws: Workspace, objective: Objective) -> None:
        self.ws = ws
        self.program = ws.build(
            "gradients",
            lambda variant: ws.device.build(
                "gradients",
                wg_size=ws.wg_size(variant),
                loss=objective.kernel,
                weighted=ws.weighted,
                sampled=ws.params.samples_rows,
            ),
        )
        trees = ws.n_trees
        ws.array("exponents", (trees, 512), np.uint32, zeros)  # every tree leaves them so
        ws.array("scale", trees, SCALE)
        ws.array_of_rows("quanta", lambda n: (trees * n, 2), QUANTA)
        if ws.has_high:
            ws.array_of_rows("high", lambda n: (trees * n, 2), QUANTA)
        else:
            ws.array("high", (1, 2), QUANTA)
        ws.array("needs_high", 1, np.uint32, zeros)
        ws.array("sums", (trees * ws.row_groups, 2), SUM)

    def launches(self, batch: Batch) -> list[Action]:
        """Return the actions that compute ``quanta``, ``scale`` and ``sums`` for a batch of trees.

        They also clear the roots' histograms, unless the histogram's variant does so itself. If
        ``scale.wide`` is set, ``high`` has the high words of the quanta. If high words are needed
        but ``high`` is not allocated, ``needs_high`` is set and the trees are invalid. ``sums``
        are then to be added up over pages and devices.
        """
        ws = self.ws
        factors = ("factors",) if ws.params.samples_rows else ()
        reads = (*ws.gradients_of, *ws.row_weights, *factors)
        high = ("high",) if ws.has_high else ()
        later = [[self._quantize(batch, part, clears=False)] for part in ws.parts]
        first = [[self._quantize(batch, part, clears=True)] for part in ws.parts]
        if ws.turns is None:
            later = first
        return [
            *ws.pagewise([[self._count(batch, part)] for part in ws.parts], reads),
            *ws.sum(ws["exponents"]),
            *ws.cleared("sums"),
            *ws.pagewise(later, reads, ("quanta", *high), first=first),
        ]

    def _count(self, batch: Batch, part: RowPart) -> Launch:
        """Return the launch that counts the exponents of gradients."""
        return self.program.bind(
            "gradients", (part.groups, batch.size), **self.ws.gradient_arguments(batch, part),
            factors=self._factors(part), **part.arguments("weights", "exponents"),
        )  # fmt: skip

    def _quantize(self, batch: Batch, part: RowPart, *, clears: bool) -> Launch:
        """Return the launch that rounds gradients; it clears the roots' histograms if asked to."""
        ws = self.ws
        return self.program.bind(
            "quantize_gradients", (part.groups, batch.size), weight_bits=ws.weight_bits,
            weight_shift=ws.weight_shift, root_cells=ws.cells_to_clear if clears else 0,
            has_high=ws.has_high, adds=ws.turns is not None, factors=self._factors(part),
            **ws.gradient_arguments(batch, part),
            **part.arguments("needs_high", "weights", "exponents", "scale", "quanta", "high",
                             "sums", "pool"),
        )  # fmt: skip

    def _factors(self, part: RowPart) -> DeviceArray:
        return part["factors" if self.ws.params.samples_rows else "weights"]
