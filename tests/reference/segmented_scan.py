"""Twin of ``primitives.segmented_scan``: a scan per segment; float sums in tree order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.scan import CHILDREN, NAN, scan

Array = npt.NDArray[Any]


def _siblings(values: Array, heads: Array) -> tuple[Array, Array, Array, Array]:
    """Combine left siblings of each node, and children of each node, as (value, head) pairs."""
    n, n_parents = len(values), -(-len(values) // CHILDREN)
    rows, row_heads = (
        np.zeros((n_parents, CHILDREN), np.float32),
        np.zeros((n_parents, CHILDREN), bool),
    )
    rows.reshape(-1)[:n], row_heads.reshape(-1)[:n] = values, heads
    before, before_head = np.zeros_like(rows), np.zeros_like(row_heads)
    total, total_head = np.zeros(n_parents, np.float32), np.zeros(n_parents, bool)
    for child in range(CHILDREN):
        before[:, child], before_head[:, child] = total, total_head
        total = np.where(row_heads[:, child], rows[:, child], total + rows[:, child])
        total_head = total_head | row_heads[:, child]
    return before.reshape(-1)[:n], before_head.reshape(-1)[:n], total, total_head


def _tree_prefixes(values: Array, heads: Array, *, inclusive: bool) -> Array:
    """Return float32 prefixes; a head's exclusive prefix still includes the segment before."""
    before, before_head, totals, total_heads = _siblings(values, heads)
    within = np.where(heads, values, before + values) if inclusive else before
    within_head = before_head | heads if inclusive else before_head
    if len(totals) <= 1:
        return within
    parents = np.repeat(_tree_prefixes(totals, total_heads, inclusive=False), CHILDREN)
    result: Array = np.where(within_head, within, parents[: len(values)] + within)
    return result


def heads_of(offsets: Array, n: int) -> npt.NDArray[np.uint8]:
    """Convert n_segments + 1 offsets to head flags, shape (n,)."""
    heads = np.zeros(n, np.uint8)
    heads[offsets[offsets < n]] = 1
    return heads


def segmented_scan(
    values: Array, head_flags: Array, *, inclusive: bool = False, op: str = "sum"
) -> Array:
    """Return prefix sums, maxima or minima that restart at every head.

    Parameters
    ----------
    values : int32, uint32, int64 or float32 array, shape (n,); or int64, shape (n, 2)
        Pairs are summed component by component.
    head_flags : array, shape (n,)
    inclusive : bool
    op : {"sum", "max", "min"}

    Returns
    -------
    array like ``values``
    """
    heads = head_flags != 0
    if values.dtype == np.float32 and op == "sum" and len(values):
        with np.errstate(invalid="ignore", over="ignore"):
            result = _tree_prefixes(values + np.float32(0), heads, inclusive=inclusive)
        if not inclusive:
            result[heads] = 0
        result[np.isnan(result)] = NAN
        return result
    segments = np.split(values, np.flatnonzero(heads))
    return np.concatenate([scan(part, inclusive=inclusive, op=op) for part in segments])
