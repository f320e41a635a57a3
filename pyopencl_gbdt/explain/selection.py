"""Select features: drop those that matter least to the loss, train again, and so on.

As CatBoost's ``select_features`` with ``RecursiveByShapValues``: what the loss of the evaluation
set would be without a feature is estimated by leaving its contributions out of the margins.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.callbacks.early_stopping import more_is_better
from pyopencl_gbdt.data.arrays.matrix import column_names
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.evaluation.evaluation import on_host
from pyopencl_gbdt.explain.rows import column_of, model_of
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.model import Model
from pyopencl_gbdt.training.train import train

F64 = npt.NDArray[np.float64]
#: The loss of margins, float64, shape (n_rows, n_outputs); smaller is better.
Loss = Callable[[F64], float]


@dataclass(frozen=True, eq=False)
class SelectedFeatures:
    """What ``select_features`` found.

    Attributes
    ----------
    selected : list of str
        The columns that are left, in the order of X.
    eliminated : list of str
        The others, in the order in which they were dropped.
    metric : str
    n_features : list of int
        How many columns each model was trained on.
    losses : list of float
        The metric of each of these models on the evaluation set.
    model : Model or estimator
        The last one, trained on the selected columns.
    """

    selected: list[str]
    eliminated: list[str]
    metric: str
    n_features: list[int]
    losses: list[float]
    model: Any


def select_features(
    model: Any,
    X: Any,
    y: Any,
    *,
    eval_set: tuple[Any, Any],
    num_features_to_select: int,
    steps: int = 1,
    features: Iterable[str | int] | None = None,
    weight: Any = None,
    eval_weight: Any = None,
    group: Any = None,
    eval_group: Any = None,
    categorical_features: Any = None,
    metric: str | None = None,
) -> SelectedFeatures:
    """Drop the features that matter least, in several steps, and train on the others.

    Each step trains a model. Then it drops one feature after another: the one whose contributions,
    left out of the margins of the evaluation set, leave the best metric.

    Parameters
    ----------
    model : estimator, or mapping
        An estimator that need not be fitted, which stays as it is; or parameters of ``train``.
    X, y : array-like
        Training rows, as a table or array, and labels.
    eval_set : (X, y)
        The rows by which features are judged. With ``early_stopping_rounds``, they also stop each
        training.
    num_features_to_select : int
        How many of ``features`` are left.
    steps : int, default 1
        Steps in which features are dropped, with a training before each; a larger number is slower
        and more exact. The numbers of features that are left fall by equal ratios.
    features : iterable of str or int, or None
        Columns that may be dropped; None: all.
    weight, eval_weight : (n_rows,) array-like or None
    group, eval_group : array-like or None
        Sizes of queries, for rankings.
    categorical_features : "auto", list of str or int, or None
        As in ``Dataset``, for parameters; an estimator has its own.
    metric : str or None
        Which metric judges; None: the loss's default metric.

    Returns
    -------
    SelectedFeatures

    Raises
    ------
    ParameterError
        If a number is out of range, or a feature or metric is unknown.
    DataError
        If the rows of the two sets have different columns.
    """
    held_back = Labelled(*_pair(eval_set), eval_weight, eval_group)
    refits = _refits(model, Labelled(X, y, weight, group), held_back, categorical_features)
    names = refits.names
    may_go = _candidates(features, names)
    n_left = check_whole("num_features_to_select", num_features_to_select, 1, len(may_go))
    n_steps = check_whole("steps", steps, 1, max(1, len(may_go) - n_left))
    left, eliminated = list(range(len(names))), []
    counts, losses = [], []
    for step in range(n_steps + 1):
        fitted = refits.fit(left)
        name, loss = _loss(model_of(fitted), refits.labels(fitted), metric)
        found = refits.contributions(fitted, left)
        own = found.reshape(len(found), -1, len(left) + 1)
        margins = own.sum(axis=-1)
        counts.append(len(left))
        losses.append(-loss(margins) if more_is_better(name) else loss(margins))
        if step == n_steps:
            break
        there = [column for column in left if column in may_go]
        ratio = (n_left / len(may_go)) ** ((step + 1) / n_steps)
        n_drop = len(there) - max(n_left, round(len(may_go) * ratio))
        contributions = {column: own[..., left.index(column)] for column in there}
        gone = eliminate(contributions, margins, loss, n_drop)
        eliminated += gone
        left = [column for column in left if column not in gone]
    return SelectedFeatures(
        [names[column] for column in left], [names[column] for column in eliminated],
        name, counts, losses, fitted,
    )  # fmt: skip


def eliminate(contributions: Mapping[int, F64], margins: F64, loss: Loss, n: int) -> list[int]:
    """Return ``n`` features, in the order in which they are dropped.

    The feature is dropped without which the loss is smallest, of equal ones the first. After each,
    the next candidates are judged again, until the best one keeps its place.

    Parameters
    ----------
    contributions : mapping of int to float64 array, shape (n_rows, n_outputs)
        By feature.
    margins : float64 array, shape (n_rows, n_outputs)
        With all features.
    loss : callable
    """
    waiting = [(loss(margins - own), feature, 0) for feature, own in contributions.items()]
    heapq.heapify(waiting)
    gone: list[int] = []
    while len(gone) < n:
        _, feature, judged = heapq.heappop(waiting)
        without = margins - contributions[feature]
        if judged == len(gone):
            gone.append(feature)
            margins = without
        else:
            heapq.heappush(waiting, (loss(without), feature, len(gone)))
    return gone


def _loss(model: Model, rows: Dataset, metric: str | None) -> tuple[str, Loss]:
    """Return the metric's name, and the loss of margins."""
    ensemble, objective = model.ensemble, model.objective
    known = {"objective": ensemble.objective, **ensemble.objective_parameters}
    if ensemble.objective in MULTICLASS:
        known["num_class"] = ensemble.n_outputs
    name = objective.metric if metric is None else metric
    function = get_metric(name, Parameters.from_dict(known))
    sign = -1.0 if more_is_better(name) else 1.0

    def loss(margins: F64) -> float:
        own = np.ascontiguousarray(margins.T.astype(np.float32))
        prediction = objective.to_probability(own[0] if len(own) == 1 else own)
        return sign * on_host(function, name, rows, prediction)

    return name, loss


def _refits(model: Any, training: Labelled, held_back: Labelled, categorical: Any) -> Refits:
    if isinstance(model, Mapping):
        return RefitsOfParameters(model, training, held_back, categorical)
    if not hasattr(model, "get_params") or not hasattr(model, "fit"):
        raise ParameterError(
            f"model={type(model).__name__}: expected an estimator or a dict of parameters, as "
            "every step trains anew; give GBDTRegressor(...), say"
        )
    if categorical is not None:
        raise ParameterError(
            f"categorical_features={show(categorical)}: expected None, as an estimator has its "
            "own; give it to the estimator"
        )
    return RefitsOfEstimator(model, training, held_back)


def _pair(eval_set: Any) -> tuple[Any, Any]:
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if not isinstance(eval_set, (tuple, list)) or len(eval_set) != 2:
        raise ParameterError(
            f"eval_set={show(eval_set)}: expected a pair (X, y), by which features are judged; "
            "hold back some rows"
        )
    return eval_set[0], eval_set[1]


def _candidates(features: Any, names: Sequence[str]) -> list[int]:
    if features is None:
        return list(range(len(names)))
    listed = [features] if isinstance(features, (str, int)) else list(features)
    return sorted({column_of("features", one, names) for one in listed})


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
