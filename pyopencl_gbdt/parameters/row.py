"""`ParameterRow`, one entry of the parameter table: type, default, bounds and meaning."""

from __future__ import annotations

import difflib
import json
import math
import numbers
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

from pyopencl_gbdt.errors import GBDTError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.foreign import MEANT, VALUE_ANSWERS


def device_text(value: object, name: str) -> object:
    """Return several devices as ``"gpu:0,gpu:1"`` or ``"gpu:0=3,cpu=1"``; else the value.

    Raises
    ------
    ParameterError
        If a list or a mapping holds something else.
    """
    if isinstance(value, Mapping):
        names, weights = list(value), list(value.values())
    elif isinstance(value, (list, tuple)):
        names, weights = list(value), []
    else:
        return value
    good = [isinstance(n, str) and bool(n.strip()) and not set(n) & set(",=") for n in names]
    if not names or not all(good):
        raise ParameterError(
            f"{name}={show(value)}: expected names of devices, such as ['gpu:0', 'gpu:1']; give "
            "at least one"
        )
    if any(isinstance(w, bool) or not isinstance(w, Real) or not float(w) > 0 for w in weights):
        raise ParameterError(
            f"{name}={show(value)}: expected a number above 0 for each device, which says how many "
            "rows it gets; give {'gpu:0': 3, 'cpu': 1}, say"
        )
    if not weights:
        return ",".join(names)
    return ",".join(f"{n}={float(w)!r}" for n, w in zip(names, weights, strict=True))


FLOAT32_MAX = float(np.finfo(np.float32).max)
"""Kernels take parameters as float32; a larger number would become infinite."""


#: A decimal number. The number of digits is limited, since Python parses thousands slowly.
_DECIMAL = re.compile(r"[-+]?([0-9]{1,400}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][-+]?[0-9]{1,5})?")
_WHOLE = re.compile(r"[-+]?[0-9]+")

#: Types of a checked parameter.
Value = int | float | str | tuple[int | float, ...] | None


_BYTES = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt])(i?))?b?")


def meant(name: str, value: object) -> object:
    """Return this library's name of a parameter's value; any other value unchanged."""
    return MEANT.get((name, value), value) if isinstance(value, str) else value


def answer_to(name: str, value: object) -> str:
    """Return what to do instead of a value that has no name here, or an empty string."""
    known = VALUE_ANSWERS.get(name, {})
    if not isinstance(value, str):
        return ""
    first, colon, _ = value.partition(":")
    return known.get(value) or known.get(first + colon, "")


