"""Twin of ``primitives.stable_partition``: two boolean selections per segment."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def stable_partition(
    values: Array, flags: Array, offsets: Array | None = None
) -> tuple[Array, npt.NDArray[np.uint32]]:
    """Move flagged values to the front of every segment; return them and the flagged counts.

    Parameters
    ----------
    values : array, shape (n,)
    flags : array, shape (n,)
    offsets : integer array, shape (n_segments + 1,), optional
        From 0 to n; default: one segment.

    Returns
    -------
    out : array like ``values``
    counts : uint32 array, shape (n_segments,)
    """
    if offsets is None:
        offsets = np.array([0, len(values)])
    out = values.copy()
    counts = np.zeros(len(offsets) - 1, np.uint32)
    for segment, (start, end) in enumerate(pairwise(offsets)):
        part, first = values[start:end], flags[start:end] != 0
        out[start:end] = np.concatenate([part[first], part[~first]])
        counts[segment] = first.sum()
    return out, counts
