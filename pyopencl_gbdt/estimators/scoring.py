"""Scorers of scikit-learn as metrics of a training: larger is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.sklearn_names import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    check_scoring,
)
from pyopencl_gbdt.messages import show

#: scikit-learn's name for "the loss", which here is the last metric of ``eval_metric``.
LOSS = "loss"


class _Predicted(BaseEstimator):  # type: ignore[misc]
    """Stands for a fitted estimator; it answers with the predictions of a round."""

    def __init__(self, found: npt.NDArray[Any]) -> None:
        self.found = found

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> Any:
        """Do nothing; scikit-learn asks whether there is such a method."""
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        return self.found


class _Regressor(RegressorMixin, _Predicted):  # type: ignore[misc]
    """Answers with numbers."""


class _Classifier(ClassifierMixin, _Predicted):  # type: ignore[misc]
    """Answers with probabilities, and with the labels of the largest ones."""

    def __init__(self, found: npt.NDArray[Any], classes: npt.NDArray[Any]) -> None:
        super().__init__(found)
        self.classes_ = self.classes = classes

    def predict_proba(self, X: Any) -> npt.NDArray[Any]:
        one = self.found
        return one if one.ndim == 2 else np.column_stack([np.float32(1) - one, one])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        labels: npt.NDArray[Any] = self.classes[self.predict_proba(X).argmax(axis=1)]
        return labels


class Scorer:
    """A metric for ``train`` that asks a scorer of scikit-learn.

    Parameters
    ----------
    scoring : str, callable or None
        As in scikit-learn: a scorer's name, ``scorer(estimator, X, y)``, or None for the accuracy
        or R squared. ``X`` has as many rows, and no values.
    classes : array, shape (n_classes,), or None
        The labels of a classifier's codes.

    Raises
    ------
    ParameterError
        If scikit-learn has no such scorer.
    """

    def __init__(self, scoring: Any, classes: npt.NDArray[Any] | None) -> None:
        self._classes = classes
        #: Of a classifier's losses, some predict margins or labels.
        self.takes_probabilities = classes is not None
        self.__name__ = scoring if isinstance(scoring, str) else getattr(
            scoring, "__name__", "score"
        )  # fmt: skip
        known = isinstance(scoring, str) or callable(scoring) or scoring is None
        try:
            if not known:
                raise ValueError(scoring)
            of = self._standing(np.zeros((1, 2 if classes is None else classes.size), np.float32))
            self._score: Callable[..., Any] = check_scoring(of, scoring=scoring)
        except ValueError as error:
            raise ParameterError(
                f"scoring={show(scoring)}: expected 'loss', the name of a scorer of scikit-learn, "
                "a callable or None; sklearn.metrics.get_scorer_names() lists the names"
            ) from error

    def _standing(self, found: npt.NDArray[Any]) -> _Predicted:
        return _Regressor(found) if self._classes is None else _Classifier(found, self._classes)

    def __call__(self, prediction: npt.NDArray[Any], rows: Dataset) -> tuple[str, float]:
        """Return the scorer's name, and its value for the predictions of rows.

        A classifier's are probabilities, shape (n_rows,), or (n_classes, n_rows).
        """
        y: Any = rows.label
        if self._classes is not None:
            y, prediction = self._classes[rows.label.astype(np.intp)], prediction.T
        weight = {} if rows.weight is None else {"sample_weight": rows.weight}
        X = np.zeros((rows.n_rows, 1), np.float32)
        try:
            found = self._score(self._standing(prediction), X, y, **weight)
        except ValueError as error:
            outputs = "" if prediction.ndim == 1 else f" of {prediction.shape[1]} outputs"
            raise ParameterError(
                f"scoring={show(self.__name__)}: expected a scorer that takes these labels and the "
                f"predictions{outputs}; give another one, or scoring='loss' ({error})"
            ) from error
        return self.__name__, float(found)
