"""What both estimators share: a fit with scikit-learn's defaults, and predictions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, resample

from pyopencl_gbdt.compat.sklearn.checks import PARAMETERS, Allowed, check_parameters
from pyopencl_gbdt.compat.sklearn.rows import (
    F64,
    check_lengths,
    check_levels,
    checked_rows,
    checked_weight,
    chosen_columns,
    interaction_constraints,
    monotone_constraints,
    warn_of_names,
    without_fractions,
)
from pyopencl_gbdt.compat.sklearn.scores import (
    TRAINING,
    VALIDATION,
    LossScore,
    OwnScore,
    Scores,
)
from pyopencl_gbdt.data.arrays.matrix import column_names, has_text_names
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimators.base import NotFittedEstimatorError
from pyopencl_gbdt.estimators.fitted import check_rows_of
from pyopencl_gbdt.estimators.scoring import LOSS, Scorer
from pyopencl_gbdt.estimators.stopping import AUTO_ROWS
from pyopencl_gbdt.logger import tell
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.train import Model, train

_Own = TypeVar("_Own", bound="HistGradientBoosting")
#: Most training rows that a scorer scores, as in scikit-learn.
_SCORED = 10000
#: Deeper trees have no limit here.
_DEEPEST = 32
_SETS = {"cat_method": "sets", "cat_smooth": 10, "max_cat_threshold": 256, "max_cat_to_onehot": 1}
"""scikit-learn puts levels in order by G / (H + 10), and leaves out levels of fewer rows."""


class HistGradientBoosting(BaseEstimator):  # type: ignore[misc]
    """The base of both estimators."""

    _allowed: ClassVar[dict[str, Allowed]]

    def _take(self, given: dict[str, Any]) -> None:
        """Keep the arguments of the constructor."""
        for name, one in inspect.signature(type(self).__init__).parameters.items():
            if name != "self":
                setattr(self, name, given.get(name, one.default))

    def _encoded(self, y: Any) -> npt.NDArray[Any]:
        """Return checked labels as numbers, and keep what they mean."""
        raise NotImplementedError

    def _encoded_as_before(self, y: Any) -> npt.NDArray[Any]:
        """Return labels of a validation set as numbers."""
        raise NotImplementedError

    def _weighed(self, weight: F64 | None, labels: npt.NDArray[Any]) -> F64 | None:
        return weight

    def _of_loss(self) -> tuple[dict[str, Any], str]:
        """Return the parameters of the loss, and the metric that is the loss."""
        raise NotImplementedError

    def _codes(self) -> npt.NDArray[Any] | None:
        """Return the classes; None for numbers."""
        return None

    def fit(
        self: _Own,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> _Own:
        """Fit the gradient boosting model.

        Parameters
        ----------
        X : (n_rows, n_features) array-like or DataFrame
            NaN means missing; infinite values are +-8.5e37.
        y : (n_rows,) array-like
        sample_weight : (n_rows,) array-like or None
        X_val, y_val, sample_weight_val : as X, y and sample_weight, or None
            Rows to stop by, instead of a share of X.

        Returns
        -------
        self

        Raises
        ------
        ParameterError, DataError
            In scikit-learn's words where it raises such an error.
        """
        check_parameters(self.get_params(deep=False), PARAMETERS | self._allowed, self._name)
        if y is None:
            raise DataError(f"{self._name} requires y to be passed, but the target y is None")
        rows = checked_rows(X)
        names = column_names(rows) if has_text_names(rows) else None
        n_features = rows.shape[1] if len(rows.shape) == 2 else 0
        chosen = chosen_columns(self.categorical_features, n_features, names)
        values = Dataset(rows, categorical_features=chosen)
        labels = self._encoded(y)
        check_lengths(rows, labels)
        weight = self._weighed(checked_weight(sample_weight, len(labels)), labels)
        levels = {column: one.n_levels for column, one in values.categories.items()}
        check_levels(levels, names, self.max_bins)
        self._fitted_on(values.n_features, names, levels)
        params, metric = self._parameters(names)
        held = self._given_set(X_val, y_val, sample_weight_val, values)
        self.do_early_stopping_ = self._stops(len(labels), held is not None)
        former = self._former()
        if former is None:
            drawn = check_random_state(self.random_state)
            self._random_seed = int(drawn.randint(np.iinfo(np.uint32).max, dtype="u8"))
        elif self.max_iter < self.n_iter_:
            raise ParameterError(
                f"max_iter={self.max_iter} must be larger than or equal to n_iter_={self.n_iter_} "
                "when warm_start==True"
            )
        data = Dataset(values.checked, labels, weight)
        if self.do_early_stopping_ and held is None and self.validation_fraction is not None:
            data, held = self._divided(data)
        self._train(params | {"random_state": self._random_seed}, metric, data, held, former)
        return self

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _fitted_on(self, n_features: int, names: list[str] | None, levels: dict[int, int]) -> None:
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        found = np.isin(np.arange(n_features), list(levels))
        self.is_categorical_ = found if levels else None

    def _parameters(self, names: list[str] | None) -> tuple[dict[str, Any], str]:
        """Return the parameters of the training, and the metric that is the loss."""
        own, metric = self._of_loss()
        monotone = monotone_constraints(self.monotonic_cst, self.n_features_in_, names, self._name)
        if monotone is not None and self.n_trees_per_iteration_ > 1:
            raise ParameterError(
                "monotonic constraints are not supported for multiclass classification."
            )
        levels = self.is_categorical_
        if monotone is not None and levels is not None and monotone[levels].any():
            raise ParameterError("Categorical features cannot have monotonic constraints.")
        groups = interaction_constraints(self.interaction_cst, self.n_features_in_)
        depth = self.max_depth or 0
        # A Hessian of several classes is twice scikit-learn's: with rate, penalty and least
        # Hessian doubled the trees are the same.
        factor = 2 if self.n_trees_per_iteration_ > 1 else 1
        params = {
            "n_estimators": self.max_iter,
            "learning_rate": self.learning_rate * factor,
            "grow_policy": "lossguide",
            "max_leaves": self.max_leaf_nodes or 0,
            "max_depth": depth if depth <= _DEEPEST else 0,
            "min_samples_leaf": self.min_samples_leaf,
            "min_child_weight": 1e-3 * factor,
            "reg_lambda": self.l2_regularization * factor,
            "colsample_bynode": self.max_features,
            "max_bin": self.max_bins,
            "max_delta_step": 0,
            "monotone_constraints": None if monotone is None else monotone.tolist(),
            "interaction_constraints": groups,
            "verbosity": 0,
            **(_SETS if self.is_categorical_ is not None else {}),
            **own,
        }
        return params, metric

    def _given_set(self, X: Any, y: Any, weight: Any, values: Dataset) -> Dataset | None:
        """Return the validation set that was given to ``fit``."""
        if X is None and y is None:
            return None
        if y is None or X is None:
            one, other = ("X_val", "y_val") if y is None else ("y_val", "X_val")
            raise ParameterError(f"{one} is provided, but {other} was not provided.")
        if self.early_stopping is False:
            raise ParameterError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False. "
                "When passing X_val and y_val to fit,early_stopping should be set to either 'auto' "
                "or True."
            )
        rows = checked_rows(X)
        labels = self._encoded_as_before(y)
        check_lengths(rows, labels)
        found = Dataset(
            rows, labels, checked_weight(weight, len(labels)),
            categorical_features=list(values.categories) or None,
        )  # fmt: skip
        return found

    def _stops(self, n_rows: int, is_given: bool) -> bool:
        if isinstance(self.early_stopping, str):
            return n_rows > AUTO_ROWS or is_given
        return bool(self.early_stopping)

    def _former(self) -> Model | None:
        return self.model_ if self.warm_start and hasattr(self, "model_") else None

    def _divided(self, data: Dataset) -> tuple[Dataset, Dataset]:
        """Return the rows to train on, and the rows held out, as scikit-learn draws them."""
        rest, held = train_test_split(
            np.arange(data.n_rows),
            test_size=self.validation_fraction,
            stratify=data.label if self._codes() is not None else None,
            random_state=self._random_seed,
        )
        return data.slice(rest), data.slice(held)

    def _train(
        self,
        params: dict[str, Any],
        metric: str,
        data: Dataset,
        held: Dataset | None,
        former: Model | None,
    ) -> None:
        scores: Scores | None = None
        how: dict[str, Any] = {}
        if self.do_early_stopping_:
            scores = self._scores(params, metric, data, held, former)
            sets = [(rows, name) for name, rows in scores.sets.items()]
            how = {"evals": sets, "callbacks": [scores], "eval_metric": metric}
            if isinstance(scores.kind, OwnScore):
                how["custom_metric"] = scores.kind.scorer
        done = 0 if former is None else former.num_boosted_rounds()
        over = former is not None and scores is not None and scores.is_over()
        left = {"n_estimators": 0 if over else self.max_iter - done}
        before = None if former is None else former.ensemble
        self.model_ = train(
            {**params, **left}, data, model=before, verbose=self.verbose > 1 and bool(how), **how
        )
        found: dict[str, list[float]] = {} if scores is None else scores.found
        self.train_score_ = np.array(found.get(TRAINING, []))
        self.validation_score_ = np.array(found.get(VALIDATION, []))
        if self.verbose:
            tell(f"Fit {self.n_iter_ * self.n_trees_per_iteration_} trees")

    def _scores(
        self,
        params: dict[str, Any],
        metric: str,
        data: Dataset,
        held: Dataset | None,
        former: Model | None,
    ) -> Scores:
        """Return the callback that collects the scores and ends the training."""
        kind: LossScore | OwnScore = LossScore(metric)
        scored = data
        if not (isinstance(self.scoring, str) and self.scoring == LOSS):
            kind, scored = OwnScore(Scorer(self.scoring, self._codes())), self._sample(data)
        sets = {TRAINING: scored} | ({} if held is None else {VALIDATION: held})
        known = {}
        if former is not None:
            known = {
                TRAINING: self.train_score_.tolist(),
                VALIDATION: self.validation_score_.tolist(),
            }
        p = Parameters.from_dict(params)
        objective = get_objective(p.objective, p)
        return Scores(kind, sets, known, self.n_iter_no_change, self.tol, lambda: (objective, p))

    def _sample(self, data: Dataset) -> Dataset:
        """Return the training rows that a scorer scores."""
        if data.n_rows <= _SCORED:
            return data
        chosen = resample(
            np.arange(data.n_rows),
            n_samples=_SCORED,
            replace=False,
            random_state=self._random_seed,
            stratify=data.label if self._codes() is not None else None,
        )
        return data.slice(chosen)

    def _rows_for(self, X: Any) -> tuple[Model, Any]:
        """Return the model, and the rows if they have the columns of training."""
        model, rows = self._as_model(), checked_rows(X)
        warn_of_names(has_text_names(rows), hasattr(self, "feature_names_in_"), self._name)
        check_rows_of(model, rows, self._name)
        if self.is_categorical_ is not None and len(rows.shape) == 2:
            rows = without_fractions(rows, np.flatnonzero(self.is_categorical_))
        return model, rows

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return self.model_.num_boosted_rounds()

    def _raw_predict(self, X: Any) -> npt.NDArray[np.float32]:
        """Return margins, shape (n_rows, n_trees_per_iteration_)."""
        model, rows = self._rows_for(X)
        found = model.predict(rows, output_margin=True)
        return found.reshape(len(found), -1)

    def _staged_raw_predict(self, X: Any) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the margins after each iteration."""
        model, rows = self._rows_for(X)
        for found in model.staged_predict(rows, output_margin=True):
            yield found.reshape(len(found), -1)

    def _predictions(self, margins: npt.NDArray[np.float32]) -> F64:
        """Return the predictions of margins, shape (n_rows, ...)."""
        own = np.ascontiguousarray(margins.T)
        found = self.model_.objective.to_prediction(own[0] if len(own) == 1 else own)
        return np.ascontiguousarray(found.T).astype(np.float64)

    def _as_model(self) -> Model:
        """Return the model; ``explain.shap`` asks for it, too."""
        if not hasattr(self, "model_"):
            raise NotFittedEstimatorError(
                f"This {self._name} instance is not fitted yet. Call 'fit' with appropriate "
                "arguments before using this estimator."
            )
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
