"""Recognise model files of formats that are not supported, by name or by first bytes."""

from __future__ import annotations

from typing import NoReturn

from pyopencl_gbdt.errors import ModelFormatError

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


def check_beginning(data: bytes, source: str, expected: str) -> None:
    """Refuse the content of a file in a known format that is not read.

    Parameters
    ----------
    data : bytes
        The file's first bytes.
    source : str
        Its name.
    expected : str
        The formats that are read.

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
