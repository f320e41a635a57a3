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
    """Return an evaluation set's entry in a list or dictionary of all sets.

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


@dataclass
class OfLabels:
    """A loss or a metric of labels: ``function(y_true, y_pred[, weight[, group]])``.

    Attributes
    ----------
    function : callable
    what : {"objective", "eval"}
        For messages.
    """

    function: Callable[..., Any]
    what: str

    def __call__(self, found: Any, data: Dataset) -> Any:
        """Return what the function does, of margins or predictions, in the form of ``train``'s."""
        n = len(signature(self.function).parameters)
        given = [data.get_label(), found, data.get_weight(), data.get_group()]
        if n not in (2, 3, 4):
            raise TypeError(
                f"Self-defined {self.what} function should have 2, 3 or 4 arguments, got {n}"
            )
        return self.function(*given[:n])
