"""Losses and metrics of the estimators' users, in the form that ``train`` takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

from pyopencl_gbdt.compat.lightgbm.dataset import Dataset


def _arguments(function: Callable[..., Any], found: Any, data: Dataset, what: str) -> list[Any]:
    """Return labels, predictions, and weights and groups if the function takes them."""
    n = len(signature(function).parameters)
    given = [data.get_label(), found, data.get_weight(), data.get_group()]
    if n not in (2, 3, 4):
        raise TypeError(f"Self-defined {what} function should have 2, 3 or 4 arguments, got {n}")
    return given[:n]


@dataclass
class ObjectiveOfLabels:
    """A loss of labels and margins: ``function(y_true, y_pred[, weight[, group]])``."""

    function: Callable[..., Any]

    def __call__(self, margins: Any, data: Dataset) -> tuple[Any, Any]:
        """Return gradients and Hessians."""
        g, h = self.function(*_arguments(self.function, margins, data, "objective"))
        return g, h


@dataclass
class MetricOfLabels:
    """A metric of labels and predictions: ``function(y_true, y_pred[, weight[, group]])``."""

    function: Callable[..., Any]

    def __call__(self, predictions: Any, data: Dataset) -> Any:
        """Return name, value, and whether larger is better; or a list of them."""
        return self.function(*_arguments(self.function, predictions, data, "eval"))
