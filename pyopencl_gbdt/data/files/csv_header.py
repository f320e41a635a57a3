"""Find out the layout of delimited text: delimiter, header, columns of label and queries."""

from __future__ import annotations

import csv
import difflib
import math
import operator
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Protocol

from pyopencl_gbdt.data.files.contents import Data, lines_of
from pyopencl_gbdt.data.files.reading import check_unnamed
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import plural, show

MISSING = frozenset({"", "NA", "?"})
"""Fields that mean "missing", besides NaN in any case."""

DELIMITERS = (";", "\t", ",")
"""In the order they are tried: where semicolons separate, commas may be in names or numbers."""

N_SNIFFED = 20
"""Lines examined to find the delimiter."""

_START = re.compile(rb"[ \n]*")
_N_FIRST = 64  # fields examined before a header line is split as a whole


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
