"""Training parameters: their names, and their values, checked before training starts.

A parameter may be given by an alias, by another library's name, or by a name of XGBoost's that has
no effect; an unknown name gets suggestions. `Parameters` has one typed attribute for each entry of
`table.TABLE`, in the same order; a test compares the two.
"""

from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters import foreign
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.refused_parameters import OF_PARAMETERS
from pyopencl_gbdt.parameters.row import ParameterRow, refuse, same
from pyopencl_gbdt.parameters.table import (
    DROPPING,
    IGNORED,
    IN_COMPAT,
    POISSON_DELTA_STEP,
    TABLE,
    XGBOOST_ONLY,
)
from pyopencl_gbdt.parameters.values import ParameterValues

#: The table's entry for every spelling of every parameter; other libraries' names too.
ROWS: dict[str, ParameterRow] = {
    spelling: row
    for row in TABLE
    for spelling in (row.name, *row.aliases, *foreign.ALIASES.get(row.name, ()))
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
        Where the names can be looked up. The message tells it if no name is similar and there
        are too many names to list.
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
    if not isinstance(name, str) or name not in (*IGNORED, *XGBOOST_ONLY, *foreign.ANSWERS):
        raise unknown(name, [*ROWS, *_BESIDES])
    if name in foreign.ANSWERS:
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
    answer = foreign.ANSWERS[name]
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
        if foreign.OWN_NAMES.get(name) == "eval_metric":
            name = "eval_metric"
        if name == "eval_metric":
            metrics += value if isinstance(value, (list, tuple)) else [value]
            value = metrics
        found[name] = value
    return _renamed(found)


def renamed(name: Any, value: Any) -> tuple[Any, Any]:
    """Return this library's name and value for a parameter whose values others write otherwise."""
    if not isinstance(name, str) or name not in foreign.CONVERTED:
        return name, value
    own, how = foreign.CONVERTED[name]
    return own, None if value is None else _CONVERSIONS[how](name, value)


def _plus_one(name: str, value: Any) -> int:
    return int(ROWS[foreign.CONVERTED[name][0]].convert(value, name)) + 1  # type: ignore[arg-type]


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
    foreign.ONE_MORE: _plus_one,
    foreign.SWITCHED: _verbosity,
    foreign.QUIET: _quiet,
    foreign.SMALL: _in_small_letters,
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
        own = foreign.OWN_NAMES.get(name, name) if isinstance(name, str) else name
        name = own if own in _READ else name
        if name in found and value is not None and found[name] is not None:
            raise ParameterError(
                f"{first[name]} and {given} are two spellings of one parameter; give one of them"
            )
        if found.get(name) is None:
            found[name], first[name] = value, given
    return found


@dataclass(frozen=True)
class Parameters(ParameterValues):
    """Checked training parameters; `TABLE` has the meaning, default and bounds of each.

    Use `from_dict` to build it. Direct construction and `dataclasses.replace` check values too.
    """

    def __post_init__(self) -> None:
        """Convert and check every attribute, then refuse combinations of attributes."""
        for field in fields(self):
            checked = ROWS[field.name].convert(getattr(self, field.name))
            object.__setattr__(self, field.name, checked)
        refuse(FitFacts(self), OF_PARAMETERS)

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object] | Sequence[tuple[str, object]]) -> Parameters:
        """Check a user's parameters and fill in defaults.

        Parameters
        ----------
        mapping : mapping of str to object, or sequence of (str, object)
            XGBoost's names or aliases. None means "not given", as in XGBoost. NumPy scalars, an int
            for a float, 6.0 for an int and numbers as strings are accepted. If a name occurs in
            several pairs, the last counts.

        Returns
        -------
        checked : Parameters
            Every attribute is a plain int, float, str, tuple of float, or None.

        Raises
        ------
        ParameterError
            A name is unknown or given in two spellings; a value has the wrong type or is out of
            range; an unsupported parameter of XGBoost has a value that would have an effect.
        """
        values: dict[str, Any] = {row.name: row.default for row in TABLE}
        spelled: dict[str, str] = {}
        for name, value in as_mapping(mapping).items():
            row = ROWS.get(name) if isinstance(name, str) else None
            if row is None:
                check_foreign(name, value)
            elif value is not None:
                if row.name in spelled:
                    raise ParameterError(
                        f"{spelled[row.name]} and {name} are two spellings of one parameter; "
                        f"give one of them"
                    )
                spelled[row.name] = name
                values[row.name] = row.convert(value, name)
        if values["objective"] == "count:poisson" and "max_delta_step" not in spelled:
            values["max_delta_step"] = POISSON_DELTA_STEP
        if values["path_smooth"] > 0 and "min_samples_leaf" not in spelled:
            values["min_samples_leaf"] = 2
        return cls(**values)

    def with_least_hessian(self, *, unit_hessians: bool) -> Parameters:
        """Return parameters in which the least Hessian says ``min_samples_leaf``, if it can.

        It can where each row that counts has a Hessian of 1: a child's is then the number of its
        rows. Otherwise, and for ``path_smooth``, kernels count rows, see
        ``cl_kernels/counted_children.h``.
        """
        if not (self.limits_rows and unit_hessians) or self.weighs_samples or self.smooths:
            return self
        rows = np.float32(self.min_samples_leaf)
        if float(rows) < self.min_samples_leaf:  # float32 has no number between
            rows = np.nextafter(rows, np.float32(np.inf))
        least = max(self.min_child_weight, float(rows))
        return replace(self, min_child_weight=least, min_samples_leaf=0)

    @property
    def unused_dropping(self) -> dict[str, Any]:
        """The parameters of dropped trees that were given to a booster that drops none."""
        names = () if self.booster == "dart" else DROPPING
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value != ROWS[name].default}
