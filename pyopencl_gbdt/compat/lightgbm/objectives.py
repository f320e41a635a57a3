"""LightGBM's objectives: their names, this library's losses, links and default metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.used_rounds import link_of

F64 = npt.NDArray[np.float64]

_NAMES = """
regression regression_l2 l2 mean_squared_error mse l2_root root_mean_squared_error rmse
regression_l1 l1 mean_absolute_error mae
huber
fair
poisson
quantile
mape mean_absolute_percentage_error
gamma
tweedie
binary
multiclass softmax
multiclassova multiclass_ova ova ovr
cross_entropy xentropy
cross_entropy_lambda xentlambda
lambdarank
rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart
none None null custom na
"""
OBJECTIVES: dict[str, str] = {
    one: line.split()[0] for line in _NAMES.split("\n") if line for one in line.split()
}
"""The main name of every objective's name."""


@dataclass(frozen=True)
class Kind:
    """One objective.

    Attributes
    ----------
    loss : str
        This library's loss; empty where the gradients are those of ``own_losses``, or the user's.
    link : str
        What turns margins into predictions.
    metric : str
        LightGBM's default metric.
    """

    loss: str
    link: str
    metric: str


KINDS: dict[str, Kind] = {
    "regression": Kind("reg:squarederror", "identity", "l2"),
    "regression_l1": Kind("reg:absoluteerror", "identity", "l1"),
    "huber": Kind("huber", "identity", "huber"),
    "fair": Kind("fair", "identity", "fair"),
    "poisson": Kind("count:poisson", "exp", "poisson"),
    "quantile": Kind("reg:quantileerror", "identity", "quantile"),
    "mape": Kind("mape", "identity", "mape"),
    "gamma": Kind("reg:gamma", "exp", "gamma"),
    "tweedie": Kind("reg:tweedie", "exp", "tweedie"),
    "binary": Kind("binary:logistic", "sigmoid", "binary_logloss"),
    "multiclass": Kind("multi:softprob", "softmax", "multi_logloss"),
    "multiclassova": Kind("", "sigmoid", "multi_logloss"),
    "cross_entropy": Kind("cross_entropy", "sigmoid", "cross_entropy"),
    "cross_entropy_lambda": Kind("", "softplus", "cross_entropy_lambda"),
    "lambdarank": Kind("rank:ndcg", "identity", "ndcg"),
    "rank_xendcg": Kind("", "identity", "ndcg"),
    "none": Kind("", "identity", ""),
}
RANKING = ("lambdarank", "rank_xendcg")
SEVERAL = ("multiclass", "multiclassova")


def main_objective(given: Any) -> str:
    """Return the main name of an objective.

    Raises
    ------
    ParameterError
        In LightGBM's words, if there is none of this name.
    """
    name = "none" if given is None else OBJECTIVES.get(str(given).strip(), "")
    if not name:
        raise ParameterError(
            f"Unknown objective type name: {given}: expected one of {', '.join(KINDS)}; give one, "
            "or a function"
        )
    return name


def _softmax(margins: F64) -> F64:
    powers: F64 = np.exp(margins - margins.max(axis=-1, keepdims=True))
    found: F64 = powers / powers.sum(axis=-1, keepdims=True)
    return found


def _sigmoid(margins: F64) -> F64:
    found: F64 = np.exp(-np.logaddexp(0, -margins))
    return found


LINKS: dict[str, Callable[[F64], F64]] = {
    "identity": lambda margins: margins,
    "exp": np.exp,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "softplus": lambda margins: np.logaddexp(0, margins),
}
"""Functions of margins, float64 (n_rows,) or (n_rows, n_classes)."""


def link_of_model(ensemble: Ensemble) -> str:
    """Return the link of a model that was read from a file."""
    link = link_of(ensemble)
    return {"class": "softmax"}.get(link, link if link in LINKS else "identity")
