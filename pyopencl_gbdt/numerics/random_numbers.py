"""Random numbers without state, the twin of ``cl_kernels/random.h``, and random orders of rows.

The models of ordered boosting learn from prefixes of such an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass

U32 = npt.NDArray[np.uint32]
_u = np.uint32


def mix(given: Any) -> U32:
    """Mix the bits of each 32-bit number; the mapping is a bijection."""
    x: U32 = np.atleast_1d(np.asarray(given, np.uint32)).copy()
    x ^= x >> _u(16)
    x *= _u(0x7FEB352D)
    x ^= x >> _u(15)
    x *= _u(0x846CA68B)
    x ^= x >> _u(16)
    return x


def stream(seed: int, a: int | npt.NDArray[np.int64], b: int) -> U32:
    """Return the keys of random streams, one for each ``a``: uint32 (1,) or (n,)."""
    start = np.array([(seed + 0x9E3779B9) & 0xFFFFFFFF], np.uint32)
    other = np.array([(b * 0x85EBCA6B + 0xC2B2AE35) & 0xFFFFFFFF], np.uint32)
    return mix(mix(mix(start) + np.asarray(a, np.uint32)) ^ other)


def random_bits(key: U32, i: npt.ArrayLike) -> U32:
    """Return the numbers at positions ``i`` of a stream, uint32."""
    return mix(mix(np.asarray(i, np.uint32) + key) ^ (key * _u(0x27D4EB2F)))


#: Number of the random stream of orders.
ORDERS = 0x5EED
#: Number of the random stream of the first sketch of gradients; the others follow.
SKETCHES = 0x5CE7C000
#: Rows of the smallest prefix: 64 gave lower held-out losses than 16 and 32, ``bench ordered``,
#: with 1, 2 and 4 orders on most of six sets of 150 to 600 rows.
FIRST_PREFIX = 64


def drawn_order(n_rows: int, seed: int, permutation: int) -> U32:
    """Return a random order of the rows: uint32 array of row numbers, shape (n_rows,)."""
    keys = random_bits(stream(seed, permutation, ORDERS), np.arange(n_rows))
    return np.argsort(keys, kind="stable").astype(np.uint32)


def prefix_sizes(n_rows: int) -> list[int]:
    """Return the rows that each model of an order learns from, each twice as many as before."""
    sizes = []
    size = FIRST_PREFIX
    while size < n_rows:
        sizes.append(size)
        size *= 2
    return sizes


def n_entries(n_rows: int, n_orders: int) -> int:
    """Return the number of margins for each output of all models."""
    return n_rows + n_orders * sum(min(2 * size, n_rows) for size in prefix_sizes(n_rows))


def n_models(n_rows: int, n_orders: int) -> int:
    """Return the number of models; the last one learns from all rows."""
    return 1 + n_orders * len(prefix_sizes(n_rows))


@dataclass(frozen=True, eq=False)
class PrefixModels:
    """The models of ordered boosting: which rows each learns from, and which it has margins of.

    A model learns from the first rows of an order, and has margins of twice as many: the second
    half takes its gradients from there. The last model learns from all rows. An entry is one row's
    margin under one model; those of a model lie one after the other, in the model's order.

    Attributes
    ----------
    rows : uint32 array, shape (n_entries,)
        The row of every entry.
    table : uint32 array, shape (n_models, 3)
        First entry, number of entries to learn from, number of all entries.
    entry_of : uint32 array, shape (n_orders, n_rows)
        The entry that a row takes its gradient from, in every order. Rows of the smallest prefix
        take the model that learns from it, as there is no smaller one.
    """

    rows: U32
    table: U32
    entry_of: U32

    @classmethod
    def of(cls, orders: Sequence[U32]) -> PrefixModels:
        """Return the models of these orders of the rows."""
        n = orders[0].size
        parts: list[U32] = []
        table: list[tuple[int, int, int]] = []
        entry_of = np.empty((len(orders), n), np.uint32)
        begin = 0
        for order, own in zip(orders, entry_of, strict=True):
            for size in prefix_sizes(n):
                end = min(2 * size, n)
                first = 0 if size == FIRST_PREFIX else size
                own[order[first:end]] = begin + np.arange(first, end)
                parts.append(order[:end])
                table.append((begin, size, end))
                begin += end
        if not table:  # the model of all rows is the only one
            entry_of[:] = np.arange(n)
        parts.append(np.arange(n, dtype=np.uint32))
        table.append((begin, n, n))
        return cls(np.concatenate(parts), np.array(table, np.uint32), entry_of)

    @classmethod
    def drawn(cls, n_rows: int, n_orders: int, seed: int, *, in_time: bool) -> PrefixModels:
        """Return the models of random orders, or of the rows' own one."""
        if in_time:
            return cls.of([np.arange(n_rows, dtype=np.uint32)])
        return cls.of([drawn_order(n_rows, seed, number) for number in range(n_orders)])
