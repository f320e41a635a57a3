"""Fast parsers of delimited text, one block of lines at a time: pyarrow, pandas and NumPy.

Each parser returns the same numbers as the reference parser. It returns None if it cannot
read the lines, or if its result cannot be trusted. All of them round a decimal number correctly
to float64, then to float32. pyarrow and pandas are optional, and imported at the first block.
"""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Callable, Container
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.files.contents import Data
from pyopencl_gbdt.data.files.csv_header import MISSING
from pyopencl_gbdt.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class Parsed:
    """The numbers of a block of lines.

    Attributes
    ----------
    table : (n_rows, n_columns) float32 array, C order
    wide : callable
        Returns a column of numbers before they were rounded to float32: float64, (n_rows,).
    """

    table: NDArray[np.float32]
    wide: Callable[[int], NDArray[np.float64]]


def of_matrix(numbers: NDArray[np.float64]) -> Parsed:
    """Return the numbers of a block, (n_rows, n_columns); what is too large becomes infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return Parsed(numbers.astype(np.float32, order="C"), lambda column: numbers[:, column])


Parser = Callable[[Data, "str | None", int], "Parsed | None"]

MOST_COLUMNS = 10_000
"""Wider tables are parsed by NumPy, since pyarrow and pandas need some kilobytes per column."""

MOST_QUOTED = 1000
"""Longest quoted field in characters; a longer one is most likely not a number."""

#: Characters of numbers and missing values. "t" of "true" and "(" of "nan(1)" are left out.
_ALPHABET = b"0123456789+-.eENAna? \n"

_MINUS_ZERO = re.compile(rb"-0+(?![0-9.eE])")
"""An integer -0, which loses its sign in some parsers."""

_NANS = [a + b + c for a in "nN" for b in "aA" for c in "nN"]


@cache
def optional_module(name: str) -> Any | None:
    """Import an optional module; return None if it is absent or broken."""
    try:
        return importlib.import_module(name)
    except Exception:  # a half-installed package may raise anything
        return None


def parse_with_pyarrow(block: Data, delimiter: str | None, n_columns: int) -> Parsed | None:
    """Parse with ``pyarrow.csv.read_csv``."""
    if optional_module("pyarrow.csv") is None or not _is_simple(block, delimiter, n_columns):
        return None
    columns = read_with_pyarrow(block, str(delimiter), n_columns)
    if columns is None:
        return None
    table = np.empty((len(columns[0]), n_columns), np.float32)
    with np.errstate(over="ignore", under="ignore"):
        for number, column in enumerate(columns):
            table[:, number] = column.to_numpy()
    return Parsed(table, lambda column: np.asarray(columns[column].to_numpy()))


def read_with_pyarrow(
    block: Data, delimiter: str, n_columns: int, texts: Container[object] = ()
) -> list[Any] | None:
    """Return pyarrow's columns of float64, or of a dictionary of strings; None if it refuses."""
    import pyarrow as pa
    from pyarrow import csv

    names = [str(column) for column in range(n_columns)]
    longest = block.find(b"\n") + 1 or len(block)
    text = pa.dictionary(pa.int32(), pa.string())
    kinds = {name: text if int(name) in texts else pa.float64() for name in names}
    try:
        columns: list[Any] = csv.read_csv(
            pa.py_buffer(block),
            read_options=csv.ReadOptions(
                column_names=names, block_size=max(1 << 20, min(len(block) + 1, 8 * longest))
            ),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                column_types=kinds, null_values=sorted(MISSING), strings_can_be_null=True
            ),
        ).columns
    except (pa.ArrowException, ValueError, NotImplementedError):
        return None
    return columns


