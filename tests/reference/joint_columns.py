"""Twin of joint codes: the codes of columns that share one, and each column's share of its sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def joint_codes(codes: npt.NDArray[Any], sizes: Sequence[int]) -> npt.NDArray[np.uint8]:
    """Return the joint codes of some columns.

    Parameters
    ----------
    codes : integer array, shape (n_rows, n_columns)
    sizes : sequence of int
        Codes of each column; their product is at most 256.
    """
    joint: npt.NDArray[np.uint8] = np.ravel_multi_index(codes.T, sizes).astype(np.uint8)
    return joint


def marginals(cells: npt.NDArray[np.int64], sizes: Sequence[int]) -> list[npt.NDArray[np.int64]]:
    """Return the histogram of each column from the histogram of their joint codes.

    Parameters
    ----------
    cells : int64 array, shape (n_cells, 2)
    sizes : sequence of int
    """
    by_digit = cells.reshape(*sizes, 2)
    others = [tuple(k for k in range(len(sizes)) if k != own) for own in range(len(sizes))]
    return [by_digit.sum(axis=axes) for axes in others]


def exclusive_digit(
    codes: npt.NDArray[Any], sizes: Sequence[int], fullest: Sequence[int]
) -> npt.NDArray[np.int64]:
    """Return the digit of exclusive columns: 0, or which column has which code but its fullest.

    Parameters
    ----------
    codes : integer array, shape (n_rows, n_columns)
        In each row, at most one column has another code than its fullest.
    sizes, fullest : sequence of int
        Codes of each column, and the one that has no value of the digit.
    """
    digit, value = np.zeros(len(codes), np.int64), 1
    for column, (size, full) in enumerate(zip(sizes, fullest, strict=True)):
        for code in range(size):
            if code == full:
                continue
            there = codes[:, column] == code
            assert not (digit[there] > 0).any()
            digit[there] = value
            value += 1
    return digit


def exclusive_shares(
    cells: npt.NDArray[np.int64], sizes: Sequence[int], fullest: Sequence[int]
) -> list[npt.NDArray[np.int64]]:
    """Return the histogram of each exclusive column from that of their digit.

    Parameters
    ----------
    cells : int64 array, shape (n_values, 2)
    sizes, fullest : sequence of int
    """
    found, value = [], 1
    for size, full in zip(sizes, fullest, strict=True):
        others = cells[value : value + size - 1]
        left = cells.sum(axis=0) - others.sum(axis=0)
        found.append(np.insert(others, full, left, axis=0))
        value += size - 1
    return found


def drawn_places(drawn: npt.NDArray[np.integer[Any]], sizes: Sequence[int]) -> list[list[int]]:
    """Return the columns of every place of a tree, which it has drawn.

    Columns come by their number of codes, the largest first. Each one joins the last place, if
    that has room for it (next fit, decreasing).

    Parameters
    ----------
    drawn : integer array, shape (n_drawn,)
        Ascending.
    sizes : sequence of int
        Codes of each column.
    """
    places: list[list[int]] = []
    for column in sorted(drawn.tolist(), key=lambda column: -int(sizes[column])):
        members = [*(places[-1] if places else ()), column]
        if places and np.prod([int(sizes[member]) for member in members]) <= 256:
            places[-1].append(column)
        else:
            places.append([column])
    return places


def rows_of_run(by_place: np.ndarray) -> int:
    """Return the most rows of a run, of a power of two, in which no code is above 127 times.

    Parameters
    ----------
    by_place : (places, n) uint8 array
        Codes of a block.

    Returns
    -------
    run : int
        512 if runs of 1024 rows have a code more often: rows of the block are not packed.
    """
    run = 16384
    while run >= 1024:
        counts = [
            np.bincount(codes[at : at + run]).max()
            for codes in by_place
            for at in range(0, len(codes), run)
        ]
        if max(counts) <= 127:
            break
        run //= 2
    return run
