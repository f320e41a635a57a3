"""Parse CSV, TSV, semicolons or spaces to float32, with the fastest parser that is installed.

The reference parser defines what a table means and names the place of an error. It also parses each
block of lines that no fast parser accepts, or whose fast result is not valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from pyopencl_gbdt.data.blurred import EXACT, F32, MOST_SPELLED, MOST_WHOLE, Blurred, has_large
from pyopencl_gbdt.data.budget import Budget
from pyopencl_gbdt.data.categories.levels import Categories
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.files.block_parsers import (
    MOST_COLUMNS,
    PARSERS,
    Parsed,
    Parser,
    optional_module,
    quotes_are_simple,
    read_with_pyarrow,
)
from pyopencl_gbdt.data.files.contents import Data, is_blank
from pyopencl_gbdt.data.files.csv_header import (
    TextLayout,
    Texts,
    feature_columns,
    find_layout,
    text_columns,
    with_levels,
)
from pyopencl_gbdt.data.files.reference_parser import (
    OpenQuoteError,
    parse_fields,
    spelled_integers,
)
from pyopencl_gbdt.errors import DataError


def parse_texts(
    block: Data, delimiter: str | None, n_columns: int, *, texts: Texts
) -> Parsed | None:
    """Parse lines of which some columns hold text; return None if pyarrow may read them otherwise.

    ``texts``: it gets the texts of this block.
    """
    simple = delimiter is not None and 2 <= n_columns <= MOST_COLUMNS and b"(" not in block
    if not simple or optional_module("pyarrow.csv") is None:
        return None
    if b'"' in block and not quotes_are_simple(block, str(delimiter)):
        return None
    columns = read_with_pyarrow(block, str(delimiter), n_columns, texts)
    if columns is None:
        return None
    table = np.empty((len(columns[0]), n_columns), np.float32)
    for number, column in enumerate(columns):
        if number not in texts:
            with np.errstate(over="ignore", under="ignore"):
                table[:, number] = column.to_numpy()
            continue
        row = 0
        for chunk in column.chunks:
            known = texts.numbers(number, chunk.dictionary.to_pylist())
            numbers = np.array([*known, np.nan], np.float32)
            places = chunk.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
            table[row : row + len(chunk), number] = numbers[places]
            row += len(chunk)
    return Parsed(table, lambda column: np.asarray(columns[column].to_numpy()))


#: Numbers in a row that NumPy compares at full speed.
_WIDE = 4096


def search(blurred: Blurred, layout: TextLayout, start: int, end: int, parsed: Parsed) -> None:
    """Search the features of a block of lines.

    Fields are read again where float64 does not have every whole number, and only there: all
    parsers return the same float64.

    ``start``, ``end``: positions in ``layout.data`` of the block.
    ``parsed``: the numbers of the block.
    """
    table, texts = parsed.table, layout.texts
    if not has_large(table):
        return
    most = _largest(table)
    columns = {
        column: feature
        for feature, column in enumerate(feature_columns(layout))
        if most[column] >= MOST_WHOLE
        and blurred.is_open(feature)
        and (texts is None or column not in texts)
    }
    huge = {
        column: np.flatnonzero(np.abs(parsed.wide(column)) >= EXACT)
        for column in columns
        if most[column] >= EXACT
    }
    spelled = _spelled(blurred, layout, start, end, {c: (columns[c], huge[c]) for c in huge})
    for column, feature in columns.items():
        blurred.add(feature, parsed.wide(column), table[:, column], spelled.get(column, ()))


def _spelled(
    blurred: Blurred,
    layout: TextLayout,
    start: int,
    end: int,
    huge: Mapping[int, tuple[int, npt.NDArray[np.intp]]],
) -> dict[int, list[int | None]]:
    """Return the integers of huge numbers, by column; None behind the ``MOST_SPELLED`` first."""
    read = {
        column: rows[: MOST_SPELLED - blurred.n_spelled[feature]]
        for column, (feature, rows) in huge.items()
    }
    found = spelled_integers(layout, start, end, read)
    for column, (feature, rows) in huge.items():
        blurred.n_spelled[feature] += len(read[column])
        found[column] += [None] * (len(rows) - len(read[column]))
    return found


def _largest(table: F32) -> F32:
    """Return the largest absolute value of each column; 0 if all are NaN.

    Several rows are one row of a wider table at first: NumPy is slow with short rows.
    """
    n_rows, n_columns = table.shape
    several = min(n_rows, max(1, _WIDE // n_columns))
    end = n_rows - n_rows % several
    wide = np.abs(table[:end]).reshape(-1, several * n_columns)
    most = np.fmax.reduce(wide, axis=0, initial=0).reshape(several, n_columns)
    found: F32 = np.fmax.reduce(np.concatenate([most, np.abs(table[end:])]), axis=0)
    return found


Floats = NDArray[np.float32]

FAST_FROM = 1 << 20
"""From this size of the text, in bytes, importing a fast parser's package pays off."""

