"""Gradients of ``survival:aft`` from margins and bounds."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.page import PerRow, RowPart
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.objectives.survival import Aft

F32 = npt.NDArray[np.float32]


class AftGradients:
    """Computes ``given_g`` and ``given_h``.

    Parameters
    ----------
    rows, ways
    objective : Aft
    lower, upper : float32 array, shape (n_rows,)
        Logarithms of the lower and upper bounds.
    """

    def __init__(self, rows: FitRows, ways: Ways, objective: Aft, lower: F32, upper: F32) -> None:
        self.rows = rows
        self._program = ways.device.build(
            "aft",
            wg_size=ways.wg_size(ways.variant("gradients")),
            gradient_between=objective.kernel_between,
        )
        for name, bounds in (("aft_lower", lower), ("aft_upper", upper)):
            rows.array_of_rows(name, PerRow(), np.float32, partial(np.asarray, bounds))

    def before_round(self, number: int) -> None:
        """Do nothing: the host has no work in a round."""

    def launches(self) -> list[Action]:
        """Return the actions of a round."""
        reads, writes = ("aft_lower", "aft_upper", "margins"), ("given_g", "given_h")
        parts = [[self._of(part)] for part in self.rows.parts]
        return self.rows.pagewise(parts, reads, writes)

    def _of(self, part: RowPart) -> Launch:
        return self._program.bind(
            "aft_gradients", part.groups, n_rows=part.n_rows, lowers=part["aft_lower"],
            uppers=part["aft_upper"], margins=part["margins"], gradients=part["given_g"],
            hessians=part["given_h"],
        )  # fmt: skip
