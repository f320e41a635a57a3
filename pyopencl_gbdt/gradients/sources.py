"""Choose the kernels for losses whose gradients need more than a row's margin and label."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Protocol, runtime_checkable

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.gradients import aft, cox, custom, lambda_gradients, softmax
from pyopencl_gbdt.gradients.gathered import GatheredGradients
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.classification import SoftProb
from pyopencl_gbdt.objectives.custom import (
    Custom,
    DeviceObjective,
    FunctionObjective,
    KernelObjective,
)
from pyopencl_gbdt.objectives.ranking import LambdaRank
from pyopencl_gbdt.objectives.survival import Aft, Cox, log_bounds


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


def takes_pages(objective: Objective) -> bool:
    """Return whether gradients can be computed page by page, where pages take turns."""
    alone = SoftProb | Aft | FunctionObjective | KernelObjective
    return not objective.given or isinstance(objective, alone)


@singledispatch
def source_of(objective: Objective, parts: FitParts, data: Dataset) -> GradientSource:
    """Return the kernels of a loss whose gradients are ``given``.

    For a new loss of this kind, write a class like those of ``gradients/`` and register it here.
    """
    raise NotImplementedError(f"{objective.name} has its gradients from its own statements")


@source_of.register
def _(objective: SoftProb, parts: FitParts, data: Dataset) -> GradientSource:
    return softmax.Softmax(parts.rows, parts.nodes, parts.ways)


@source_of.register
def _(objective: Cox, parts: FitParts, data: Dataset) -> GradientSource:
    if parts.rows.team.size > 1:
        return GatheredGradients(parts.rows, parts.nodes, objective, data.label)
    return cox.CoxGradients(parts.arena, parts.rows, parts.ways, data.label)


@source_of.register
def _(objective: Aft, parts: FitParts, data: Dataset) -> GradientSource:
    return aft.AftGradients(parts.rows, parts.ways, objective, *log_bounds(*data.bounds))


@source_of.register
def _(objective: LambdaRank, parts: FitParts, data: Dataset) -> GradientSource:
    arena, rows, nodes, _, ways = parts
    return lambda_gradients.LambdaGradients(arena, rows, nodes, ways, objective, data)


@source_of.register
def _(objective: Custom, parts: FitParts, data: Dataset) -> GradientSource:
    if isinstance(objective, FunctionObjective) and parts.rows.team.size > 1:
        return GatheredGradients(parts.rows, parts.nodes, objective, data.label)
    if isinstance(objective, FunctionObjective):
        return custom.FunctionGradients(parts.rows, parts.nodes, objective, data)
    if isinstance(objective, DeviceObjective | KernelObjective):
        return custom.CheckedGradients(parts.arena, parts.rows, parts.ways, objective)
    raise ParameterError(
        f"objective={objective.custom_name or objective.name!r}: expected the loss itself, as only "
        "its name is kept in files; give the callable as objective="
    )
