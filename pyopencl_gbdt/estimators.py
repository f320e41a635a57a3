"""scikit-learn estimators: they validate and delegate, and know no device."""

from __future__ import annotations

import inspect
import json
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data import check_matrix, check_target, encode_labels
from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.errors import DataError, NotFittedError, ParameterError
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.training import Model, train

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError
except ImportError as error:
    raise ImportError(
        "the estimators need scikit-learn: pip install 'pyopencl_gbdt[scikit-learn]'; "
        "pyopencl_gbdt.train works without it"
    ) from error

F32 = npt.NDArray[np.float32]
_CLASSES = "pyopencl_gbdt.classes"


class NotFittedEstimatorError(NotFittedError, SklearnNotFittedError):  # type: ignore[misc]
    """Both this library's and scikit-learn's error for a model that is not there yet."""


class _Base(BaseEstimator):  # type: ignore[misc]
    """What regressor and classifier share.

    Parameters
    ----------
    n_estimators : int, default 100
        Number of trees.
    learning_rate : float, default 0.3
        Shrinks every leaf; above 0.
    max_depth : int, default 6
        Levels of splits, 1..32.
    max_bin : int, default 256
        Most value bins of a feature, 2..65535; missing values have a bin of their own.
    reg_lambda, reg_alpha : float, default 1 and 0
        L2 and L1 penalties of leaf weights.
    gamma : float, default 0
        Least loss reduction of a split.
    min_child_weight : float, default 1
        Least sum of Hessians in a child.
    max_delta_step : float, default 0
        Largest leaf weight; 0 is no limit.
    objective : str or None
        A loss; None is the estimator's own.
    base_score : float or None
        Starting prediction; None takes it from the data.
    eval_metric : str, list of str or None
        Metrics of ``eval_set``.
    device : str, default "auto"
        ``"auto"``, ``"gpu"``, ``"cpu"``, ``"opencl:0:0"``, ``"cuda:0"`` or a part of a name. Every
        device gives the same model.
    histogram : str, default "auto"
        Kernel variant; never changes the model.
    work_group_size : int, default 0
        Work-items in a work-group; 0 is the variant's own; never changes the model.
    random_state : int or None
        Accepted for scikit-learn; nothing is random yet.
    n_jobs : int or None
        Accepted for scikit-learn; the device decides.
    verbosity : int, default 1

    Attributes
    ----------
    model_ : Model
        The fitted model, NumPy only.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where a DataFrame was given.
    """

    _objective = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Name the nearest parameter where one is misspelt."""
        known = cls._get_param_names()
        for name in kwargs.keys() - set(known):
            Parameters.from_dict({name: kwargs[name]})  # names the nearest one
            raise ParameterError(f"{name}: no parameter of {cls.__name__}; known: {known}")
        return super().__new__(cls)

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.3,
        max_depth: int = 6,
        max_bin: int = 256,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        gamma: float = 0.0,
        min_child_weight: float = 1.0,
        max_delta_step: float = 0.0,
        objective: str | None = None,
        base_score: float | None = None,
        eval_metric: str | Sequence[str] | None = None,
        device: str = "auto",
        histogram: str = "auto",
        work_group_size: int = 0,
        random_state: int | None = None,
        n_jobs: int | None = None,
        verbosity: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_bin = max_bin
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.max_delta_step = max_delta_step
        self.objective = objective
        self.base_score = base_score
        self.eval_metric = eval_metric
        self.device = device
        self.histogram = histogram
        self.work_group_size = work_group_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbosity = verbosity

    def _training_parameters(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        del params["eval_metric"]
        if isinstance(self.random_state, np.random.RandomState):
            del params["random_state"]  # nothing is random yet
        params["objective"] = self.objective or self._objective
        return {name: value for name, value in params.items() if value is not None}

    def _labels(self, y: Any, n_rows: int) -> F32:
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        verbose: bool | int = False,
        profile: bool = False,
    ) -> Any:
        """Train.

        Parameters
        ----------
        X : (n_rows, n_features) array-like or DataFrame
            NaN is missing.
        y : (n_rows,) array-like
        sample_weight : (n_rows,) array-like or None
            Weights >= 0; a row of weight k trains as the row repeated k times.
        eval_set : list of (X, y) or None
            Sets whose metrics are computed after every round, see ``evals_result``.
        verbose : bool or int, default False
            Print metrics every round, or every so many rounds.
        profile : bool, default False
            Take the time of every kernel: ``print(estimator.model_.profile.table())``.

        Returns
        -------
        self

        Raises
        ------
        DataError, ParameterError, DeviceError, MemoryPlanError
            The estimator stays as it was.
        """
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; give one"
            )
        shape: tuple[int, ...] = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; use y.ravel()",
                DataConversionWarning,
                stacklevel=2,
            )
        values, names = check_matrix(X)
        data = Dataset(values, self._labels(y, values.shape[0]), sample_weight, names)
        evals = []
        for i, (other_X, other_y) in enumerate(eval_set or ()):
            other, _ = check_matrix(other_X, name=f"eval_set[{i}]", n_features=data.n_features)
            labels = self._known_labels(other_y, other.shape[0], i)
            evals.append((Dataset(other, labels), f"validation_{i}"))
        model = train(
            self._training_parameters(),
            data,
            evals=evals,
            eval_metric=self.eval_metric,
            verbose=verbose,
            profile=profile,
        )
        self._take(model, names)
        return self

    def _known_labels(self, y: Any, n_rows: int, index: int) -> F32:
        return check_target(y, n_rows)

    def _take(self, model: Model, names: list[str] | None) -> None:
        self.model_ = model
        self.n_features_in_ = model.ensemble.n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedEstimatorError(
                f"this {type(self).__name__} is not fitted yet; call fit or load_model first"
            )
        return self.model_

    def _predict(self, X: Any) -> F32:
        model = self._fitted()
        shape: tuple[int, ...] = getattr(X, "shape", ())
        columns = shape[1] if len(shape) == 2 else self.n_features_in_
        if columns != self.n_features_in_:
            raise DataError(
                f"X has {columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input; give the columns of training"
            )
        return model.predict(X, device=self.device)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return ``{"validation_0": {metric: [a value per round]}, ...}``."""
        return self._fitted().history

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Mean gain of each feature's splits, summing to 1; shape (n_features,)."""
        return self._fitted().feature_importances()

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write XGBoost's JSON format; the file appears whole or not at all."""
        self._fitted().save_model(path)

    def load_model(self, path: str | os.PathLike[str]) -> Any:
        """Read XGBoost's JSON format and become fitted.

        Raises
        ------
        ModelFormatError
            If the file is no valid model; the estimator stays as it was.
        """
        model = Model.load_model(path)
        self._take(model, model.ensemble.feature_names)
        return self


