"""What an estimator's ``fit`` is given, as matrices, functions and metrics for ``train``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pyopencl_gbdt.compat.xgboost.matrices import DMatrix
from pyopencl_gbdt.data.arrays.containers import is_frame
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError
from pyopencl_gbdt.messages import show

#: The arguments of a set of rows, by their names in ``DMatrix``.
Given = dict[str, Any]


def as_objective(function: Callable[..., Any]) -> Callable[[Any, DMatrix], Any]:
    """Return a loss in the form that ``train`` takes; ``function`` has scikit-learn's form.

    Raises
    ------
    ParameterError
        When it is called, if there are weights and it does not take ``sample_weight``.
    """
    takes_weight = "sample_weight" in inspect.signature(function).parameters

    def objective(margins: Any, matrix: DMatrix) -> Any:
        weight = matrix.get_weight()
        if not weight.size:
            return function(matrix.get_label(), margins)
        if not takes_weight:
            raise ParameterError(
                "Custom objective doesn't have the `sample_weight` parameter while sample_weight "
                "is used.; add it, or leave the weights out"
            )
        return function(matrix.get_label(), margins, sample_weight=weight)

    return objective


def as_metric(function: Callable[..., Any]) -> Callable[[Any, DMatrix], Any]:
    """Return a metric of (labels, predictions) in the form of ``train``'s."""

    def metric(prediction: Any, matrix: DMatrix) -> tuple[str, float]:
        weight = matrix.get_weight()
        more = {"sample_weight": weight} if weight.size else {}
        return name_of(function), float(function(matrix.get_label(), prediction, **more))

    return metric


def as_ranking_metric(function: Callable[..., Any]) -> Callable[[Any, DMatrix], Any]:
    """Return the mean over queries, each by its rows, of a metric of (labels, predictions).

    As in XGBoost, a query of one row has 1, and weights of queries do not count.
    """

    def metric(prediction: Any, matrix: DMatrix) -> tuple[str, float]:
        offsets = matrix.get_uint_info("group_ptr")
        if offsets.size < 2:
            raise DataError("Invalid `group_ptr`: expected queries; give qid or group")
        label = matrix.get_label()
        found = [
            1.0 if end - first == 1 else function(label[first:end], prediction[first:end])
            for first, end in pairwise(offsets)
        ]
        return name_of(function), float(np.average(found, weights=np.diff(offsets)))

    return metric


def name_of(function: Any) -> str:
    """Return the name of a function, or of a callable's class."""
    inner = getattr(function, "func", function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def split_metrics(
    eval_metric: Any, wrap: Callable[..., Any]
) -> tuple[list[str] | None, Callable[..., Any] | None]:
    """Return the metrics by name, and the user's function.

    Raises
    ------
    DataTypeError
        If ``eval_metric`` is neither a name, a function nor a list of these.
    NotImplementedError
        If there are several functions.
    """
    if eval_metric is None:
        return None, None
    alone = isinstance(eval_metric, str) or callable(eval_metric)
    if not alone and not isinstance(eval_metric, Sequence):
        raise DataTypeError(
            f"Invalid type for the `eval_metric`: {type(eval_metric)}; give a name, a function or "
            "a list of them"
        )
    asked = [eval_metric] if alone else list(eval_metric)
    wrong = [one for one in asked if not isinstance(one, str) and not callable(one)]
    if wrong:
        raise DataTypeError(
            f"Invalid type for the `eval_metric`: {type(wrong[0])}; give names or functions"
        )
    own = [one for one in asked if callable(one)]
    if len(own) > 1:
        raise NotImplementedError(
            "Using multiple custom metrics is not yet supported: give one function that returns a "
            "list of names and numbers to train, or one metric here"
        )
    names = [one for one in asked if isinstance(one, str)]
    return names or None, wrap(own[0]) if own else None


def evaluation_sets(
    own: Given,
    matrix: DMatrix,
    eval_set: Any,
    sides: dict[str, Any],
    make: Callable[[DMatrix, Given], DMatrix],
) -> list[tuple[DMatrix, str]]:
    """Return the matrices of ``eval_set``, named ``validation_0`` and so on.

    Parameters
    ----------
    own : dict
        The arguments of the training rows; a set of the same objects is the training matrix.
    eval_set : sequence of (X, y), or None
    sides : dict of str to sequence or None
        What comes with the sets, by names in ``DMatrix``.
    make : callable
        Makes a matrix of the training matrix and arguments.

    Raises
    ------
    DataError
        If a sequence of ``sides`` has another length.
    DataTypeError
        If ``eval_set`` holds something else than pairs.
    """
    if eval_set is None:
        return []
    names = {
        "weight": "sample_weight_eval_set",
        "base_margin": "base_margin_eval_set",
        "group": "eval_group",
        "qid": "eval_qid",
    }
    for name, values in sides.items():
        if values is not None and len(values) != len(eval_set):
            raise DataError(
                f"{names[name]}'s length does not equal `eval_set`'s length, expecting "
                f"{len(eval_set)}, got {len(values)}; give one for each set"
            )
    found = []
    for index, pair in enumerate(eval_set):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DataTypeError(
                f"eval_set[{index}]={show(type(pair).__name__)}: expected a pair (X, y); give a "
                "list of pairs"
            )
        given = {"data": pair[0], "label": pair[1]}
        given |= {name: None if side is None else side[index] for name, side in sides.items()}
        same = all(given.get(name) is own.get(name) for name in ("data", "label", *sides))
        found.append((matrix if same else make(matrix, given), f"validation_{index}"))
    return found


def split_qid(X: Any, qid: Any) -> tuple[Any, Any]:
    """Return the rows without a column ``qid``, and the queries.

    Raises
    ------
    DataError
        If there is such a column and ``qid`` too.
    """
    names = getattr(X, "columns", None)
    if names is None or "qid" not in list(names):
        return X, qid
    if qid is not None:
        raise DataError(
            "Found both the special column `qid` in `X` and the `qid` from the `fit` method.; "
            "leave one out"
        )
    rest = X.drop(columns=["qid"]) if is_frame(X) else X.drop("qid")
    return rest, np.asarray(X["qid"])
