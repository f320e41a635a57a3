"""The formats of model files, and the choice of one by a file's name or first bytes."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import NoReturn

from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.base import HEAD_SIZE, Format, first_key
from pyopencl_gbdt.model.formats.catboost_json import CatBoostJson
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.lightgbm_text import LightGBMText
from pyopencl_gbdt.model.formats.onnx_trees import Onnx
from pyopencl_gbdt.model.formats.own_binary import OwnBinary
from pyopencl_gbdt.model.formats.own_json import OwnJson, is_own, read_own
from pyopencl_gbdt.model.formats.program_c import ProgramC
from pyopencl_gbdt.model.formats.program_python import ProgramPython
from pyopencl_gbdt.model.formats.ubjson import parse_ubjson, render_ubjson
from pyopencl_gbdt.model.formats.xgboost_reader import parse, read_document
from pyopencl_gbdt.model.formats.xgboost_writer import lacks, to_xgboost_json, xgboost_document

#: Other formats by the endings of names; a model under such a name would mislead its reader.
FOREIGN_ENDINGS = {
    ".bin": "a binary format",
    ".deprecated": "XGBoost's old binary format",
    ".pkl": "a pickle",
    ".pickle": "a pickle",
    ".joblib": "a pickle",
    ".pmml": "PMML",
    ".cbm": "CatBoost's format",
    ".npy": "a NumPy array",
    ".npz": "NumPy arrays",
    ".h5": "HDF5",
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip"), "a compressed file"),
}

_BY_XGBOOST = "save it by XGBoost under a name that ends in .json"
_OLD_BINARY = "XGBoost's old binary format"
_CONVERT = (
    "convert it by XGBoost before 3.1: pip install 'xgboost<3.1'; python -c \"import xgboost; "
    "xgboost.Booster(model_file='{source}').save_model('model.ubj')\""
)
_PICKLED = "load it by pickle or joblib, and save the model under a name that ends in .json"
_UNPACKED = "unpack it first"
#: First bytes of a file, its format, and what the user can do with it.
_BEGINNINGS = (
    (b"binf", _OLD_BINARY, _CONVERT),
    (b"bs64", _OLD_BINARY, _CONVERT),
    (b"CONFIG-offset:", "a snapshot of XGBoost's, not a model", _BY_XGBOOST),
    (b"CBM1", "CatBoost's format", "in CatBoost, load it and save it with format='json'"),
    (b"<", "XML or HTML", "look at what was downloaded"),
    (b"\x80", "a pickle", _PICKLED),
    (b"\x1f\x8b", "compressed by gzip", _UNPACKED),
    (b"BZh", "compressed by bzip2", _UNPACKED),
    (b"\xfd7zXZ", "compressed by xz", _UNPACKED),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", _UNPACKED),
    (b"PK\x03\x04", "a zip archive", _UNPACKED),
)
#: Bytes of the head of old binary files before XGBoost 1.3, whose last 27 integers are 0. It begins
#: with the base score and the number of features.
_OLD_HEAD = 136


class XGBoostJson:
    """XGBoost's JSON; ``.model`` is what XGBoost's command line calls its files."""

    name = "XGBoost's JSON"
    suffixes = (".json", ".model")
    reads = writes = True

    def sniff(self, head: bytes) -> bool:
        return first_key(head) in ("learner", "version")

    def lacks(self, model: Ensemble) -> str:
        return lacks(model)

    def read(self, data: bytes, source: str) -> Ensemble:
        document = Cursor(parse(data, source), "", source)
        # members may come in another order, so that `sniff` does not know our own format
        return read_own(document, data) if is_own(document) else read_document(document)

    def write(self, model: Ensemble) -> bytes:
        return to_xgboost_json(model).encode("utf-8")


class XGBoostUbjson:
    """XGBoost's JSON in binary; XGBoost itself writes it from version 1.6 on."""

    name = "XGBoost's UBJSON"
    suffixes = (".ubj", ".ubjson")
    reads = writes = True

    def sniff(self, head: bytes) -> bool:
        return head[:1] == b"{" and head[1:2] in (b"L", b"l", b"I", b"U", b"i", b"#", b"$")

    def lacks(self, model: Ensemble) -> str:
        return lacks(model)

    def read(self, data: bytes, source: str) -> Ensemble:
        return read_document(Cursor(parse_ubjson(data, source), "", source))

    def write(self, model: Ensemble) -> bytes:
        return render_ubjson(xgboost_document(model))


def check_beginning(data: bytes, source: str, expected: str) -> None:
    """Refuse the content of a file in a known format that is not read.

    ``data``: the file's first bytes.
    ``expected``: the formats that are read.

    Raises
    ------
    ModelFormatError
    """
    for beginning, kind, move in _BEGINNINGS:
        if data.startswith(beginning):
            _refuse(source, kind, expected, move)
    if len(data) >= _OLD_HEAD and data[28:_OLD_HEAD] == bytes(_OLD_HEAD - 28) and any(data[4:8]):
        _refuse(source, _OLD_BINARY, expected, _CONVERT)


def _refuse(source: str, kind: str, expected: str, move: str) -> NoReturn:
    raise ModelFormatError(
        f"{source}: this is {kind}: expected {expected}; {move.replace('{source}', source)}"
    )


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
