"""Sets of codes as bits: bit ``code % 32`` of word ``code // 32``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]


def packed(bits: npt.NDArray[np.bool_]) -> U32:
    """Return the words of a set, uint32, up to the word of its last code; at least one.

    Parameters
    ----------
    bits : bool array, shape (n_codes,)
    """
    codes = np.flatnonzero(bits)
    padded = np.zeros(32 * (int(codes.max(initial=0)) // 32 + 1), np.bool_)
    padded[codes] = True
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)


def unpacked(words: U32) -> npt.NDArray[np.bool_]:
    """Return the bits of a set's words, bool, shape (32 * n_words,)."""
    octets = np.ascontiguousarray(words, "<u4").view(np.uint8)
    return np.unpackbits(octets, bitorder="little").astype(np.bool_)


def joined(sets: list[U32]) -> tuple[U32, npt.NDArray[np.int32]]:
    """Return the words of all nodes, and where those of each node begin.

    ``sets``: the set of every node, empty for nodes without one.
    """
    begin = np.zeros(len(sets) + 1, np.int32)
    np.cumsum([words.size for words in sets], out=begin[1:])
    return np.concatenate([np.zeros(0, np.uint32), *sets]), begin
