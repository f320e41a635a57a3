"""A block of rows that walk trees on the host: their values, and the keys that decide."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
#: Keys of missing values; see `value_decision.h`.
_MISSING_RIGHT, _MISSING_LEFT = np.uint32(0xFFFFFFFE), np.uint32(0)
_SIGN = np.int32(-(2**31))


class RowBlock:
    """A block of rows: each value, and its key twice, as missing values go right or left."""

    def __init__(self, values: F32) -> None:
        self.n_rows = len(values)
        self.values = np.ascontiguousarray(values.T)
        self.rows = np.arange(self.n_rows)
        bits = self.values.view(np.int32)
        bits = np.where(bits == _SIGN, 0, bits)  # -0 is 0
        keys = (bits ^ (bits >> 31 | _SIGN)).view(np.uint32)  # as those of `ordered`
        both = np.empty((len(self.values), 2, self.n_rows), np.uint32)
        both[:] = keys[:, None]
        missing = np.isnan(self.values)
        if missing.any():
            both[:, 0][missing] = _MISSING_RIGHT
            both[:, 1][missing] = _MISSING_LEFT
        self.keys = both.reshape(-1)
