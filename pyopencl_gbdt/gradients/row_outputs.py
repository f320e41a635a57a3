"""Gradients of losses whose outputs need each other's margins, such as distributions."""

from __future__ import annotations

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.page import RowPart
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.objectives.base import RowOutputs


class RowOutputGradients:
    """Computes ``given_g`` and ``given_h``; each row on its own."""

    def __init__(self, rows: FitRows, ways: Ways, objective: RowOutputs) -> None:
        self.rows = rows
        self._program = ways.build_kernel(
            "gradients", template="row_outputs",
            n_outputs=objective.n_outputs, gradient_of_row=objective.row_kernel,
        )  # fmt: skip

    def before_round(self, number: int) -> None:
        """Do nothing: the host has no work in a round."""

    def launches(self) -> list[Action]:
        """Return the actions of a round."""
        rows = self.rows
        reads, writes = (rows.gradients_at, "labels"), ("given_g", "given_h")
        parts = [[self._of(part)] for part in rows.parts]
        return rows.pagewise(parts, reads, writes)

    def _of(self, part: RowPart) -> Launch:
        return self._program.bind(
            "row_outputs", part.groups, n_rows=part.n_rows,
            margins=part[self.rows.gradients_at], labels=part["labels"],
            gradients=part["given_g"], hessians=part["given_h"],
        )  # fmt: skip
