"""Parameters in LightGBM's text of a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pyopencl_gbdt.compat.lightgbm.names import by_main_names

_BEGIN, _END = "\nparameters:\n", "\nend of parameters\n"
_LINE = re.compile(r"\[([a-z_0-9]+): (.*)\]")
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
