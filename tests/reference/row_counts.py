"""Twin of ``cl_kernels/counted_children.h``: numbers of rows in sums of gradients and Hessians."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.random_numbers import mix

I64 = npt.NDArray[np.int64]


def count_bits(n_rows: int) -> int:
    """Return the bits of a count in a sum of Hessians; all counts are below 2^bits (2^bits - 1)."""
    bits = 1
    while n_rows >= (1 << bits) * ((1 << bits) - 1):
        bits += 1
    return bits


def on_grid(quanta: I64, seen: npt.NDArray[np.bool_], bits: int) -> I64:
    """Round quanta to the next multiples of 2^bits - 1 and of 2^bits, up or down at random, plus 1.

    A row goes up with a probability that its distance from the multiple below tells, so that
    roundings are 0 in the mean. Its random number depends on the row alone.

    Parameters
    ----------
    quanta : int64 array, shape (n_rows, 2)
    seen : bool array, shape (n_rows,)
        Rows that count; others have quanta of 0.
    bits : int

    Returns
    -------
    int64 array, shape (n_rows, 2)
        A row that is seen has a Hessian of at least 2^bits + 1.
    """
    drawn = (mix(np.arange(len(quanta), dtype=np.uint32)) >> np.uint32(8)).astype(np.int64)
    steps = np.array([(1 << bits) - 1, 1 << bits], np.int64)
    up = drawn[:, None] * steps >> 24
    multiples = (quanta + up) // steps
    multiples[:, 1] = np.maximum(multiples[:, 1], 1)
    return np.where(seen[:, None], multiples * steps + 1, 0)


def number_of_rows(g: Any, h: Any, bits: int) -> Any:
    """Return how many rows have these sums, int or int64 array."""
    modulus = (1 << bits) - 1
    x = h & modulus
    return x + (((g % modulus) - x) % modulus << bits)
