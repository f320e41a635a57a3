"""A fast parser of delimited text with categorical columns, by pyarrow."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.data.block_parsers import (
    MOST_COLUMNS,
    optional_module,
    quotes_are_simple,
    read_with_pyarrow,
)
from pyopencl_gbdt.data.csv_header import Texts
from pyopencl_gbdt.data.files import Data
from pyopencl_gbdt.data.parsed import Parsed


def parse_texts(
    block: Data, delimiter: str | None, n_columns: int, *, texts: Texts
) -> Parsed | None:
    """Parse lines of which some columns hold text; return None if pyarrow may read them otherwise.

    Parameters
    ----------
    block : bytes or bytearray
    delimiter : str or None
    n_columns : int
    texts : Texts
        It gets the texts of this block.
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
