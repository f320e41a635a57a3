"""The layout of delimited text: delimiter, header, columns of label and queries, categories.

Texts of categorical columns become numbers while lines are parsed.
"""

from __future__ import annotations

import csv
import difflib
import math
import operator
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from os import PathLike
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.blurred import Blurred
from pyopencl_gbdt.data.categories.chosen import AUTO, check_categorical
from pyopencl_gbdt.data.categories.columns import Column, as_objects
from pyopencl_gbdt.data.categories.levels import Categories
from pyopencl_gbdt.data.features import Features, encoded
from pyopencl_gbdt.data.files.contents import Data, lines_of
from pyopencl_gbdt.data.files.reading import check_unnamed
from pyopencl_gbdt.data.remarks import Remarks
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import Source, plural, show

MISSING = frozenset({"", "NA", "?"})
"""Fields that mean "missing", besides NaN in any case."""

DELIMITERS = (";", "\t", ",")
"""In the order they are tried: where semicolons separate, commas may be in names or numbers."""

N_SNIFFED = 20
"""Lines examined to find the delimiter."""

_START = re.compile(rb"[ \n]*")
_N_FIRST = 64  # fields examined before a header line is split as a whole
_MOST_TEXTS = 2**24  # of a column: their numbers are float32, as all numbers of a file are


class Texts(Protocol):
    """Columns that hold text, and numbers for it; see `TextColumns`."""

    def __contains__(self, column: object) -> bool: ...

    def numbers(self, column: int, fields: Iterable[str]) -> list[float]:
        """Return the numbers of fields' texts; NaN where one means a missing value."""


@dataclass(frozen=True)
class TextLayout:
    """The layout of delimited text, known before its numbers are parsed.

    ``data[start:]`` holds the rows and starts with line number ``first_line``. ``delimiter`` None
    means any run of spaces. ``label`` is the label's column and ``qid`` the column of query ids;
    each is None if there is no such column. ``texts`` has the categorical columns, if any.
    """

    path: str | PathLike[str]
    data: Data
    start: int
    first_line: int
    delimiter: str | None
    names: list[str] | None
    n_columns: int
    label: int | None
    qid: int | None = None
    texts: Texts | None = None


def find_layout(
    data: Data,
    path: str | PathLike[str],
    label_column: int | str | None,
    header: bool | str,
    qid_column: int | str | None = None,
) -> TextLayout:
    """Find delimiter, header and label column, and where the numbers start."""
    blank = _START.match(data)
    start = data.rfind(b"\n", 0, blank.end() if blank else 0) + 1
    first_line = data.count(b"\n", 0, start) + 1
    delimiter = _sniff_delimiter(list(islice(lines_of(data, start), N_SNIFFED)))
    first = next(lines_of(data, start))
    try:
        n_columns = count_fields(first, delimiter)
        has_header = _is_header(first, delimiter) if header == "auto" else bool(header)
        names = [field.strip() for field in split(first, delimiter)] if has_header else None
    except csv.Error as error:
        raise DataError(f"{path}, line {first_line}: {error}; correct its quotes") from error
    if names is not None:
        end = data.find(b"\n", start)
        start, first_line = len(data) if end < 0 else end + 1, first_line + 1
        name, count = Counter(names).most_common(1)[0]
        if count > 1:
            raise DataError(
                f"{path}, line {first_line - 1}: {count} columns are named {show(name)}: expected "
                f"distinct names; rename them, or pass header=False if this is not a header"
            )
    label = _column_index("label_column", label_column, names, n_columns, path)
    check_unnamed(label_column, label, names or (), path)
    qid = _column_index("qid_column", qid_column, names, n_columns, path)
    if qid is not None and qid == label:
        raise DataError(
            f"{path}: qid_column={qid_column!r} is the label's column too; choose another"
        )
    if label is not None and n_columns == 1:
        raise DataError(
            f"{path}: one column only, the label: expected features too; pass label_column=None "
            f"if it is a feature"
        )
    return TextLayout(path, data, start, first_line, delimiter, names, n_columns, label, qid)


