"""The reference parser: it defines what delimited text means, and names the place of an error.

It takes about 100 ns a field. A faster parser must return the same bits, or leave the text to
this one.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.blurred import integer
from pyopencl_gbdt.data.files.block_parsers import Parsed, of_matrix
from pyopencl_gbdt.data.files.contents import lines_of
from pyopencl_gbdt.data.files.csv_header import MISSING, TextLayout
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import plural, show

FLOAT32_LIMIT = 2.0**128 - 2.0**103
"""The smallest number that float32 rounds to infinity."""

_CHUNK = 1 << 16  # numbers kept as Python objects at a time


class OpenQuoteError(DataError):
    """The text ends inside a quoted field."""


class NotANumberError(DataError):
    """A field of a text file is not a number; ``line``, from 1, and ``found`` say which."""

    line: int
    found: str


def parse_fields(layout: TextLayout, start: int | None = None, end: int | None = None) -> Parsed:
    """Parse field by field; raise `DataError` at the first invalid field.

    ``start``, ``end``: positions in ``layout.data`` of the first and the last line; None: all rows.
    """
    start = layout.start if start is None else start
    tables: list[NDArray[np.float64]] = []
    numbers: list[float] = []
    for line, fields in rows_of(layout, start, end):
        if len(fields) != layout.n_columns:
            raise DataError(
                f"{layout.path}, line {line}: {plural(len(fields), 'field')}, expected "
                f"{layout.n_columns} as in the first line; complete the line or quote its text"
            )
        numbers.extend(_number(field, layout, line, i) for i, field in enumerate(fields))
        if len(numbers) >= _CHUNK:
            tables.append(np.array(numbers))
            numbers = []
    tables.append(np.array(numbers))
    return of_matrix(np.concatenate(tables).reshape(-1, layout.n_columns))


def _number(field: str, layout: TextLayout, line: int, column: int) -> float:
    """Convert one field, or raise an error that names its place."""
    text = field.strip()
    if layout.texts is not None and column in layout.texts:
        return layout.texts.numbers(column, (field,))[0]
    is_label = column == layout.label
    value = math.nan
    if text not in MISSING:
        try:
            value = float(text if text.isascii() and "_" not in text else "no number")
        except ValueError:
            value = math.inf
    if abs(value) < FLOAT32_LIMIT or (math.isnan(value) and not is_label):
        return value
    named = f" ({show(layout.names[column])})" if layout.names is not None else ""
    expected = "a number or a missing value (empty, NA, NaN, ?)"
    move = "correct it, or name the column in categorical_features if it holds text"
    if is_label:
        expected, move = "a number as label", "correct it, or choose another label_column"
    elif line == 1:
        move += "; pass header=True if line 1 holds names"
    error = NotANumberError(
        f"{layout.path}, line {line}, column {column}{named} (from 0): found {show(text)}: "
        f"expected {expected} that float32 can hold; {move}"
    )
    error.line, error.found = line, text
    raise error


def spelled_integers(
    layout: TextLayout, start: int, end: int | None, rows: Mapping[int, NDArray[np.integer[Any]]]
) -> dict[int, list[int | None]]:
    """Return the integers that fields spell, in some rows of some columns.

    The fields of a column are read up to the first that is not an integer, such as ``1e20``: this
    field gives None, and so do all after it.
    """
    found: dict[int, list[int | None]] = {column: [] for column in rows}
    wanted = {column: frozenset(own.tolist()) for column, own in rows.items()}
    last = max(map(max, filter(None, wanted.values())), default=-1)
    for row, (_, fields) in enumerate(rows_of(layout, start, end)):
        for column in [column for column, own in wanted.items() if row in own]:
            found[column].append(integer(fields[column].strip()))
            if found[column][-1] is None:
                del wanted[column]
        if not wanted or row >= last:
            break
    return {
        column: numbers + [None] * (len(rows[column]) - len(numbers))
        for column, numbers in found.items()
    }


def rows_of(
    layout: TextLayout, start: int, end: int | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number from 1, fields) of every row, without blank lines."""
    line = layout.first_line + layout.data.count(b"\n", layout.start, start) - 1
    lines = lines_of(layout.data, start, end)
    for text in lines:
        line += 1
        if layout.delimiter is None or '"' not in text:
            fields = text.split(layout.delimiter)
        else:
            fields, n_more = _quoted(layout, text, lines, line)
            line += n_more
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield line, fields


def _quoted(
    layout: TextLayout, text: str, lines: Iterator[str], line: int
) -> tuple[list[str], int]:
    """Split a line that has quotes; return its fields and the number of further lines it takes."""
    # A quoted field may hold a line end, so the lines passed to csv keep theirs.
    several = (one + "\n" for one in chain([text], lines))
    assert layout.delimiter is not None
    reader = csv.reader(several, delimiter=layout.delimiter, skipinitialspace=True, strict=True)
    try:
        fields = next(reader)
    except csv.Error as error:
        kind = OpenQuoteError if "unexpected end of data" in str(error) else DataError
        raise kind(
            f"{layout.path}, line {line + max(0, reader.line_num - 1)}: {error}; correct its quotes"
        ) from error
    return fields, reader.line_num - 1
