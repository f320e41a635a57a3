"""The two estimators, with scikit-learn's signatures and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from pyopencl_gbdt.arguments import like
from pyopencl_gbdt.compat.sklearn.base import HistGradientBoosting
from pyopencl_gbdt.compat.sklearn.checks import CLASSIFIER, REGRESSOR, Allowed
from pyopencl_gbdt.compat.sklearn.rows import F64
from pyopencl_gbdt.errors import DataError, ParameterError

#: The loss and the metric that is the same loss.
_LOSSES = {
    "squared_error": ("reg:squarederror", "rmse"),
    "absolute_error": ("reg:absoluteerror", "mae"),
    "gamma": ("reg:gamma", "gamma-nloglik"),
    "poisson": ("count:poisson", "poisson-nloglik"),
    "quantile": ("reg:quantileerror", "quantile"),
}


class HistGradientBoostingRegressor(RegressorMixin, HistGradientBoosting):  # type: ignore[misc]
    """scikit-learn's ``HistGradientBoostingRegressor``, trained by this library.

    Parameters and attributes are those of scikit-learn 1.9; ``model_`` is the ``Model``. The
    device is what ``PYOPENCL_GBDT_DEVICE`` names, else the fastest.
    """

    _allowed: ClassVar[dict[str, Allowed]] = REGRESSOR

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _encoded(self, y: Any) -> npt.NDArray[Any]:
        labels = column_or_1d(y, warn=True)
        assert_all_finite(labels, input_name="y")
        labels = np.asarray(labels, np.float64)
        if self.loss == "gamma" and not (labels > 0).all():
            raise DataError("loss='gamma' requires strictly positive y.")
        if self.loss == "poisson" and not ((labels >= 0).all() and labels.sum() > 0):
            raise DataError("loss='poisson' requires non-negative y and sum(y) > 0.")
        self.n_trees_per_iteration_ = 1
        return labels

    def _encoded_as_before(self, y: Any) -> npt.NDArray[Any]:
        return self._encoded(y)

    def _of_loss(self) -> tuple[dict[str, Any], str]:
        objective, metric = _LOSSES[self.loss]
        if self.loss != "quantile":
            return {"objective": objective}, metric
        if self.quantile is None:
            raise ParameterError(
                "quantile=None: expected a number from 0 to 1 with loss='quantile'; give 0.5, say"
            )
        return {"objective": objective, "quantile_alpha": self.quantile}, metric

    def predict(self, X: Any) -> F64:
        """Return predictions, float64, shape (n_rows,)."""
        return self._predictions(self._raw_predict(X))

    def staged_predict(self, X: Any) -> Iterator[F64]:
        """Yield the predictions after each iteration."""
        return map(self._predictions, self._staged_raw_predict(X))


class HistGradientBoostingClassifier(ClassifierMixin, HistGradientBoosting):  # type: ignore[misc]
    """scikit-learn's ``HistGradientBoostingClassifier``, trained by this library.

    Parameters and attributes are those of scikit-learn 1.9; ``model_`` is the ``Model``. The
    device is what ``PYOPENCL_GBDT_DEVICE`` names, else the fastest.
    """

    _allowed: ClassVar[dict[str, Allowed]] = CLASSIFIER

    @like(
        HistGradientBoostingRegressor.__init__,
        without=("quantile",),
        after={"random_state": ("class_weight",)},
        loss="log_loss",
    )
    def __init__(self, **given: Any) -> None:
        self._take(given)

    def _encoded(self, y: Any) -> npt.NDArray[Any]:
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        encoder = LabelEncoder()
        codes: npt.NDArray[Any] = encoder.fit_transform(labels)
        self.classes_ = encoder.classes_
        self.n_trees_per_iteration_ = 1 if len(self.classes_) <= 2 else len(self.classes_)
        return codes

    def _encoded_as_before(self, y: Any) -> npt.NDArray[Any]:
        labels = column_or_1d(y, warn=True)
        codes: npt.NDArray[Any] = np.searchsorted(self.classes_, labels).clip(
            0, len(self.classes_) - 1
        )
        if (self.classes_[codes] != labels).any():
            unseen = sorted(set(labels.tolist()) - set(self.classes_.tolist()))
            raise DataError(f"y contains previously unseen labels: {unseen}")
        return codes

    def _weighed(self, weight: F64 | None, labels: npt.NDArray[Any]) -> F64 | None:
        if self.class_weight is None:
            return weight
        given: F64 = compute_sample_weight(self.class_weight, self.classes_[labels])
        return given if weight is None else given * weight

    def _of_loss(self) -> tuple[dict[str, Any], str]:
        if self.n_trees_per_iteration_ == 1:
            return {"objective": "binary:logistic"}, "logloss"
        return {"objective": "multi:softprob", "num_class": len(self.classes_)}, "mlogloss"

    def _codes(self) -> npt.NDArray[Any]:
        classes: npt.NDArray[Any] = self.classes_
        return classes

    def decision_function(self, X: Any) -> F64:
        """Return margins, shape (n_rows,), or (n_rows, n_classes) for more than two classes."""
        return _margins(self._raw_predict(X))

    def staged_decision_function(self, X: Any) -> Iterator[F64]:
        """Yield the margins after each iteration."""
        return map(_margins, self._staged_raw_predict(X))

    def predict_proba(self, X: Any) -> F64:
        """Return probabilities, shape (n_rows, n_classes); two columns if there is one class."""
        return self._probabilities(self._raw_predict(X))

    def staged_predict_proba(self, X: Any) -> Iterator[F64]:
        """Yield the probabilities after each iteration."""
        return map(self._probabilities, self._staged_raw_predict(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        return self._most_probable(self._raw_predict(X))

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the most probable classes after each iteration."""
        return map(self._most_probable, self._staged_raw_predict(X))

    def _probabilities(self, margins: npt.NDArray[np.float32]) -> F64:
        found = self._predictions(margins)
        if found.ndim == 1:
            return np.column_stack([1 - found, found])
        shares: F64 = found / found.sum(axis=1, keepdims=True)  # float32 sums are not quite 1
        return shares

    def _most_probable(self, margins: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        labels: npt.NDArray[Any] = self.classes_[self._probabilities(margins).argmax(axis=1)]
        return labels


def _margins(found: npt.NDArray[np.float32]) -> F64:
    return (found[:, 0] if found.shape[1] == 1 else found).astype(np.float64)
