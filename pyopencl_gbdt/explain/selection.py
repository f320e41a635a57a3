"""Select features: drop those that matter least to the loss, train again, and so on.

As CatBoost's ``select_features`` with ``RecursiveByShapValues``: what the loss of the evaluation
set would be without a feature is estimated by leaving its contributions out of the margins.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.arguments import check_whole
from pyopencl_gbdt.callbacks.early_stopping import more_is_better
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.evaluation.evaluation import on_host
from pyopencl_gbdt.explain.refits import Labelled, Refits, RefitsOfEstimator, RefitsOfParameters
from pyopencl_gbdt.explain.rows import column_of, model_of
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.model.formats.xgboost_links import MULTICLASS
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.model import Model

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
    n : int
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
