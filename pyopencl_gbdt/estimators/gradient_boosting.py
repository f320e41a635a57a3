"""`GBDTRegressor` and `GBDTClassifier`: they check arguments and call ``train``."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import like
from pyopencl_gbdt.data import (
    check_indicators,
    check_target,
    check_weight,
    encode_known_labels,
    encode_labels,
    is_multilabel,
)
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimators.base import Base, of_rows
from pyopencl_gbdt.estimators.calibration import Calibration
from pyopencl_gbdt.estimators.fitted import read_classes
from pyopencl_gbdt.estimators.intervals import Intervals
from pyopencl_gbdt.estimators.parameters import Parametrised
from pyopencl_gbdt.estimators.sklearn_names import ClassifierMixin, RegressorMixin
from pyopencl_gbdt.estimators.spellings import explains_arguments
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.base import CLASSES as _CLASSES
from pyopencl_gbdt.model.formats.files import name_of
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.training.train import Model

F32 = npt.NDArray[np.float32]


class GBDTRegressor(RegressorMixin, Intervals, Base):  # type: ignore[misc]
    """Gradient-boosted trees for regression; the default loss is squared error.

    For several targets, ``y`` of shape (n_rows, n_targets), each target has its trees.
    """

    _objective = "reg:squarederror"

    def _labels(self, y: Any, n_rows: int) -> F32:
        return check_target(y, n_rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @explains_arguments
    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        base_margin: Any = None,
        iteration_range: tuple[int, int] | None = None,
    ) -> npt.NDArray[np.floating[Any]]:
        """Return predictions.

        Parameters
        ----------
        X : (n_rows, n_features) array-like, DataFrame or sparse matrix
        output_margin : bool, default False
            Return margins (sums of leaf values) instead.
        base_margin : (n_rows,) or (n_rows, n_outputs) array-like or None
            The margin that each row starts from, instead of the model's ``base_score``.
        iteration_range : (int, int) or None
            Use only the trees of rounds ``begin .. end - 1``. None means all rounds, or the rounds
            up to the best one after early stopping.

        Returns
        -------
        float32 array, shape (n_rows,)
            For several targets (n_rows, n_targets); float64 except for margins, as scikit-learn's
            ``check_regressor_multioutput`` requires.

        Raises
        ------
        NotFittedError
            Before ``fit``.
        DataError
            If the columns differ from those of training.
        """
        found = self._predict(
            X,
            output_margin=output_margin,
            base_margin=base_margin,
            iteration_range=iteration_range,
        )
        return found if output_margin else _of_targets(found)

    @explains_arguments
    @like(of_rows)
    def staged_predict(self, X: Any, **options: Any) -> Iterator[npt.NDArray[np.floating[Any]]]:
        """Yield the predictions after each round; the last ones are those of ``predict``.

        Every row walks every tree once. The arguments are those of ``predict``.
        """
        return map(_of_targets, self._staged(X, **options))


def _of_targets(found: npt.NDArray[Any]) -> npt.NDArray[np.floating[Any]]:
    return found if found.ndim == 1 else found.astype(np.float64)


class GBDTClassifier(ClassifierMixin, Calibration, Base):  # type: ignore[misc]
    """Gradient-boosted trees for classes with any labels; ``classes_`` lists them.

    With more than two classes the loss is ``multi:softprob``, with a tree per class and round. If
    there is only one class, its predicted probability is 1. A ``y`` of shape (n_rows, n_labels) is
    multilabel: it is 1 where a row has a label, each label has its trees, and ``classes_`` is
    0, 1, .., n_labels - 1.
    """

    _objective = "binary:logistic"
    _kind = "classifier"
    _link = "logit"

    def __init__(self, *, class_weight: Any = None, **others: Any) -> None:
        super().__init__(**others)
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _labels(self, y: Any, n_rows: int) -> F32:
        if is_multilabel(y):
            return self._indicators(y, n_rows)
        self._new_classes, codes = encode_labels(y)
        self._new_multilabel = False
        if codes.size != n_rows:
            raise DataError(f"y has {codes.size} labels for {n_rows} rows of X; give one a row")
        return codes

    def _indicators(self, y: Any, n_rows: int) -> F32:
        labels = check_indicators(y, n_rows)
        self._new_classes, self._new_multilabel = np.arange(labels.shape[1]), True
        self._refuse(several_columns=True)
        return labels

    def _row_weight(self, labels: F32, sample_weight: Any) -> Any:
        if self.class_weight is None:
            return sample_weight
        by_class = weights_of_classes(self.class_weight, self._new_classes, labels)
        own = check_weight(sample_weight, labels.size)
        return by_class if own is None else by_class * own

    def _known_labels(self, y: Any, n_rows: int, index: int) -> F32:
        name = f"eval_set[{index}]: y"
        if self._new_multilabel:
            return check_indicators(y, n_rows, name)
        codes = encode_known_labels(y, self._new_classes, name)
        if codes.size != n_rows:
            raise DataError(f"{name} has {codes.size} labels for {n_rows} rows; give one a row")
        return codes

    def _training_parameters(self) -> dict[str, Any]:
        params, n_classes = super()._training_parameters(), len(self._new_classes)
        if self._new_multilabel:
            return params
        self._refuse(n_classes=n_classes)
        if self.objective is None and n_classes > 2:
            params["objective"] = "multi:softprob"
        if params["objective"] in MULTICLASS:
            params["num_class"] = max(2, n_classes)
        return params

    def _check_before(self, before: Ensemble) -> None:
        own: list[Any] = self._new_classes.tolist()
        known: list[Any] | None = None
        if _CLASSES in before.attributes:
            known = read_classes(before, "the model to continue").tolist()
        if self._former() is not None:
            known = self.classes_.tolist()
        if known is not None and known != own:
            raise DataError(
                f"y has the classes {own}: the model to continue has the classes {known}; give "
                f"labels of these"
            )

    def _take(self, model: Model, names: list[str] | None) -> None:
        super()._take(model, names)
        if "_new_classes" not in self.__dict__:  # the model was read from a file
            return
        self.classes_, self._curves = self._new_classes, None
        if self.classes_.dtype.kind in "iufbU" and not self._new_multilabel:
            model.ensemble.attributes[_CLASSES] = json.dumps(self.classes_.tolist())

    @property
    def _codes(self) -> npt.NDArray[Any] | None:
        return None if self._new_multilabel else self._new_classes

    def _forget_labels(self) -> None:
        self.__dict__.pop("_new_classes", None)
        self.__dict__.pop("_new_multilabel", None)

    def load_model(self, path: str | os.PathLike[str] | bytes | bytearray | memoryview) -> Any:
        """Read a model file, or its content; if it lists no classes, they are 0, 1, ..."""
        super().load_model(path)
        self.classes_ = read_classes(self.model_.ensemble, name_of(path))
        return self

    def _is_multilabel(self) -> bool:
        ensemble = self._fitted().ensemble
        return ensemble.n_outputs > 1 and ensemble.objective not in MULTICLASS

    @explains_arguments
    @like(of_rows)
    def predict_proba(self, X: Any, **options: Any) -> F32:
        """Return probabilities, float32, shape (n_rows, n_classes), columns as in ``classes_``.

        If there is only one class, its probability is 1. For multilabel models the shape is
        (n_rows, n_labels), with a probability for each label. Those of ``binary:hinge`` are 0 or 1
        unless they are calibrated. The arguments are those of ``GBDTRegressor.predict``.
        """
        return self._chances(self._predict(X, output_margin=True, **options))

    @explains_arguments
    @like(of_rows)
    def staged_predict_proba(self, X: Any, **options: Any) -> Iterator[F32]:
        """Yield the probabilities after each round; the last ones are those of ``predict_proba``.

        Every row walks every tree once. The arguments are those of ``predict_proba``.
        """
        return map(self._chances, self._staged(X, output_margin=True, **options))

    def _columns(self, found: F32) -> F32:
        """Return probabilities with a column for each class."""
        if len(self.classes_) == 1:
            return np.ones((len(found), 1), np.float32)
        return found if found.ndim == 2 else np.column_stack([np.float32(1.0) - found, found])

    @explains_arguments
    @like(of_rows)
    def predict_log_proba(self, X: Any, **options: Any) -> npt.NDArray[np.float64]:
        """Return NumPy's logarithms of ``predict_proba``: float64, which keeps their order."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, **options), dtype=np.float64)

    @explains_arguments
    @like(of_rows)
    def decision_function(self, X: Any, **options: Any) -> F32:
        """Return margins, sums of leaf values: float32, shape (n_rows,).

        For more than two classes, and for multilabel models, the shape is that of
        ``predict_proba``. The arguments are those of ``GBDTRegressor.predict``.
        """
        return self._predict(X, output_margin=True, **options)

    @explains_arguments
    @like(GBDTRegressor.predict)
    def predict(self, X: Any, output_margin: bool = False, **options: Any) -> npt.NDArray[Any]:
        """Return the most probable label of each row, shape (n_rows,); or margins.

        Margins have shape (n_rows,), or (n_rows, n_classes) for more than two classes. Multilabel
        models return 1 where the probability of a label is above 0.5, else 0; shape
        (n_rows, n_labels). The arguments are those of ``GBDTRegressor.predict``.
        """
        if output_margin:
            return self._predict(X, output_margin=True, **options)
        return self._most_probable(self.predict_proba(X, **options))

    @explains_arguments
    @like(of_rows)
    def staged_predict(self, X: Any, **options: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the labels after each round; the last ones are those of ``predict``.

        Every row walks every tree once. The arguments are those of ``predict_proba``.
        """
        return map(self._most_probable, self.staged_predict_proba(X, **options))

    def _most_probable(self, probabilities: F32) -> npt.NDArray[Any]:
        if self._is_multilabel():
            return (probabilities > 0.5).astype(np.int64)
        labels: npt.NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    @property
    def n_classes_(self) -> int:
        """The number of classes, or of a multilabel model's labels."""
        self._fitted()
        return len(self.classes_)


_CLASS_WEIGHT = """    class_weight : "balanced", dict of class to number, or None
        Factors of the weights of training rows, by class, as in scikit-learn. ``"balanced"``
        gives all classes the same total weight. Rows that early stopping holds out have
        these weights, sets of ``eval_set`` have not.
"""
for _estimator in (GBDTRegressor, GBDTClassifier):  # add the description of parameters
    _own = _CLASS_WEIGHT if _estimator is GBDTClassifier else ""
    _shared = (Parametrised.__doc__ or "").split("\n", 1)[1]
    _estimator.__doc__ = f"{_estimator.__doc__}\n" + _shared.replace(
        "\n    Attributes\n", f"{_own}\n    Attributes\n"
    )


def weights_of_classes(
    class_weight: Any, classes: npt.NDArray[Any], codes: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return the weight of each row.

    Parameters
    ----------
    class_weight : "balanced" or mapping of class to number
        ``"balanced"`` is ``n_rows / (n_classes * rows of the class)``. Classes that a mapping
        does not list have weight 1. If it lists all classes, it may list others too.
    classes : array, shape (n_classes,)
    codes : float32 array, shape (n_rows,)
        Indices into ``classes``.

    Returns
    -------
    float64 array, shape (n_rows,)

    Raises
    ------
    ParameterError
        If it is anything else, a weight is not a finite number >= 0, or a class is unknown.
    """
    rows = codes.astype(np.intp)
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(rows, minlength=classes.size)
        balanced: npt.NDArray[np.float64] = (rows.size / (classes.size * counts))[rows]
        return balanced
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f"class_weight={show(class_weight)}: expected 'balanced', a dict of classes to "
            f"numbers, or None; give one of them"
        )
    labels = classes.tolist()
    for label, weight in class_weight.items():
        if not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
            raise ParameterError(
                f"class_weight={{{show(label)}: {show(weight)}}}: expected a finite number >= 0; "
                f"use 0 to leave a class out"
            )
    unknown = [label for label in class_weight if label not in labels]
    if unknown and any(label not in class_weight for label in labels):
        raise ParameterError(
            f"class_weight names {show(unknown[0])}: expected classes of y, {labels}; name these"
        )
    return np.array([float(class_weight.get(label, 1)) for label in labels])[rows]
