"""LightGBM's estimators, with its signatures and defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from pyopencl_gbdt.compat.lightgbm.booster import Booster
from pyopencl_gbdt.compat.lightgbm.errors import log_warning
from pyopencl_gbdt.compat.lightgbm.estimator_base import Array, LGBMModel
from pyopencl_gbdt.compat.lightgbm.names import ALIASES
from pyopencl_gbdt.compat.lightgbm.objectives import OBJECTIVES, SEVERAL


class LGBMRegressor(RegressorMixin, LGBMModel):  # type: ignore[misc]
    """LightGBM's regressor."""

    _default, _default_metric = "regression", "l2"

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: Any = None,
        eval_names: list[str] | None = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        eval_metric: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: list[Callable[..., Any]] | None = None,
        init_model: str | Path | Booster | LGBMModel | None = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> LGBMRegressor:
        """Train a model; see ``LGBMModel.fit``."""
        super().fit(
            X, y, sample_weight=sample_weight, init_score=init_score, eval_set=eval_set,
            eval_names=eval_names, eval_sample_weight=eval_sample_weight,
            eval_init_score=eval_init_score, eval_metric=eval_metric, feature_name=feature_name,
            categorical_feature=categorical_feature, callbacks=callbacks, init_model=init_model,
            eval_X=eval_X, eval_y=eval_y,
        )  # fmt: skip
        return self


class LGBMClassifier(ClassifierMixin, LGBMModel):  # type: ignore[misc]
    """LightGBM's classifier; ``classes_`` lists the labels."""

    def _usual_objective(self) -> str:
        return "multiclass" if self._n_classes > 2 else "binary"

    def _usual_metric(self) -> str:
        return "multi_logloss" if self._n_classes > 2 else "binary_logloss"

    @property
    def _has_several(self) -> bool:
        objective = self.objective if not hasattr(self, "_objective") else self._objective
        named = isinstance(objective, str) and OBJECTIVES.get(objective) in SEVERAL
        return self._n_classes > 2 or named

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: Any = None,
        eval_names: list[str] | None = None,
        eval_sample_weight: Any = None,
        eval_class_weight: Any = None,
        eval_init_score: Any = None,
        eval_metric: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: list[Callable[..., Any]] | None = None,
        init_model: str | Path | Booster | LGBMModel | None = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> LGBMClassifier:
        """Train a model; see ``LGBMModel.fit``."""
        assert_all_finite(y)
        check_classification_targets(y)
        self._le = LabelEncoder().fit(y)
        self._classes = self._le.classes_
        self._n_classes = len(self._classes)
        self.__dict__.pop("_objective", None)
        if not callable(eval_metric):
            listed = eval_metric if isinstance(eval_metric, list) else [eval_metric]
            eval_metric = [self._metric_of_classes(one) for one in listed if one is not None]
        super().fit(
            X, y, sample_weight=sample_weight, init_score=init_score, eval_set=eval_set,
            eval_names=eval_names, eval_sample_weight=eval_sample_weight,
            eval_class_weight=eval_class_weight, eval_init_score=eval_init_score,
            eval_metric=eval_metric, feature_name=feature_name,
            categorical_feature=categorical_feature, callbacks=callbacks, init_model=init_model,
            eval_X=eval_X, eval_y=eval_y,
        )  # fmt: skip
        return self

    def _metric_of_classes(self, name: Any) -> Any:
        kind = "multi" if self._has_several else "binary"
        for family in ("logloss", "error"):
            if name in (family, f"binary_{family}", f"multi_{family}"):
                return f"{kind}_{family}"
        return name

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = True, False
        return tags

    def _known(self, y: Any) -> Any:
        return self._le.transform(y)

    def _class_weights(self, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        numbers = {label: number for number, label in enumerate(self._classes)}
        return {numbers.get(label, label): weight for label, weight in given.items()}

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return the most probable labels; the arguments are those of ``Booster.predict``."""
        found = self.predict_proba(
            X, raw_score=raw_score, start_iteration=start_iteration, num_iteration=num_iteration,
            pred_leaf=pred_leaf, pred_contrib=pred_contrib, validate_features=validate_features,
            **kwargs,
        )  # fmt: skip
        if callable(self._objective) or raw_score or pred_leaf or pred_contrib:
            return found
        return self._le.inverse_transform(np.argmax(found, axis=1))

    def predict_proba(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return probabilities, (n_rows, n_classes); margins for a loss of the user's."""
        found = super().predict(
            X, raw_score=raw_score, start_iteration=start_iteration, num_iteration=num_iteration,
            pred_leaf=pred_leaf, pred_contrib=pred_contrib, validate_features=validate_features,
            **kwargs,
        )  # fmt: skip
        others = raw_score or pred_leaf or pred_contrib
        if callable(self._objective) and not others:
            log_warning(
                "Cannot compute class probabilities or labels due to the usage of customized "
                "objective function.\nReturning raw scores instead."
            )
            return found
        if self._has_several or others:
            return found
        return np.column_stack((1.0 - found, found))

    def decision_function(
        self,
        X: Any,
        *,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return margins."""
        return super().predict(
            X, raw_score=True, start_iteration=start_iteration, num_iteration=num_iteration,
            validate_features=validate_features, **kwargs,
        )  # fmt: skip

    @property
    def classes_(self) -> Array:
        """The labels."""
        self._fitted("No classes found. Need to call fit beforehand.")
        classes: Array = self._classes
        return classes

    @property
    def n_classes_(self) -> int:
        """The number of labels."""
        self._fitted("No classes found. Need to call fit beforehand.")
        return self._n_classes


class LGBMRanker(LGBMModel):
    """LightGBM's ranker."""

    _default, _default_metric = "lambdarank", "ndcg"

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        group: Any = None,
        eval_set: Any = None,
        eval_names: list[str] | None = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        eval_group: Any = None,
        eval_metric: Any = None,
        eval_at: Any = (1, 2, 3, 4, 5),
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: list[Callable[..., Any]] | None = None,
        init_model: str | Path | Booster | LGBMModel | None = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> LGBMRanker:
        """Train a model; see ``LGBMModel.fit``. ``group`` has the number of rows of each query."""
        if group is None:
            raise ValueError("Should set group for ranking task")
        sets = any(one is not None for one in (eval_set, eval_X, eval_y))
        if eval_group is None and sets:
            raise ValueError(
                "eval_group cannot be None if any of eval_set, eval_X, or eval_y are provided"
            )
        self._eval_at = eval_at
        super().fit(
            X, y, sample_weight=sample_weight, init_score=init_score, group=group,
            eval_set=eval_set, eval_names=eval_names, eval_sample_weight=eval_sample_weight,
            eval_init_score=eval_init_score, eval_group=eval_group, eval_metric=eval_metric,
            feature_name=feature_name, categorical_feature=categorical_feature,
            callbacks=callbacks, init_model=init_model, eval_X=eval_X, eval_y=eval_y,
        )  # fmt: skip
        return self

    def _processed(self) -> dict[str, Any]:
        params = super()._processed()
        places = self._eval_at
        for name in ("eval_at", *ALIASES["eval_at"]):
            if name in params:
                log_warning(f"Found '{name}' in params. Will use it instead of 'eval_at' argument")
                places = params.pop(name)
        return {**params, "eval_at": places}
