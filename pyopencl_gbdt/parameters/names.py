"""Parameter names: aliases, XGBoost's names that have no effect, and suggestions."""

from __future__ import annotations

import difflib
from collections.abc import ItemsView, Iterable, Iterator, Mapping
from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.row import ParameterRow, same
from pyopencl_gbdt.parameters.table import IGNORED, TABLE, XGBOOST_ONLY

#: The table's entry for every spelling of every parameter.
ROWS: dict[str, ParameterRow] = {
    spelling: row for row in TABLE for spelling in (row.name, *row.aliases)
}
#: How many names an error message suggests.
_SUGGESTIONS = 3


def unknown(name: object, known: Iterable[str], what: str = "parameter") -> ParameterError:
    """Return the error for an unknown name, with the most similar known names.

    Parameters
    ----------
    name : object
        The unknown name.
    known : iterable of str
        The valid names.
    what : str, default "parameter"
        What the name stands for, for the message.
    """
    near = difflib.get_close_matches(str(name).lower(), list(known), n=_SUGGESTIONS, cutoff=0.0)
    *others, last = [f"{one!r}" for one in near]
    choice = f"{', '.join(others)} or {last}" if others else last
    return ParameterError(f"unknown {what} {show(name)}; did you mean {choice}?")


def check_foreign(name: object, value: object) -> None:
    """Accept parameters that have no effect; raise ``ParameterError`` for others not in `TABLE`."""
    if not isinstance(name, str) or name not in (*IGNORED, *XGBOOST_ONLY):
        raise unknown(name, [*ROWS, *IGNORED, *XGBOOST_ONLY])
    if name in IGNORED or value is None:
        return
    if not any(same(value, neutral) for neutral in XGBOOST_ONLY[name]):
        raise ParameterError(
            f"{name}={show(value)}: known from XGBoost, not supported yet; leave it out"
        )


def as_mapping(params: Any) -> dict[Any, Any]:
    """Return the parameters of ``train`` as a new dict.

    Parameters
    ----------
    params : mapping, or iterable of (name, value)
        If a name occurs in several pairs, the last counts, as in XGBoost; but of several
        ``eval_metric`` pairs all count.

    Raises
    ------
    ParameterError
        If ``params`` is neither.
    """
    if isinstance(params, Mapping):
        return _renamed(params)
    pairs = list(params) if isinstance(params, (list, tuple, ItemsView, Iterator)) else [params]
    found: dict[Any, Any] = {}
    metrics: list[Any] = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
            shown = type(params).__name__ if len(pairs) == 1 else show(pair)
            raise ParameterError(
                f"params: {shown}: expected a dict of names to values, or a list of such pairs; "
                "give one"
            )
        name, value = pair
        if name == "eval_metric":
            metrics += value if isinstance(value, (list, tuple)) else [value]
            value = metrics
        found[name] = value
    return _renamed(found)


def renamed(name: Any, value: Any) -> tuple[Any, Any]:
    """Return this library's name and value for a parameter that CatBoost spells otherwise."""
    if name == "boosting_type" and isinstance(value, str) and value in ("Plain", "Ordered"):
        return name, value.lower()
    if name != "one_hot_max_size" or value is None:
        return name, value
    row = ROWS["max_cat_to_onehot"]
    return row.name, int(row.convert(value, name)) + 1  # type: ignore[arg-type]


def _renamed(params: Mapping[Any, Any]) -> dict[Any, Any]:
    found = dict(renamed(name, value) for name, value in params.items())
    if len(found) < len(params):
        raise ParameterError(
            "one_hot_max_size and max_cat_to_onehot are two spellings of one parameter (one less, "
            "in CatBoost); give one of them"
        )
    return found
