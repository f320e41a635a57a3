"""What to know of a delimited table before its numbers are read: delimiter, header, label."""

from __future__ import annotations

import csv
import difflib
import math
import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike

from pyopencl_gbdt.data.files import lines_of
from pyopencl_gbdt.data.places import plural
from pyopencl_gbdt.errors import DataError

MISSING = frozenset({"", "NA", "?"})
"""Fields that mean "missing", beside NaN in any case."""

DELIMITERS = (";", "\t", ",")
"""In the order they are tried: a semicolon leaves the comma to names and decimals."""

N_SNIFFED = 20
"""Lines looked at to find the delimiter."""


@dataclass(frozen=True)
class Layout:
    """What is known of a table before its numbers are read.

    ``text[start:]`` holds the rows and starts with line number ``first_line``; ``delimiter`` None
    is any run of spaces; ``label`` is the label's column and ``qid`` that of the queries, None
    without one.
    """

    path: str | PathLike[str]
    text: str
    start: int
    first_line: int
    delimiter: str | None
    names: list[str] | None
    n_columns: int
    label: int | None
    qid: int | None = None


def find_layout(
    text: str,
    path: str | PathLike[str],
    label_column: int | str | None,
    header: bool | str,
    qid_column: int | str | None = None,
) -> Layout:
    """Find delimiter, header and label, and where the numbers start."""
    start = len(text) - len(text.lstrip(" \n"))
    start = text.rfind("\n", 0, start) + 1
    first_line = text.count("\n", 0, start) + 1
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    delimiter = _sniff_delimiter(list(islice(lines_of(text, start), N_SNIFFED)))
    try:
        fields = [field.strip() for field in _split(text[start:end], delimiter)]
    except csv.Error as error:
        raise DataError(f"{path}, line {first_line}: {error}; correct its quotes") from error
    has_header = _is_header(fields) if header == "auto" else bool(header)
    if has_header:
        start, first_line = end + 1, first_line + 1
        name, count = Counter(fields).most_common(1)[0]
        if count > 1:
            raise DataError(
                f"{path}, line {first_line - 1}: {count} columns are named {name!r}: expected "
                f"distinct names; rename them, or pass header=False if this is no header"
            )
    names = fields if has_header else None
    label = _column_index("label_column", label_column, names, len(fields), path)
    qid = _column_index("qid_column", qid_column, names, len(fields), path)
    if qid is not None and qid == label:
        raise DataError(
            f"{path}: qid_column={qid_column!r} is the label's column too; choose another"
        )
    if label is not None and len(fields) == 1:
        raise DataError(
            f"{path}: one column only, the label: expected features too; pass label_column=None "
            f"if it is a feature"
        )
    return Layout(path, text, start, first_line, delimiter, names, len(fields), label, qid)


def _sniff_delimiter(lines: Sequence[str]) -> str | None:
    """Choose the delimiter that splits all lines alike; None is any run of spaces."""
    lines = [line for line in lines if line.strip(" ")]
    for delimiter in (*DELIMITERS, None):
        try:
            widths = {len(_split(line, delimiter)) for line in lines}
        except csv.Error:
            continue
        if len(widths) == 1 and widths != {1}:
            return delimiter
    # Ragged, or one column: the delimiter seen most, so that the error speaks of fields.
    most = max(DELIMITERS[::-1], key=lambda d: sum(line.count(d) for line in lines))
    if any(most in line for line in lines):
        return most
    return None if any(len(line.split()) > 1 for line in lines) else ","


def _split(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True), [""])


def _is_header(fields: Sequence[str]) -> bool:
    """Tell names from numbers: no field is a number, and one at least is text."""
    kinds = [_kind(field) for field in fields]
    return "number" not in kinds and "text" in kinds


def _kind(field: str) -> str:
    if field in MISSING:
        return "missing"
    try:
        return "missing" if math.isnan(float(field)) else "number"
    except ValueError:
        return "text"


def _column_index(
    option: str,
    given: int | str | None,
    names: list[str] | None,
    n_columns: int,
    path: str | PathLike[str],
) -> int | None:
    """Return a column that was given by number or name, from 0, or None."""
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
        move = f"did you mean {near[0]!r}?" if near else "columns: " + ", ".join(names[:20])
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
