"""Models in files, in XGBoost's JSON format: whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.xgboost_reader import from_xgboost_json
from pyopencl_gbdt.model.xgboost_writer import to_xgboost_json

__all__ = ["from_xgboost_json", "read_model", "to_xgboost_json", "write_model"]


def write_model(ensemble: Ensemble, path: str | os.PathLike[str]) -> None:
    """Write a model that XGBoost can load; see ``to_xgboost_json``.

    Parameters
    ----------
    ensemble : Ensemble
    path : path-like
        Should end in ``.json``, or XGBoost will not take it for JSON. What was there is replaced
        in one step: a reader, or a crash, sees the old file or the new one, never half of one.
        Of a symbolic link the target is replaced.

    Raises
    ------
    ModelFormatError
        If the format cannot hold the model; the file is untouched.
    OSError
        If the folder cannot be written, or something that is no file has that name.
    """
    data = to_xgboost_json(ensemble).encode("utf-8")
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise FileExistsError(
            f"{path} is no file (a folder or a device): expected the path of a file, such as "
            "model.json; choose another"
        )
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")  # same folder, same file system
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_model(path: str | os.PathLike[str]) -> Ensemble:
    """Read a model by us or by XGBoost; see ``from_xgboost_json``.

    Raises
    ------
    ModelFormatError
        If the file is not a model that is supported; the message names the file.
    OSError
        If it cannot be read.
    """
    return from_xgboost_json(Path(path).read_bytes(), source=os.fspath(path))
