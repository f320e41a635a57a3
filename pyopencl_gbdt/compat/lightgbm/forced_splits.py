"""The file of ``forcedsplits_filename``: splits at the top of every tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show

_EXAMPLE = '{"feature": 0, "threshold": 0.5, "left": {"feature": 1, "threshold": 2}}'


def forced_splits(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the file holds; None if there is none, or if it is empty.

    Raises
    ------
    ParameterError
        If the file is not there, or holds no such splits.
    """
    path = params.get("forcedsplits_filename")
    if path in (None, ""):
        return None
    said, file = f"forcedsplits_filename={show(str(path))}", Path(path)
    if not file.is_file():
        raise ParameterError(
            f"{said}: there is no such file; give the path of a file such as {_EXAMPLE}"
        )
    text = file.read_text(encoding="utf-8").strip()
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{said}: expected JSON such as {_EXAMPLE}; correct it") from error
    if not isinstance(found, dict):
        raise ParameterError(f"{said}: expected a split such as {_EXAMPLE}; correct it")
    return found or None


def check_forced(params: Mapping[str, Any], n_columns: int) -> None:
    """Check that forced splits are on columns of the data, which their numbers name.

    Raises
    ------
    ParameterError
        As LightGBM does.
    """
    for split in _splits(forced_splits(params)):
        feature = split.get("feature")
        if isinstance(feature, int) and not 0 <= feature < n_columns:
            raise ParameterError(
                f"Forced splits file includes feature index {feature}, but maximum feature index "
                f"in dataset is {n_columns - 1}: forcedsplits_filename="
                f"{show(str(params['forcedsplits_filename']))}; correct the file"
            )


def _splits(root: Any) -> Iterator[dict[str, Any]]:
    waiting = [root]
    for one in waiting:  # grows meanwhile
        if isinstance(one, dict):
            yield one
            waiting += [one.get("left"), one.get("right")]
