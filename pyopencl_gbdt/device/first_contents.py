"""What the small arrays of one allocation are to hold at first, on the host until it is sent.

whole    |feature_offset..|thresholds......|leaf_rate..|labels........|   on the device
image    |set             |set             |set        |cleared       |   on the host
            ^ low                                           ^ high: one copy of all between
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


class FirstContents:
    """The bytes of one allocation.

    Parameters
    ----------
    n_bytes : int
    """

    def __init__(self, n_bytes: int) -> None:
        self._image: Bytes | None = np.zeros(n_bytes, np.uint8)
        self._low, self._high = n_bytes, 0

    def put(self, begin: int, values: Bytes | int, n_bytes: int) -> bool:
        """Take bytes to send later; False if the image was taken already."""
        if self._image is None:
            return False
        self._image[begin : begin + n_bytes] = values
        self._low, self._high = min(self._low, begin), max(self._high, begin + n_bytes)
        return True

    def take(self) -> tuple[int, Bytes]:
        """Return the first byte that was set, and all bytes up to the last one; only once."""
        image, self._image = self._image, None
        return self._low, np.zeros(0, np.uint8) if image is None else image[self._low : self._high]


class Place:
    """The place of an array's first contents among those of its allocation."""

    def __init__(self, contents: FirstContents, begin: int) -> None:
        self._contents, self._begin = contents, begin

    def put(self, host: npt.NDArray[Any], start_bytes: int) -> bool:
        """Take values; False if what was set before has been sent."""
        flat = host.reshape(-1).view(np.uint8)
        return self._contents.put(self._begin + start_bytes, flat, flat.size)

    def clear(self, n_bytes: int) -> bool:
        """Take zero bytes; False as for ``put``."""
        return self._contents.put(self._begin, 0, n_bytes)
