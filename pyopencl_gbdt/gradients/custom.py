"""Gradients of the user's own losses."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import RowPart
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.objectives.custom import (
    DeviceObjective,
    FunctionObjective,
    KernelObjective,
)

#: Arrays that a user's function sets: gradients and Hessians of the outputs; those that splits are
#: searched by, if there are others.
GIVEN = ("given_g", "given_h", "sketches", "sketch_hessians")


class FunctionGradients:
    """Calls a user's function with NumPy arrays; the host waits for the margins in every round."""

    def __init__(
        self, rows: FitRows, nodes: Nodes, objective: FunctionObjective, data: Dataset
    ) -> None:
        self.rows, self.nodes, self._objective, self._data = rows, nodes, objective, data

    def before_round(self, number: int) -> None:
        """Copy the margins to the host, call the function, and copy the gradients to the device."""
        margins = self.rows.get("margins").reshape(-1)
        found = self._objective.checked(margins, self._data, number)
        for name, values in zip(GIVEN, found, strict=False):
            self.rows.set(name, values.reshape(-1, self._data.n_rows))

    def launches(self) -> list[Launch]:
        """Return no launches: ``before_round`` does the work."""
        return []


class CheckedGradients:
    """Gradients that a user's code computes on the device; a kernel checks that they are finite."""

    def __init__(
        self, arena: Arena, rows: FitRows, ways: Ways, objective: DeviceObjective | KernelObjective
    ) -> None:
        self.arena, self.rows, self._objective = arena, rows, objective
        code = objective.code if isinstance(objective, KernelObjective) else ""
        self._program = ways.device.build(
            "custom", wg_size=ways.wg_size(ways.variant("gradients")), statements=code
        )
        arena.array("custom_bad", 2, np.uint32, zeros)

    def before_round(self, number: int) -> None:
        """Enqueue the kernels that compute and check a round's gradients."""
        reads, writes = ("margins", "labels"), ("given_g", "given_h")
        if isinstance(self._objective, DeviceObjective):
            self._objective.function(*(_flat(self.arena[name]) for name in (*reads, *writes)))
        parts = [[self._of(part, number)] for part in self.rows.parts]
        for action in self.rows.pagewise(parts, reads, writes):
            action()

    def _of(self, part: RowPart, number: int) -> Launch:
        """Return the launch that computes a round's gradients, or checks those that are there."""
        inputs = {"margins": part["margins"], "labels": part["labels"]}
        name = "custom_gradients"
        if isinstance(self._objective, DeviceObjective):
            inputs, name = {}, "check_gradients"
        return self._program.prepare(
            name, part.groups, n_rows=part.n_rows, number=number, bad=part["custom_bad"],
            gradients=part["given_g"], hessians=part["given_h"], **inputs,
        )  # fmt: skip

    def launches(self) -> list[Launch]:
        """Return no launches: ``before_round`` enqueues them, as they take the round's number."""
        return []

    def check(self) -> None:
        """Raise if a gradient was not finite; waits for the device.

        Raises
        ------
        ParameterError
            Names the first round with such a gradient.
        """
        n_bad, number = map(int, self.arena["custom_bad"].get())
        if n_bad:
            raise ParameterError(
                f"objective={self._objective.custom_name}: round {number}, counted from 0: a "
                "gradient or Hessian is NaN or infinite (or was not set): expected finite numbers; "
                "keep logarithms, exponentials and quotients in range"
            )


def _flat(array: DeviceArray) -> DeviceArray:
    """Return the same memory as a one-dimensional array."""
    return DeviceArray(array.device, (array.size,), array.dtype, array.handle)
