"""The best round of a model that stopped early, as stored in XGBoost's attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pyopencl_gbdt.errors import ModelFormatError

#: XGBoost's names of the attributes.
BEST_ITERATION, BEST_SCORE = "best_iteration", "best_score"

_ROUND = re.compile(r"[0-9]{1,10}")
_SCORE = re.compile(
    r"[-+]?([0-9]{1,400}(\.[0-9]{0,400})?([eE][-+]?[0-9]{1,9})?|nan|inf|infinity)", re.IGNORECASE
)


def check_best_round(attributes: Mapping[str, str], place: str) -> tuple[int, float]:
    """Return the best round, counted from 0, and its score; 0 and NaN if they are absent.

    Raises
    ------
    ModelFormatError
        If an attribute is present but is not a round's number, or not a number.
    """
    number, score = attributes.get(BEST_ITERATION, "0"), attributes.get(BEST_SCORE, "nan")
    for name, text, pattern, expected in (
        (BEST_ITERATION, number, _ROUND, "the number of a round, counted from 0"),
        (BEST_SCORE, score, _SCORE, "a number"),
    ):
        if not isinstance(text, str) or not pattern.fullmatch(text.strip()):
            raise ModelFormatError(
                f"{place}.{name}={text!r:.80}: expected a string that holds {expected}; correct or "
                "remove it"
            )
    return int(number), float(score)


def first_of_history(model: Any) -> int:
    """Return the round, from 0, of the first values in a ``Model``'s history."""
    if model.history_start is not None:
        return int(model.history_start)
    # a continued model has the history of its last rounds
    n_known = max((len(v) for own in model.history.values() for v in own.values()), default=0)
    return max(0, int(model.num_boosted_rounds()) - n_known)
