"""Read an objective's parameters: XGBoost's from its JSON, this library's from an attribute."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

import numpy as np

from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.xgboost_links import LINKS, Link

_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{0,40})?([eE][-+]?[0-9]{1,9})?")
_NO_WORDS: Mapping[str, float] = {}
_HEX = re.compile(r"-?0x[01]\.[0-9a-f]{1,13}p[-+][0-9]{1,3}")


def read_objective_parameters(learner: Cursor, objective: str, key: str) -> dict[str, float | str]:
    """Return the parameters of a loss that differ from their defaults.

    Parameters
    ----------
    learner : Cursor
    objective : str
        One of ``LINKS``.
    key : str
        The attribute that holds this library's parameters.

    Returns
    -------
    dict of str to float or str
        Each number is a finite float32.

    Raises
    ------
    ModelFormatError
        If a value is not a finite float32, or the attribute holds an unknown parameter.
    """
    link = LINKS[objective]
    found: dict[str, float | str] = {}
    place = learner.member("objective")
    if link.group and place.has(link.group):
        group = place.member(link.group)
        for name in link.parameters:
            if group.has(name):
                found[name] = _value(group.member(name), link, name, decimal=True)
    if learner.has("attributes") and learner.member("attributes").has(key):
        place = learner.member("attributes").member(key)
        ours = Cursor(_object(place), place.place, place.source)
        for name in ours.fields():
            if name not in link.ours:
                place.fail(f"parameters out of {list(link.ours)} for {objective}")
            found[name] = _value(ours.member(name), link, name, decimal=False)
    return {k: v for k, v in found.items() if v != _default(link, k)}


def _default(link: Link, name: str) -> float | str:
    default = {**link.parameters, **link.ours}[name]
    return default if isinstance(default, str) else float(np.float32(default))


def _value(place: Cursor, link: Link, name: str, *, decimal: bool) -> float | str:
    if name in link.several and "," in place.text():
        return _numbers(place)
    if not isinstance(_default(link, name), str):
        return _number(place, decimal=decimal, words=link.words.get(name, _NO_WORDS))
    text, allowed = place.text(), link.choices.get(name)
    if allowed is not None and text not in allowed:
        place.fail(f"one of {list(allowed)}")
    return text


def _numbers(place: Cursor) -> str:
    """Return a list of numbers as a string in this library's format, rounded to float32."""
    text = place.text().strip()
    parts = text[1:-1].split(",") if text.startswith("[") and text.endswith("]") else [""]
    if not all(_NUMBER.fullmatch(part.strip()) for part in parts):
        place.fail("a list of numbers, such as '[1E-1,5E-1]'")
    with np.errstate(over="ignore"):
        numbers = np.array([float(part) for part in parts]).astype(np.float32)
    if not np.isfinite(numbers).all():
        place.fail("a list of finite numbers")
    return "[" + ",".join(f"{number:.9g}" for number in numbers) + "]"


def _object(place: Cursor) -> object:
    try:
        return json.loads(place.text())
    except (ValueError, RecursionError):
        place.fail("a JSON object of parameters, as we write it")


def _number(place: Cursor, *, decimal: bool, words: Mapping[str, float] = _NO_WORDS) -> float:
    text, value = place.text().strip(), math.nan
    if text.startswith("[") and text.endswith("]"):  # a number per output
        text = text[1:-1].strip()
    if text in words or len(words) > 1:
        value = words.get(text, math.nan)
    elif decimal and _NUMBER.fullmatch(text):
        value = float(text)
    elif not decimal and _HEX.fullmatch(text):
        value = float.fromhex(text)
    with np.errstate(over="ignore"):
        rounded = float(np.float32(value))
    if not math.isfinite(rounded):
        place.fail("a string that holds one finite number")
    return rounded
