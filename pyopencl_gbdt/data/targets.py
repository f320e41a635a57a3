"""Checks of what comes with the matrix: targets, their bounds, weights, base margins, labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.containers import (
    as_array,
    as_numeric,
    is_frame,
    is_series,
    series_to_numeric,
)
from pyopencl_gbdt.data.arrays.narrow import to_float32
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import Source, plural, show
from pyopencl_gbdt.numerics.portable_math import as_margin


@dataclass(frozen=True)
class LabelRule:
    """Which labels an objective accepts.

    Attributes
    ----------
    wrong : callable
        Maps labels, float32 (n_rows,), to a mask of those that are refused.
    expected, move : str
        What is allowed, and the next step, as worded in the error message.
    """

    wrong: Callable[[NDArray[np.float32]], NDArray[np.bool_]]
    expected: str
    move: str


_CLASSES = LabelRule(
    lambda y: (y != 0) & (y != 1), "0 or 1", "encode the labels as 0 and 1, or use GBDTClassifier"
)
_SHARES = LabelRule(
    lambda y: (y < 0) | (y > 1), "0 <= label <= 1", "give probabilities, or use reg:squarederror"
)
_GRADES = LabelRule(lambda y: y < 0, "label >= 0", "give grades, the more relevant the higher")
_COUNTS = LabelRule(
    lambda y: y < 0, "label >= 0", "give counts or amounts, or use reg:squarederror"
)

#: Rules by objective; other objectives accept any finite label.
LABELS: dict[str, LabelRule] = {
    "binary:logistic": _CLASSES,
    "binary:logitraw": _CLASSES,
    "binary:hinge": _CLASSES,
    "rank:ndcg": _GRADES,
    "rank:pairwise": _GRADES,
    "rank:map": LabelRule(
        lambda y: (y != 0) & (y != 1), "0 or 1", "give 1 for relevant rows, or use rank:ndcg"
    ),
    "reg:logistic": _SHARES,
    "cross_entropy": _SHARES,
    "count:poisson": _COUNTS,
    "reg:tweedie": _COUNTS,
    "reg:gamma": LabelRule(lambda y: y <= 0, "label > 0", "leave 0 out, or use reg:tweedie"),
    "dist:lognormal": LabelRule(lambda y: y <= 0, "label > 0", "leave 0 out, or use dist:normal"),
    "dist:gamma": LabelRule(lambda y: y <= 0, "label > 0", "leave 0 out, or use dist:normal"),
    "dist:negative_binomial": LabelRule(
        lambda y: (y < 0) | (y != np.floor(y)),
        "whole numbers >= 0",
        "give counts, or use dist:normal",
    ),
    "survival:aft": LabelRule(
        lambda y: y <= 0, "label > 0", "give label_lower_bound and label_upper_bound to Dataset"
    ),
    "reg:squaredlogerror": LabelRule(
        lambda y: y <= -1, "label > -1", "shift the labels, or use reg:squarederror"
    ),
}


def check_labels(y: NDArray[np.float32], objective: str) -> NDArray[np.float32]:
    """Return `y`, float32 (n_rows,), unchanged if the objective accepts every label.

    Raises
    ------
    DataError
        Names the first refused label, its row, and what is allowed.
    """
    rule = LABELS.get(objective)
    if rule is not None:
        expected = f"{rule.expected} for objective={objective!r}"
        refuse(rule.wrong(y), y, "y", expected, rule.move)
    return y


F32 = NDArray[np.float32]


def check_target(y: Any, n_rows: int, *, objective: str = "reg:squarederror") -> F32:
    """Check the target of a training run.

    Parameters
    ----------
    y : (n_rows,) or (n_rows, n_targets) array-like, Series or DataFrame
        Finite numbers; an objective may restrict them, see ``labels.LABELS``.

    Returns
    -------
    target : (n_rows,) float32 array, or (n_rows, n_targets) if there are several targets
        `y` itself if it already has this form.

    Raises
    ------
    DataError
        The shape, the length, the dtype or a value cannot be used.
    """
    target = _columns(y, n_rows, "y")
    for column in [target] if target.ndim == 1 else target.T:
        check_labels(column, objective)
    return target


def check_binary_labels(y: F32) -> F32:
    """Return `y`, float32 (n_rows,), if it holds only 0 and 1; all labels may be of one class."""
    return check_labels(y, "binary:logistic")


def check_weight(w: Any, n_rows: int) -> F32 | None:
    """Check row weights.

    Parameters
    ----------
    w : None, or (n_rows,) or (n_rows, 1) array-like
        Finite numbers, none negative, not all zero (in float32).

    Returns
    -------
    weight : (n_rows,) float32 array, contiguous, or None
        `w` itself if it already has this form.

    Raises
    ------
    DataError
        The shape, the length, the dtype or a value cannot be used.
    """
    if w is None:
        return None
    weight = check_vector(w, n_rows, "weight")
    negative = weight < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise DataError(
            f"weight holds {plural(int(negative.sum()), 'negative value')}, the first "
            f"({show(weight[row])}) at {Source('weight', is_vector=True).place(row, 0)}: "
            f"expected numbers >= 0; use 0 to leave a row out"
        )
    if not weight.any():
        raise DataError(
            "weight is zero in every row: expected at least one above 0; leave it out for 1 each"
        )
    return weight


def check_feature_weights(weights: Any, n_features: int) -> F32 | None:
    """Check the sampling weights of columns: None, or a finite number above 0 for each column."""
    if weights is None:
        return None
    source = Source("feature_weights", is_vector=True)
    shape = np.shape(weights if is_series(weights) else as_array(weights, source))
    if shape != (n_features,):
        raise DataError(
            f"feature_weights has shape {shape}, X has {plural(n_features, 'column')}: expected a "
            f"weight per column; give {n_features} numbers"
        )
    found = check_vector(weights, n_features, "feature_weights")
    if not (found > 0).all():
        column = int(np.argmin(found > 0))
        raise DataError(
            f"feature_weights holds {show(found[column])} for column {column}: expected numbers "
            f"above 0; leave the column out of X"
        )
    return found


def check_base_margin(margin: Any, n_rows: int, n_outputs: int | None = None) -> F32 | None:
    """Check base margins: None, or a finite number for every row and output.

    The shape is (n_rows,), or (n_rows, n_outputs) for several outputs. Numbers nearer to 0 than
    2^-101 become 0, see ``portable_math.as_margin``.
    """
    if margin is None:
        return None
    found = _columns(margin, n_rows, "base_margin")
    n_found = 1 if found.ndim == 1 else found.shape[1]
    if n_outputs is not None and n_found != n_outputs:
        raise DataError(
            f"base_margin has {plural(n_found, 'column')}, the model "
            f"{plural(n_outputs, 'output')}: expected a column for every output; give "
            f"(n_rows, {n_outputs}) numbers"
        )
    margins = as_margin(found)
    return found if np.array_equal(margins, found) else margins


def _columns(values: Any, n_rows: int, name: str) -> F32:
    """Convert to finite float32: (n_rows,) from one column, (n_rows, n) from several."""
    if is_series(values):
        return check_vector(values, n_rows, name)
    is_table = is_frame(values)
    table: Any = values if is_table else as_array(values, Source(name, is_vector=True))
    if table.ndim > 2:
        raise DataError(
            f"{name} has shape {table.shape}: expected (n_rows,) or (n_rows, n_outputs); give a "
            f"column for every output"
        )
    if table.ndim == 1 or table.shape[1] < 2:
        return check_vector(table, n_rows, name)
    _check_length(len(table), n_rows, name)
    columns = [table.iloc[:, i] if is_table else table[:, i] for i in range(table.shape[1])]
    return np.column_stack(
        [check_vector(column, n_rows, f"{name}[:, {i}]") for i, column in enumerate(columns)]
    )


def check_vector(values: Any, n_rows: int, name: str, *, infinity: bool = False) -> F32:
    """Convert to (n_rows,) float32 without NaN; infinities only if `infinity`, and only +inf."""
    source = Source(name, is_vector=True)
    column = column_of(values, source)
    _check_length(len(column), n_rows, name)
    if is_series(column):
        numeric = series_to_numeric(column, source)
    else:
        numeric = as_numeric(column.reshape(-1, 1), source)
    if not infinity:
        return to_float32(numeric, source, allow_missing=False).reshape(-1)
    endless = np.asarray(numeric == np.inf)
    finite = to_float32(np.where(endless, 0, numeric), source, allow_missing=False)
    return np.where(endless, np.float32(np.inf), finite).reshape(-1)


def _check_length(length: int, n_rows: int, name: str) -> None:
    if length != n_rows:
        raise DataError(
            f"{name} has {plural(length, 'value')}, X has {plural(n_rows, 'row')}: "
            f"expected one value per row; pass the {name} that belongs to X"
        )


def column_of(values: Any, source: Source) -> Any:
    """Return a Series unchanged, anything else as a one-dimensional array of any dtype."""
    if is_frame(values) and values.shape[1] == 1:
        return values.iloc[:, 0]
    if is_series(values):
        return values
    array = as_array(values, source)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise DataError(
            f"{source.name} has shape {array.shape}: expected (n_rows,) or (n_rows, 1); "
            f"give one column"
        )
    return array


def check_rows(rows: Any, n_rows: int) -> NDArray[np.int64]:
    """Return numbers of rows, int64; those below 0 count from the end.

    Raises
    ------
    DataError
    """
    try:
        found = np.asarray(rows)
    except (TypeError, ValueError):
        found = np.array(None)
    whole = found.dtype.kind in "iu" or found.size == 0
    if not whole or found.ndim != 1 or (found < -n_rows).any() or (found >= n_rows).any():
        raise DataError(
            f"rows={show(rows)}: expected a list of whole numbers, {-n_rows}..{n_rows - 1}; give "
            "numbers of rows"
        )
    return found.astype(np.int64)


LOWER, UPPER = "label_lower_bound", "label_upper_bound"


def check_bounds(lower: Any, upper: Any, n_rows: int) -> tuple[F32 | None, F32 | None]:
    """Check bounds of labels.

    Parameters
    ----------
    lower, upper : None, or (n_rows,) or (n_rows, 1) array-like
        Give both or neither. ``0 <= lower <= upper`` and ``0 < upper``; upper may be infinite.

    Returns
    -------
    lower, upper : (n_rows,) float32 array, contiguous, or None

    Raises
    ------
    DataError
        A shape, length, dtype or value cannot be used; the message names the row.
    """
    if lower is None and upper is None:
        return None, None
    if lower is None or upper is None:
        there, missing = (UPPER, LOWER) if lower is None else (LOWER, UPPER)
        raise DataError(
            f"{there} without {missing}: expected both; if one is unknown, give 0 as lower bound "
            "or infinity as upper bound"
        )
    low = check_vector(lower, n_rows, LOWER)
    high = check_vector(upper, n_rows, UPPER, infinity=True)
    refuse(low < 0, low, LOWER, "a number >= 0", "give 0 where there is no bound")
    refuse(high <= 0, high, UPPER, "a number > 0", "give infinity where there is no bound")
    refuse(high < low, high, UPPER, f"{LOWER} or more", "swap them, if they were mixed up")
    return low, high


def refuse(wrong: NDArray[np.bool_], values: F32, name: str, expected: str, move: str) -> None:
    """Raise ``DataError`` about the first number of a vector that is wrong, if one is."""
    if wrong.any():
        row = int(np.argmax(wrong))
        place = Source(name, is_vector=True).place(row, 0)
        raise DataError(f"{name} holds {show(values[row])} at {place}: expected {expected}; {move}")
