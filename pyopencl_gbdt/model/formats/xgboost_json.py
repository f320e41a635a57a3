"""Models in files, in XGBoost's JSON format: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from pyopencl_gbdt.data.whole_file import write_whole
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.file_formats import check_beginning, check_ending
from pyopencl_gbdt.model.formats.xgboost_reader import from_xgboost_json
from pyopencl_gbdt.model.formats.xgboost_writer import to_xgboost_json

__all__ = ["from_xgboost_json", "read_model", "to_xgboost_json", "write_model"]


def write_model(ensemble: Ensemble, path: str | os.PathLike[str]) -> None:
    """Write a model that XGBoost can load; see ``to_xgboost_json``.

    Parameters
    ----------
    ensemble : Ensemble
    path : path-like
        Should end in ``.json``; endings of other formats, such as ``.ubj``, are refused. What was
        there is replaced in one step: a reader, or a crash, sees the old file or the new one,
        never half of one. Of a symbolic link the target is replaced.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model; the file is untouched.
    ParameterError
        If the name ends as those of files in another format do.
    FileWriteError
        If the folder is absent or cannot be written, the disk is full, or something that is no
        file has that name; an ``OSError`` too. The file is untouched.
    """
    check_ending(path)
    write_whole(path, to_xgboost_json(ensemble).encode("utf-8"))


def read_model(path: str | os.PathLike[str]) -> Ensemble:
    """Read a model by us or by XGBoost; see ``from_xgboost_json``.

    Raises
    ------
    ModelFormatError
        If the file is not a model that is supported; the message names the file.
    OSError
        If it cannot be read.
    """
    data, source = Path(path).read_bytes(), os.fspath(path)
    check_beginning(data, source)
    return from_xgboost_json(data, source=source)
