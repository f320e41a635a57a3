"""LightGBM's estimators, with its signatures and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite

from pyopencl_gbdt.arguments import like
from pyopencl_gbdt.compat.lightgbm.errors import log_warning
from pyopencl_gbdt.compat.lightgbm.estimator_base import Array, LGBMModel
from pyopencl_gbdt.compat.lightgbm.names import ALIASES
from pyopencl_gbdt.compat.lightgbm.objectives import OBJECTIVES, SEVERAL


def _asks_others(given: Mapping[str, Any]) -> bool:
    """Tell whether something else than predictions is asked for."""
    return any(given.get(name) for name in ("raw_score", "pred_leaf", "pred_contrib"))


class LGBMRegressor(RegressorMixin, LGBMModel):  # type: ignore[misc]
    """LightGBM's regressor."""

    _default, _default_metric = "regression", "l2"

    @like(LGBMModel.fit, without=("group", "eval_class_weight", "eval_group"))
    def fit(self, **given: Any) -> LGBMRegressor:
        """Train a model; see ``LGBMModel.fit``."""
        super().fit(**given)
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

    @like(LGBMModel.fit, without=("group", "eval_group"))
    def fit(self, X: Any, y: Any, eval_metric: Any = None, **given: Any) -> LGBMClassifier:
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
        super().fit(X, y, eval_metric=eval_metric, **given)
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

    @like(LGBMModel.predict)
    def predict(self, X: Any, **given: Any) -> Any:
        """Return the most probable labels; the arguments are those of ``Booster.predict``."""
        found = self.predict_proba(X, **given)
        if callable(self._objective) or _asks_others(given):
            return found
        return self._le.inverse_transform(np.argmax(found, axis=1))

    @like(LGBMModel.predict)
    def predict_proba(self, X: Any, **given: Any) -> Any:
        """Return probabilities, (n_rows, n_classes); margins for a loss of the user's."""
        found = super().predict(X, **given)
        others = _asks_others(given)
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

    @like(
        LGBMModel.fit, without=("eval_class_weight",), after={"eval_metric": ("eval_at",)},
        eval_at=(1, 2, 3, 4, 5),
    )  # fmt: skip
    def fit(self, *, group: Any = None, eval_at: Any = (1, 2, 3, 4, 5), **given: Any) -> LGBMRanker:
        """Train a model; see ``LGBMModel.fit``. ``group`` has the number of rows of each query."""
        if group is None:
            raise ValueError("Should set group for ranking task")
        sets = any(given.get(name) is not None for name in ("eval_set", "eval_X", "eval_y"))
        if given.get("eval_group") is None and sets:
            raise ValueError(
                "eval_group cannot be None if any of eval_set, eval_X, or eval_y are provided"
            )
        self._eval_at = eval_at
        super().fit(group=group, **given)
        return self

    def _processed(self) -> dict[str, Any]:
        params = super()._processed()
        places = self._eval_at
        for name in ("eval_at", *ALIASES["eval_at"]):
            if name in params:
                log_warning(f"Found '{name}' in params. Will use it instead of 'eval_at' argument")
                places = params.pop(name)
        return {**params, "eval_at": places}
