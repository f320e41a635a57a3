"""The sets of many trees of XGBoost's JSON as NumPy arrays, where they lie as XGBoost lays them.

The categories of a tree are then those of its first set, those of the next, and nothing else::

    trees[0].categories   0 3 | 1 2 7         codes   0 3 | 1 2 7 | 4
    trees[1].categories   4                   sizes   2     3       1
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.sets import U32

I64 = npt.NDArray[np.int64]
#: Categories are whole numbers in float32.
MOST_CATEGORY = 2**24 - 1
#: Words of all sets of a tree, 256 MB: a short file must not take much memory.
MOST_WORDS = 2**26
_MEMBERS = itemgetter(
    "split_type", "categories", "categories_nodes", "categories_segments", "categories_sizes"
)


@dataclass(frozen=True)
class SetArrays:
    """The arrays of sets in XGBoost's files, of some trees; the trees follow each other.

    Attributes
    ----------
    kinds, codes, nodes, begins, sizes : int64 array
        ``split_type``, ``categories``, ``categories_nodes``, ``categories_segments`` and
        ``categories_sizes``.
    n_kinds, n_codes, n_sets : int64 array, shape (n_trees,)
        Lengths of a tree's ``split_type``, of its ``categories``, and of the others.
    """

    kinds: I64
    codes: I64
    nodes: I64
    begins: I64
    sizes: I64
    n_kinds: I64
    n_codes: I64
    n_sets: I64

    @classmethod
    def of(cls, trees: list[Any], some: list[int]) -> SetArrays | None:
        """Return the members of some trees; None if one is not an array of natural numbers."""
        try:
            columns = list(zip(*(_MEMBERS(trees[index]) for index in some), strict=True))
        except KeyError:
            return None
        if not set(map(type, chain.from_iterable(columns))) <= {list, np.ndarray}:
            return None
        lengths = [np.array([len(one) for one in column], np.int64) for column in columns]
        arrays = [natural for column in columns if (natural := _natural(column)) is not None]
        same = all(np.array_equal(lengths[2], other) for other in lengths[3:])
        return cls(*arrays, *lengths[:3]) if same and len(arrays) == len(columns) else None

    @property
    def tree(self) -> I64:
        """The place of each set's tree among these trees."""
        return np.repeat(np.arange(self.n_sets.size), self.n_sets)

    @property
    def n_words(self) -> I64:
        """The number of 32-bit words of each set; needs a category in every set."""
        starts = np.cumsum(self.sizes) - self.sizes
        found: I64 = np.maximum.reduceat(self.codes, starts) // 32 + 1 if starts.size else starts
        return found

    def is_plain(self, n_nodes: I64) -> bool:
        """Tell whether the members agree with each other, and lie as XGBoost lays them."""
        tree, n_trees = self.tree, self.n_sets.size
        first_code = (np.cumsum(self.n_codes) - self.n_codes)[tree]
        first_kind = (np.cumsum(self.n_kinds) - self.n_kinds)[tree]
        starts = np.cumsum(self.sizes) - self.sizes
        lie_there = (
            np.array_equal(self.n_kinds, n_nodes)
            and not (self.nodes >= n_nodes[tree]).any()
            and not (self.sizes < 1).any()
            and np.array_equal(np.bincount(tree, self.sizes, n_trees), self.n_codes)
            and np.array_equal(self.begins, starts - first_code)
            and self.codes.max(initial=0) <= MOST_CATEGORY
        )
        if not lie_there:
            return False
        by_set = np.bincount(first_kind + self.nodes, minlength=self.kinds.size)
        few = np.bincount(tree, self.n_words, n_trees).max(initial=0) <= MOST_WORDS
        return few and np.array_equal(by_set, self.kinds)  # a node has one set, if its kind says so

    def words(self, first: I64) -> dict[int, U32]:
        """Return the words of every set, by its node's number plus ``first`` of the tree."""
        sizes = self.n_words
        ends = np.cumsum(sizes)
        words = np.zeros(int(sizes.sum()), np.uint32)
        bits = np.left_shift(np.uint32(1), (self.codes % 32).astype(np.uint32))
        np.bitwise_or.at(words, np.repeat(ends - sizes, self.sizes) + self.codes // 32, bits)
        keys = (first[self.tree] + self.nodes).tolist()
        bounds = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
        return {key: words[a:b] for key, (a, b) in zip(keys, bounds, strict=True)}


def _natural(lists: Iterable[Any]) -> I64 | None:
    """Return the numbers of all lists, one after the other; None if one is not from 0 on."""
    lists = [one.tolist() if isinstance(one, np.ndarray) else one for one in lists]
    values = list(chain.from_iterable(lists))
    if not {int}.issuperset(map(type, values)):
        return None
    try:
        found = np.fromiter(values, np.int64, len(values))
    except OverflowError:
        return None
    return None if found.min(initial=0) < 0 else found
