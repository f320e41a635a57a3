"""Twin of ``primitives.scan``: NumPy's cumulative functions, and float sums in tree order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

CHILDREN = 16
#: The bits of every NaN in a float result.
NAN = np.array(0x7FC00000, np.uint32).view(np.float32)[()]


def identity(dtype: npt.DTypeLike, op: str) -> Any:
    """Return the identity element: the sum, maximum or minimum of no values."""
    dtype = np.dtype(dtype)
    if op == "sum":
        return dtype.type(0)
    if dtype == np.float32:
        return np.float32(-np.inf if op == "max" else np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.min if op == "max" else limits.max)


def float_keys(values: Array) -> Array:
    """Return int64 in the order of float32 numbers, -0.0 before +0.0; undefined for NaN."""
    bits = values.view(np.uint32).astype(np.int64)
    return np.where(bits >= 2**31, 2**31 - 1 - bits, bits)


def _siblings(values: Array, heads: Array) -> tuple[Array, Array, Array, Array]:
    """Sum the left siblings of each node, and the children of each parent, from the last head on.

    Parameters
    ----------
    values : float32 array, shape (n,)
    heads : bool array, shape (n,)

    Returns
    -------
    before, before_head : arrays, shape (n,)
        Sum of the elements to the left with the same parent, added left to right from +0.0; and
        whether one of them is a head.
    totals, total_heads : arrays, shape (ceil(n / 16),)
    """
    n, n_parents = len(values), -(-len(values) // CHILDREN)
    rows = np.zeros((n_parents, CHILDREN), np.float32)
    row_heads = np.zeros(rows.shape, bool)
    rows.reshape(-1)[:n], row_heads.reshape(-1)[:n] = values, heads
    before, before_head = np.zeros_like(rows), np.zeros_like(row_heads)
    total, total_head = np.zeros(n_parents, np.float32), np.zeros(n_parents, bool)
    for child in range(CHILDREN):
        before[:, child], before_head[:, child] = total, total_head
        total = np.where(row_heads[:, child], rows[:, child], total + rows[:, child])
        total_head = total_head | row_heads[:, child]
    return before.reshape(-1)[:n], before_head.reshape(-1)[:n], total, total_head


def tree_prefixes(values: Array, heads: Array, *, inclusive: bool) -> Array:
    """Return float32 prefix sums in the order of ``primitives.scan.Scan``, restarted at heads.

    A head's exclusive prefix still includes the segment before.
    """
    before, before_head, totals, total_heads = _siblings(values, heads)
    within = np.where(heads, values, before + values) if inclusive else before
    within_head = before_head | heads if inclusive else before_head
    if len(totals) <= 1:
        return within
    parents = np.repeat(tree_prefixes(totals, total_heads, inclusive=False), CHILDREN)
    result: Array = np.where(within_head, within, parents[: len(values)] + within)
    return result


def scan(values: Array, *, inclusive: bool = False, op: str = "sum") -> Array:
    """Return prefix sums, maxima or minima.

    Parameters
    ----------
    values : int32, uint32, int64 or float32 array, shape (n,); or int64, shape (n, 2)
        Pairs are summed component by component.
    inclusive : bool
    op : {"sum", "max", "min"}

    Returns
    -------
    array like ``values``
    """
    dtype = values.dtype
    if len(values) == 0:
        return np.array(values)
    if values.ndim == 2:
        return np.stack([scan(part, inclusive=inclusive, op=op) for part in values.T], axis=1)
    if dtype == np.float32 and op == "sum":
        with np.errstate(invalid="ignore", over="ignore"):
            result = tree_prefixes(
                values + np.float32(0), np.zeros(len(values), bool), inclusive=inclusive
            )
        result[np.isnan(result)] = NAN
        return result
    shifted = values if inclusive else np.concatenate([[identity(dtype, op)], values[:-1]])
    shifted = shifted.astype(dtype)
    if op == "sum":
        return np.cumsum(shifted, dtype=dtype)
    extreme = np.maximum if op == "max" else np.minimum
    if dtype == np.float32:
        keys = extreme.accumulate(float_keys(shifted))
        bits = np.where(keys < 0, 2**31 - 1 - keys, keys).astype(np.uint32)
        seen_nan = np.maximum.accumulate(np.isnan(shifted))
        result = np.where(seen_nan, NAN, bits.view(np.float32))
        return result
    return np.asarray(extreme.accumulate(shifted))
