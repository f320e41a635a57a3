"""Column names: which are allowed, and whether new rows have the columns of training."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import plural, show

#: Characters that XGBoost's JSON reader changes or refuses, or that UTF-8 cannot represent.
UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
#: How many names scikit-learn lists in a message.
_LISTED = 5
#: How many names a ``repr`` shows.
_SHOWN = 3


def check_feature_names(names: Any, n_features: int, name: str = "feature_names") -> list[str]:
    """Return column names as a list of str.

    Parameters
    ----------
    names : sequence of str or int
        A list, tuple, array, Index or Series; integers become their digits.

    Raises
    ------
    DataError
        There are too few or too many names, two are equal, or a model file cannot hold one. Names
        with ``[``, ``]`` or ``<`` are allowed: XGBoost reads such files, although its ``DMatrix``
        refuses such names.
    """
    if isinstance(names, (str, bytes, Mapping, Set)):
        listed = None
    else:
        try:
            listed = list(names)
        except TypeError:
            listed = None
    if listed is None:
        raise DataError(
            f"{name}={show(names)}: expected a list of {n_features} names; give one for every "
            "column"
        )
    if len(listed) != n_features:
        raise DataError(
            f"{name} has {plural(len(listed), 'name')}, X has {plural(n_features, 'column')}: "
            "expected a name for every column; give as many"
        )
    found = [_text(one, index, name) for index, one in enumerate(listed)]
    first: dict[str, int] = {}
    for index, text in enumerate(found):
        if first.setdefault(text, index) != index:
            raise DataError(
                f"{name}[{first[text]}] and {name}[{index}] are both {text!r}: expected distinct "
                "names; rename one"
            )
    return found


def _text(given: Any, index: int, name: str) -> str:
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return str(int(given))
    if not isinstance(given, str):
        raise DataError(f"{name}[{index}]={show(given)}: expected a string; rename the column")
    if UNSAFE.search(given):
        raise DataError(
            f"{name}[{index}]={given!r}: expected a string without control characters and lone "
            "surrogates, which a model file cannot hold; rename the column"
        )
    return str(given)


def check_columns(
    names: Sequence[str] | None,
    expected: Sequence[str] | None,
    what: str = "X",
    like: str = "training",
) -> None:
    """Refuse columns that differ from those of training; without names on one side, any fit.

    ``names``, ``expected``: the columns of `what`, and the columns required.
    ``what``, ``like``: for the message: whose columns `names` are, and where `expected` comes from.

    Raises
    ------
    DataError
        Names the first column that differs.
    """
    if names is None:
        return
    if expected is None:
        if not _is_reordered(names):
            return
        expected = [str(number) for number in range(len(names))]
    numbered = list(names) == [str(number) for number in range(len(names))]
    if list(names) == list(expected) or (numbered and len(names) == len(expected)):
        return
    same = "give the same columns in the same order"
    for index, (one, other) in enumerate(zip(names, expected, strict=False)):
        if one != other:
            raise DataError(
                f"{what} has {one!r} as column {index}, counted from 0: expected {other!r}, as in "
                f"{like}; {same}"
            )
    shorter = min(len(names), len(expected))
    if len(names) < len(expected):
        found, wanted = "ends there", f"expected {expected[shorter]!r}"
    else:
        found, wanted = f"has {names[shorter]!r}", "expected no more columns"
    raise DataError(
        f"{what} {found} at column {shorter}, counted from 0: {wanted}, as in {like} "
        f"({plural(len(expected), 'column')}, not {len(names)}); {same}"
    )


def _is_reordered(names: Sequence[str]) -> bool:
    """Tell whether the names are the numbers 0, 1, 2, ... in another order."""
    numbers = [str(number) for number in range(len(names))]
    return list(names) != numbers and sorted(names) == sorted(numbers)


def scikit_learn_words(names: Sequence[str], expected: Sequence[str] | None) -> str:
    """Return the lines that scikit-learn's estimator checks expect in an error about columns."""
    if expected is None:
        expected = names
    unseen, gone = sorted({*names} - {*expected}), sorted({*expected} - {*names})
    lines = ["The feature names should match those that were passed during fit."]
    for title, listed in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", gone),
    ):
        if listed:
            more = ["- ..."] if len(listed) > _LISTED else []
            lines += [title, *(f"- {name}" for name in listed[:_LISTED]), *more]
    if not unseen and not gone:
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines) + "\n"


def shortened(names: Sequence[str]) -> str:
    """Format names for a ``repr``: the first few, then dots."""
    few = ", ".join(map(repr, names[:_SHOWN]))
    return few + (", ..." if len(names) > _SHOWN else "")
