"""The twin of packed bits in ``pages.codecs``: one code and one bit at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]


def pack_bits(columns: npt.NDArray[Any], bits: npt.NDArray[np.int64]) -> U8:
    """Pack codes as ``pages.codecs.pack`` does."""
    out: list[int] = []
    for column, n_bits in zip(columns.tolist(), bits.tolist(), strict=True):
        for first in range(0, n_bits // 8 * 8, 8):
            out += [code >> first & 255 for code in column]
        for bit in range(n_bits // 8 * 8, n_bits):
            ones = [code >> bit & 1 for code in column]
            ones += [0] * (-len(ones) % 8)
            out += [int("".join(map(str, ones[i : i + 8])), 2) for i in range(0, len(ones), 8)]
    return np.array(out, np.uint8)
