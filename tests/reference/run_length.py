"""Twin of ``primitives.run_length``: starts of runs and their lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def heads(keys: Array) -> npt.NDArray[np.int64]:
    """Return the positions where runs of bitwise equal keys begin."""
    bits = keys.view(f"u{keys.itemsize}")
    return np.flatnonzero(np.concatenate([np.ones(min(1, len(bits)), bool), bits[1:] != bits[:-1]]))


def run_length_encode(keys: Array) -> tuple[Array, npt.NDArray[np.uint32]]:
    """Return the key and length of every run of equal neighbours.

    Parameters
    ----------
    keys : array, shape (n,)
        Compared bit by bit.

    Returns
    -------
    unique : array like ``keys``, shape (n_runs,)
    counts : uint32 array, shape (n_runs,)
    """
    starts = heads(keys)
    return keys[starts], np.diff(starts, append=len(keys)).astype(np.uint32)


def unique_by_key(keys: Array, values: Array) -> tuple[Array, Array]:
    """Return the key and first value of every run of equal neighbours."""
    starts = heads(keys)
    return keys[starts], values[starts]
