"""Which labels each objective accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import Source, show


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
    wrong = np.zeros(0, np.bool_) if rule is None else rule.wrong(y)
    if rule is not None and wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"y holds {show(y[row])} at {Source('y', is_vector=True).place(row, 0)}: expected "
            f"{rule.expected} for objective={objective!r}; {rule.move}"
        )
    return y
