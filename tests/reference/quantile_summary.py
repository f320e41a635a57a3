"""Twin of ``primitives.quantile_summary``: weighted quantile summaries in Python's integers."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Values, ranks and offsets, as the attributes of ``primitives.QuantileSummary``.
Arrays = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.uint32]]


class Entry(NamedTuple):
    """What a summary knows of a value.

    Attributes
    ----------
    value : float
    below : int
        At most the weight of all smaller values.
    up_to : int
        At least the weight of all values that are not greater.
    weight : int
        At most the weight of this value.
    """

    value: float
    below: int
    up_to: int
    weight: int


Column = list[Entry]


def join(columns: Iterable[Column]) -> Arrays:
    """Return the summaries of several columns as arrays."""
    kept = [list(column) for column in columns]
    entries = [entry for column in kept for entry in column]
    offsets = np.cumsum([0, *(len(column) for column in kept)])
    return (
        np.array([entry.value for entry in entries], np.float32),
        np.array([entry[1:] for entry in entries], np.int64).reshape(-1, 3),
        offsets.astype(np.uint32),
    )


def split(values: Array, ranks: Array, offsets: Array) -> Iterator[Column]:
    """Yield the summary of each column."""
    for start, end in pairwise(offsets.tolist()):
        rows = zip(values[start:end].tolist(), ranks[start:end].tolist(), strict=True)
        yield [Entry(value, *three) for value, three in rows]


def build(values: Array, weights: Array, offsets: Array) -> Arrays:
    """Return the exact summary of every column.

    Parameters
    ----------
    values : float32 array, shape (n,)
        -0.0 counts as +0.0. A NaN is left out.
    weights : int64 array, shape (n,)
        A value is left out if its weight is below 1.
    offsets : integer array, shape (n_columns + 1,)
    """
    return join(_exact(values[s:e], weights[s:e]) for s, e in pairwise(offsets.tolist()))


def _exact(values: Array, weights: Array) -> Column:
    sums: dict[float, int] = {}
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        if weight > 0 and not math.isnan(value):
            sums[value + 0.0] = sums.get(value + 0.0, 0) + weight
    column, below = [], 0
    for value, weight in sorted(sums.items()):
        column.append(Entry(value, below, below + weight, weight))
        below += weight
    return column


def merge(first: Arrays, second: Arrays) -> Arrays:
    """Return the summaries of the data of both."""
    return join(_merged(a, b) for a, b in zip(split(*first), split(*second), strict=True))


def _merged(a: Column, b: Column) -> Column:
    merged = []
    for value in sorted({entry.value for entry in (*a, *b)}):
        mine, other = at(a, value), at(b, value)
        merged.append(Entry(value, *(x + y for x, y in zip(mine[1:], other[1:], strict=True))))
    return merged


def at(column: Column, value: float) -> Entry:
    """Return what a summary knows of any value."""
    place = bisect_left(column, value, key=lambda entry: entry.value)
    before, after = column[:place][-1:], column[place : place + 1]
    if after and after[0].value == value:
        return after[0]
    below = before[0].below + before[0].weight if before else 0
    up_to = after[0].up_to - after[0].weight if after else total(column)
    return Entry(value, below, up_to, 0)


def total(column: Column) -> int:
    """Return the weight of the data."""
    return column[-1].up_to if column else 0


def error(column: Column) -> int:
    """Return the largest weight by which the rank of any value is uncertain."""
    inside = [entry.up_to - entry.below - entry.weight for entry in column]
    between = [b.up_to - b.weight - a.below - a.weight for a, b in pairwise(column)]
    return max([0, *inside, *between])


def query(column: Column, rank: Fraction) -> int:
    """Return the index of the entry for a rank (Chen & Guestrin 2016, appendix A, function g)."""
    twice_middle = [entry.below + entry.up_to for entry in column]
    if 2 * rank < twice_middle[0]:
        return 0
    if 2 * rank >= twice_middle[-1]:
        return len(column) - 1
    i = bisect_right(twice_middle, 2 * rank) - 1
    a, b = column[i], column[i + 1]
    return i if 2 * rank < a.below + a.weight + b.up_to - b.weight else i + 1


def _chosen(column: Column, n_queries: int, parts: int) -> Column:
    if len(column) <= n_queries:
        return column
    ranks = (Fraction(k * total(column), parts) for k in range(n_queries))
    return [column[i] for i in sorted({query(column, rank) for rank in ranks})]


def prune(summary: Arrays, size: int) -> Arrays:
    """Return at most ``size + 1`` entries of each column: those of ranks k / size of the weight.

    A column that has no more entries stays as it is.
    """
    return join(_chosen(column, size + 1, size) for column in split(*summary))


def cuts(summary: Arrays, max_bin: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint32]]:
    """Return the least value of each bin: those of ranks k / max_bin, k < max_bin, and offsets.

    A column with at most ``max_bin`` entries gets a bin for each.
    """
    values, _, offsets = join(_chosen(c, max_bin, max_bin) for c in split(*summary))
    return values, offsets
