"""Gradients that need all rows, in a team: member 0 computes them on the host for all members."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.team.messages import AllGradients, Margins, RowValues
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.custom import FunctionObjective

F32 = npt.NDArray[np.float32]


class GatheredGradients:
    """Collects the margins of all members in every round, and hands out their gradients.

    The host waits for the margins. Gradients have the same bits as on one device.

    Parameters
    ----------
    rows, nodes
        Of a member of a team. A function of the user's is called with ``rows.share.whole``.
    objective : Objective
        Cox's loss, or a function of the user's.
    label : float32 array, shape (n_rows,)
        Of the member's own rows.
    """

    def __init__(self, rows: FitRows, nodes: Nodes, objective: Objective, label: F32) -> None:
        self.rows, self.nodes, self._objective = rows, nodes, objective
        self._label = np.concatenate(rows.team.exchange(RowValues, label))

    def before_round(self, number: int) -> None:
        """Collect margins, compute gradients, and copy the member's own ones to the device."""
        rows = self.rows
        margins = rows.team.exchange(Margins, rows.get("margins"))
        found = None
        if rows.team.rank == 0:
            found = self._gradients(np.concatenate(margins, axis=-1).reshape(-1), number)
        own = slice(rows.share.first_row, rows.share.first_row + rows.n_rows)
        every = rows.team.exchange(AllGradients, found)[0]
        assert every is not None  # member 0 computes them
        for name, values in zip(("given_g", "given_h"), every, strict=True):
            rows.set(name, values.reshape(self.nodes.n_outputs, -1)[:, own])

    def _gradients(self, margins: F32, number: int) -> tuple[F32, F32]:
        objective, whole = self._objective, self.rows.share.whole
        if not isinstance(objective, FunctionObjective):
            return objective.gradient(margins, self._label)
        assert whole is not None  # processes refuse such a loss
        return objective.checked(margins, whole, number)

    def launches(self) -> list[Launch]:
        """Return no launches: ``before_round`` does the work."""
        return []
