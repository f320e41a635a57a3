"""Trainings on some of the columns: of an estimator, or of parameters of ``train``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pyopencl_gbdt.data.arrays.matrix import column_names
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.explain.rows import column_of, model_of
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.train import train


@dataclass(frozen=True)
class Labelled:
    """Rows and labels.

    Attributes
    ----------
    X, y : array-like
    weight, group : array-like or None
        Weights of rows, and sizes of queries, as in ``Dataset``.
    """

    X: Any
    y: Any
    weight: Any = None
    group: Any = None


class Refits(Protocol):
    """Trains on some columns."""

    names: list[str]
    """The names of all columns."""

    def fit(self, columns: Sequence[int]) -> Any:
        """Train on these columns; return the model or estimator."""

    def labels(self, fitted: Any) -> Dataset:
        """Return the labels of the evaluation set, as metrics take them."""

    def contributions(self, fitted: Any, columns: Sequence[int]) -> Any:
        """Return ``predict(pred_contribs=True)`` of the evaluation set."""


class RefitsOfParameters:
    """Trainings by ``train``.

    Parameters
    ----------
    params : mapping
    training, evaluation : Labelled
    categorical : object
        ``categorical_features`` of ``Dataset``; None: its default.
    """

    def __init__(
        self, params: Mapping[str, Any], training: Labelled, evaluation: Labelled, categorical: Any
    ) -> None:
        self._params, self._training, self._evaluation = dict(params), training, evaluation
        self._categorical = categorical
        self._stopping = self._params.pop("early_stopping_rounds", None)
        self.names = names_of(training.X, evaluation.X)

    def fit(self, columns: Sequence[int]) -> Model:
        sets = [self._data(one, columns) for one in (self._training, self._evaluation)]
        stopping = {"early_stopping_rounds": self._stopping}
        return train(self._params, sets[0], evals=[(sets[1], "evaluation")], **stopping)

    def labels(self, fitted: Model) -> Dataset:
        return labels_alone(self._evaluation, self._evaluation.y)

    def contributions(self, fitted: Model, columns: Sequence[int]) -> Any:
        rows = take_columns(self._evaluation.X, columns)
        device = self._params.get("device", "auto")
        return fitted.predict(rows, pred_contribs=True, device=device)

    def _data(self, rows: Labelled, columns: Sequence[int]) -> Dataset:
        own = some_of(self._categorical, columns, self.names)
        asked = {} if own is None else {"categorical_features": own}
        X = take_columns(rows.X, columns)
        return Dataset(X, rows.y, rows.weight, group=rows.group, **asked)


class RefitsOfEstimator:
    """Trainings of copies of an estimator; parameters as for ``RefitsOfParameters``."""

    def __init__(self, estimator: Any, training: Labelled, evaluation: Labelled) -> None:
        self._estimator, self._training, self._evaluation = estimator, training, evaluation
        self.names = names_of(training.X, evaluation.X)

    def fit(self, columns: Sequence[int]) -> Any:
        from sklearn.base import clone

        fresh, (rows, held) = clone(self._estimator), (self._training, self._evaluation)
        own = getattr(fresh, "categorical_features", None)
        if own is not None:
            fresh.set_params(categorical_features=some_of(own, columns, self.names))
        options = {} if rows.group is None else {"group": rows.group, "eval_group": [held.group]}
        return fresh.fit(
            take_columns(rows.X, columns), rows.y, sample_weight=rows.weight,
            eval_set=[(take_columns(held.X, columns), held.y)],
            sample_weight_eval_set=None if held.weight is None else [held.weight], **options,
        )  # fmt: skip

    def labels(self, fitted: Any) -> Dataset:
        y, classes = np.asarray(self._evaluation.y), getattr(fitted, "classes_", None)
        if classes is not None and y.ndim == 1:
            y = np.searchsorted(classes, y)
        return labels_alone(self._evaluation, y)

    def contributions(self, fitted: Any, columns: Sequence[int]) -> Any:
        rows = take_columns(self._evaluation.X, columns)
        options = {"missing": fitted.missing, "device": fitted.device}
        return model_of(fitted).predict(rows, pred_contribs=True, **options)


def labels_alone(rows: Labelled, y: Any) -> Dataset:
    """Return the labels, weights and queries of rows, without their columns."""
    return Dataset(np.zeros((len(y), 1), np.float32), y, rows.weight, group=rows.group)


def names_of(X: Any, other: Any) -> list[str]:
    """Return the names of the columns; ``f0``, ``f1``, ... if they have none.

    Raises
    ------
    DataError
        If X has no columns, or the other rows have other ones.
    """
    shapes = [tuple(getattr(one, "shape", ())) or np.shape(one) for one in (X, other)]
    if len(shapes[0]) != 2 or shapes[0][1:] != shapes[1][1:]:
        raise DataError(
            f"X has the shape {shapes[0]}, and that of eval_set {shapes[1]}: expected rows of the "
            "same columns; give a table or an array for each"
        )
    names = column_names(X)
    check_columns(column_names(other), names, "eval_set", "X")
    return [f"f{column}" for column in range(shapes[0][1])] if names is None else names


def take_columns(X: Any, columns: Sequence[int]) -> Any:
    """Return some columns of a table or an array."""
    if hasattr(X, "iloc"):
        return X.iloc[:, list(columns)]
    if hasattr(X, "column_names"):  # pyarrow
        return X.select(list(columns))
    return (X if hasattr(X, "shape") else np.asarray(X))[:, list(columns)]


def some_of(categorical: Any, columns: Sequence[int], names: Sequence[str]) -> Any:
    """Return which of some columns are categorical: their places, or a word such as "auto"."""
    if categorical is None or isinstance(categorical, str):
        return categorical
    asked = {column_of("categorical_features", one, names) for one in categorical}
    return [place for place, column in enumerate(columns) if column in asked]
