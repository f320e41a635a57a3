"""CSV, TSV, semicolons or spaces: text -> float32, by NumPy's parser where it can.

The careful parser defines what a table means and names the place of whatever is wrong, at some
100 ns a field. The fast one is NumPy's; what it refuses, or reads with a result that cannot stand,
goes to the careful one. A test holds the two to equal results.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.files import lines_of
from pyopencl_gbdt.data.layout import MISSING, Layout, find_layout
from pyopencl_gbdt.data.places import plural, show
from pyopencl_gbdt.errors import DataError

BLOCK = 1 << 24
"""Characters given to NumPy at once: it takes four bytes for each."""

MOST_QID = 2**24 - 1
"""Integers up to this are told apart in float32."""

FLOAT32_LIMIT = 2.0**128 - 2.0**103
"""The least number that float32 rounds to infinity."""


def parse_delimited(
    text: str,
    path: str | PathLike[str],
    *,
    label_column: int | str | None = 0,
    header: bool | str = "auto",
    qid_column: int | str | None = None,
) -> tuple[
    NDArray[np.float32], NDArray[np.float32] | None, list[str] | None, NDArray[np.int64] | None
]:
    r"""Parse delimited text.

    Parameters
    ----------
    text : str
        The file's text, line ends ``\n``.
    path : str or path-like
        For messages.
    label_column : int, str or None
        The label's column by number (from 0, or from the end if negative) or name.
    header : bool or "auto"
        Whether the first line holds names.
    qid_column : int, str or None
        The column of the queries, in the same way.

    Returns
    -------
    X : (n_rows, n_features) float32 array, C order
        NaN is missing.
    y : (n_rows,) float32 array, or None without a label
    feature_names : list of str, or None without a header
    qid : (n_rows,) int64 array, or None without a column of queries

    Raises
    ------
    DataError
        Ragged rows, a field that is no number, a label that is missing, a query that is no integer.
    """
    layout = find_layout(text, path, label_column, header, qid_column)
    table = parse_fast(layout)
    if table is None:
        table = parse_carefully(layout)
    apart = [column for column in (layout.label, layout.qid) if column is not None]
    if not apart:
        return table, None, layout.names, None
    names = layout.names
    if names is not None:
        names = [name for i, name in enumerate(names) if i not in apart]
    y = None if layout.label is None else np.ascontiguousarray(table[:, layout.label])
    return np.delete(table, apart, axis=1), y, names, _queries(table, layout)


def _queries(table: NDArray[np.float32], layout: Layout) -> NDArray[np.int64] | None:
    if layout.qid is None:
        return None
    ids = table[:, layout.qid]
    wrong = ~(np.abs(ids) <= MOST_QID) | (ids != np.rint(ids))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{layout.path}: the column of queries holds {ids[row]:.12g} in row {row}: expected "
            f"integers up to {MOST_QID}; number the queries anew"
        )
    return ids.astype(np.int64)


def parse_fast(layout: Layout, block_size: int = BLOCK) -> NDArray[np.float32] | None:
    """Parse with `numpy.loadtxt`, block by block; None where the careful parser has to look."""
    if layout.text.find('"', layout.start) >= 0:
        return None
    tables = []
    for block in _blocks(layout, block_size):
        table = _parse_block(block, layout.delimiter)
        if table is None or table.shape[1] != layout.n_columns:
            return None
        top = np.fmax.reduce(table, axis=None, initial=0.0)
        bottom = np.fmin.reduce(table, axis=None, initial=0.0)
        if max(top, -bottom) >= FLOAT32_LIMIT:
            return None
        if layout.label is not None and np.isnan(table[:, layout.label]).any():
            return None
        tables.append(narrow(table))
    return np.concatenate(tables) if tables else None


def _blocks(layout: Layout, block_size: int) -> Iterator[str]:
    """Cut the rows into blocks of whole lines that are not all blank."""
    text, start = layout.text, layout.start
    while start < len(text):
        end = text.find("\n", start + block_size)
        end = len(text) if end < 0 else end + 1
        block = text[start:end]
        if block.strip(" \n"):
            yield block
        start = end


def _parse_block(block: str, delimiter: str | None) -> NDArray[np.float64] | None:
    """Parse lines as they are or, if NumPy refuses, with NaN where a value is missing."""
    for attempt in range(2):
        lines = io.StringIO(_missing_fields(delimiter).sub("nan", block) if attempt else block)
        try:
            return np.loadtxt(lines, delimiter=delimiter, comments=None, ndmin=2)
        except ValueError:
            continue
    return None


def parse_carefully(layout: Layout) -> NDArray[np.float32]:
    """Parse field by field; raise `DataError` at the first that is wrong."""
    rows: list[NDArray[np.float32]] = []
    for line, fields in _rows(layout):
        if len(fields) != layout.n_columns:
            raise DataError(
                f"{layout.path}, line {line}: {plural(len(fields), 'field')}, expected "
                f"{layout.n_columns} as in the first line; complete the line or quote its text"
            )
        numbers = [_number(field, layout, line, i) for i, field in enumerate(fields)]
        rows.append(narrow(np.array(numbers)))
    if not rows:
        raise DataError(f"{layout.path}: a header but no rows; expected at least one")
    return np.stack(rows)


def narrow(wide: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round to float32, without a warning for what becomes subnormal or 0."""
    with np.errstate(under="ignore"):
        return wide.astype(np.float32)


def _number(field: str, layout: Layout, line: int, column: int) -> float:
    """Convert one field, or raise with its place."""
    text = field.strip()
    is_label = column == layout.label
    value = math.nan
    if text not in MISSING:
        try:
            value = float(text if text.isascii() and "_" not in text else "no number")
        except ValueError:
            value = math.inf
    if abs(value) < FLOAT32_LIMIT or (math.isnan(value) and not is_label):
        return value
    named = f" ({layout.names[column]!r})" if layout.names is not None else ""
    expected = "a number or a missing value (empty, NA, NaN, ?)"
    move = "correct it, or encode text as numbers"
    if is_label:
        expected, move = "a number as label", "correct it, or choose another label_column"
    elif line == 1:
        move += "; pass header=True if line 1 holds names"
    raise DataError(
        f"{layout.path}, line {line}, column {column}{named} (from 0): found {show(text)}: "
        f"expected {expected} that float32 can hold; {move}"
    )


def _rows(layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number from 1, fields) of every row that is not blank."""
    offset = layout.first_line - 1
    if layout.delimiter is None:
        for line, text in enumerate(lines_of(layout.text, layout.start), offset + 1):
            if text.strip():
                yield line, text.split()
        return
    lines = lines_of(layout.text, layout.start)
    reader = csv.reader(lines, delimiter=layout.delimiter, skipinitialspace=True, strict=True)
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield offset + reader.line_num, fields
    except csv.Error as error:
        raise DataError(
            f"{layout.path}, line {offset + reader.line_num}: {error}; correct its quotes"
        ) from error


def _missing_fields(delimiter: str | None) -> re.Pattern[str]:
    """Return the pattern of a missing value that NumPy does not know."""
    if delimiter is None:
        return re.compile(r"(?<!\S)(?:NA|\?)(?!\S)")
    return re.compile(rf"(?:(?<={delimiter})|^(?=[^\n ])) *(?:NA|\?|) *(?={delimiter}|$)", re.M)
