"""The kinds of label that metrics fit, and those that the labels of data sets are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.objectives import Objective

SHARES, AMOUNTS, ABOVE, NUMBERS = "0 to 1", "0 or more", "above -1", "numbers"
RELEVANT, GRADES = "relevance", "grades"
CLASSES, QUANTILES, EVENTS, BOUNDS = "classes", "quantiles", "events", "bounds"
DISTRIBUTED, NORMAL = "distributed", "normal"

#: The kinds of label. Labels may be of several: a number of a kind is of the wider ones too.
KINDS: dict[str, str] = {
    SHARES: "numbers from 0 to 1",
    AMOUNTS: "numbers of 0 or more",
    ABOVE: "numbers above -1",
    NUMBERS: "any numbers",
    RELEVANT: "a 0 or 1 for each row",
    GRADES: "a grade of 0 or more for each row",
    CLASSES: "classes of multi:softprob or multi:softmax",
    QUANTILES: "numbers with an output for each of several quantile_alpha or expectile_alpha",
    EVENTS: "times of events, negative if censored",
    BOUNDS: "times of survival:aft or their bounds",
    DISTRIBUTED: "numbers of a distribution, objective='dist:...'",
    NORMAL: "numbers of dist:normal",
}
#: The metric that says the same of the other kind of classes.
COUNTERPARTS = {
    "logloss": "mlogloss", "error": "merror", "mlogloss": "logloss", "merror": "error",
}  # fmt: skip
#: Predictions of these losses are e^margin, as hazards are, or are not known.
_HAZARDS = ("count:poisson", "reg:gamma", "reg:tweedie", "custom")


def kinds_of(objective: Objective, sets: Sequence[Dataset]) -> tuple[str, ...]:
    """Return the kinds that the labels of all sets are of, the narrowest first.

    ``sets``: the training data and the evaluation sets.
    """
    name = objective.name
    if name.startswith("dist:"):
        return (NORMAL, DISTRIBUTED) if name == "dist:normal" else (DISTRIBUTED,)
    if objective.n_outputs > 1:
        return (CLASSES,) if name.startswith("multi:") else (QUANTILES,)
    if name == "survival:cox":
        return (EVENTS,)
    numbers = _numbers(sets)
    alone = all(rows.n_targets == 1 for rows in sets)
    grades = _grades(sets, numbers) if alone else ()
    if name.startswith("rank:"):
        return grades
    bounded = any(rows.label_lower_bound is not None for rows in sets)
    if name == "survival:aft":
        return (BOUNDS,) if bounded else (BOUNDS, *numbers, *grades)
    events = (EVENTS,) if name in _HAZARDS and alone else ()
    return (*numbers, *grades, *events, *((BOUNDS,) if bounded and name == "custom" else ()))


def _numbers(sets: Sequence[Dataset]) -> tuple[str, ...]:
    least = min(float(rows.label.min()) for rows in sets)
    most = max(float(rows.label.max()) for rows in sets)
    known = {SHARES: least >= 0 and most <= 1, AMOUNTS: least >= 0, ABOVE: least > -1}
    return (*(kind for kind, is_so in known.items() if is_so), NUMBERS)


def _grades(sets: Sequence[Dataset], numbers: Sequence[str]) -> tuple[str, ...]:
    if SHARES in numbers and all(np.isin(rows.label, (0, 1)).all() for rows in sets):
        return RELEVANT, GRADES
    return (GRADES,) if AMOUNTS in numbers else ()
