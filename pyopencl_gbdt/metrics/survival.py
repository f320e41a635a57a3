"""Metrics of times to an event, some of them censored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


def cox_nloglik(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Negative log partial likelihood of hazards, by the number of events; NaN without any.

    Labels are as for ``survival:cox``. Like XGBoost's (3.2, ``src/metric/rank_metric.cc``) it takes
    no notice of weights.
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