def parse_with_pandas(block: Data, delimiter: str | None, n_columns: int) -> Parsed | None:
    """Parse with ``pandas.read_csv``."""
    pandas = optional_module("pandas")
    if pandas is None or delimiter is None or not _is_simple(block, delimiter, n_columns):
        return None
    try:
        frame = pandas.read_csv(
            io.BytesIO(block),
            sep=delimiter,
            header=None,
            keep_default_na=False,
            na_values=sorted(MISSING) + _NANS,
            engine="c",
            encoding="ascii",
            **_exact(pandas),
        )
    except (ValueError, TypeError, OverflowError, KeyError):
        return None
    # pandas fills short lines up with NaN, so count delimiters. Long lines raise an error.
    n_delimiters = block.count(delimiter.encode())
    if frame.shape[1] != n_columns or n_delimiters != len(frame) * (n_columns - 1):
        return None
    kinds = {dtype.kind for dtype in frame.dtypes}  # asking for float dtypes takes twice as long
    if not kinds <= {"i", "u", "f"} or (kinds != {"f"} and _MINUS_ZERO.search(block)):
        return None
    return of_matrix(frame.to_numpy(np.float64))


def _exact(pandas: Any) -> dict[str, str]:
    """Return the options that make pandas round correctly; pandas 3.1 and later always do."""
    version = re.match(r"(\d+)\.(\d+)", pandas.__version__)
    new = version is not None and (int(version[1]), int(version[2])) >= (3, 1)
    return {} if new else {"float_precision": "round_trip"}


def parse_with_numpy(block: Data, delimiter: str | None, n_columns: int) -> Parsed | None:
    """Parse with `numpy.loadtxt`; if that fails, write NaN for missing values and parse again."""
    if b'"' in block:
        return None
    text = block.decode("utf-8")
    for attempt in range(2):
        lines = io.StringIO(_missing_fields(delimiter).sub("nan", text) if attempt else text)
        try:
            table = np.loadtxt(lines, delimiter=delimiter, comments=None, ndmin=2)
        except ValueError:
            continue
        if table.shape[1] != n_columns:
            return None
        return of_matrix(table)
    return None


PARSERS: dict[str, Parser] = {
    "pyarrow": parse_with_pyarrow,
    "pandas": parse_with_pandas,
    "numpy": parse_with_numpy,
}
"""The parsers in the order they are tried."""


def _is_simple(block: Data, delimiter: str | None, n_columns: int) -> bool:
    """Tell whether all parsers would read these lines in the same way.

    The parsers disagree on blank lines in tables of one column, and on text that is not a number.
    """
    if delimiter is None or not 2 <= n_columns <= MOST_COLUMNS:
        return False
    quoted = b'"' in block
    if block.translate(None, _ALPHABET + delimiter.encode() + (b'"' if quoted else b"")):
        return False
    return not quoted or quotes_are_simple(block, delimiter)


def quotes_are_simple(block: Data, delimiter: str) -> bool:
    """Tell whether every quote is at the start or end of a field, with none inside a field."""
    letters = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(letters == ord('"'))
    if len(quotes) % 2:
        return False
    opening, closing = quotes[0::2], quotes[1::2]
    before = letters[opening[opening > 0] - 1]
    after = letters[closing[closing < len(letters) - 1] + 1]
    return bool(
        _ends_fields(before, delimiter)
        and _ends_fields(after, delimiter)
        and (closing - opening).max(initial=0) <= MOST_QUOTED
    )


def _ends_fields(letters: NDArray[np.uint8], delimiter: str) -> bool:
    return bool(np.all((letters == ord(delimiter)) | (letters == ord("\n"))))


@cache
def _missing_fields(delimiter: str | None) -> re.Pattern[str]:
    """Return the pattern of the missing values that NumPy does not know.

    The pattern scans each run of spaces once, from its start: no space may follow it.
    """
    if delimiter is None:
        return re.compile(r"(?<!\S)(?:NA|\?)(?!\S)")
    blank = r" *(?:(?:NA|\?) *)?"
    return re.compile(
        rf"(?<={delimiter}){blank}(?={delimiter}|$)|^{blank}(?={delimiter})|^ *(?:NA|\?) *$", re.M
    )