class GBDTRegressor(RegressorMixin, _Base):  # type: ignore[misc]
    """Gradient-boosted trees for numbers; squared error unless another loss is named."""

    _objective = "reg:squarederror"

    def _labels(self, y: Any, n_rows: int) -> F32:
        return check_target(y, n_rows)

    def predict(self, X: Any) -> F32:
        """Predict.

        Parameters
        ----------
        X : (n_rows, n_features) array-like or DataFrame

        Returns
        -------
        float32 array, shape (n_rows,)

        Raises
        ------
        NotFittedError
            Before ``fit``.
        DataError
            If the columns are not those of training.
        """
        return self._predict(X)


class GBDTClassifier(ClassifierMixin, _Base):  # type: ignore[misc]
    """Gradient-boosted trees for two classes with any two labels; ``classes_`` holds them."""

    _objective = "binary:logistic"

    def _labels(self, y: Any, n_rows: int) -> F32:
        self._new_classes, codes = encode_labels(y)
        if codes.size != n_rows:
            raise DataError(f"y has {codes.size} labels for {n_rows} rows of X; give one a row")
        return codes

    def _known_labels(self, y: Any, n_rows: int, index: int) -> F32:
        labels = np.asarray(y).ravel()
        codes = np.searchsorted(self._new_classes, labels).clip(0, 1)
        if labels.size != n_rows or not (self._new_classes[codes] == labels).all():
            raise DataError(
                f"eval_set[{index}]: expected {n_rows} labels out of {list(self._new_classes)}; "
                "give the training labels' classes"
            )
        return codes.astype(np.float32)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
        """Train; see ``GBDTRegressor.fit``. ``y`` holds two distinct labels of any kind."""
        try:
            super().fit(X, y, sample_weight, **options)
            self.classes_ = self._new_classes
        finally:
            self.__dict__.pop("_new_classes", None)
        if self.classes_.dtype.kind in "iufbU":
            self.model_.ensemble.attributes[_CLASSES] = json.dumps(self.classes_.tolist())
        return self

    def load_model(self, path: str | os.PathLike[str]) -> Any:
        """Read XGBoost's JSON format and become fitted; classes are 0 and 1 if it names none."""
        super().load_model(path)
        known = self.model_.ensemble.attributes.get(_CLASSES, "[0, 1]")
        self.classes_ = np.array(json.loads(known))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict_proba(self, X: Any) -> F32:
        """Return probabilities, float32, shape (n_rows, 2), columns as in ``classes_``."""
        positive = self._predict(X)
        return np.column_stack([np.float32(1.0) - positive, positive])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the more probable label of every row, shape (n_rows,)."""
        proba = self.predict_proba(X)
        labels: npt.NDArray[Any] = self.classes_[(proba[:, 1] > 0.5).astype(np.intp)]
        return labels


for _estimator in (GBDTRegressor, GBDTClassifier):  # parameters are described once
    _estimator.__signature__ = inspect.signature(_Base.__init__).replace(
        parameters=list(inspect.signature(_Base.__init__).parameters.values())[1:]
    )
    _estimator.__doc__ = f"{_estimator.__doc__}\n" + (_Base.__doc__ or "").split("\n", 1)[1]