def _sniff_delimiter(lines: Sequence[str]) -> str | None:
    """Choose the delimiter that splits all lines into equally many fields; None: runs of spaces."""
    lines = [line for line in lines if line.strip(" ")]
    for delimiter in (*DELIMITERS, None):
        try:
            widths = {count_fields(line, delimiter) for line in lines}
        except csv.Error:
            continue
        if len(widths) == 1 and widths != {1}:
            return delimiter
    # Ragged lines, or one column: take the most frequent one, so that errors can count fields.
    most = max(DELIMITERS[::-1], key=lambda d: sum(line.count(d) for line in lines))
    if any(most in line for line in lines):
        return most
    return None if any(len(line.split(None, 1)) > 1 for line in lines) else ","


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the fields of a line; some keep the white space around them."""
    if delimiter is None or '"' not in line:  # csv refuses fields of more than 131072 characters
        return line.split(delimiter)
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True), [""])


def count_fields(line: str, delimiter: str | None) -> int:
    """Return the number of fields of a line."""
    if delimiter is None or '"' in line:
        return len(split(line, delimiter))
    return line.count(delimiter) + 1


def _is_header(line: str, delimiter: str | None) -> bool:
    """Tell whether a line is a header: no field is a number and at least one is text."""
    if '"' not in line:
        first = line.split(delimiter, _N_FIRST)[:_N_FIRST]
        if any(kind_of(field.strip()) == "number" for field in first):
            return False
    kinds = {kind_of(field.strip()) for field in split(line, delimiter)}
    return "number" not in kinds and "text" in kinds


def kind_of(field: str) -> str:
    """Tell what a field is: "number", "missing" or "text"."""
    if field in MISSING:
        return "missing"
    try:
        return "missing" if math.isnan(float(field)) else "number"
    except ValueError:
        return "text"


def _cut(name: str) -> str:
    return name if len(name) <= 40 else name[:37] + "..."


def _column_index(
    option: str,
    given: int | str | None,
    names: list[str] | None,
    n_columns: int,
    path: str | PathLike[str],
) -> int | None:
    """Return the index, from 0, of a column given by number or name; None if none was given."""
    if given is None:
        return None
    if isinstance(given, str):
        if names is None:
            raise DataError(
                f"{path}: {option}={given!r}, but there is no header to find it in; "
                f"give its number, or pass header=True"
            )
        if given in names:
            return names.index(given)
        near = difflib.get_close_matches(given, names, n=1)
        move = (
            f"did you mean {show(near[0])}?"
            if near
            else "columns: " + ", ".join(map(_cut, names[:20]))
        )
        raise DataError(f"{path}: {option}={given!r} is not in the header; {move}")
    try:
        index = operator.index(given)
    except TypeError:
        index = n_columns
    if isinstance(given, bool) or not -n_columns <= index < n_columns:
        raise DataError(
            f"{path}: {option}={given!r}: expected {-n_columns}..{n_columns - 1} or a name; "
            f"the file has {plural(n_columns, 'column')}"
        )
    return index % n_columns


N_SEARCHED = 1000
"""How many lines ``"from_dtype"`` searches for text."""


class TextColumns:
    """The distinct texts of a file's categorical columns, in the order in which they come.

    ``columns``: columns of the file, those of label and queries included.
    """

    def __init__(self, columns: Iterable[int]) -> None:
        self._place_of: dict[int, dict[str, int]] = {column: {} for column in columns}

    def __contains__(self, column: object) -> bool:
        return column in self._place_of

    def numbers(self, column: int, fields: Iterable[str]) -> list[float]:
        """Return the numbers of fields' texts; NaN where one means a missing value."""
        own, nan = self._place_of[column], math.nan
        texts = [field.strip() for field in fields]
        return [
            nan
            if text in MISSING or (len(text) == 3 and text.lower() == "nan")
            else own.setdefault(text, len(own))
            for text in texts
        ]

    def column(self, column: int, numbers: NDArray[np.float32]) -> Column:
        """Return a column, given the numbers of its rows."""
        places = np.where(np.isnan(numbers), np.float32(-1), numbers).astype(np.int64)
        return Column(as_objects(list(self._place_of[column])), places, is_text=True)

    def check(self, layout: TextLayout) -> None:
        """Raise ``DataError`` if a column has more texts than float32 numbers exactly."""
        for column, own in self._place_of.items():
            if len(own) > _MOST_TEXTS:
                raise DataError(
                    f"{layout.path}: column {column} has {len(own)} levels: expected "
                    f"{_MOST_TEXTS} at most in a file; read it into a table, and give that to "
                    "Dataset"
                )


def feature_columns(layout: TextLayout) -> list[int]:
    """Return the columns of a file that are features."""
    apart = (layout.label, layout.qid)
    return [column for column in range(layout.n_columns) if column not in apart]


def text_columns(
    layout: TextLayout, categorical: Any, levels: Categories | None
) -> TextColumns | None:
    """Return the columns of a file that are categorical; None if there are none.

    Parameters
    ----------
    categorical : object
        As for `check_categorical`; ``"from_dtype"`` stands for columns with text in one of the
        first lines, ``"auto"`` for none.
    levels : mapping of int to Levels, or None
        The levels of training: exactly these features are categorical.
    """
    columns = feature_columns(layout)
    if levels is not None:
        chosen = [feature for feature in levels if feature < len(columns)]
        return TextColumns(columns[feature] for feature in chosen) if chosen else None
    names = None if layout.names is None else [layout.names[column] for column in columns]
    searched = isinstance(categorical, str) and categorical != AUTO
    by_text = _with_text(layout, columns) if searched else []
    chosen = check_categorical(categorical, len(columns), names, by_text)
    return TextColumns(columns[feature] for feature in chosen) if chosen else None


def _with_text(layout: TextLayout, columns: Sequence[int]) -> list[int]:
    found: set[int] = set()
    for line in islice(lines_of(layout.data, layout.start), N_SEARCHED):
        try:
            fields = split(line, layout.delimiter)
        except csv.Error:  # a quoted field of several lines
            continue
        found |= {
            feature
            for feature, column in enumerate(columns)
            if column < len(fields) and kind_of(fields[column].strip()) == "text"
        }
    return sorted(found)


def with_levels(
    X: NDArray[np.float32],
    names: list[str] | None,
    layout: TextLayout,
    levels: Categories | None,
    blurred: Blurred,
) -> Features:
    """Return the features of a file, whose categorical columns hold the numbers of their texts."""
    texts = layout.texts
    if not isinstance(texts, TextColumns):
        return Features(X, names, remarks=Remarks(blurred=blurred))
    columns = (
        (feature, texts.column(column, X[:, feature]))
        for feature, column in enumerate(feature_columns(layout))
        if column in texts
    )
    texts.check(layout)
    categories, coded, unknown = encoded(columns, Source(str(layout.path), names), levels)
    for feature, codes in coded.items():
        X[:, feature] = codes
    return Features(X, names, categories, Remarks(unknown, blurred))
