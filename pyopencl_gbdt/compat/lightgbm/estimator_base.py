"""The base of LightGBM's estimators."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.class_weight import compute_sample_weight

from pyopencl_gbdt.compat.lightgbm import inputs
from pyopencl_gbdt.compat.lightgbm.booster import Booster
from pyopencl_gbdt.compat.lightgbm.callback import record_evaluation
from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.engine import train
from pyopencl_gbdt.compat.lightgbm.errors import (
    LGBMDeprecationWarning,
    LightGBMError,
    log_warning,
)
from pyopencl_gbdt.compat.lightgbm.names import ALIASES, choose, spellings
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.prediction.model import Model

Array = npt.NDArray[Any]


class LGBMNotFittedError(NotFittedError, LightGBMError):  # type: ignore[misc]
    """Raised by an unfitted estimator."""


class Told:
    """An attribute that a fitted estimator has.

    Parameters
    ----------
    of : callable
        Returns the value, by the estimator.
    needs : str
        What has to be called before.
    """

    def __init__(self, of: Callable[[Any], Any], doc: str, needs: str = "fit") -> None:
        self.of, self.__doc__, self.needs = of, doc, needs

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.rstrip("_")

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        estimator._fitted(f"No {self.name} found. Need to call {self.needs} beforehand.")
        return self.of(estimator)


class LGBMModel(BaseEstimator):  # type: ignore[misc]
    """The base of LightGBM's estimators; any further parameter of LightGBM is taken, too.

    Parameters and attributes are those of LightGBM 4.7. The device is what
    ``PYOPENCL_GBDT_DEVICE`` names, else the fastest.
    """

    _default = ""
    _default_metric = ""

    def __init__(
        self,
        *,
        boosting_type: str = "gbdt",
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample_for_bin: int = 200000,
        objective: str | Callable[..., Any] | None = None,
        class_weight: dict[Any, float] | str | None = None,
        min_split_gain: float = 0.0,
        min_child_weight: float = 1e-3,
        min_child_samples: int = 20,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        importance_type: str = "split",
        **kwargs: Any,
    ) -> None:
        given = locals()
        for name in LGBMModel._get_param_names():
            setattr(self, name, given[name])
        self._others: dict[str, Any] = {}
        self._Booster: Booster | None = None
        self._n_classes = -1
        self.set_params(**kwargs)

    # --- parameters -------------------------------------------------------------------------

    @classmethod
    def _get_param_names(cls) -> list[str]:
        of = super(LGBMModel, LGBMModel)._get_param_names.__func__
        return sorted({*of(LGBMModel), *of(cls)})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those beyond the signature too."""
        return {**super().get_params(deep=deep), **self._others}

    def set_params(self, **params: Any) -> LGBMModel:
        """Set parameters, any of LightGBM's."""
        known = set(self._get_param_names())
        for name, value in params.items():
            setattr(self, name, value)
            if name not in known:
                self._others[name] = value
        return self

    def _processed(self) -> dict[str, Any]:
        """Return the parameters of ``train``."""
        params = self.get_params()
        objective = params.pop("objective")
        for name in ALIASES["objective"]:
            if name in params:
                log_warning(
                    f"Found '{name}' in params. Will use it instead of 'objective' argument"
                )
                objective = params.pop(name)
        if objective is None:
            objective = self._usual_objective()
        self._objective = objective
        params["objective"] = (
            inputs.OfLabels(objective, "objective") if callable(objective) else objective
        )
        for name in ("importance_type", "n_estimators", "class_weight"):
            params.pop(name, None)
        state = params["random_state"]
        if isinstance(state, np.random.RandomState):
            params["random_state"] = state.randint(np.iinfo(np.int32).max)
        elif isinstance(state, np.random.Generator):
            params["random_state"] = int(state.integers(np.iinfo(np.int32).max))
        if self._n_classes > 2:
            for name in spellings("num_class"):
                params.pop(name, None)
            params["num_class"] = self._n_classes
        metric = objective if isinstance(objective, str) else self._usual_metric()
        return choose("metric", params, metric)

    def _usual_objective(self) -> str:
        if not self._default:
            raise ValueError("Unknown LGBMModel type.")
        return self._default

    def _usual_metric(self) -> str:
        return self._default_metric

    # --- fit --------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        group: Any = None,
        eval_set: Any = None,
        eval_names: list[str] | None = None,
        eval_sample_weight: Any = None,
        eval_class_weight: Any = None,
        eval_init_score: Any = None,
        eval_group: Any = None,
        eval_metric: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: list[Callable[..., Any]] | None = None,
        init_model: str | Path | Booster | LGBMModel | None = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> LGBMModel:
        """Train a model; the arguments are those of LightGBM's ``fit``.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix
        y : (n_rows,) array-like
        sample_weight, init_score, group : array-like or None
        eval_set : list of (X, y), or None
            Deprecated: ``eval_X`` and ``eval_y``, each one or a tuple of several.
        eval_names, eval_sample_weight, eval_class_weight, eval_init_score, eval_group : list
            Names, weights and so on of the evaluation sets.
        eval_metric : str, callable, list of them, or None
        feature_name, categorical_feature : list or "auto"
        callbacks : list of callable, or None
        init_model : path, Booster, LGBMModel or None
            A model to continue.

        Returns
        -------
        self
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        params = self._processed()
        metrics = [eval_metric] if not isinstance(eval_metric, list) else copy.copy(eval_metric)
        named = [one for one in metrics if isinstance(one, str)]
        own = params["metric"]
        own = [own] if own is None or isinstance(own, str) else list(own)
        params["metric"] = [one for one in named if one not in own] + [o for o in own if o]
        rows, labels = inputs.checked_input(self, X, y)
        weight = self._weighed(sample_weight, y, self._class_weights(self.class_weight))
        data = Dataset(rows, labels, weight=weight, group=group, init_score=init_score,
                       feature_name=feature_name, categorical_feature=categorical_feature,
                       params=params)  # fmt: skip
        sets: list[Dataset] = []
        given = _evaluation_sets(eval_set, eval_X, eval_y)
        if given is not None and eval_group is not None and len(eval_group) != len(given):
            raise ValueError(
                f"Length of eval_group ({len(eval_group)}) not equal to length of eval_set "
                f"({len(given)})"
            )
        for place, (one, its_labels) in enumerate(given or ()):
            if one is X and its_labels is y:
                sets.append(data)
                continue
            of_class = inputs.part_of(eval_class_weight, "eval_class_weight", place)
            its_weight = self._weighed(
                inputs.part_of(eval_sample_weight, "eval_sample_weight", place), its_labels,
                self._class_weights(of_class),
            )  # fmt: skip
            sets.append(Dataset(
                one, self._known(its_labels), weight=its_weight, reference=data,
                group=inputs.part_of(eval_group, "eval_group", place),
                init_score=inputs.part_of(eval_init_score, "eval_init_score", place),
            ))  # fmt: skip
        results: dict[str, Any] = {}
        self._Booster = train(
            params=params,
            train_set=data,
            num_boost_round=self.n_estimators,
            valid_sets=sets,
            valid_names=eval_names,
            feval=[inputs.OfLabels(one, "eval") for one in metrics if callable(one)],
            init_model=init_model.booster_ if isinstance(init_model, LGBMModel) else init_model,
            callbacks=[*(callbacks or ()), record_evaluation(results)],
        )
        self._named = data._names_given
        self._evals_result, self._best_score = results, self._Booster.best_score
        self._best_iteration = self._Booster.best_iteration
        self.fitted_ = True
        return self

    def _class_weights(self, given: Any) -> Any:
        """Return weights of classes by the labels that training has."""
        return given

    def _weighed(self, weight: Any, y: Any, of_class: Any) -> Any:
        """Return the weights of rows, times those of their classes."""
        if of_class is None:
            return weight
        found = compute_sample_weight(of_class, self._known(y))
        return found if weight is None or len(weight) == 0 else np.multiply(weight, found)

    def _known(self, y: Any) -> Any:
        """Return labels of an evaluation set as the training has them."""
        return y

    # --- predict ----------------------------------------------------------------------------

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
        """Return predictions; the arguments are those of ``Booster.predict``."""
        booster = self._fitted("Estimator not fitted, call fit before exploiting the model.")
        rows, _ = inputs.checked_input(self, X, None)
        known = {name: one for name, one in self._others.items() if name not in kwargs}
        for name in spellings("objective", "num_iterations", "start_iteration_predict"):
            known.pop(name, None)
        return booster.predict(
            rows, raw_score=raw_score, start_iteration=start_iteration,
            num_iteration=num_iteration, pred_leaf=pred_leaf, pred_contrib=pred_contrib,
            validate_features=validate_features, **{**known, **kwargs},
        )  # fmt: skip

    def _fitted(self, text: str) -> Booster:
        if not self.__sklearn_is_fitted__() or self._Booster is None:
            raise LGBMNotFittedError(text)
        return self._Booster

    def _as_model(self) -> Model:
        return self.booster_._as_model()

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "fitted_", False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.one_d_labels = True
        return tags

    def _more_tags(self) -> dict[str, Any]:
        """Return the tags as scikit-learn asked for them before 1.6, as LightGBM still does."""
        weights = "rows of weight 0 count among the rows of a leaf and of a bin, as in LightGBM"
        unmet = {
            "check_no_attributes_set_in_init": "__init__ keeps further parameters in an attribute",
            "check_sample_weight_equivalence": weights,
            "check_sample_weight_equivalence_on_dense_data": weights,
            "check_sample_weight_equivalence_on_sparse_data": weights,
        }
        kinds = ["2darray", "sparse", "1dlabels"]
        return {"allow_nan": True, "X_types": kinds, "_xfail_checks": unmet}

    n_features_ = Told(lambda self: self._Booster.num_feature(), "The number of columns.")
    n_features_in_ = Told(lambda self: self._Booster.num_feature(), "The number of columns.")
    best_score_ = Told(lambda self: self._best_score, "The metrics of the best round, by set.")
    best_iteration_ = Told(
        lambda self: self._best_iteration,
        "The number of rounds up to the best one; 0 without early stopping.",
        "fit with early_stopping callback",
    )
    objective_ = Told(lambda self: self._objective, "The objective of the training.")
    n_estimators_ = Told(lambda self: self._Booster.current_iteration(), "The number of rounds.")
    n_iter_ = Told(lambda self: self._Booster.current_iteration(), "The number of rounds.")
    feature_importances_ = Told(
        lambda self: self._Booster.feature_importance(importance_type=self.importance_type),
        "The importances of the columns, of the kind ``importance_type``.",
    )
    feature_name_ = Told(lambda self: self._Booster.feature_name(), "The names of the columns.")

    @property
    def booster_(self) -> Booster:
        """The model."""
        return self._fitted("No booster found. Need to call fit beforehand.")

    @property
    def evals_result_(self) -> dict[str, Any]:
        """The metrics of all rounds, by set."""
        self._fitted("No results found. Need to call fit with eval_set beforehand.")
        return self._evals_result

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns, if the training rows had names."""
        self._fitted("No feature_names_in_ found. Need to call fit beforehand.")
        if not self._named:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute 'feature_names_in_'. The "
                "training data did not have feature names (e.g. was a numpy array rather than a "
                "pandas DataFrame)."
            )
        return np.array(self.feature_name_)


def _evaluation_sets(eval_set: Any, eval_X: Any, eval_y: Any) -> list[tuple[Any, Any]] | None:
    """Return the evaluation sets of either way to give them."""
    if eval_set is not None:
        warnings.warn(
            "The argument 'eval_set' is deprecated, use 'eval_X' and 'eval_y' instead.",
            LGBMDeprecationWarning, stacklevel=3,
        )  # fmt: skip
        if eval_X is not None or eval_y is not None:
            raise ValueError("Specify either 'eval_set' or 'eval_X' and 'eval_y', but not both.")
        return [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if (eval_X is None) != (eval_y is None):
        raise ValueError("You must specify eval_X and eval_y, not just one of them.")
    if eval_X is None:
        return None
    both = isinstance(eval_X, tuple), isinstance(eval_y, tuple)
    if both[0] != both[1] or (all(both) and len(eval_X) != len(eval_y)):
        raise ValueError(
            "If eval_X is a tuple, y_val must be a tuple of same length, and vice versa."
        )
    return list(zip(eval_X, eval_y, strict=True)) if all(both) else [(eval_X, eval_y)]