@dataclass(frozen=True)
class ParameterRow:
    """One parameter: accepted values, default and meaning.

    Attributes
    ----------
    name, aliases : str, tuple of str
        The attribute of `Parameters`, and XGBoost's other names for it.
    kind : type
        ``int``, ``float``, ``str`` or ``bool``.
    default : int, float, str or None
        The value of a parameter that is absent or None.
    low, high : float or None
        Bounds of a number, inclusive unless `low_open` or `high_open`; None is unbounded, but
        a float must fit into float32.
    low_open, high_open : bool
        Whether the number must be above `low`, or below `high`.
    allowed : tuple of str
        The allowed strings; empty allows any string but "".
    unlimited : bool
        Whether 0 is no limit, and -1 is another way to say so, as in LightGBM.
    one_of : tuple of int
        The allowed numbers; empty allows any within the bounds.
    structured : bool
        Whether a list, tuple or dict is allowed too; it is stored as JSON, and "" means none.
    several : bool
        Whether a list of numbers is allowed too, also as JSON; it is stored as a tuple, but a
        list of one number as that number.
    doc : str
        One sentence that tells users the meaning.
    """

    name: str
    kind: type[int] | type[float] | type[str] | type[bool]
    default: int | float | str | None
    doc: str
    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False
    allowed: tuple[str, ...] = ()
    unlimited: bool = False
    one_of: tuple[int, ...] = ()
    structured: bool = False
    several: bool = False
    in_bytes: bool = False
    paths: bool = False
    aliases: tuple[str, ...] = ()

    def convert(self, value: object, spelling: str | None = None) -> Value:
        """Convert `value` to `kind`, or raise `ParameterError` with the user's ``spelling``."""
        if value is None or value is self.default:
            return self.default
        name = spelling or self.name
        if answer := answer_to(self.name, value):
            raise ParameterError(f"{name}={show(value)}: {answer}")
        value = meant(self.name, value)
        if self.name == "device":
            value = device_text(value, name)
        if self.structured or self.paths:
            return (_as_paths if self.paths else _as_json)(value, name)
        if isinstance(value, np.ndarray):
            value = list(value) if value.ndim else value[()]
        if self.in_bytes and isinstance(value, str):
            value = _in_bytes(value, name)
        if self.several and isinstance(value, str) and value.strip().startswith("["):
            value = _listed(value)
        if self.several and isinstance(value, (list, tuple)) and value:
            numbers = tuple(self._checked(number, name) for number in value)
            return numbers if len(numbers) > 1 else numbers[0]
        if self.kind is str:
            return self._string(value, name)
        if self.kind is bool:
            return self._switch(value, name)
        return self._checked(value, name)

    def _checked(self, value: object, name: str) -> int | float:
        """Return `value` as a number within the bounds, or raise."""
        number = _number(value, name, self, integral=self.kind is int)
        if self.unlimited and number == -1:
            return 0
        below = self.low is not None and (
            number < self.low or (self.low_open and number == self.low)
        )
        above = self.high is not None and (
            number > self.high or (self.high_open and np.float32(number) >= self.high)
        )
        if below or above:
            move = "raise" if below else "lower"
            raise ParameterError(f"{name}={show(number)}: expected {self.expected}; {move} {name}")
        if self.one_of and number not in self.one_of:
            near = min(self.one_of, key=lambda allowed: abs(allowed - number))
            raise ParameterError(f"{name}={number!r}: expected {self.expected}; try {near}")
        return number

    @property
    def expected(self) -> str:
        """What is allowed, as worded in error messages."""
        if self.kind is bool:
            return "True or False"
        if self.kind is str:
            choices = " or ".join(map(repr, self.allowed))
            other = "lists or dicts of columns" if self.structured else "a string that is not empty"
            return choices or ("a folder, or a list of folders" if self.paths else other)
        return self._bounds()

    def _bounds(self) -> str:
        noun = "an integer" if self.kind is int else "a finite number"
        if self.one_of:
            return f"one of {', '.join(map(str, self.one_of))}"
        if self.low is None:
            return noun
        if self.high is None:
            return f"{noun} {'>' if self.low_open else '>='} {self.low}"
        if self.low_open or self.high_open:
            signs = ["<" if is_open else "<=" for is_open in (self.low_open, self.high_open)]
            return f"a number, {self.low} {signs[0]} number {signs[1]} {self.high}"
        return f"{self.low}..{self.high}{', or -1 for no limit' if self.unlimited else ''}"

    def _string(self, value: object, name: str) -> str:
        if isinstance(value, str) and value and (not self.allowed or value in self.allowed):
            return str(value)
        known = self.allowed or (str(self.default),)
        near = difflib.get_close_matches(str(value), known, n=1)
        move = f"did you mean {near[0]!r}?" if near else f"leave it out for {self.default!r}"
        raise ParameterError(f"{name}={show(value)}: expected {self.expected}; {move}")

    def _switch(self, value: object, name: str) -> bool:
        text = str(value).lower() if isinstance(value, str) else value
        for switch, words in ((True, (1, "1", "true")), (False, (0, "0", "false"))):
            if isinstance(text, (bool, np.bool_, int, float, np.number, str)) and text in words:
                return switch
        raise ParameterError(f"{name}={show(value)}: expected {self.expected}; give one of them")


def _as_json(value: object, name: str) -> str:
    """Return a list, tuple or dict as JSON, "" if it is empty; return a string unchanged."""
    if isinstance(value, str):
        return "" if value.strip() in ("", "()", "[]") else value
    try:
        if isinstance(value, (set, frozenset)):
            raise TypeError("a set has no order")
        text = json.dumps(value, default=_plain)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{name}={show(value)}: expected lists or dicts of columns; give these"
        ) from error
    return "" if text in ("[]", "{}") else text


def _as_paths(value: object, name: str) -> str:
    """Return a path, or a list of paths, as a JSON list of strings."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _listed(value)
    several = list(value) if isinstance(value, (list, tuple)) else [value]
    paths = [os.fspath(one) if isinstance(one, (str, os.PathLike)) else None for one in several]
    if not paths or not all(isinstance(one, str) and one and "\0" not in one for one in paths):
        raise ParameterError(
            f"{name}={show(value)}: expected the path of a folder, or a list of such paths; give "
            "existing folders"
        )
    return json.dumps(paths)


def _plain(value: object) -> object:
    """Convert arrays and sets to lists, NumPy's numbers to Python's; for ``json.dumps``."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(type(value).__name__)


