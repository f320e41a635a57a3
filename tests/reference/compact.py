"""Twin of ``primitives.compact``: boolean indexing."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]


def compact(values: Array, flags: Array) -> Array:
    """Return the values whose flag is not zero, in order."""
    kept: Array = values[flags != 0]
    return kept
