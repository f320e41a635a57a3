"""``XGBModel``: what XGBoost's estimators share."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import named_arguments
from pyopencl_gbdt.compat.xgboost.booster import Booster
from pyopencl_gbdt.compat.xgboost.config import config_context
from pyopencl_gbdt.compat.xgboost.estimator_inputs import (
    Given,
    as_metric,
    as_objective,
    evaluation_sets,
    split_metrics,
)
from pyopencl_gbdt.compat.xgboost.fitted_booster import FittedBooster
from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.compat.xgboost.quantile_matrices import QuantileDMatrix
from pyopencl_gbdt.compat.xgboost.training import train
from pyopencl_gbdt.errors import ParameterError

#: Parameters of the estimator that the training does not take.
_OF_THE_ESTIMATOR = frozenset(
    (
        "importance_type", "kwargs", "missing", "n_estimators", "enable_categorical",
        "early_stopping_rounds", "callbacks", "feature_types", "feature_weights",
    )
)  # fmt: skip
#: The parameters of the constructor in XGBoost's order, and their defaults.
_PARAMETERS: dict[str, Any] = dict.fromkeys(
    (
        "max_depth", "max_leaves", "max_bin", "grow_policy", "learning_rate", "n_estimators",
        "verbosity", "objective", "booster", "tree_method", "n_jobs", "gamma", "min_child_weight",
        "max_delta_step", "subsample", "sampling_method", "colsample_bytree", "colsample_bylevel",
        "colsample_bynode", "reg_alpha", "reg_lambda", "scale_pos_weight", "base_score",
        "random_state", "missing", "num_parallel_tree", "monotone_constraints",
        "interaction_constraints", "importance_type", "device", "validate_parameters",
        "enable_categorical", "feature_types", "feature_weights", "max_cat_to_onehot",
        "max_cat_threshold", "multi_strategy", "eval_metric", "early_stopping_rounds", "callbacks",
    )
) | {"missing": np.nan, "enable_categorical": False}  # fmt: skip
_ROUNDS = 100
_MOST_SEEDS = np.iinfo(np.int32).max
_Own = TypeVar("_Own", bound="XGBModel")


class XGBModel(FittedBooster):
    """The base of XGBoost's estimators; None leaves a parameter to XGBoost's default.

    Parameters
    ----------
    max_depth, max_leaves, max_bin, grow_policy, learning_rate, objective, booster, ...
        As for ``train``, under these names.
    n_estimators : int or None
        Rounds; None is 100.
    missing : float
        A number in X that means "missing", besides NaN.
    importance_type : str or None
        Kind of ``feature_importances_``; None is ``"gain"``.
    enable_categorical : bool
        Whether a table's columns may be categories.
    eval_metric : str, callable, list of them, or None
    early_stopping_rounds : int or None
    callbacks : list of TrainingCallback, or None
    **kwargs
        Further parameters of ``train``.
    """

    #: The loss by name, where a function of the user's gives the gradients.
    _default = "reg:squarederror"

    def __init__(self, **given: Any) -> None:
        for name, default in _PARAMETERS.items():
            setattr(self, name, given.pop(name, default))
        if given:
            self.kwargs = given

    __init__.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
          for name, default in _PARAMETERS.items()),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
    ])  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.non_deterministic = False
        return tags

    # -- parameters -----------------------------------------------------------------------------
    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the parameters of the constructors up to this class."""
        own = inspect.signature(cls.__init__).parameters.values()
        names = (one.name for one in own if one.kind is one.KEYWORD_ONLY)
        return sorted({*names, *_PARAMETERS})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name, those of ``**kwargs`` too."""
        params: dict[str, Any] = super().get_params(deep)
        params.update(getattr(self, "kwargs", None) or {})
        seed = params["random_state"]
        if isinstance(seed, np.random.RandomState):
            params["random_state"] = seed.randint(_MOST_SEEDS)
        elif isinstance(seed, np.random.Generator):
            params["random_state"] = int(seed.integers(_MOST_SEEDS))
        return params

    def set_params(self: _Own, **params: Any) -> _Own:
        """Set parameters; an unknown one is kept as a further parameter of ``train``."""
        for name, value in params.items():
            if hasattr(self, name):
                setattr(self, name, value)
            else:
                self.kwargs = {**getattr(self, "kwargs", {}), name: value}
        if params and self.__sklearn_is_fitted__():
            self.get_booster().set_param(self.get_xgb_params())
        return self

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters for ``train``, without functions."""
        return {
            name: value
            for name, value in self.get_params().items()
            if name not in _OF_THE_ESTIMATOR and not callable(value)
        }

    def get_num_boosting_rounds(self) -> int:
        """Return the number of rounds that ``fit`` trains at most."""
        rounds: int | None = self.n_estimators
        return _ROUNDS if rounds is None else rounds

    # -- training -------------------------------------------------------------------------------
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
        """Train.

        Parameters
        ----------
        X, y, sample_weight, base_margin
            The training rows, as for ``DMatrix``.
        eval_set : sequence of (X, y), or None
            Sets whose metrics are computed after every round.
        verbose : bool, int or None
            Print them every round, or every so many.
        xgb_model : Booster, estimator, path or None
            A model to continue.
        sample_weight_eval_set, base_margin_eval_set : sequence or None
            The weights or margins of each set.
        feature_weights : array-like or None
            Give it to the constructor.

        Returns
        -------
        self
        """
        params, y = self._fitting(y)
        own = {"data": X, "label": y, "weight": sample_weight, "base_margin": base_margin}
        sides = {"weight": sample_weight_eval_set, "base_margin": base_margin_eval_set}
        obj = as_objective(self.objective) if callable(self.objective) else None
        self._train(params, own, eval_set, sides, verbose, xgb_model, feature_weights, obj)
        return self

    def _fitting(self, y: Any) -> tuple[dict[str, Any], Any]:
        """Return the parameters for ``train`` on some labels, and these."""
        own = {"objective": self._default} if callable(self.objective) else {}
        return self.get_xgb_params() | own, y

    def _train(
        self,
        params: dict[str, Any],
        own: Given,
        eval_set: Any,
        sides: dict[str, Any],
        verbose: bool | int | None,
        xgb_model: Any,
        feature_weights: Any,
        obj: Any = None,
    ) -> None:
        """Make the matrices and train the booster."""
        metrics, custom = split_metrics(self.eval_metric, self._wrap_metric)
        if metrics is not None:
            params["eval_metric"] = metrics
        elif custom is not None:
            params.pop("eval_metric", None)
        own = {**own, "feature_weights": self._feature_weights(feature_weights)}
        if self.enable_categorical and params.get("tree_method") == "exact":
            raise ParameterError(
                "enable_categorical=True: expected False with tree_method='exact', which has no "
                "categories; give tree_method='hist'"
            )
        before = xgb_model.get_booster() if isinstance(xgb_model, XGBModel) else xgb_model
        with config_context(verbosity=self.verbosity):
            matrix = self._create_dmatrix(None, **own)
            evals = evaluation_sets(
                own, matrix, eval_set, sides, lambda ref, given: self._create_dmatrix(ref, **given)
            )
            result: dict[str, Any] = {}
            self._Booster = self._boosted(
                params,
                matrix,
                result,
                evals=evals,
                early_stopping_rounds=self.early_stopping_rounds,
                obj=obj,
                custom_metric=custom,
                verbose_eval=verbose,
                xgb_model=before,
                callbacks=self.callbacks,
            )
        if result:
            self.evals_result_ = result
        self._fitted_by(params)

    def _fitted_by(self, params: dict[str, Any]) -> None:
        """Keep what a fit has found out."""

    def _boosted(self, params: Any, rows: Any, history: dict[str, Any], **options: Any) -> Booster:
        """Return the booster of all rounds; ``history`` gets their metrics."""
        n_rounds = self.get_num_boosting_rounds()
        return train(params, rows, n_rounds, evals_result=history, **options)

    def _wrap_metric(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return as_metric(function)

    def _feature_weights(self, of_fit: Any) -> Any:
        own = self.feature_weights
        if of_fit is None:
            return own
        warnings.warn(
            "`feature_weights` in `fit` method is deprecated for better compatibility with "
            "scikit-learn, use `feature_weights` in constructor or`set_params` instead.",
            UserWarning,
            stacklevel=4,
        )
        if own is not None:
            raise ParameterError(
                "2 different `feature_weights` are provided. Use the one in constructor or "
                "`set_params` instead.; leave the one of fit out"
            )
        return of_fit

    def _create_dmatrix(self, ref: DMatrix | None, **given: Any) -> DMatrix:
        """Return the rows as a matrix that is cut into bins, where the tree method does that."""
        how = {
            "missing": self.missing,
            "nthread": self.n_jobs,
            "enable_categorical": self.enable_categorical,
            "feature_types": self.feature_types,
        }
        if self.tree_method in ("hist", None, "auto") and self.booster != "gblinear":
            bins = self.max_bin
            return QuantileDMatrix(ref=ref, max_bin=bins, **how, **given)
        return DMatrix(**how, **given)

    # -- prediction -----------------------------------------------------------------------------
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
        """Return predictions; after early stopping of the rounds up to the best one.

        Parameters
        ----------
        X : as for fit
        output_margin : bool
            Return sums of leaf values.
        validate_features : bool
            Whether the columns must have the names of training.
        base_margin : array-like or None
            The margin that each row starts from.
        iteration_range : (int, int) or None
            The rounds to use.
        """
        how = {"validate_features": validate_features, "base_margin": base_margin}
        found = self._predicted(X, output_margin, iteration_range, **how)
        return found if output_margin else self._of_rows(found)

    def _predicted(
        self, X: Any, output_margin: bool, iteration_range: Any, *, base_margin: Any, **how: Any
    ) -> Any:
        """Return margins, or what the loss makes of them; the arguments are those of predict."""
        if self.booster == "gblinear":
            rows = DMatrix(
                X, base_margin=base_margin, missing=self.missing, feature_types=self.feature_types
            )
            return self.get_booster().predict(rows, output_margin=output_margin, **how)
        return self.get_booster().inplace_predict(
            X,
            iteration_range=self._range(iteration_range),
            predict_type="margin" if output_margin else "value",
            missing=self.missing,
            base_margin=base_margin,
            **how,
        )

    def _of_rows(self, found: Any) -> Any:
        """Return the predictions, of what the loss makes of margins."""
        return found

    def apply(self, X: Any, iteration_range: tuple[int, int] | None = None) -> npt.NDArray[Any]:
        """Return the leaf of each row in each tree, (n_rows, n_trees)."""
        rows = DMatrix(
            X,
            missing=self.missing,
            feature_types=self.feature_types,
            enable_categorical=self.enable_categorical,
        )
        booster = self.get_booster()
        return booster.predict(rows, pred_leaf=True, iteration_range=self._range(iteration_range))

    def _range(self, asked: tuple[int, int] | None) -> tuple[int, int]:
        if asked is not None and asked[1] != 0:
            return asked
        best = self.get_booster().attr("best_iteration")
        return (0, 0) if best is None else (0, int(best) + 1)
