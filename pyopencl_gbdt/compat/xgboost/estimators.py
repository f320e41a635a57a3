"""The classifier, the regressor and the forests."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.estimator_base import XGBModel
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.estimators.sklearn_names import ClassifierMixin, RegressorMixin


class XGBClassifier(ClassifierMixin, XGBModel):  # type: ignore[misc]
    """A classifier of labels 0 .. n_classes - 1, or of several labels of 0 and 1.

    Parameters
    ----------
    objective, **kwargs
        As for ``XGBModel``.
    """

    _default = "binary:logistic"

    def __init__(self, *, objective: Any = "binary:logistic", **kwargs: Any) -> None:
        super().__init__(objective=objective, **kwargs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _fitting(self, y: Any) -> tuple[dict[str, Any], Any]:
        """Return the parameters for ``train`` on some labels, and these.

        Raises
        ------
        DataError
            If the labels are not 0 .. n_classes - 1.
        """
        y = y.collect() if hasattr(y, "collect") else y
        classes = self._classes_of(y)
        self.n_classes_ = len(classes)
        expected = self.classes_
        if classes.shape != expected.shape or not (classes == expected).all():
            raise DataError(
                "Invalid classes inferred from unique values of `y`. Expected: "
                f"{expected}, got {classes}; encode them by scikit-learn's LabelEncoder"
            )
        params, _ = super()._fitting(y)
        if self.n_classes_ > 2:
            if params.get("objective") != "multi:softmax":
                params["objective"] = "multi:softprob"
            params["num_class"] = self.n_classes_
        return params, y

    def _fitted_by(self, params: dict[str, Any]) -> None:
        if not callable(self.objective):
            self.objective = params["objective"]

    def _classes_of(self, y: Any) -> npt.NDArray[Any]:
        """Return the distinct labels, ascending."""
        return np.unique(np.asarray(y))

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels: 0 .. n_classes - 1."""
        return np.arange(self.n_classes_)

    def _of_rows(self, found: Any) -> Any:
        """Return the class of each row."""
        if found.ndim > 1 and self.n_classes_ != 2:
            return np.argmax(found, axis=1)
        if found.ndim > 1 and found.shape[1] != 1:
            return (found > 0.5).astype(np.float64)
        if self.objective == "multi:softmax":
            return found.astype(np.int32)
        return (found > 0.5).astype(np.int64)

    def predict_proba(
        self,
        X: Any,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> npt.NDArray[np.float32]:
        """Return the probability of each class, (n_rows, n_classes); of each of several labels."""
        softmax = self.objective == "multi:softmax"
        how = {"validate_features": validate_features, "base_margin": base_margin}
        found = self._predicted(X, softmax, iteration_range, **how)
        chances: npt.NDArray[np.float32] = self._chances(found)
        return chances

    def _chances(self, share: Any) -> Any:
        """Return probabilities, of predictions; of margins if predictions are classes."""
        if self.objective == "multi:softmax":
            shifted = np.exp(share - share.max(axis=1, keepdims=True))
            return shifted / shifted.sum(axis=1, keepdims=True)
        if share.ndim == 2 and share.shape[1] > 1:
            return np.asarray(share)
        share = share.reshape(-1)
        return np.stack([1.0 - share, share], axis=1)


class XGBRegressor(RegressorMixin, XGBModel):  # type: ignore[misc]
    """A regressor of one target or several.

    Parameters
    ----------
    objective, **kwargs
        As for ``XGBModel``.
    """

    def __init__(self, *, objective: Any = "reg:squarederror", **kwargs: Any) -> None:
        super().__init__(objective=objective, **kwargs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _check_forest(estimator: Any) -> None:
    """Raise for what forests do not have, as they train one round."""
    given = estimator.get_params(deep=False)
    if given["early_stopping_rounds"] is not None or given["callbacks"] is not None:
        raise NotImplementedError(
            "`early_stopping_rounds` and `callbacks` are not implemented for the sklearn random "
            "forest estimator interface: leave them out, as a forest is one round"
        )


class Forest:
    """What the forests share: ``n_estimators`` are trees of one round.

    Parameters
    ----------
    learning_rate, subsample, colsample_bynode, reg_lambda, **kwargs
        As for ``XGBModel``.
    """

    def __init__(
        self,
        *,
        learning_rate: float | None = 1.0,
        subsample: float | None = 0.8,
        colsample_bynode: float | None = 0.8,
        reg_lambda: float | None = 1e-5,
        **kwargs: Any,
    ) -> None:
        own: Any = super()
        own.__init__(
            learning_rate=learning_rate, subsample=subsample,
            colsample_bynode=colsample_bynode, reg_lambda=reg_lambda, **kwargs,
        )  # fmt: skip
        _check_forest(self)

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters for ``train``: all trees are of one round."""
        own: Any = super()
        return {**own.get_xgb_params(), "num_parallel_tree": own.get_num_boosting_rounds()}

    def get_num_boosting_rounds(self) -> int:
        """Return 1."""
        return 1

    def _fitting(self, y: Any) -> tuple[dict[str, Any], Any]:
        _check_forest(self)
        own: Any = super()
        return own._fitting(y)  # type: ignore[no-any-return]


class XGBRFClassifier(Forest, XGBClassifier):
    """A random forest that classifies; see ``Forest``."""


class XGBRFRegressor(Forest, XGBRegressor):
    """A random forest that regresses; see ``Forest``."""
