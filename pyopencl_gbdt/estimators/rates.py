"""Learning rate and number of rounds by the number of rows: ``"auto"``, from one table.

A training goes about as far with half the learning rate and twice the rounds. So the table holds
the product of both, the *length* of a training.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.parameters.parameters import ROWS

#: The value of ``learning_rate`` and ``n_estimators`` that takes the table's.
AUTO = "auto"
#: XGBoost's learning rate, which is never exceeded.
LARGEST_RATE = 0.3
#: Bounds of rounds that are found for a given learning rate.
FEWEST_ROUNDS, MOST_ROUNDS = 50, 2000
#: Where early stopping ends a training: the learning rate, its longest length, and most rounds.
STOPPED_RATE, STOPPED_LENGTH, MOST_STOPPED = 0.06, 60.0, 10000


@dataclass(frozen=True)
class ByRows:
    """A step function of the number of training rows.

    Attributes
    ----------
    steps : tuple of (int, number)
        Number of rows, ascending, and the value up to it.
    beyond : number
        The value for more rows.
    """

    steps: tuple[tuple[int, float], ...]
    beyond: float

    def __str__(self) -> str:
        parts = [f"{value} up to {most} rows" for most, value in self.steps]
        return ", ".join([*parts, f"{self.beyond}" + (" above" if parts else "")])

    def of(self, n_rows: int) -> float:
        """Return the value for a number of rows."""
        return next((value for most, value in self.steps if n_rows <= most), self.beyond)


#: Learning rate times rounds, by task. Ranking has that of XGBoost's defaults.
LENGTHS: dict[str, ByRows] = {
    "regression": ByRows((), 15.0),
    "binary": ByRows((), 15.0),
    "multiclass": ByRows((), 15.0),
    "ranking": ByRows((), 30.0),
}
#: Rounds where neither they nor the learning rate are given, by task.
ROUNDS: dict[str, ByRows] = {
    "regression": ByRows((), 500),
    "binary": ByRows((), 500),
    "multiclass": ByRows((), 500),
    "ranking": ByRows((), 100),
}


def resolve_auto(
    params: Mapping[str, Any], task: str, n_rows: int, *, stops: bool = False
) -> dict[str, Any]:
    """Return parameters with numbers in place of ``"auto"``.

    Parameters
    ----------
    params : mapping of str to object
    task : {"regression", "binary", "multiclass", "ranking"}
    n_rows : int
        Number of training rows.
    stops : bool
        Whether early stopping ends the training; the rounds are then a bound.

    Raises
    ------
    ParameterError
        If a learning rate or number of rounds that is given is not a number in its bounds.
    """
    found = dict(params)
    rate, rounds = (found.get(name) for name in ("learning_rate", "n_estimators"))
    length = LENGTHS[task].of(n_rows)
    if stops and is_auto(rate) and is_auto(rounds):
        found["learning_rate"] = rate = STOPPED_RATE
    if is_auto(rounds):
        if is_auto(rate):
            rounds = int(ROUNDS[task].of(n_rows))
        else:
            rate = ROWS["learning_rate"].default if rate is None else rate
            rounds = _rounds_for(_number("learning_rate", rate), length, stops=stops)
        found["n_estimators"] = rounds
    if is_auto(rate):
        count = _number("n_estimators", rounds)
        found["learning_rate"] = min(LARGEST_RATE, length / max(count, 1))
    return found


def is_auto(value: object) -> bool:
    """Tell whether a value is to be found by the table."""
    return isinstance(value, str) and value == AUTO


def _rounds_for(rate: float, length: float, *, stops: bool) -> int:
    """Return the rounds in which a training ends, or is stopped at the latest."""
    length, most = (STOPPED_LENGTH, MOST_STOPPED) if stops else (length, MOST_ROUNDS)
    if rate * most <= length:
        return most
    return max(FEWEST_ROUNDS, round(length / rate))


def _number(name: str, value: object) -> float:
    return float(ROWS[name].convert(value))  # type: ignore[arg-type]
