"""Paths of data with XGBoost's suffixes, such as ``train.txt?format=csv&label_column=0``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyopencl_gbdt.data.files.batches import BATCHED, suffix_of
from pyopencl_gbdt.data.files.csv_header import DELIMITERS
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.names import unknown

_FORMATS = {
    "auto": "auto", "csv": "delimited", "delimited": "delimited", "libsvm": "libsvm", "npz": "npz",
}  # fmt: skip
_OPTIONS = ("format", "label_column", "indexing_mode", "delimiter", "weight_column")


@dataclass(frozen=True)
class DataPath:
    """A file, and how it is laid out.

    Attributes
    ----------
    file : str
    options : dict of str to object
        Arguments of ``read_table`` that the suffix sets.
    """

    file: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def in_batches(self) -> bool:
        """Whether this is read batch by batch: a folder, a pattern, or a format read only so."""
        return Path(self.file).is_dir() or _is_pattern(self.file) or suffix_of(self.file) in BATCHED

    @classmethod
    def parse(cls, path: str) -> DataPath:
        """Take the suffixes off a path: ``?key=value&...``, and ``#cache`` with a warning.

        A path that names an existing file has no suffix.

        Raises
        ------
        DataError
            If a suffix is unknown or has a wrong value.
        """
        if Path(path).exists():
            return cls(path)
        if _is_pattern(path) and "=" not in path:
            return cls(path)
        rest, sharp, cache = path.partition("#")
        if sharp:
            warnings.warn(
                f"{path}: #{cache} has no effect: the data are read into main memory, without a "
                "cache file",
                stacklevel=2,
            )
        file, _, query = rest.partition("?")
        options: dict[str, Any] = {}
        for pair in filter(None, query.split("&")):
            key, _, value = pair.partition("=")
            if key not in _OPTIONS:
                raise DataError(f"{path}: {unknown(key, _OPTIONS, 'suffix')}")
            options |= _option(path, key, value)
        return cls(file, options)


def _is_pattern(path: str) -> bool:
    return not Path(path).exists() and bool({*"*?["} & {*path})


def _option(path: str, key: str, value: str) -> dict[str, Any]:
    """Return the argument of ``read_table`` for one suffix."""
    if key == "format" and value in _FORMATS:
        return {"file_format": _FORMATS[value]}
    if key == "label_column" and value.isdecimal():
        return {"label_column": int(value)}
    if key == "indexing_mode" and value in ("0", "1"):
        return {"one_based": value == "1"}
    if key == "delimiter" and value in DELIMITERS:
        return {}  # found by itself
    expected, move = {
        "format": (f"one of {', '.join(_FORMATS)}", "convert the file to one of them"),
        "label_column": ("a number from 0", "the key label_column takes names and -1, the last"),
        "indexing_mode": ("0 or 1, the first index", "give the file's first index"),
        "delimiter": ("; or , or a tab", "convert the file to one of them"),
        "weight_column": ("no such suffix", "put the weights into a file, and give weight=FILE"),
    }[key]
    raise DataError(f"{path}: {key}={show(value)}: expected {expected}; {move}")
