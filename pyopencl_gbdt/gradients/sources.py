"""Choose the kernels for losses whose gradients need more than a row's margin and label.

Users' own losses compute theirs by NumPy, or on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.messages import AllGradients, Margins, RowValues
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import RowPart
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.gradients import cox
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.base import RowOutputs
from pyopencl_gbdt.objectives.classification import SoftProb
from pyopencl_gbdt.objectives.custom import (
    Custom,
    DeviceObjective,
    FunctionObjective,
    KernelObjective,
)
from pyopencl_gbdt.objectives.ranking import LambdaRank
from pyopencl_gbdt.objectives.survival import Aft, Cox, log_bounds

F32 = npt.NDArray[np.float32]

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


class GatheredGradients:
    """Collects the margins of all members in every round, and hands out their gradients.

    The host waits for the margins. Gradients have the same bits as on one device.

    Parameters
    ----------
    rows, nodes
        Of a member of a team. A function of the user's is called with ``rows.share.whole``; where
        no member has all rows, as in several processes, ``FunctionGradients`` calls it with each
        member's own rows instead.
    objective : Objective
        Cox's loss, or a function of the user's.
    label : float32 array, shape (n_rows,)
        The labels of the member's own rows.
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
        n_rows = sum(part.shape[-1] for part in margins)
        for name, values in zip(GIVEN, every, strict=False):
            rows.set(name, values.reshape(-1, n_rows)[:, own])

    def _gradients(self, margins: F32, number: int) -> tuple[F32, ...]:
        objective, whole = self._objective, self.rows.share.whole
        if not isinstance(objective, FunctionObjective):
            return objective.gradient(margins, self._label)
        assert whole is not None
        return objective.checked(margins, whole, number)

    def launches(self) -> list[Launch]:
        """Return no launches: ``before_round`` does the work."""
        return []


class GradientSource(Protocol):
    """Kernels that compute ``given_g`` and ``given_h`` for such a loss.

    The constructor builds the kernels and asks for the arrays and what these hold at first.
    """

    def before_round(self, number: int) -> None:
        """Do the host's work of a round, before the round's launches are enqueued."""

    def launches(self) -> Sequence[Action]:
        """Return the actions that compute a round's gradients from ``margins``."""


@runtime_checkable
class CheckedSource(Protocol):
    """A source that checks on the device whether its gradients are finite."""

    def check(self) -> None:
        """Raise if one was not; called before a round's results are used. Waits for the device."""


@singledispatch
def source_of(objective: Objective, parts: FitParts, data: Dataset) -> GradientSource:
    """Return the kernels of a loss whose gradients are ``given``.

    For a new loss of this kind, write a class like those of ``gradients/`` and register it here.
    """
    raise NotImplementedError(f"{objective.name} has its gradients from its own statements")


@source_of.register
def _(objective: SoftProb, parts: FitParts, data: Dataset) -> GradientSource:
    from pyopencl_gbdt.gradients import by_row

    return by_row.Softmax(parts.rows, parts.nodes, parts.ways)


@source_of.register
def _(objective: Cox, parts: FitParts, data: Dataset) -> GradientSource:
    if parts.rows.team.size > 1:
        return GatheredGradients(parts.rows, parts.nodes, objective, data.label)
    return cox.CoxGradients(parts.arena, parts.rows, parts.ways, data.label)


@source_of.register
def _(objective: Aft, parts: FitParts, data: Dataset) -> GradientSource:
    from pyopencl_gbdt.gradients import by_row

    return by_row.AftGradients(parts.rows, parts.ways, objective, *log_bounds(*data.bounds))


@source_of.register
def _(objective: RowOutputs, parts: FitParts, data: Dataset) -> GradientSource:
    from pyopencl_gbdt.gradients import by_row

    return by_row.RowOutputGradients(parts.rows, parts.ways, objective)


@source_of.register
def _(objective: LambdaRank, parts: FitParts, data: Dataset) -> GradientSource:
    from pyopencl_gbdt.gradients import lambda_gradients

    arena, rows, nodes, _, ways = parts
    return lambda_gradients.LambdaGradients(arena, rows, nodes, ways, objective, data)


@source_of.register
def _(objective: Custom, parts: FitParts, data: Dataset) -> GradientSource:
    if isinstance(objective, FunctionObjective) and parts.rows.share.whole is not None:
        return GatheredGradients(parts.rows, parts.nodes, objective, data.label)
    if isinstance(objective, FunctionObjective):
        return FunctionGradients(parts.rows, parts.nodes, objective, data)
    if isinstance(objective, DeviceObjective | KernelObjective):
        return CheckedGradients(parts.arena, parts.rows, parts.ways, objective)
    raise ParameterError(
        f"objective={objective.custom_name or objective.name!r}: expected the loss itself, as only "
        "its name is kept in files; give the callable as objective="
    )
