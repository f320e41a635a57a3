"""Constraints of splits: monotone, interaction, forced splits, and feature weights."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.category_offers import CategoryFacts, offered
from pyopencl_gbdt.parameters.parameters import Parameters

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

#: Kernels' codes of monotone features: predictions rise with the feature, or fall.
RISING, FALLING = 1, 2
_CODES = {0: 0, 1: RISING, -1: FALLING}
#: Most forced splits of a tree.
MOST_FORCED = 1024
#: The name of a column where the data have no names.
_NUMBERED = re.compile(r"f(0|[1-9][0-9]{0,17})")


class ConstrainedColumns(Protocol):
    """The facts about columns that constraints need; a ``Dataset`` has them."""

    feature_names: list[str] | None
    feature_weights: npt.NDArray[np.float32] | None

    @property
    def n_features(self) -> int: ...


@dataclass(frozen=True)
class ForcedSplit:
    """A split at the top of every tree: values up to ``threshold``, and missing ones, go left.

    Attributes
    ----------
    parent : int
        Index of the forced split above; -1 for the root's.
    side : int
        Child of the parent's: 0 left, 1 right.
    """

    feature: int
    threshold: float
    parent: int
    side: int


@dataclass(frozen=True)
class Constraints:
    """Checked constraints; an attribute without a constraint is None or empty.

    Attributes
    ----------
    monotone : uint32 array, shape (n_features,), or None
        ``RISING``, ``FALLING`` or 0 for every feature.
    interactions : tuple of tuple of int
        Groups of features that may split along the same path from root to leaf.
    feature_weights : float32 array, shape (n_features,), or None
        Sampling weight of each feature.
    forced : tuple of ForcedSplit
        Splits at the top of every tree, breadth first.
    """

    monotone: npt.NDArray[np.uint32] | None = None
    interactions: tuple[tuple[int, ...], ...] = ()
    feature_weights: npt.NDArray[np.float32] | None = None
    forced: tuple[ForcedSplit, ...] = ()


def limits_of(params: Parameters, data: ConstrainedColumns) -> Constraints:
    """Parse and check the constraints of a training.

    Raises
    ------
    ParameterError
        If a constraint names an unknown column or cannot be parsed.
    """
    sampled = params.samples_columns and data.feature_weights is not None
    return Constraints(
        _monotone(params.monotone_constraints, data),
        _interactions(params.interaction_constraints, data),
        data.feature_weights if sampled else None,
        _forced(params.forced_splits, data),
    )


def _parsed(name: str, text: str, expected: str) -> Any:
    """Parse a constraint's text; XGBoost's ``(1,0,-1)`` is accepted too."""
    plain = text.strip()
    if plain.startswith("(") and plain.endswith(")"):
        inner = plain[1:-1].strip().rstrip(",")
        plain = f"[{inner}]"
    try:
        return json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise ParameterError(
            f"{name}={show(text)}: expected {expected}; correct the text"
        ) from error


def _monotone(text: str, data: ConstrainedColumns) -> npt.NDArray[np.uint32] | None:
    name, expected = "monotone_constraints", "1, 0 or -1 for every column, or a dict of some"
    if not text:
        return None
    given = _parsed(name, text, expected)
    if isinstance(given, Mapping):
        signs = {_column(name, column, data): sign for column, sign in given.items()}
    else:
        listed = list(given) if isinstance(given, list) else [given]
        if len(listed) > data.n_features:
            raise ParameterError(
                f"{name} has {len(listed)} entries: expected {data.n_features} at most, the "
                "columns of X; leave some out"
            )
        signs = dict(enumerate(listed))
    codes = np.zeros(data.n_features, np.uint32)
    for column, sign in signs.items():
        if isinstance(sign, bool) or sign not in tuple(_CODES):
            raise ParameterError(f"{name} holds {show(sign)}: expected {expected}; correct it")
        codes[column] = _CODES[sign]
    return codes if codes.any() else None


def _interactions(text: str, data: ConstrainedColumns) -> tuple[tuple[int, ...], ...]:
    name, expected = "interaction_constraints", "lists of columns, such as [[0, 1], [2, 3]]"
    if not text:
        return ()
    groups = _parsed(name, text, expected)
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        raise ParameterError(f"{name}={show(text)}: expected {expected}; give a list of lists")
    return tuple(_columns(name, group, data) for group in groups if group)


def _forced(text: str, data: ConstrainedColumns) -> tuple[ForcedSplit, ...]:
    """Return the forced splits breadth first; those below one come behind it."""
    if not text:
        return ()
    name, expected = "forced_splits", "a dict of feature, threshold, left and right"
    found: list[ForcedSplit] = []
    open_splits = [(_parsed(name, text, expected), -1, 0)]
    for given, parent, side in open_splits:  # grows meanwhile
        if not isinstance(given, Mapping) or not {"feature", "threshold"} <= given.keys():
            raise ParameterError(
                f"{name} holds {show(given)}: expected {expected}; give both of the first two"
            )
        threshold = given["threshold"]
        is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
        if not (is_number and abs(threshold) <= sys.float_info.max):
            raise ParameterError(
                f"{name} holds threshold={show(threshold)}: expected a number; correct it"
            )
        feature = _column(name, given["feature"], data)
        children = [given.get(child) or None for child in ("left", "right")]
        open_splits += [(c, len(found), side) for side, c in enumerate(children) if c is not None]
        found.append(ForcedSplit(feature, float(threshold), parent, side))
        if len(found) > MOST_FORCED:
            raise ParameterError(
                f"{name} has more than {MOST_FORCED} splits: expected {MOST_FORCED} at most; "
                "leave some out"
            )
    return tuple(found)


def _columns(name: str, group: Iterable[Any], data: ConstrainedColumns) -> tuple[int, ...]:
    return tuple(sorted({_column(name, column, data) for column in group}))


def _column(name: str, column: Any, data: ConstrainedColumns) -> int:
    """Return the index of a column, given by name or number."""
    names = data.feature_names
    if names is not None and column in names:
        return names.index(column)
    if names is None and isinstance(column, str):  # names are f0, f1, ..., perhaps millions
        numbered = _NUMBERED.fullmatch(column)
        if numbered is not None and int(numbered[1]) < data.n_features:
            return int(numbered[1])
    is_number = isinstance(column, int) and not isinstance(column, bool)
    if is_number and 0 <= column < data.n_features:
        return int(column)
    if isinstance(column, str) and column.isdecimal() and int(column) < data.n_features:
        return int(column)
    first = [f"f{i}" for i in range(min(6, data.n_features))] if names is None else names[:6]
    known = ", ".join(map(repr, first[:5])) + (", ..." if len(first) > 5 else "")
    raise ParameterError(
        f"{name} names the column {show(column)}: expected one of {known}, or 0.."
        f"{data.n_features - 1}; correct it"
    )


def facts_of_categories(
    params: Parameters, data: Dataset, limits: Constraints
) -> tuple[CategoryFacts, ...]:
    """Return the categorical columns of a training, ascending."""
    names = data.feature_names
    own = offered(params, data)
    forced = {split.feature for split in limits.forced}
    return tuple(
        CategoryFacts(
            column,
            "" if names is None else names[column],
            levels.n_levels,
            own[column],
            monotone=limits.monotone is not None and bool(limits.monotone[column]),
            forced=column in forced,
        )
        for column, levels in sorted(data.categories.items())
    )
