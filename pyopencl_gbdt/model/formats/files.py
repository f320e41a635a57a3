"""Read and write model files; files are written atomically."""

from __future__ import annotations

import os
from pathlib import Path

from pyopencl_gbdt.data.whole_file import write_whole
from pyopencl_gbdt.errors import MissingFileError, ModelFormatError
from pyopencl_gbdt.messages import no_such_file
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.file_formats import check_beginning, check_ending
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.own_json import is_own, read_own, to_own_json
from pyopencl_gbdt.model.formats.xgboost_reader import (
    from_xgboost_json,
    parse,
    read_document,
    without_collector,
)
from pyopencl_gbdt.model.formats.xgboost_writer import to_xgboost_json

__all__ = [
    "from_xgboost_json",
    "model_of",
    "read_model",
    "to_json",
    "to_xgboost_json",
    "write_model",
]


def write_model(ensemble: Ensemble, path: str | os.PathLike[str]) -> None:
    """Write a model in XGBoost's JSON format, or in this library's if that cannot hold it.

    Parameters
    ----------
    ensemble : Ensemble
    path : path-like
        Should end in ``.json``; endings of other formats, such as ``.ubj``, are refused. An
        existing file is replaced in one step: a reader, also after a crash, sees the old file or
        the whole new one. If it is a symbolic link, the link's target is replaced, unless another
        user may have planted the link.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model; the file is untouched.
    ParameterError
        If the name has an ending that other formats use.
    FileWriteError
        If the folder is absent or read-only, the disk is full, or the name is that of a folder
        or device, or another user may have planted a link there; also an ``OSError``. The file is
        untouched.
    """
    check_ending(path)
    write_whole(path, to_json(ensemble).encode("utf-8"))


def to_json(ensemble: Ensemble) -> str:
    """Return a model as text in the format of its files.

    That is XGBoost's JSON, see ``to_xgboost_json``; models with statistics of categories, which
    XGBoost cannot evaluate, are in this library's format, see ``own_json``.
    """
    own = ensemble.statistics is not None
    return to_own_json(ensemble) if own else to_xgboost_json(ensemble)


@without_collector()
def read_model(path: str | os.PathLike[str]) -> Ensemble:
    """Read a model written by this library or by XGBoost; see ``from_xgboost_json``.

    Raises
    ------
    ModelFormatError
        If the file does not hold a supported model; the message names the file.
    MissingFileError
        If there is no such file; also a ``FileNotFoundError``.
    OSError
        If the file cannot be read.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise MissingFileError(no_such_file(path)) from error
    except IsADirectoryError as error:
        raise ModelFormatError(
            f"{os.fspath(path)}: expected a model file, but it is a folder; name a file in it"
        ) from error
    return model_of(data, os.fspath(path))


def model_of(data: bytes, source: str) -> Ensemble:
    """Return the model that a file holds; errors name ``source``.

    Raises
    ------
    ModelFormatError
    """
    check_beginning(data, source)
    document = Cursor(parse(data, source), "", source)
    return read_own(document) if is_own(document) else read_document(document)
