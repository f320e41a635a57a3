"""Names of user functions, and adapters for scikit-learn's argument order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

F32 = npt.NDArray[np.float32]


def name_of(function: object) -> str:
    """Return the name of a function, of the function in a ``partial``, or of a callable's class."""
    if isinstance(function, (ScikitLearnLoss, ScikitLearnMetric)):
        return name_of(function.function)
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__name__", type(inner).__name__))


@dataclass(frozen=True)
class ScikitLearnLoss:
    """Adapt a loss of (labels, margins), as XGBoost's estimators take it."""

    function: Callable[..., Any]

    def __call__(self, margins: F32, rows: Dataset) -> Any:
        if rows.weight is None:
            return self.function(rows.label, margins)
        if "sample_weight" not in inspect.signature(self.function).parameters:
            raise ParameterError(
                f"objective={name_of(self.function)}: expected a parameter sample_weight, as "
                "weights were given and are the function's to apply; add it, or leave them out"
            )
        return self.function(rows.label, margins, sample_weight=rows.weight)


@dataclass(frozen=True)
class ScikitLearnMetric:
    """Adapt a metric of (labels, predictions), as scikit-learn defines it."""

    function: Callable[..., Any]

    def __call__(self, prediction: F32, rows: Dataset) -> tuple[str, Any]:
        weight = {} if rows.weight is None else {"sample_weight": rows.weight}
        return name_of(self.function), self.function(rows.label, prediction, **weight)


def scikit_learn_metrics(eval_metric: Any) -> Any:
    """Convert an estimator's ``eval_metric`` to one that ``train`` accepts."""
    if callable(eval_metric):
        return ScikitLearnMetric(eval_metric)
    if isinstance(eval_metric, np.ndarray):
        eval_metric = np.atleast_1d(eval_metric).tolist()
    if isinstance(eval_metric, str) or not isinstance(eval_metric, Iterable):
        return eval_metric
    return [ScikitLearnMetric(m) if callable(m) else m for m in eval_metric]
