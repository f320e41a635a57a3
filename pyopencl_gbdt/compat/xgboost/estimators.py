"""The classifier, the regressor and the forests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.estimator_base import XGBModel
from pyopencl_gbdt.compat.xgboost.estimator_inputs import as_objective
from pyopencl_gbdt.compat.xgboost.keyword_arguments import named_arguments
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.estimators.sklearn_names import ClassifierMixin, RegressorMixin

_Own = TypeVar("_Own", bound="XGBClassifier")
_OwnForest = TypeVar("_OwnForest", bound="Forest")


class XGBClassifier(ClassifierMixin, XGBModel):  # type: ignore[misc]
    """A classifier of labels 0 .. n_classes - 1, or of several labels of 0 and 1.

    Parameters
    ----------
    objective, **kwargs
        As for ``XGBModel``.
    """

    def __init__(self, *, objective: Any = "binary:logistic", **kwargs: Any) -> None:
        super().__init__(objective=objective, **kwargs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @named_arguments
    def fit(
        self: _Own,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        verbose: bool | int | None = True,
        xgb_model: Any = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        base_margin_eval_set: Sequence[Any] | None = None,
        feature_weights: Any = None,
    ) -> _Own:
        """Train; see ``XGBModel.fit``.

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
        own = {"data": X, "label": y, "weight": sample_weight, "base_margin": base_margin}
        sides = {"weight": sample_weight_eval_set, "base_margin": base_margin_eval_set}
        params, obj = self.get_xgb_params(), None
        if callable(self.objective):
            obj = as_objective(self.objective)
            params["objective"] = "binary:logistic"
        if self.n_classes_ > 2:
            if params.get("objective") != "multi:softmax":
                params["objective"] = "multi:softprob"
            params["num_class"] = self.n_classes_
        self._train(params, own, eval_set, sides, verbose, xgb_model, feature_weights, obj)
        if obj is None:
            self.objective = params["objective"]
        return self

    def _classes_of(self, y: Any) -> npt.NDArray[Any]:
        """Return the distinct labels, ascending."""
        return np.unique(np.asarray(y))

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels: 0 .. n_classes - 1."""
        return np.arange(self.n_classes_)

    @named_arguments
    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> Any:
        """Return the class of each row; see ``XGBModel.predict``."""
        found = super().predict(
            X,
            output_margin=output_margin,
            validate_features=validate_features,
            base_margin=base_margin,
            iteration_range=iteration_range,
        )
        if output_margin:
            return found
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
        how = {
            "validate_features": validate_features,
            "base_margin": base_margin,
            "iteration_range": iteration_range,
        }
        if self.objective == "multi:softmax":
            # its predictions are classes: probabilities come from the margins
            margins = super().predict(X, output_margin=True, **how)
            shifted = np.exp(margins - margins.max(axis=1, keepdims=True))
            found: npt.NDArray[np.float32] = shifted / shifted.sum(axis=1, keepdims=True)
            return found
        share = super().predict(X, **how)
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

    @named_arguments
    def fit(
        self: _OwnForest,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        verbose: bool | int | None = True,
        xgb_model: Any = None,
        sample_weight_eval_set: Sequence[Any] | None = None,
        base_margin_eval_set: Sequence[Any] | None = None,
        feature_weights: Any = None,
    ) -> _OwnForest:
        """Train; see ``XGBModel.fit``."""
        _check_forest(self)
        own: Any = super()
        own.fit(
            X, y, sample_weight=sample_weight, base_margin=base_margin, eval_set=eval_set,
            verbose=verbose, xgb_model=xgb_model, sample_weight_eval_set=sample_weight_eval_set,
            base_margin_eval_set=base_margin_eval_set, feature_weights=feature_weights,
        )  # fmt: skip
        return self


class XGBRFClassifier(Forest, XGBClassifier):
    """A random forest that classifies; see ``Forest``."""


class XGBRFRegressor(Forest, XGBRegressor):
    """A random forest that regresses; see ``Forest``."""
