"""Read and write model files; files are written atomically."""

from __future__ import annotations

import os
from pathlib import Path

from pyopencl_gbdt.data.files.whole_file import write_whole
from pyopencl_gbdt.errors import MissingFileError, ModelFormatError
from pyopencl_gbdt.garbage import without_collector
from pyopencl_gbdt.messages import no_such_file
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.own_json import to_own_json
from pyopencl_gbdt.model.formats.registry import (
    format_of_data,
    formats_of_ending,
    formats_of_name,
    written_in,
)
from pyopencl_gbdt.model.formats.xgboost_reader import from_xgboost_json
from pyopencl_gbdt.model.formats.xgboost_writer import lacks, to_xgboost_json

__all__ = [
    "from_xgboost_json",
    "model_of",
    "name_of",
    "read_model",
    "to_json",
    "to_raw",
    "to_xgboost_json",
    "write_model",
]

#: A model file, or its content.
Source = str | os.PathLike[str] | bytes | bytearray | memoryview


def write_model(
    ensemble: Ensemble, path: str | os.PathLike[str], format: str | None = None
) -> None:
    """Write a model in the format that a file's name asks for; see ``registry.FORMATS``.

    Parameters
    ----------
    ensemble : Ensemble
    path : path-like
        Its ending chooses the format; a name without an ending is JSON. Under ``.json``, a model
        that XGBoost's JSON cannot hold is written in this library's. An existing file is replaced
        in one step: a reader, also after a crash, sees the old file or the whole new one. If it is
        a symbolic link, the link's target is replaced, unless another user may have planted the
        link.
    format : str or None
        Another ending without its dot, such as ``catboost``: its format is written, whatever the
        name is.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model; the file is untouched.
    ParameterError
        If no format that is written has the name's ending.
    FileWriteError
        If the folder is absent or read-only, the disk is full, or the name is that of a folder
        or device, or another user may have planted a link there; also an ``OSError``. The file is
        untouched.
    """
    formats = formats_of_name(path) if format is None else formats_of_ending(format, "format")
    write_whole(path, written_in(formats, ensemble))


def to_json(ensemble: Ensemble) -> str:
    """Return a model as the text of a file that ends in ``.json``, without a digest.

    That is XGBoost's JSON, see ``to_xgboost_json``; models that it lacks something to hold are in
    this library's format, see ``own_json``.
    """
    return to_own_json(ensemble) if lacks(ensemble) else to_xgboost_json(ensemble)


def to_raw(ensemble: Ensemble, raw_format: str) -> bytearray:
    """Return a model as the content of a file whose name ends in ``raw_format``.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model.
    ParameterError
        If no format that is written has this ending.
    """
    return bytearray(written_in(formats_of_ending(raw_format, "raw_format"), ensemble))


def read_model(source: Source) -> Ensemble:
    """Read a model in any format of ``registry.FORMATS``; its first bytes tell which.

    Parameters
    ----------
    source : path-like, or bytes, bytearray or memoryview
        The file, or its content.

    Raises
    ------
    ModelFormatError
        If the file does not hold a supported model; the message names the file.
    MissingFileError
        If there is no such file; also a ``FileNotFoundError``.
    OSError
        If the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return model_of(bytes(source), name_of(source))
    try:
        data = Path(source).read_bytes()
    except FileNotFoundError as error:
        raise MissingFileError(no_such_file(source)) from error
    except IsADirectoryError as error:
        raise ModelFormatError(
            f"{os.fspath(source)}: expected a model file, but it is a folder; name a file in it"
        ) from error
    return model_of(data, name_of(source))


def name_of(source: Source) -> str:
    """Return what messages call a model file, or its content in memory."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else "<memory>"


@without_collector()
def model_of(data: bytes, source: str) -> Ensemble:
    """Return the model that a file holds; errors name ``source``.

    Raises
    ------
    ModelFormatError
    """
    return format_of_data(data, source).read(data, source)