SMALLEST_BLOCK, LARGEST_BLOCK = 1 << 18, 1 << 25
"""Bytes of text per call of a parser; the call needs about 50 times as much memory."""

NAME_BYTES = 150
"""What a column's name takes, kept twice for a while."""

MOST_QID = 2**24 - 1
"""Largest query id: float32 represents all integers up to it exactly."""


def parse_delimited(
    data: Data,
    path: str | PathLike[str],
    *,
    label_column: int | str | None = 0,
    header: bool | str = "auto",
    qid_column: int | str | None = None,
    budget: Budget | None = None,
    categorical: Any = None,
    levels: Categories | None = None,
) -> tuple[Features, Floats | None, NDArray[np.int64] | None]:
    r"""Parse delimited text.

    Parameters
    ----------
    data : bytes or bytearray
        The file's text in UTF-8, line ends ``\n``.
    label_column : int, str or None
        The label's column: its number (from 0; negative counts from the end) or name.
    header : bool or "auto"
        Whether the first line holds names.
    qid_column : int, str or None
        The column of query ids, given like ``label_column``.
    budget : Budget or None
        The memory limit of the file; None: no limit.
    categorical, levels
        Which columns are categorical, see `csv_header`.

    Returns
    -------
    features : Features
        NaN is missing; names are those of the header.
    y : (n_rows,) float32 array, or None without a label
    qid : (n_rows,) int64 array, or None without a column of queries

    Raises
    ------
    DataError
        Ragged rows, a field that is not a number, a missing label, a query id that is not an
        integer, or a table that is too large.
    """
    layout = find_layout(data, path, label_column, header, qid_column)
    layout = replace(layout, texts=text_columns(layout, categorical, levels))
    if budget is not None:
        _check_size(layout, budget)
    size = len(data) if budget is None else budget.size
    blurred = Blurred()
    X, y, ids = parse_rows(layout, min(max(size // 16, SMALLEST_BLOCK), LARGEST_BLOCK), blurred)
    return with_levels(X, feature_names(layout), layout, levels, blurred), y, ids


def parse_rows(
    layout: TextLayout, block_size: int, blurred: Blurred
) -> tuple[Floats, Floats | None, NDArray[np.int64] | None]:
    """Return features, labels and query ids of all rows of a layout; ``blurred`` searches them."""
    X, y, ids = _separate(parse_blocks(layout, block_size, blurred=blurred), layout)
    return X, y, None if ids is None else _queries(ids, layout)


def feature_names(layout: TextLayout) -> list[str] | None:
    """Return the header's names without those of label and queries; None without a header."""
    if layout.names is None:
        return None
    return [name for i, name in enumerate(layout.names) if i not in (layout.label, layout.qid)]


def _check_size(layout: TextLayout, budget: Budget) -> None:
    """Refuse a table too large for its file's size, which only a compressed file can have."""
    data = layout.data
    if len(data) <= budget.size and budget.max_bytes is None:
        return
    one = (layout.delimiter or " ").encode()
    n_fields = data.count(one) + data.count(b"\n") + 1
    n_bytes = len(data) + 4 * n_fields
    if layout.names is not None:
        n_bytes += NAME_BYTES * layout.n_columns
    budget.check(n_bytes, "its text and table take about", "unpack it with gunzip")


def parse_blocks(
    layout: TextLayout,
    block_size: int,
    parsers: Sequence[Parser] | None = None,
    blurred: Blurred | None = None,
) -> list[Floats]:
    """Parse all rows, each block with the first parser that accepts it, or the reference parser.

    Parameters
    ----------
    block_size : int
        Bytes of a block; each block is extended to the end of a line.
    parsers : sequence of callable, or None
        The parsers to try; None: NumPy's for short texts, else all.
    """
    if parsers is None and layout.texts is not None:
        parsers = [partial(parse_texts, texts=layout.texts)]
    if parsers is None:
        short = len(layout.data) - layout.start < FAST_FROM
        parsers = [PARSERS["numpy"]] if short else list(PARSERS.values())
    tables: list[Floats] = []
    for start, stop in _blocks(layout, block_size):
        end = stop
        parsed = _parse_fast(layout, start, end, parsers)
        if parsed is None:
            try:
                parsed = parse_fields(layout, start, end)
            except OpenQuoteError:  # the block may end inside a quoted field
                parsed, end = parse_fields(layout, start), len(layout.data)
        tables.append(parsed.table)
        if blurred is not None:
            search(blurred, layout, start, end, parsed)
        del parsed  # before the next block is parsed
        if end == len(layout.data):
            break
    return tables


def _parse_fast(
    layout: TextLayout, start: int, end: int, parsers: Sequence[Parser]
) -> Parsed | None:
    block = layout.data[start:end]
    for parse in parsers:
        parsed = parse(block, layout.delimiter, layout.n_columns)
        if parsed is None:
            continue
        table = parsed.table
        infinite = np.isinf(table).any()
        unlabelled = layout.label is not None and np.isnan(table[:, layout.label]).any()
        return None if infinite or unlabelled else parsed
    return None


def _blocks(layout: TextLayout, block_size: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of blocks of whole lines; skip blocks of blank lines."""
    data, start = layout.data, layout.start
    blank = b" \n\x0b\x0c" if layout.delimiter == "\t" else None
    while start < len(data):
        end = data.find(b"\n", start + block_size)
        end = len(data) if end < 0 else end + 1
        if not is_blank(data, start, end, blank):
            yield start, end
        start = end


def _separate(
    tables: list[Floats], layout: TextLayout
) -> tuple[Floats, Floats | None, Floats | None]:
    """Return features, labels and query ids of the tables; empty the list to free memory."""
    n_rows = sum(map(len, tables))
    if n_rows == 0:
        raise DataError(f"{layout.path}: a header but no rows; expected at least one")
    apart = {column for column in (layout.label, layout.qid) if column is not None}
    kept = [column for column in range(layout.n_columns) if column not in apart]
    X = np.empty((n_rows, len(kept)), np.float32)
    y, ids = (
        None if column is None else np.empty(n_rows, np.float32)
        for column in (layout.label, layout.qid)
    )
    runs = _runs(kept)
    row = 0
    tables.reverse()
    while tables:
        table = tables.pop()
        rows = slice(row, row + len(table))
        for to, run in runs:
            X[rows, to : to + run.stop - run.start] = table[:, run]
        for vector, column in ((y, layout.label), (ids, layout.qid)):
            if vector is not None:
                vector[rows] = table[:, column]
        row += len(table)
    return X, y, ids


def _runs(columns: Sequence[int]) -> list[tuple[int, slice]]:
    """Return the runs of adjacent columns as ``(place of the run's first column, slice)``."""
    runs: list[tuple[int, slice]] = []
    for place, column in enumerate(columns):
        if runs and runs[-1][1].stop == column:
            runs[-1] = (runs[-1][0], slice(runs[-1][1].start, column + 1))
        else:
            runs.append((place, slice(column, column + 1)))
    return runs


def _queries(ids: Floats, layout: TextLayout) -> NDArray[np.int64]:
    wrong = ~(np.abs(ids) <= MOST_QID) | (ids != np.rint(ids))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{layout.path}: the column of queries holds {ids[row]:.12g} in row {row}: expected "
            f"integers up to {MOST_QID}; number the queries anew"
        )
    return ids.astype(np.int64)
