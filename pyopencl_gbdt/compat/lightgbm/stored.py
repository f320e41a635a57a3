"""Parameters in LightGBM's text of a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyopencl_gbdt.compat.lightgbm.names import by_main_names

_BEGIN, _END = "\nparameters:\n", "\nend of parameters\n"
_LINE = re.compile(r"\[([a-z_0-9]+): (.*)\]")
_RATE, _TREES_END = re.compile(r"\nshrinkage=(.*)\n"), "\nend of trees"
_AVERAGES, _INFOS = "\naverage_output\n", "\nfeature_infos="
#: Written by the format itself.
_OWN = ("categorical_feature",)


def with_parameters(text: str, params: Mapping[str, Any]) -> str:
    """Return a model's text whose list of parameters has those of a training."""
    plain = {name: one for name, one in params.items() if not callable(one)}
    lines = [
        f"[{name}: {_written(value)}]"
        for name, value in by_main_names(plain).items()
        if name not in _OWN and value is not None
    ]
    head, begin, tail = text.partition(_BEGIN)
    return head + begin + "".join(f"{line}\n" for line in lines) + tail if begin else text


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return ",".join(map(_written, value))
    return str(value).replace("\n", " ")


def stored_parameters(text: str) -> dict[str, Any]:
    """Return the parameters that a model's text lists, numbers as numbers."""
    listed = text.partition(_BEGIN)[2].partition(_END)[0]
    found = (_LINE.fullmatch(line) for line in listed.splitlines())
    return {one[1]: _read(one[2]) for one in found if one and one[1] not in _OWN}


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def with_ranges(text: str, ranges: Sequence[str]) -> str:
    """Return a model's text whose columns have the ranges of the training rows.

    Parameters
    ----------
    text : str
    ranges : sequence of str
        Such as ``"[0:1]"`` or ``"none"``; ``""`` leaves what the text has. May be empty.
    """
    if not ranges:
        return text
    head, begin, tail = text.partition(_INFOS)
    line, end, tail = tail.partition("\n")
    both = zip(line.split(" "), ranges, strict=True)
    return head + begin + " ".join(own or written for written, own in both) + end + tail


def stored_rates(text: str, n_trees: int) -> list[float]:
    """Return the rates that a model's text tells of its trees; 1 where it tells none."""
    found = (_RATE.search(tree) for tree in text.partition(_TREES_END)[0].split("\nTree=")[1:])
    rates = [1.0 if one is None else float(one[1]) for one in found]
    return rates if len(rates) == n_trees else [1.0] * n_trees


def stored_infos(text: str) -> list[str]:
    """Return what a model's text tells of each column."""
    return text.partition(_INFOS)[2].partition("\n")[0].split(" ")


def with_average(text: str) -> str:
    """Return the text of a model whose predictions are means of its trees."""
    head, begin, tail = text.partition("\nfeature_names=")
    return head + _AVERAGES.rstrip("\n") + begin + tail


def without_average(text: str) -> tuple[str, bool]:
    """Return the text of a model that sums its trees, and whether it told to take means."""
    found = text.replace(_AVERAGES, "\n", 1)
    return found, found != text
