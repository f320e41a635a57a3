"""Losses by XGBoost's names."""

from __future__ import annotations

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.objectives.base import Objective
from pyopencl_gbdt.objectives.logistic import Logistic
from pyopencl_gbdt.objectives.squared_error import SquaredError

OBJECTIVES: dict[str, Objective] = {o.name: o for o in (SquaredError(), Logistic())}


def get_objective(name: str) -> Objective:
    """Return a loss by name.

    Raises
    ------
    ParameterError
        If there is no such loss.
    """
    if name not in OBJECTIVES:
        raise ParameterError(f"objective={name!r}: expected one of {sorted(OBJECTIVES)}")
    return OBJECTIVES[name]


__all__ = ["OBJECTIVES", "Objective", "get_objective"]
