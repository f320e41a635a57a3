"""What a user may not have meant, though the data can be used: found while data are converted."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.blurred import MOST_WHOLE, Blurred
from pyopencl_gbdt.data.categories.levels import Categories
from pyopencl_gbdt.errors import DataWarning
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import Source, plural, show


@dataclass(frozen=True)
class Remarks:
    """Remarks about columns, by their numbers.

    Attributes
    ----------
    unknown : mapping of int to str
        Columns none of whose levels are those of training: two of them.
    blurred : Blurred
        The search for whole numbers that float32 cannot tell apart.
    """

    unknown: Mapping[int, str] = field(default_factory=dict)
    blurred: Blurred = field(default_factory=Blurred)


def unknown_levels(
    codes: npt.NDArray[np.int32],
    n_levels: int,
    values: npt.NDArray[Any],
    places: npt.NDArray[np.integer[Any]],
) -> str:
    """Return two levels of a column, none of whose levels is known; empty if one is.

    Parameters
    ----------
    codes : int32 array, shape (n_rows,)
        By the levels of training, as of `encode_column`.
    n_levels : int
        Number of these levels.
    values : array
        The column's own values.
    places : int array, shape (n_rows,)
        The index of each row's value in ``values``.
    """
    unknown = codes == n_levels
    if not unknown.any() or ((codes >= 0) & ~unknown).any():
        return ""
    rows = np.flatnonzero(unknown)
    rows = rows[places[rows] < len(values)]  # an unknown level of levels before these has no value
    if not rows.size:
        return ""
    others = rows[places[rows] != places[rows[0]]]
    return " and ".join(show(values[places[row]]) for row in (rows[0], *others[:1]))


def warn_of_unknown(
    unknown: Mapping[int, str], categories: Categories, names: Sequence[str] | None
) -> None:
    """Warn of columns none of whose levels the model knows; at most once."""
    if unknown:
        column = min(unknown)
        known = " and ".join(map(show, categories[column].values[:2].tolist())) or "none"
        _warn(
            f"X: {Source('X', names).column(column)}{_others(unknown)}: the model knows no level "
            f"of these rows, {unknown[column]} for example: expected levels of training, {known} "
            "for example; correct the spelling, as the column tells the model nothing now"
        )


def warn_of_blurred(blurred: Mapping[int, str], names: Sequence[str] | None) -> None:
    """Warn of columns whose numbers float32 cannot tell apart."""
    column = min(blurred)
    _warn(
        f"X: {Source('X', names).column(column)}{_others(blurred)}: {blurred[column]} are one "
        f"number in float32: expected whole numbers up to {MOST_WHOLE}, as trees compare in "
        "float32; subtract the smallest, name the column in categorical_features, or leave it out"
    )


def warn_of_page(page: str, why: str) -> None:
    """Warn of a ``page`` that this training does not use; ``why`` says of what it is."""
    _warn(f"page={page!r} has no effect {why}: expected 'auto'; leave out page")


def warn_of_dropping(given: Mapping[str, object]) -> None:
    """Warn of parameters of dropped trees that this training does not use."""
    listed = " and ".join(f"{name}={value!r}" for name, value in given.items())
    have, them = ("has", "it") if len(given) == 1 else ("have", "them")
    _warn(f"{listed} {have} no effect: expected booster='dart'; give it, or leave {them} out")


def warn_of_stopping(why: str) -> None:
    """Warn of early stopping that was asked for and cannot be."""
    _warn(f"early_stopping: {why}: expected more; all rounds are trained, on all rows")


def warn_of_scores() -> None:
    """Warn of a training that no score can end, as all are NaN."""
    _warn(
        "early_stopping: the metric of the rows watched is NaN in every round: expected a number; "
        "give another eval_metric, or early_stopping=False; all rounds are trained"
    )


def _others(columns: Mapping[int, str]) -> str:
    return f" and {plural(len(columns) - 1, 'other column')}" if len(columns) > 1 else ""


def _warn(text: str) -> None:
    """Warn at the line of the caller that is not of this library."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, DataWarning, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]
