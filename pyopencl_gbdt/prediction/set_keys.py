"""Sets of codes in the form that walks in blocks read; see ``cl_kernels/set_keys.h``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
#: In a column's number: its splits are by sets of codes.
OF_SETS = 0x80000000
#: Sets of one feature have the length of its longest one. With more words in all, rows walk alone.
MOST_WORDS = 2**24


@dataclass(frozen=True)
class SetKeys:
    """Sets of codes: bit 0 sends left, bit 1 right, bit ``2 + code`` sends a level right if set.

    Attributes
    ----------
    words : uint32 array
    begin : uint32 array, shape (n_sets,)
        First word of each set.
    n_codes : uint32 array, shape (n_columns,)
        Codes of a column that have bits in its sets; 0 in columns of numbers.
    """

    words: U32
    begin: U32
    n_codes: U32


def set_keys(columns: U32, sets: Sequence[U32], features: npt.NDArray[np.int64]) -> SetKeys | None:
    """Return the sets of a model's splits; None if they would take too much memory.

    Parameters
    ----------
    columns : uint32 array, shape (n_columns,)
        As in ``PackedTrees``.
    sets : sequence of uint32 array
        The words of each set, as a model has them.
    features : int64 array, shape (n_sets,)
        The feature of each set's split.
    """
    sizes = np.array([words.size for words in sets], np.int64)
    longest = np.zeros(int(features.max(initial=0)) + 1, np.int64)
    np.maximum.at(longest, features, sizes)
    each = longest[features] + 1
    ends = np.cumsum(each)
    if ends.size == 0 or ends[-1] > MOST_WORDS:
        return None
    begin = ends - each
    words = np.zeros(int(ends[-1]), np.uint32)
    at = np.repeat(begin - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    flat = np.concatenate(list(sets))
    words[at] = flat << np.uint32(2)
    words[at + 1] |= flat >> np.uint32(30)  # no two words of a set meet here
    words[begin] |= np.uint32(2)
    of_sets = columns >= OF_SETS
    n_codes = np.zeros(columns.size, np.int64)
    n_codes[of_sets] = 32 * longest[(columns[of_sets] - OF_SETS) >> 1]
    return SetKeys(words, begin.astype(np.uint32), n_codes.astype(np.uint32))
