"""What a fitted estimator of XGBoost's tells of its booster, and its files."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.linear_ensemble import LinearEnsemble
from pyopencl_gbdt.errors import DataTypeError, ParameterError
from pyopencl_gbdt.estimators.sklearn_names import (
    BaseEstimator,
    ClassifierMixin,
    SklearnNotFittedError,
)
from pyopencl_gbdt.prediction.model import Model

#: The attribute that names the kind of estimator in a file.
_KIND = "scikit_learn"


class FittedBooster(BaseEstimator):  # type: ignore[misc]
    """The part of ``XGBModel`` that reads its booster."""

    _Booster: Booster

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_Booster")

    def _kind(self) -> str:
        found = getattr(self, "_estimator_type", None)
        if found is None and hasattr(self, "__sklearn_tags__"):
            found = self.__sklearn_tags__().estimator_type
        if not isinstance(found, str):
            raise DataTypeError(
                f"{type(self).__name__} is neither a classifier, a regressor nor a ranker: "
                "`_estimator_type` undefined; derive it from one"
            )
        return found

    def get_booster(self) -> Booster:
        """Return the booster.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit`` and ``load_model``.
        """
        if not self.__sklearn_is_fitted__():
            raise SklearnNotFittedError("need to call fit or load_model beforehand")
        return self._Booster

    def _as_model(self) -> Model:
        return self.get_booster()._as_model()

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return ``{"validation_0": {metric: [one value per round]}, ...}``.

        Raises
        ------
        ParameterError
            If ``fit`` had no ``eval_set``.
        """
        found: dict[str, Any] | None = getattr(self, "evals_result_", None)
        if found is None:
            raise ParameterError(
                "No evaluation result, `eval_set` is not used during training.; give fit eval_set="
            )
        return found

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        return self.get_booster().num_features()

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The columns' names, where they have any."""
        names = self.get_booster().feature_names
        if names is None:
            raise AttributeError(
                "`feature_names_in_` is defined only when `X` has feature names that are all "
                "strings."
            )
        return np.array(names)

    @property
    def best_score(self) -> float:
        """The score of the best round; only after early stopping."""
        return self.get_booster().best_score

    @property
    def best_iteration(self) -> int:
        """The round with the best score, from 0; only after early stopping."""
        return self.get_booster().best_iteration

    @property
    def feature_importances_(self) -> npt.NDArray[np.float32]:
        """The importance of each column, of kind ``importance_type``; they sum to 1."""
        booster = self.get_booster()
        linear = self._linear()
        kind = self.importance_type or ("gain" if linear is None else "weight")
        score = booster.get_score(importance_type=kind)
        names = booster.feature_names or [f"f{n}" for n in range(booster.num_features())]
        found: npt.NDArray[np.float32] = np.array([score.get(name, 0.0) for name in names], "f4")
        total = found.sum()
        return found if total == 0 else found / total

    @property
    def coef_(self) -> npt.NDArray[Any]:
        """The weights of a linear model's columns; trees have none.

        For several classes, XGBoost gives the numbers of ``weights`` in their order in rows of
        ``n_features``, so a row is not a class; ``get_booster().get_score()`` names them.
        """
        linear = self._linear()
        if linear is None:
            raise AttributeError(f"Coefficients are not defined for Booster type {self.booster}")
        weights = linear.weights[:-1].reshape(-1)
        classes = getattr(self, "n_classes_", 2)
        return weights.reshape(classes, -1) if classes > 2 else weights

    def _linear(self) -> LinearEnsemble | None:
        own = self.get_booster()._ensemble()
        return own if isinstance(own, LinearEnsemble) else None

    @property
    def intercept_(self) -> npt.NDArray[np.float32]:
        """The base score of each output; of a linear model the biases."""
        linear = self._linear()
        if linear is not None:
            bias: npt.NDArray[np.float32] = linear.weights[-1]
            return bias
        config = json.loads(self.get_booster().save_config())
        score = json.loads(config["learner"]["learner_model_param"]["base_score"])
        return np.array(score, np.float32)

    def save_model(self, fname: str | os.PathLike[str]) -> None:
        """Write the model; see ``Booster.save_model``."""
        booster = self.get_booster()
        booster.set_attr(scikit_learn=json.dumps({"_estimator_type": self._kind()}))
        try:
            booster.save_model(fname)
        finally:
            booster.set_attr(scikit_learn=None)

    def load_model(self, fname: str | os.PathLike[str] | bytearray) -> None:
        """Read a model; the estimator is fitted afterwards.

        Raises
        ------
        DataTypeError
            If another kind of estimator saved the model.
        """
        booster = Booster({"n_jobs": self.n_jobs})
        booster.load_model(fname)
        meta = booster.attr(_KIND)
        kind = None if meta is None else json.loads(meta).get("_estimator_type")
        if kind is not None and kind != self._kind():
            raise DataTypeError(
                f"Loading an estimator with different type. Expecting: {self._kind()}, got: {kind}"
                "; load it by that estimator"
            )
        booster.set_attr(scikit_learn=None)
        self._Booster = booster
        learner = json.loads(booster.save_config())["learner"]
        self.objective = learner["objective"]["name"]
        self.booster = learner["gradient_booster"]["name"]
        self.base_score = json.loads(learner["learner_model_param"]["base_score"])
        self.feature_types = booster.feature_types
        self.enable_categorical = "c" in (booster.feature_types or ())
        if isinstance(self, ClassifierMixin):
            self.n_classes_ = max(2, int(learner["learner_model_param"]["num_class"]))
