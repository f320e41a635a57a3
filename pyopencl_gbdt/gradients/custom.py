"""Gradients of a user's own losses."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.objectives.custom import (
    DeviceObjective,
    FunctionObjective,
    KernelObjective,
)


class FunctionGradients:
    """Calls a function of NumPy arrays; the host waits for the margins of every round."""

    def __init__(self, ws: Workspace, objective: FunctionObjective, data: Dataset) -> None:
        self.ws, self._objective, self._data = ws, objective, data

    def begin(self) -> None:
        """Nothing is kept from round to round."""

    def before_round(self, number: int) -> None:
        """Copy the margins to the host, and the gradients back."""
        margins = self.ws["margins"].get().reshape(-1)
        g, h = self._objective.checked(margins, self._data, number)
        self.ws["given_g"].set(g)
        self.ws["given_h"].set(h)

    def launches(self) -> list[Launch]:
        """Return nothing: all is done before the round."""
        return []


class CheckedGradients:
    """Gradients that are made on the device, and looked through there."""

    def __init__(self, ws: Workspace, objective: DeviceObjective | KernelObjective) -> None:
        self.ws, self._objective = ws, objective
        code = objective.code if isinstance(objective, KernelObjective) else ""
        self._program = ws.device.build(
            "custom", wg_size=ws.wg_size(ws.variant("gradients")), statements=code
        )
        ws.reserve("custom_bad", 2, np.uint32)

    def begin(self) -> None:
        """No gradient was wrong yet."""
        self.ws["custom_bad"].set([0, 0])

    def before_round(self, number: int) -> None:
        """Enqueue a round's gradients, and a look at them."""
        ws = self.ws
        arrays = [ws[name] for name in ("margins", "labels", "given_g", "given_h")]
        name = "custom_gradients"
        if isinstance(self._objective, DeviceObjective):
            self._objective.function(*map(_flat, arrays))
            name, arrays = "check_gradients", arrays[2:]
        names = ("margins", "labels", "gradients", "hessians")[-len(arrays) :]
        named = dict(zip(names, arrays, strict=True))
        self._program.launch(
            name, ws.row_groups, n_rows=ws.n_rows, number=number, bad=ws["custom_bad"], **named
        )

    def launches(self) -> list[Launch]:
        """Return nothing: all is enqueued before the round, with its number."""
        return []

    def check(self) -> None:
        """Raise if a gradient was wrong; waits for the device.

        Raises
        ------
        ParameterError
            Names the first such round.
        """
        n_bad, number = map(int, self.ws["custom_bad"].get())
        if n_bad:
            raise ParameterError(
                f"objective={self._objective.custom_name}: round {number}, counted from 0: a "
                "gradient or Hessian is NaN or infinite (or was not set): expected finite numbers; "
                "keep logarithms, exponentials and quotients in range"
            )


def _flat(array: DeviceArray) -> DeviceArray:
    """Return the same memory as one dimension."""
    return DeviceArray(array.device, (array.size,), array.dtype, array.handle)
