"""Search delimited text for whole numbers that float32 cannot tell apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.blurred import EXACT, F32, MOST_SPELLED, MOST_WHOLE, Blurred, has_large
from pyopencl_gbdt.data.csv_header import TextLayout
from pyopencl_gbdt.data.parsed import Parsed
from pyopencl_gbdt.data.reference_parser import spelled_integers
from pyopencl_gbdt.data.text_columns import feature_columns

#: Numbers in a row that NumPy compares at full speed.
_WIDE = 4096


def search(blurred: Blurred, layout: TextLayout, start: int, end: int, parsed: Parsed) -> None:
    """Search the features of a block of lines.

    Fields are read again where float64 does not have every whole number, and only there: all
    parsers return the same float64.

    Parameters
    ----------
    blurred : Blurred
    layout : TextLayout
    start, end : int
        Positions in ``layout.data`` of the block.
    parsed : Parsed
        The numbers of the block.
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
