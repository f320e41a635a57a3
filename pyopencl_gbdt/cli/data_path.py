"""Paths of data with XGBoost's suffixes, such as ``train.txt?format=csv&label_column=0``.

Where a file to predict has a label's column, the names of the model's features tell which it is.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from pyopencl_gbdt.data.files import text_batches
from pyopencl_gbdt.data.files.batches import (
    ARRAYS,
    ARROW,
    BATCHED,
    paths_of,
    read_columns,
    suffix_of,
)
from pyopencl_gbdt.data.files.csv_header import DELIMITERS
from pyopencl_gbdt.data.files.reading import Reading
from pyopencl_gbdt.data.names import check_columns
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.parameters.parameters import unknown

_FORMATS = {
    "auto": "auto", "csv": "delimited", "delimited": "delimited", "libsvm": "libsvm", "npz": "npz",
}  # fmt: skip
_OPTIONS = ("format", "label_column", "indexing_mode", "delimiter", "weight_column")


@dataclass(frozen=True)
class DataPath:
    """A file, and how it is laid out.

    Attributes
    ----------
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


def columns_in_file(path: str, header: bool | str, file_format: str = "auto") -> list[str] | None:
    """Return the names of all columns of a table, those of label and queries included.

    Parameters
    ----------
    path : str
        A file, or a folder or pattern, of which the first file counts.
    header : bool or "auto"
        Whether the first line of text holds names.
    file_format : str
        As for ``read_table``.

    Returns
    -------
    list of str or None
        None if the columns have no names, or the file cannot be read: reading the rows says why.
    """
    try:
        first = paths_of(path)[0]
        suffix = suffix_of(first)
        if suffix in ARROW:
            batches = read_columns(first, suffix, None, None, lambda n_columns: 1)
            return list(next(batches).X.column_names)
        if suffix in ARRAYS or file_format == "npz":
            return None
        reading = Reading(label_column=None, header=header, file_format=file_format)
        return text_batches.column_names(first, reading)
    except (DataError, StopIteration):
        return None


def ways_to_read(
    path: str, args: argparse.Namespace, header: bool | str, features: Sequence[str] | None
) -> list[argparse.Namespace]:
    """Return the options to read a file with, in the order to try.

    One column that is not a feature is the label. Of two, one is the label and one holds query ids;
    which is which makes no difference to predictions, but ids are whole numbers.

    Parameters
    ----------
    args : argparse.Namespace
        The options that were given; they alone count if they name the label's column, if the file
        or the model has no names, or if the file has more other columns.
    header : bool or "auto"
    features : sequence of str or None
        The model's features.

    Raises
    ------
    DataError
        If the file has the features in another order.
    """
    where = DataPath.parse(path)
    told = args.label_column is not None or "label_column" in where.options
    if features is None:
        return [args]
    layout = where.options.get("file_format", args.format or "auto")
    names = columns_in_file(where.file, header, layout) or []
    known = [name for name in names if name in features]
    if len(known) == len(features):  # in another order, text would be read as numbers
        check_columns(known, features, where.file)
    if told:
        return [args]
    qid = args.qid_column
    if isinstance(qid, int) and -len(names) <= qid < len(names):
        qid = names[qid]
    others = [name for name in names if name not in features and name != qid]
    if len(others) == 1:
        return [_with(args, label_column=others[0])]
    if len(others) == 2 and qid is None:
        orders = (others, others[::-1])
        return [_with(args, label_column=label, qid_column=ids) for label, ids in orders]
    return [args]


def _with(args: argparse.Namespace, **given: str) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(args), **given})
