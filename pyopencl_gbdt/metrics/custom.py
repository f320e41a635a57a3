"""Custom metrics: users' functions."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.objectives.custom import name_of

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset


@dataclass(frozen=True)
class DatasetMetric:
    """A metric of predictions and a data set.

    Attributes
    ----------
    function : callable
    of_prediction : bool
        Whether it takes what ``predict`` returns, rather than what other metrics take.
    """

    function: Callable[[F32, Dataset], float]
    of_prediction: bool = False

    def __call__(self, prediction: F32, rows: Dataset) -> float:
        return self.function(prediction, rows)


F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class _Named:
    """A user's function that returns its name and a value; calling this returns the value."""

    function: Callable[[F32, Dataset], Any]
    name: str

    def __call__(self, prediction: F32, rows: Dataset) -> float:
        name, value = call(self.function, prediction, rows)
        if name != self.name:
            raise ParameterError(
                f"eval_metric: {name_of(self.function)} returned the name {name!r}, but "
                f"{self.name!r} before: expected the same name; give two functions for two metrics"
            )
        return value


def named(
    function: Callable[[F32, Dataset], Any], prediction: F32, rows: Dataset
) -> tuple[str, DatasetMetric]:
    """Call a user's metric once to learn its name; return the metric and the name.

    Parameters
    ----------
    function : callable
        ``function(prediction, dataset)`` returns a name and a number, as in XGBoost.
    prediction : float32 array, shape (n_rows,)

    Raises
    ------
    ParameterError
        If it returns anything else.
    """
    name, _ = call(function, prediction, rows)
    return name, DatasetMetric(_Named(function, name), of_prediction=takes_prediction(function))


def takes_prediction(function: Callable[..., Any]) -> bool:
    """Tell whether a metric takes what ``predict`` returns, not ``(n_outputs, n_rows)`` numbers.

    Those are what other metrics take: probabilities, also where the loss predicts something else.
    """
    return not getattr(function, "takes_probabilities", False)


def call(function: Callable[..., Any], prediction: F32, rows: Dataset) -> tuple[str, float]:
    """Call a user's metric; raise ``ParameterError`` unless it returns a name and a number."""
    found = function(prediction, rows)
    pair = isinstance(found, (tuple, list)) and len(found) == 2
    name, value = found if pair else ("", None)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not isinstance(name, str) or not name or value is None or not real:
        raise ParameterError(
            f"eval_metric: {name_of(function)} returned {found!r}: expected a name and a number; "
            "return ('my_metric', value), or (estimators) the number of y_true and y_pred"
        )
    return name, float(value)
