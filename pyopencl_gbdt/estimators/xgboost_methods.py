"""Methods of XGBoost's estimators that read parameters and the fitted model."""

from __future__ import annotations

from typing import Any, NoReturn

from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.objectives.custom import custom_objective
from pyopencl_gbdt.prediction.model import Model

#: Of the estimator and its data, not of training.
_OF_THE_ESTIMATOR = ("n_estimators", "categorical_features", "feature_weights")


class XGBoostMethods:
    """The part of an estimator that has XGBoost's methods; the other parts have the parameters."""

    random_state: Any
    n_estimators: int

    def _fitted(self) -> Model:
        raise NotImplementedError

    def _named_parameters(self) -> dict[str, Any]:
        raise NotImplementedError

    def get_booster(self) -> Model:
        """Return the fitted model, ``model_``: its trees, dumps, slices and attributes.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        return self._fitted()

    def get_num_boosting_rounds(self) -> int:
        """Return the number of rounds that ``fit`` trains at most."""
        return int(self._named_parameters().get("n_estimators", self.n_estimators))

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters for ``train``, by this library's names.

        ``train(estimator.get_xgb_params(), data, n_rounds)`` trains what ``fit`` does. Those that
        are None are left out, and so is a loss of your own. A fitted
        classifier adds the number of classes.
        """
        params = self._named_parameters() | {"random_state": self.random_state}
        own = callable(params["objective"]) or custom_objective(params["objective"]) is not None
        if hasattr(self, "model_") and not own:
            ensemble = self._fitted().ensemble
            params["objective"] = ensemble.objective
            if ensemble.objective in MULTICLASS:
                params["num_class"] = ensemble.n_outputs
        hidden = [*_OF_THE_ESTIMATOR, *(["objective"] if own else [])]
        hidden += [name for name, value in params.items() if value is None]
        return {name: value for name, value in params.items() if name not in hidden}

    @property
    def coef_(self) -> NoReturn:
        """Not there, as in XGBoost: trees have no coefficients."""
        raise AttributeError(
            f"{type(self).__name__} has no coef_: its model is of trees, which have no "
            "coefficients; read feature_importances_"
        )
