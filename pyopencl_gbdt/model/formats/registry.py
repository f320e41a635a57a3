"""The formats of model files, and the choice of one by a file's name or first bytes."""

from __future__ import annotations

import os
from pathlib import PurePath

from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.file_formats import FOREIGN_ENDINGS, check_beginning
from pyopencl_gbdt.model.formats.base import HEAD_SIZE, Format
from pyopencl_gbdt.model.formats.catboost_json import CatBoostJson
from pyopencl_gbdt.model.formats.lightgbm_text import LightGBMText
from pyopencl_gbdt.model.formats.onnx_trees import Onnx
from pyopencl_gbdt.model.formats.own_binary import OwnBinary
from pyopencl_gbdt.model.formats.own_json import OwnJson
from pyopencl_gbdt.model.formats.program_c import ProgramC
from pyopencl_gbdt.model.formats.program_python import ProgramPython
from pyopencl_gbdt.model.formats.xgboost_json import XGBoostJson
from pyopencl_gbdt.model.formats.xgboost_ubjson import XGBoostUbjson

_XGBOOST_JSON = XGBoostJson()
#: Every format. Of several with an ending, the first that can hold a model writes it; the first
#: that recognises a file reads it.
FORMATS: tuple[Format, ...] = (
    _XGBOOST_JSON,
    XGBoostUbjson(),
    OwnBinary(),
    OwnJson(),
    LightGBMText(),
    CatBoostJson(),
    Onnx(3),
    Onnx(5),
    ProgramC(),
    ProgramPython(),
)


def known_endings() -> str:
    """Return the endings of names that are written, with their formats."""
    found: dict[str, str] = {}
    for one in FORMATS:
        if one.writes:
            found.setdefault(one.suffixes[0], one.name)
    return ", ".join(f"{suffix} ({name})" for suffix, name in sorted(found.items()))


def formats_of_name(path: str | os.PathLike[str]) -> tuple[Format, ...]:
    """Return the formats that a file's name asks for; a name without an ending is JSON.

    Raises
    ------
    ParameterError
        If no format that is written has the name's ending; the message lists those that have.
    """
    name = os.fsdecode(path)
    lower = PurePath(name).name.lower()
    fitting = {s for one in FORMATS for s in one.suffixes if lower.endswith(s)}
    if fitting:
        longest = max(fitting, key=len)
        found = tuple(one for one in FORMATS if longest in one.suffixes)
        if any(one.writes for one in found):
            return tuple(one for one in found if one.writes)
        tells = f" tells of {found[0].name}, which is only read"
    elif "." not in lower.lstrip("."):
        return formats_of_name("model.json")
    else:
        ending = PurePath(lower).suffix
        kind = FOREIGN_ENDINGS.get(ending)
        tells = f" tells of {kind}, which is not written here" if kind else " has no known ending"
    raise ParameterError(
        f"path={name!r}: the name{tells}: expected a name that ends in one of {known_endings()}; "
        "end the name in .json"
    )


def formats_of_ending(ending: str, parameter: str) -> tuple[Format, ...]:
    """Return the formats that a parameter asks for: an ending without its dot.

    Raises
    ------
    ParameterError
    """
    suffix = f".{ending}"
    found = tuple(one for one in FORMATS if one.writes and suffix in one.suffixes)
    if not found:
        known = ", ".join(sorted({s[1:] for one in FORMATS if one.writes for s in one.suffixes}))
        raise ParameterError(
            f"{parameter}={show(ending)}: expected one of {known}; choose one of them"
        )
    return found


def format_of_data(data: bytes, source: str) -> Format:
    """Return the format that reads a file.

    Raises
    ------
    ModelFormatError
        If the file has a known format that is not read; the message says what to do with it.
    """
    head = bytes(data[:HEAD_SIZE])
    for one in FORMATS:
        if one.sniff(head):
            if not one.reads:
                raise ModelFormatError(
                    f"{source}: this is {one.name}, which is only written: expected "
                    f"{readable()}; read the model from a file of one of these"
                )
            return one
    check_beginning(head, source, readable())
    return _XGBOOST_JSON  # whose reader says what is wrong


def readable() -> str:
    """Return the formats that are read, as a list in words."""
    names = list(dict.fromkeys(one.name for one in FORMATS if one.reads))
    return f"{', '.join(names[:-1])} or {names[-1]}"


def written_in(formats: tuple[Format, ...], model: Ensemble) -> bytes:
    """Return a model as the content of a file, in the first of some formats that can hold it.

    Raises
    ------
    ModelFormatError
        If none can hold it; the message names what each lacks and which other formats can.
    """
    lacks = {}
    for one in formats:
        lack = one.lacks(model)
        if not lack:
            return one.write(model)
        lacks[one.name] = lack
    able = [f"{one.suffixes[0]} ({one.name})" for one in FORMATS
            if one.writes and not one.lacks(model)]  # fmt: skip
    raise ModelFormatError(
        "; ".join(f"{name} lacks {lack}" for name, lack in lacks.items())
        + f", which this model has: expected a format that holds it, {' or '.join(able)}; "
        "end the file's name in one of these"
    )
