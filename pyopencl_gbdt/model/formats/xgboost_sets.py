"""Sets of categories in XGBoost's JSON: those that go right.

Four arrays of a tree::

categories_nodes       1    4          nodes that split by a set
categories_segments    0    2          where the node's categories begin
categories_sizes       2    3
categories             0 3  1 2 7

Where all trees of a file have them so, in order, they are read as NumPy arrays, see `SetArrays`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.node_arrays import NodeArrays
from pyopencl_gbdt.model.sets import U32, packed
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, Tree

_INTEGERS = {int}
#: Words of sets that a file may claim for each node and each code, besides ``MOST_WORDS``:
#: less than 32 times the bytes that these take in the file.
_WORDS_OF_NODE, _WORDS_OF_CODE = 256, 16

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


def written_sets(tree: Tree) -> dict[str, Any]:
    """Return the members of a tree that hold its sets."""
    nodes = np.flatnonzero(np.diff(tree.set_begin))
    sets = [np.flatnonzero(tree.right_set(int(node))) for node in nodes]
    sizes = np.array([codes.size for codes in sets], np.int64)
    return {
        "categories": np.concatenate([np.zeros(0, np.int64), *sets]).astype(np.int32),
        "categories_nodes": nodes.astype(np.int32),
        "categories_segments": np.cumsum(sizes) - sizes,
        "categories_sizes": sizes,
    }


def read_all_sets(nodes: NodeArrays) -> dict[int, U32]:
    """Return the words of every node that splits by a set, by its place among all trees' nodes.

    Raises
    ------
    ModelFormatError
        See `read_sets`.
    """
    entries: list[Any] = nodes.trees.array()
    lengths = nodes.sizes.tolist()
    no_kinds = {size: [0] * size for size in set(lengths)}
    some = [i for i, one in enumerate(entries) if not _plainly_without(one, no_kinds[lengths[i]])]
    if not some:
        return {}
    sets = SetArrays.of(entries, some)
    if sets is not None and sets.is_plain(nodes.sizes[some]):
        _check_total(nodes, int(sets.n_words.sum()), sets.codes.size)
        return sets.words(nodes.begin[some])
    found: dict[int, U32] = {}
    n_words = n_codes = 0
    for index in some:
        tree, first = nodes.trees.entry(index), int(nodes.begin[index])
        own = read_sets(tree, lengths[index], f"tree_param.num_nodes of {tree.place}")
        found |= {first + node: words for node, words in own.items()}
        n_words += sum(words.size for words in own.values())
        n_codes += len(tree.member("categories").array()) if own else 0
        _check_total(nodes, n_words, n_codes)
    return found


def _check_total(nodes: NodeArrays, n_words: int, n_codes: int) -> None:
    """Raise if the sets of all trees take more memory than their file may claim."""
    most = MOST_WORDS + _WORDS_OF_NODE * int(nodes.begin[-1]) + _WORDS_OF_CODE * n_codes
    if n_words > most:
        nodes.trees.fail(
            f"sets of {32 * most} codes in all at most",
            "train with fewer levels, or with cat_method='statistics'",
        )


def _plainly_without(tree: dict[str, Any], no_kinds: list[int]) -> bool:
    """Tell whether a tree has all members of sets and no set; False if it has to be read."""
    try:
        kinds, *sets = _MEMBERS(tree)
    except KeyError:
        return False
    if any(not isinstance(one, (list, np.ndarray)) or len(one) for one in sets):
        return False
    if isinstance(kinds, np.ndarray):
        whole = kinds.dtype.kind in "iu" and kinds.size == len(no_kinds)
        return whole and not kinds.any()
    return kinds == no_kinds and _INTEGERS.issuperset(map(type, kinds))


def read_sets(cursor: Cursor, n_nodes: int, why: str) -> dict[int, U32]:
    """Return the words of every node that splits by a set, by the node's number in the file.

    ``cursor``: the entry of ``trees``.
    ``why``: where the number of nodes stands.

    Raises
    ------
    ModelFormatError
        If the sets contradict each other, or the kinds of splits.
    """
    kinds: list[int] = []
    if cursor.has("split_type"):
        kinds = cursor.member("split_type").integers(0, 1, n_nodes, why)
    if not cursor.has("categories_nodes"):
        return _checked(cursor, {}, kinds)
    nodes = cursor.member("categories_nodes").integers(0, n_nodes - 1)
    n, where = len(nodes), f"as categories_nodes of {cursor.place}"
    codes = cursor.member("categories").integers(0, MOST_CATEGORY)
    begins = cursor.member("categories_segments").integers(0, len(codes), n, where)
    sizes = cursor.member("categories_sizes").integers(1, max(len(codes), 1), n, where)
    words, found = 0, {}
    for index, (node, begin, size) in enumerate(zip(nodes, begins, sizes, strict=True)):
        if node in found:
            cursor.member("categories_nodes").entry(index).fail("each node once")
        if begin + size > len(codes):
            cursor.member("categories_sizes").entry(index).fail(
                f"{len(codes) - begin} at most, the categories that are left"
            )
        own = np.array(codes[begin : begin + size])
        words += int(own.max()) // 32 + 1
        if words > MOST_WORDS:
            cursor.member("categories").fail(f"sets of {32 * MOST_WORDS} codes in all at most")
        bits = np.zeros(int(own.max()) + 1, np.bool_)
        bits[own] = True
        found[node] = packed(bits)
    return _checked(cursor, found, kinds)


def _checked(cursor: Cursor, found: dict[int, U32], kinds: list[int]) -> dict[int, U32]:
    """Return the sets; raise unless they are those of the splits of their kind."""
    for node, kind in enumerate(kinds):
        if (kind == CATEGORY_SPLIT) != (node in found):
            expected = "1, as the node has categories" if node in found else "0, or categories"
            cursor.member("split_type").entry(node).fail(expected)
    if found and not kinds:
        cursor.member("categories_nodes").fail("[] without split_type")
    return found


def split_features(trees: list[Tree]) -> set[int]:
    """Return the features that trees split by sets."""
    return {int(f) for t in trees for f in t.feature[np.flatnonzero(np.diff(t.set_begin))]}
