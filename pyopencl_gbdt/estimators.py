"""scikit-learn estimators: they validate and delegate, and know no device."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data import check_target, encode_labels
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimator_base import Base, NotFittedEstimatorError
from pyopencl_gbdt.estimator_parameters import Parametrised
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.objectives.custom import custom_objective
from pyopencl_gbdt.sklearn_names import ClassifierMixin, RegressorMixin

F32 = npt.NDArray[np.float32]
_CLASSES = "pyopencl_gbdt.classes"


class GBDTRegressor(RegressorMixin, Base):  # type: ignore[misc]
    """Gradient-boosted trees for numbers; squared error unless another loss is named."""

    _objective = "reg:squarederror"

    def _labels(self, y: Any, n_rows: int) -> F32:
        return check_target(y, n_rows)

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> F32:
        """Predict.

        Parameters
        ----------
        X : (n_rows, n_features) array-like or DataFrame
        output_margin : bool, default False
            Return the sums of leaf values instead.
        base_margin : (n_rows,) array-like or None
            Where the margin of every row starts, instead of the model's ``base_score``.
        iteration_range : (int, int) or None
            Use the trees of rounds ``begin .. end - 1`` alone; None is all of them, or those up to
            the best round after early stopping.

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
        return self._predict(
            X,
            output_margin=output_margin,
            base_margin=base_margin,
            iteration_range=iteration_range,
        )


class GBDTClassifier(ClassifierMixin, Base):  # type: ignore[misc]
    """Gradient-boosted trees for two classes with any two labels; ``classes_`` holds them."""

    _objective = "binary:logistic"
    _link = "logit"

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

    def _check_before(self, before: Ensemble) -> None:
        known, own = before.attributes.get(_CLASSES), self._new_classes
        if known is not None and json.loads(known) != own.tolist():
            raise DataError(
                f"y has the classes {own.tolist()}: the model to continue has the classes "
                f"{json.loads(known)}; give labels of these"
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
        """Train; see ``GBDTRegressor.fit``. ``y`` holds two distinct labels of any kind."""
        own = custom_objective(self.objective) is not None
        if not own and not str(self.objective or self._objective).startswith("binary:"):
            raise ParameterError(
                f"objective={self.objective!r}: expected binary:logistic, binary:logitraw, "
                f"binary:hinge or your own for {type(self).__name__}; use GBDTRegressor for other "
                "losses"
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
        """Read XGBoost's JSON format and become fitted; classes are 0 and 1 if it names none."""
        super().load_model(path)
        known = self.model_.ensemble.attributes.get(_CLASSES, "[0, 1]")
        self.classes_ = np.array(json.loads(known))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict_proba(
        self,
        X: Any,
        *,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> F32:
        """Return probabilities, float32, shape (n_rows, 2), columns as in ``classes_``.

        Those of ``binary:hinge`` are 0 and 1. The arguments are those of
        ``GBDTRegressor.predict``.
        """
        options = {"base_margin": base_margin, "iteration_range": iteration_range}
        positive = self._predict(X, probability=True, **options)
        return np.column_stack([np.float32(1.0) - positive, positive])

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> npt.NDArray[Any]:
        """Return the more probable label of every row, shape (n_rows,); or its margin.

        For the arguments see ``GBDTRegressor.predict``.
        """
        options = {"base_margin": base_margin, "iteration_range": iteration_range}
        if output_margin:
            return self._predict(X, output_margin=True, **options)
        proba = self.predict_proba(X, **options)
        labels: npt.NDArray[Any] = self.classes_[(proba[:, 1] > 0.5).astype(np.intp)]
        return labels


for _estimator in (GBDTRegressor, GBDTClassifier):  # parameters are described once
    _estimator.__signature__ = inspect.signature(Parametrised.__init__).replace(
        parameters=list(inspect.signature(Parametrised.__init__).parameters.values())[1:]
    )
    _estimator.__doc__ = f"{_estimator.__doc__}\n" + (Parametrised.__doc__ or "").split("\n", 1)[1]


__all__ = ["GBDTClassifier", "GBDTRegressor", "NotFittedEstimatorError"]
