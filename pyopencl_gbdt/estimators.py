"""scikit-learn estimators: they validate and delegate, and know no device."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.class_weights import weights_of_classes
from pyopencl_gbdt.data import check_target, check_weight, encode_known_labels, encode_labels
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimator_base import Base, NotFittedEstimatorError
from pyopencl_gbdt.estimator_files import BINARY as _BINARY
from pyopencl_gbdt.estimator_files import CLASSES as _CLASSES
from pyopencl_gbdt.estimator_files import read_classes
from pyopencl_gbdt.estimator_parameters import Parametrised
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.xgboost_links import MULTICLASS
from pyopencl_gbdt.objectives.custom import custom_objective
from pyopencl_gbdt.sklearn_names import ClassifierMixin, RegressorMixin

F32 = npt.NDArray[np.float32]


class GBDTRegressor(RegressorMixin, Base):  # type: ignore[misc]
    """Gradient-boosted trees for numbers; squared error unless another loss is named.

    Several targets, ``y`` of shape (n_rows, n_targets), have trees of their own each.
    """

    _objective = "reg:squarederror"

    def _labels(self, y: Any, n_rows: int) -> F32:
        if self.objective in MULTICLASS:
            raise ParameterError(
                f"objective={self.objective!r}: expected a loss of numbers for "
                f"{type(self).__name__}; use GBDTClassifier"
            )
        return check_target(y, n_rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> npt.NDArray[np.floating[Any]]:
        """Predict.

        Parameters
        ----------
        X : (n_rows, n_features) array-like or DataFrame
        output_margin : bool, default False
            Return the sums of leaf values instead.
        base_margin : (n_rows,) or (n_rows, n_outputs) array-like or None
            Where the margin of every row starts, instead of the model's ``base_score``.
        iteration_range : (int, int) or None
            Use the trees of rounds ``begin .. end - 1`` alone; None is all of them, or those up to
            the best round after early stopping.

        Returns
        -------
        float32 array, shape (n_rows,)
            Of several targets (n_rows, n_targets), and float64 unless they are margins, as
            scikit-learn's ``check_regressor_multioutput`` demands.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        DataError
            If the columns are not those of training.
        """
        found = self._predict(
            X,
            output_margin=output_margin,
            base_margin=base_margin,
            iteration_range=iteration_range,
        )
        return found if found.ndim == 1 or output_margin else found.astype(np.float64)


class GBDTClassifier(ClassifierMixin, Base):  # type: ignore[misc]
    """Gradient-boosted trees for two classes or more, with any labels; ``classes_`` holds them.

    More than two take ``multi:softprob``, a tree for each in every round.
    """

    _objective = "binary:logistic"
    _kind = "classifier"
    _link = "logit"

    def __init__(self, *, class_weight: Any = None, **others: Any) -> None:
        super().__init__(**others)
        self.class_weight = class_weight

    def _labels(self, y: Any, n_rows: int) -> F32:
        self._new_classes, codes = encode_labels(y)
        if codes.size != n_rows:
            raise DataError(f"y has {codes.size} labels for {n_rows} rows of X; give one a row")
        return codes

    def _row_weight(self, labels: F32, sample_weight: Any) -> Any:
        if self.class_weight is None:
            return sample_weight
        by_class = weights_of_classes(self.class_weight, self._new_classes, labels)
        own = check_weight(sample_weight, labels.size)
        return by_class if own is None else by_class * own

    def _known_labels(self, y: Any, n_rows: int, index: int) -> F32:
        name = f"eval_set[{index}]: y"
        codes = encode_known_labels(y, self._new_classes, name)
        if codes.size != n_rows:
            raise DataError(f"{name} has {codes.size} labels for {n_rows} rows; give one a row")
        return codes

    def _training_parameters(self) -> dict[str, Any]:
        params, n_classes = super()._training_parameters(), len(self._new_classes)
        if self.objective is None and n_classes > 2:
            params["objective"] = "multi:softprob"
        if params["objective"] in MULTICLASS:
            params["num_class"] = n_classes
        elif n_classes > 2:
            raise ParameterError(
                f"objective={self.objective!r}: expected {' or '.join(MULTICLASS)} for the "
                f"{n_classes} classes of y; leave it out"
            )
        return params

    def _check_before(self, before: Ensemble) -> None:
        own = self._new_classes.tolist()
        known = read_classes(before, "the model to continue").tolist()
        if _CLASSES in before.attributes and known != own:
            raise DataError(
                f"y has the classes {own}: the model to continue has the classes {known}; give "
                f"labels of these"
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
        """Train; see ``GBDTRegressor.fit``. ``y`` holds distinct labels of any kind."""
        own = custom_objective(self.objective) is not None
        if not own and self.objective not in (None, *_BINARY, *MULTICLASS):
            raise ParameterError(
                f"objective={self.objective!r}: expected one of "
                f"{', '.join((*_BINARY, *MULTICLASS))}, or your own for {type(self).__name__}; use "
                f"GBDTRegressor for other losses"
            )
        try:
            super().fit(X, y, sample_weight, **options)
            self.classes_ = self._new_classes
        finally:
            self.__dict__.pop("_new_classes", None)
        if self.classes_.dtype.kind in "iufbU":
            self.model_.ensemble.attributes[_CLASSES] = json.dumps(self.classes_.tolist())
        return self

    def load_model(self, path: str | os.PathLike[str]) -> Any:
        """Read XGBoost's JSON format and become fitted; classes are 0, 1, .. if it names none."""
        super().load_model(path)
        self.classes_ = read_classes(self.model_.ensemble, os.fspath(path))
        return self

    def predict_proba(
        self,
        X: Any,
        *,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> F32:
        """Return probabilities, float32, shape (n_rows, n_classes), columns as in ``classes_``.

        Those of ``binary:hinge`` are 0 and 1. The arguments are those of
        ``GBDTRegressor.predict``.
        """
        options = {"base_margin": base_margin, "iteration_range": iteration_range}
        found = self._predict(X, probability=True, **options)
        return found if found.ndim == 2 else np.column_stack([np.float32(1.0) - found, found])

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> npt.NDArray[Any]:
        """Return the most probable label of every row, shape (n_rows,); or its margins.

        Those are of shape (n_rows,), of more than two classes (n_rows, n_classes). For the
        arguments see ``GBDTRegressor.predict``.
        """
        options = {"base_margin": base_margin, "iteration_range": iteration_range}
        if output_margin:
            return self._predict(X, output_margin=True, **options)
        most = self.predict_proba(X, **options).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[most]
        return labels


_CLASS_WEIGHT = """    class_weight : "balanced", dict of class to number, or None
        Factors on the weights of training rows by their class, as in scikit-learn; those of
        ``"balanced"`` make the classes weigh the same. Evaluation sets do without.
"""
_SHARED = list(inspect.signature(Parametrised.__init__).parameters.values())
_OWN = inspect.Parameter("class_weight", inspect.Parameter.KEYWORD_ONLY, default=None)
# scikit-learn takes the names of the parameters from here
GBDTClassifier.__init__.__signature__ = inspect.Signature([*_SHARED, _OWN])  # type: ignore[attr-defined]
for _estimator in (GBDTRegressor, GBDTClassifier):  # parameters are described once
    _estimator.__signature__ = inspect.Signature(
        list(inspect.signature(_estimator.__init__).parameters.values())[1:]
    )
    _own = _CLASS_WEIGHT if _estimator is GBDTClassifier else ""
    _shared = (Parametrised.__doc__ or "").split("\n", 1)[1]
    _estimator.__doc__ = f"{_estimator.__doc__}\n" + _shared.replace(
        "\n    Attributes\n", f"{_own}\n    Attributes\n"
    )


__all__ = ["GBDTClassifier", "GBDTRegressor", "NotFittedEstimatorError"]
