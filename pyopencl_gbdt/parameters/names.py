"""Parameter names: aliases, XGBoost's names that have no effect, and suggestions."""

from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.foreign import (
    ALIASES,
    ANSWERS,
    CONVERTED,
    ONE_MORE,
    OWN_NAMES,
    QUIET,
    SMALL,
    SWITCHED,
)
from pyopencl_gbdt.parameters.row import ParameterRow, same
from pyopencl_gbdt.parameters.table import IGNORED, IN_COMPAT, TABLE, XGBOOST_ONLY

#: The table's entry for every spelling of every parameter; other libraries' names too.
ROWS: dict[str, ParameterRow] = {
    spelling: row
    for row in TABLE
    for spelling in (row.name, *row.aliases, *ALIASES.get(row.name, ()))
}
_WHOLE = re.compile(r"[-+]?[0-9]{1,9}")
#: How many names an error message suggests.
_SUGGESTIONS = 3
#: The least share of letters in common of a name that is suggested: 'eval_metric' for 'metrix'.
_NEAR = 0.5
#: The most names that an error message lists, if none is similar.
_LISTED = 16
#: What no table of parameters has, but ``train`` takes.
_BESIDES = ("eval_metric", "n_jobs")
#: What is read by this name alone.
_READ = ("objective", "eval_metric", "early_stopping_rounds", "n_jobs", "device")
_SWITCH = ParameterRow("silent", bool, False, "")


def unknown(
    name: object,
    known: Iterable[str],
    what: str = "parameter",
    where: str = "docs/parameters.md lists those that are",
) -> ParameterError:
    """Return the error for an unknown name, with the most similar known names if any is similar.

    Parameters
    ----------
    name : object
        The unknown name.
    known : iterable of str
        The valid names.
    what : str, default "parameter"
        What the name stands for, for the message.
    where : str
        Where many names can be looked up, for the message if none is similar; few are listed.
    """
    names = list(dict.fromkeys(known))
    error = f"unknown {what} {show(name)}"
    near = difflib.get_close_matches(str(name).lower(), names, n=_SUGGESTIONS, cutoff=_NEAR)
    if not near:
        return ParameterError(
            f"{error}: expected one of {', '.join(map(repr, names))}; give one of them"
            if len(names) <= _LISTED
            else f"{error}: none is named like it; {where}"
        )
    *others, last = [f"{one!r}" for one in near]
    choice = f"{', '.join(others)} or {last}" if others else last
    return ParameterError(f"{error}; did you mean {choice}?")


def check_n_jobs(value: object, name: str = "n_jobs") -> None:
    """Raise ``ParameterError`` unless this is a number of threads, which has no effect, or None."""
    whole = isinstance(value, (numbers.Integral, str)) and not isinstance(value, bool)
    if value is not None and not (whole and _WHOLE.fullmatch(str(value).strip())):
        raise ParameterError(
            f"{name}={show(value)}: expected a number of threads, -1 for all, or None; it has no "
            "effect, as the device decides how much runs in parallel, so leave it out"
        )


def check_foreign(name: object, value: object) -> None:
    """Accept parameters that have no effect; raise ``ParameterError`` for others not in `TABLE`."""
    if not isinstance(name, str) or name not in (*IGNORED, *XGBOOST_ONLY, *ANSWERS):
        raise unknown(name, [*ROWS, *_BESIDES])
    if name in ANSWERS:
        check_answered(name, value)
    if name in IGNORED:
        check_n_jobs(value, name)
    if name not in XGBOOST_ONLY or value is None:
        return
    if not any(same(value, neutral) for neutral in XGBOOST_ONLY[name]):
        move = ", or train by pyopencl_gbdt.compat.xgboost" if name in IN_COMPAT else ""
        raise ParameterError(
            f"{name}={show(value)}: known from XGBoost, not supported yet; leave it out{move}"
        )


def check_answered(name: str, value: object) -> None:
    """Raise what a parameter of `ANSWERS` gets, unless its value has no effect."""
    answer = ANSWERS[name]
    plain = {"true": True, "false": False}.get(str(value).lower(), value)
    if value is not None and not any(same(plain, harmless) for harmless in answer.harmless):
        raise ParameterError(f"{name}={show(value)}: {answer.text}")


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
        if OWN_NAMES.get(name) == "eval_metric":
            name = "eval_metric"
        if name == "eval_metric":
            metrics += value if isinstance(value, (list, tuple)) else [value]
            value = metrics
        found[name] = value
    return _renamed(found)


def renamed(name: Any, value: Any) -> tuple[Any, Any]:
    """Return this library's name and value for a parameter whose values others write otherwise."""
    if not isinstance(name, str) or name not in CONVERTED:
        return name, value
    own, how = CONVERTED[name]
    return own, None if value is None else _CONVERSIONS[how](name, value)


def _plus_one(name: str, value: Any) -> int:
    return int(ROWS[CONVERTED[name][0]].convert(value, name)) + 1  # type: ignore[arg-type]


def _verbosity(name: str, value: Any) -> int:
    return 0 if _SWITCH.convert(value, name) else 1


def _quiet(name: str, value: Any) -> int:
    if str(value).lower() in ("false", "0", "-1"):
        return 0
    raise ParameterError(
        f"{name}={show(value)}: expected 0; give verbosity= for messages, or verbose= to fit or "
        "train for lines of metrics"
    )


def _in_small_letters(name: str, value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


_CONVERSIONS: dict[str, Callable[[str, Any], Any]] = {
    ONE_MORE: _plus_one,
    SWITCHED: _verbosity,
    QUIET: _quiet,
    SMALL: _in_small_letters,
}


def given_instead(params: Any, **values: Any) -> dict[Any, Any]:
    """Return parameters as a dict with other values of some, however these were spelled.

    A value of None leaves what ``params`` says.
    """
    found = {name: value for name, value in values.items() if value is not None}
    own = {name for name, row in ROWS.items() if row.name in found}
    return {**{n: v for n, v in as_mapping(params).items() if n not in own}, **found}


def _renamed(params: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return parameters by the names that ``train`` reads; spellings of a table's entry stay."""
    found: dict[Any, Any] = {}
    first: dict[Any, Any] = {}
    for given, own_value in params.items():
        name, value = renamed(given, own_value)
        own = OWN_NAMES.get(name, name) if isinstance(name, str) else name
        name = own if own in _READ else name
        if name in found and value is not None and found[name] is not None:
            raise ParameterError(
                f"{first[name]} and {given} are two spellings of one parameter; give one of them"
            )
        if found.get(name) is None:
            found[name], first[name] = value, given
    return found
