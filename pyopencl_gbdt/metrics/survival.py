"""Survival metrics: times to an event, some of them censored."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


def cox_nloglik(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the negative log partial likelihood of hazards per event; NaN without events.

    Labels are those of ``survival:cox``. Weights are ignored, as in XGBoost 3.2
    (``src/metric/rank_metric.cc``).
    """
    times = np.abs(label)
    order = np.argsort(times, kind="stable")
    hazard, times = prediction[order].astype(np.float64), times[order]
    event = label[order] > 0
    if not event.any():
        return float("nan")
    at_risk = np.cumsum(hazard[::-1])[::-1][np.searchsorted(times, times)]
    with np.errstate(divide="ignore"):
        return float(np.mean(np.log(at_risk[event]) - np.log(hazard[event])))


def aft_nloglik(
    margin: F32, rows: Dataset, distribution: str = "normal", scale: float = 1.0
) -> float:
    """Return the mean negative log likelihood of bounds, for logarithms of times (margins).

    XGBoost 3.2, ``src/common/survival_util.h``; likelihoods are at least 1e-12.
    """
    lower, upper = (np.asarray(bound, np.float64) for bound in rows.bounds)
    density, share = _DISTRIBUTIONS[distribution]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        m = margin.astype(np.float64)
        z_l, z_u = (np.log(lower) - m) / scale, (np.log(upper) - m) / scale
        known = density(z_l) / (scale * lower)
        likelihood = np.where(lower == upper, known, share(z_u) - share(z_l))
        loss = -np.log(np.maximum(likelihood, 1e-12))
    return float(np.average(loss, weights=rows.weight))


def interval_regression_accuracy(margin: F32, rows: Dataset) -> float:
    """Return the share of rows whose predicted time, e^margin, is within the bounds.

    XGBoost 3.2, ``src/metric/survival_metric.cu``.
    """
    lower, upper = rows.bounds
    time = np.exp(margin.astype(np.float64))
    return float(np.average((time >= lower) & (time <= upper), weights=rows.weight))


def _normal_density(z: F64) -> F64:
    density: F64 = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return density


def _normal_share(z: F64) -> F64:
    return np.fromiter(map(math.erfc, (-z / math.sqrt(2)).tolist()), np.float64, z.size) / 2


def _logistic_share(z: F64) -> F64:
    share: F64 = 1 / (1 + np.exp(-z))
    return share


def _extreme_share(z: F64) -> F64:
    share: F64 = -np.expm1(-np.exp(z))
    return share


#: Density and cumulative distribution function, by name.
_DISTRIBUTIONS: dict[str, tuple[Callable[[F64], F64], Callable[[F64], F64]]] = {
    "normal": (_normal_density, _normal_share),
    "logistic": (lambda z: _logistic_share(z) * _logistic_share(-z), _logistic_share),
    "extreme": (lambda z: np.exp(z - np.exp(z)), _extreme_share),
}