def _listed(text: str) -> object:
    """Parse a JSON list; return any other text unchanged."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _spelled_out(text: str) -> object:
    """Parse a decimal number; return any other text unchanged."""
    if not _DECIMAL.fullmatch(text.strip()):
        return text
    return int(text) if _WHOLE.fullmatch(text.strip()) else float(text)


def _number(value: object, name: str, row: ParameterRow, *, integral: bool) -> int | float:
    """Return a real number as int or float; refuse bool, NaN, infinity and other strings."""
    if isinstance(value, str):
        value = _spelled_out(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise ParameterError(f"{name}={show(value)}: expected {row.expected}; give a number")
    if integral and isinstance(value, numbers.Integral):
        return int(value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not abs(number) <= FLOAT32_MAX:  # also true for NaN
        raise ParameterError(
            f"{name}={show(value)}: expected {row.expected}; give a number that float32 can hold"
        )
    if not integral:
        return number
    if number != math.floor(number):
        raise ParameterError(f"{name}={show(value)}: expected {row.expected}; give a whole number")
    return int(number)


def same(value: object, neutral: object) -> bool:
    """Tell whether a value is the neutral one: NaN equals NaN, and empty containers are equal."""
    if isinstance(neutral, tuple):
        size = value.size if isinstance(value, np.ndarray) else None
        return size == 0 or (isinstance(value, (list, tuple, dict)) and len(value) == 0)
    if isinstance(neutral, str) or isinstance(value, str):
        return isinstance(value, str) and value == neutral
    if not isinstance(value, (numbers.Real, np.bool_)) or not isinstance(neutral, numbers.Real):
        return False
    if isinstance(value, numbers.Integral):
        return int(value) == neutral
    return float(value) == float(neutral) or (math.isnan(value) and math.isnan(neutral))


def _in_bytes(text: str, name: str) -> int:
    """Return the bytes that a text such as ``16GB`` means."""
    found = _BYTES.fullmatch(text.strip().lower())
    if found is None:
        raise ParameterError(
            f"{name}={text!r}: expected bytes, as a number or with KB, MB, GB or TB, KiB, MiB, GiB "
            f"or TiB; write for example {name}='16GB'"
        )
    number, unit, binary = found.groups()
    power = " kmgt".index(unit or " ")
    return int(float(number) * (1024 if binary else 1000) ** power)


Facts = TypeVar("Facts")


@dataclass(frozen=True)
class Refusal(Generic[Facts]):
    """A combination that is refused.

    Attributes
    ----------
    name : str
        What is refused, for readers of the table; unique.
    when : callable
        Tells of facts, such as ``FitFacts``, whether they are refused.
    message : str
        What was given and what is expected; ``{names}`` in it are those of parameters and facts.
    way_out : str
        What to do instead.
    error : type
        The class of the error.
    about : str
        A fact, such as ``parameters.linear_tree``: the row is about trainings of which it is true.
        ``when`` is not called for others. Empty: the row is about all.
    """

    name: str
    when: Callable[[Facts], bool]
    message: str
    way_out: str
    error: type[GBDTError] = ParameterError
    about: str = ""

    def refuses(self, facts: Facts) -> bool:
        """Tell whether the row refuses a training."""
        is_about = not self.about or attrgetter(self.about)(facts)
        return bool(is_about) and self.when(facts)

    def text(self, facts: Facts) -> str:
        """Return the error's text for a training."""
        return f"{self.message.format_map(_Words(facts))}; {self.way_out}"


class _Words:
    """Parameters and facts by their names, for ``str.format_map``."""

    def __init__(self, facts: Any) -> None:
        self._facts = facts

    def __getitem__(self, name: str) -> Any:
        values = getattr(self._facts, "parameters", None)
        return getattr(values if hasattr(values, name) else self._facts, name)


def about(fact: str, *rows: Refusal[Facts]) -> list[Refusal[Facts]]:
    """Return rows that are about trainings of which a fact is true."""
    return [replace(row, about=fact) for row in rows]


def refusal_of(facts: Facts, rows: Sequence[Refusal[Facts]]) -> Refusal[Facts] | None:
    """Return the first row that refuses a training; None if no row does."""
    return next((row for row in rows if row.refuses(facts)), None)


def refuse(facts: Facts, rows: Sequence[Refusal[Facts]]) -> None:
    """Raise the error of the first row that refuses a training.

    Raises
    ------
    ParameterError, DataError
        With the row's name as ``refusal``.
    """
    row = refusal_of(facts, rows)
    if row is not None:
        error = row.error(row.text(facts))
        error.refusal = row.name
        raise error
