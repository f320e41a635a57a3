"""Codes packed to the bits that the bins need, on the host.

A feature of 10 bits, in 16-bit codes:

    codes     c0 c1 c2 .. c(n-1)
    packed    |low bytes: n|plane of bit 8: n / 8|plane of bit 9: n / 8|

A plane holds one bit of each code, eight codes a byte. Whole bytes are copied, as they are the
fastest to unpack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]


def bits_of(n_codes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the bits that codes ``0 .. n_codes - 1`` need, int64; 0 for a single code."""
    most = np.maximum(np.asarray(n_codes, np.int64), 1) - 1
    return np.frexp(most.astype(np.float64))[1].astype(np.int64)


def packed_bytes(bits: npt.NDArray[np.int64], n_rows: int) -> int:
    """Return the bytes of packed codes of features with these bits."""
    whole, planes = bits // 8, bits % 8
    return int((whole * n_rows + planes * -(-n_rows // 8)).sum())


def pack(columns: npt.NDArray[Any], bits: npt.NDArray[np.int64]) -> U8:
    """Pack codes, feature after feature.

    Parameters
    ----------
    columns : uint8 or uint16 array, shape (n_features, n_rows)
    bits : int64 array, shape (n_features,)
        As ``bits_of`` returns them.

    Returns
    -------
    uint8 array, shape (packed_bytes(bits, n_rows),)
    """
    out = np.empty(packed_bytes(bits, columns.shape[1]), np.uint8)
    end = 0
    for column, n_bits in zip(columns, bits.tolist(), strict=True):
        for first, is_byte in _pieces(n_bits):
            part = (column >> first).astype(np.uint8)
            piece = part if is_byte else np.packbits(part & 1)
            out[end : end + piece.size] = piece
            end += piece.size
    return out


def unpack(packed: U8, bits: npt.NDArray[np.int64], into: npt.NDArray[Any]) -> None:
    """Unpack codes that ``pack`` packed.

    Parameters
    ----------
    packed : uint8 array
    bits : int64 array, shape (n_features,)
    into : uint8 or uint16 array, shape (n_features, n_rows), written
    """
    n_rows, end = into.shape[1], 0
    for own, n_bits in zip(into, bits.tolist(), strict=True):
        own[...] = 0
        for first, is_byte in _pieces(n_bits):
            size = n_rows if is_byte else -(-n_rows // 8)
            piece = packed[end : end + size]
            end += size
            part = piece if is_byte else np.unpackbits(piece, count=n_rows)
            np.bitwise_or(own, part.astype(into.dtype, copy=False) << first, out=own)


def _pieces(n_bits: int) -> Iterator[tuple[int, bool]]:
    """Yield the first bit of each piece of a code, and whether the piece is a whole byte."""
    for first in range(0, n_bits - 7, 8):
        yield first, True
    for first in range(n_bits // 8 * 8, n_bits):
        yield first, False
