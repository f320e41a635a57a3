"""Metrics of predictions on the host, and what a running fit tells of its evaluation sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.evaluation.evaluation import on_host
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
#: The evaluation set, the metric, and its value.
Score = tuple[str, str, float]
Metric = Callable[[Any, Any], Any]
Evals = Sequence[tuple[DMatrix, str]]


class Collector:
    """A metric that keeps the predictions of every evaluation set, for the user's functions."""

    def __init__(self) -> None:
        self.predictions: dict[int, F32] = {}

    def __call__(self, prediction: F32, rows: Any) -> tuple[str, float]:
        if hasattr(rows, "matrix"):  # else the name of the metric is asked for
            self.predictions[id(rows.matrix)] = prediction
        return "collected", 0.0


def named_scores(
    names: Sequence[str], margins: F32, matrix: DMatrix, objective: Objective, p: Parameters
) -> list[tuple[str, float]]:
    """Return metrics by name of margins of the shape (n_rows,) or (n_rows, n_outputs)."""
    rows = matrix.dataset()
    own = objective.to_probability(np.ascontiguousarray(margins.T))
    found = []
    for name in names:
        metric = get_metric(name, p)
        found.append((name, on_host(metric, name, rows, own)))
    return found


def own_scores(feval: Metric, prediction: F32, matrix: DMatrix) -> list[tuple[str, float]]:
    """Return what a user's function measures: a name and a number, or a list of such pairs.

    Raises
    ------
    ParameterError
        If it returns anything else.
    """
    found = feval(prediction, matrix)
    pairs = found if isinstance(found, list) else [found]
    try:
        return [(str(name), float(value)) for name, value in pairs]
    except (TypeError, ValueError):
        raise ParameterError(
            f"custom_metric returned {show(found)}: expected a name and a number, or a list of "
            "such pairs; return ('name', value)"
        ) from None


def as_text(iteration: int, scores: Sequence[Score]) -> str:
    """Return scores in XGBoost's form: a number, then the set, the metric and the value of each."""
    return f"[{iteration}]" + "".join(f"\t{data}-{name}:{value!r}" for data, name, value in scores)
