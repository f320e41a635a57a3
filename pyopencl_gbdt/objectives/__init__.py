"""Losses by XGBoost's names, or by LightGBM's names for losses that XGBoost lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.objectives.base import Objective
from pyopencl_gbdt.objectives.classification import (
    CrossEntropy,
    Hinge,
    Logistic,
    LogisticRegression,
    LogitRaw,
    SoftMax,
    SoftProb,
)
from pyopencl_gbdt.objectives.custom import (
    CUSTOM,
    KERNEL,
    Custom,
    FunctionObjective,
    KernelObjective,
    name_of,
)
from pyopencl_gbdt.objectives.distributions import DISTRIBUTIONS
from pyopencl_gbdt.objectives.quantiles import AbsoluteError, ExpectileError, QuantileError
from pyopencl_gbdt.objectives.ranking import RankMap, RankNdcg, RankPairwise
from pyopencl_gbdt.objectives.regression import (
    Fair,
    Gamma,
    Huber,
    Mape,
    Poisson,
    PseudoHuber,
    SquaredError,
    SquaredLogError,
    Tweedie,
)
from pyopencl_gbdt.objectives.survival import Aft, Cox

if TYPE_CHECKING:
    from pyopencl_gbdt.parameters.parameters import Parameters

#: Every loss, with default parameters.
OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (
        SquaredError(), SquaredLogError(), PseudoHuber(), Gamma(), Tweedie(), LogisticRegression(),
        Poisson(), Logistic(), LogitRaw(), Hinge(), AbsoluteError(), QuantileError(),
        ExpectileError(), SoftProb(), SoftMax(), RankNdcg(), RankMap(), RankPairwise(), Cox(),
        Aft(), Huber(), Fair(), Mape(), CrossEntropy(), *DISTRIBUTIONS,
    )
}  # fmt: skip


def get_objective(
    name: str, parameters: Parameters | Mapping[str, float | str] | None = None
) -> Objective:
    """Return a loss by name.

    ``name``: a name of ``OBJECTIVES``, or "custom", which model files use for all custom losses.
    ``parameters``: the loss's parameters; those that a mapping lacks have their defaults.

    Raises
    ------
    ParameterError
        If there is no such loss.
    """
    if name == CUSTOM:
        named: Any = parameters if isinstance(parameters, Mapping) else {}
        return Custom(**{f.name: named[f.name] for f in fields(Custom) if f.name in named})
    if name not in OBJECTIVES:
        raise ParameterError(f"objective={name!r}: expected one of {sorted(OBJECTIVES)}")
    objective = OBJECTIVES[name]
    if parameters is None:
        return objective
    if not isinstance(parameters, Mapping):
        return objective.of_training(parameters)
    own: dict[str, Any] = {f.name: getattr(objective, f.name) for f in fields(objective)}
    given = {name: parameters[name] for name in own if name in parameters}
    return objective if given.items() <= own.items() else objective.having(**given)


def custom_objective(given: object) -> Custom | None:
    """Return a custom loss, or None if ``given`` names a loss of this library.

    Parameters
    ----------
    given : object
        A ``Custom``, a callable, a string that starts with ``kernel:``, or anything else.
    """
    if isinstance(given, Custom):
        return given
    if isinstance(given, str) and given.startswith(KERNEL):
        return KernelObjective(given.removeprefix(KERNEL))
    if callable(given):
        return FunctionObjective(custom_name=name_of(given), function=given)
    return None


__all__ = ["OBJECTIVES", "Objective", "custom_objective", "get_objective"]
