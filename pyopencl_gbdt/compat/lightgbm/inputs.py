"""What users give the estimators: rows and labels, losses and metrics.

Rows and labels are checked as scikit-learn's tools expect; losses and metrics get the form that
``train`` takes.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from sklearn.utils.validation import check_array, check_X_y

from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: scikit-learn before 1.6 has another name.
_FINITE = next(
    name
    for name in ("ensure_all_finite", "force_all_finite")
    if name in signature(check_array).parameters
)


def checked_input(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return rows and labels; tables stay as they are.

    Parameters
    ----------
    estimator : LGBMModel
    X : array-like, DataFrame or sparse matrix
    y : array-like; None before a prediction
    """
    if hasattr(X, "columns") or hasattr(X, "schema"):
        return X, estimator._known(y) if y is not None else y
    how: dict[str, Any] = {"accept_sparse": True, _FINITE: False}
    if y is None:
        found = check_array(X, ensure_min_samples=1, **how)
        n_features = estimator.n_features_in_
        shape_check = estimator._others.get("predict_disable_shape_check", False)
        if found.shape[1] != n_features and not shape_check:
            raise ValueError(
                f"X has {found.shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{n_features} features as input."
            )
        return found, None
    rows, labels = check_X_y(X, y, ensure_min_samples=2, estimator=estimator, **how)
    return rows, estimator._known(labels)


def part_of(collection: Any, name: str, place: int) -> Any:
    """Return what an evaluation set has in a list or dictionary of all sets.

    Raises
    ------
    TypeError
        If it is neither.
    """
    if collection is None:
        return None
    if isinstance(collection, list):
        return collection[place] if len(collection) > place else None
    if isinstance(collection, dict):
        return collection.get(place)
    raise TypeError(f"{name} should be dict or list")


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
