"""One decision tree as flat NumPy arrays, checked at construction and immutable."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.sets import unpacked

if TYPE_CHECKING:
    from pyopencl_gbdt.model.linear_leaves import LinearTerms

#: ``Tree.split_kind``: ``x < threshold`` goes left, or levels outside a set go left.
NUMERIC_SPLIT = 0
CATEGORY_SPLIT = 1
#: The value of ``Tree.left`` and ``Tree.right`` in a leaf, and of ``Tree.parent`` in the root.
NO_NODE = -1

#: Dtype and number of dimensions of each array of a tree.
_LAYOUT: dict[str, tuple[type[np.generic], int]] = {
    "left": (np.int32, 1),
    "right": (np.int32, 1),
    "parent": (np.int32, 1),
    "feature": (np.int32, 1),
    "threshold": (np.float32, 1),
    "default_left": (np.bool_, 1),
    "split_kind": (np.uint8, 1),
    "value": (np.float32, 2),
    "weight": (np.float32, 2),
    "gain": (np.float32, 1),
    "sum_hessian": (np.float32, 1),
}
_NO_SETS = np.zeros(0, np.uint32)
_NO_SETS.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of ``n_nodes`` nodes in breadth-first order; node 0 is the root.

    The k-th inner node, counted from 0, has the children ``1 + 2 k`` and ``2 + 2 k``::

        node     0   1   2   3   4            0
        left     1   3  -1  -1  -1          1   2
        right    2   4  -1  -1  -1         3 4

    Attributes
    ----------
    left, right, parent : int32 array, shape (n_nodes,)
        Node ids; ``NO_NODE`` for the children of a leaf and the parent of the root.
    feature : int32 array, shape (n_nodes,)
        Column that an inner node splits on; 0 in leaves.
    threshold : float32 array, shape (n_nodes,)
        Rows with ``x < threshold``, compared in float32, go left; 0 in leaves and in splits by a
        set.
    default_left : bool array, shape (n_nodes,)
        Whether missing values go left.
    split_kind : uint8 array, shape (n_nodes,)
        ``NUMERIC_SPLIT`` or ``CATEGORY_SPLIT``.
    value : float32 array, shape (n_nodes, n_outputs)
        What a leaf adds to the margin, learning rate included; 0 in inner nodes.
    weight : float32 array, shape (n_nodes, n_outputs)
        The optimal weight of every node; multiplied by the learning rate in leaves except the
        root, as in files of XGBoost's ``hist``. (Files of XGBoost's ``exact`` and of version 0.1
        of this library do not multiply it.)
    gain : float32 array, shape (n_nodes,)
        Loss reduction of an inner node's split; 0 in leaves.
    sum_hessian : float32 array, shape (n_nodes,)
        Sum of the Hessians of the node's training rows.
    sets : uint32 array, shape (n_words,), or None
        Sets of codes, as bits: of node ``i``, bit ``code % 32`` of the word
        ``set_begin[i] + code // 32`` says that the level goes right; codes without a bit go left.
        A node's last word is not 0, unless it is its only one. None is not a set.
    set_begin : int32 array, shape (n_nodes + 1,), or None
        First word of every node, then the number of words; nodes without a set have no words.
    linear : LinearTerms or None
        The linear functions of the leaves, in the order of nodes. ``value`` then is what rows get
        that miss a feature of their leaf. None: all leaves are numbers, or vectors.

    Raises
    ------
    ModelFormatError
        If a dtype, a shape, the numbering or a 0 above is violated, or a float is not finite.

    Notes
    -----
    A tree that was read from a file with other numbers of nodes has them in ``file_numbers``.
    The arrays are copied and made read-only. Two trees are equal if all their arrays are equal.
    """

    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    parent: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float32]
    default_left: npt.NDArray[np.bool_]
    split_kind: npt.NDArray[np.uint8]
    value: npt.NDArray[np.float32]
    weight: npt.NDArray[np.float32]
    gain: npt.NDArray[np.float32]
    sum_hessian: npt.NDArray[np.float32]
    sets: npt.NDArray[np.uint32] = None  # type: ignore[assignment]
    set_begin: npt.NDArray[np.int32] = None  # type: ignore[assignment]
    linear: LinearTerms | None = None

    file_numbers: ClassVar[npt.NDArray[np.int32] | None] = None

    def __post_init__(self) -> None:
        self._check_layout()
        self._fill_sets()
        for name in (*_LAYOUT, "sets", "set_begin"):
            array = np.array(getattr(self, name), order="C")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        self._check_numbering()
        self._check_values()
        check_sets(self)
        self._check_linear()

    def _check_linear(self) -> None:
        n_leaves = int(np.count_nonzero(self.is_leaf))
        if self.linear is not None and (self.linear.sizes.size != n_leaves or self.n_outputs > 1):
            raise ModelFormatError(
                f"tree.linear has {self.linear.sizes.size} leaves of {self.n_outputs} outputs: "
                f"expected {n_leaves} leaves of 1; give one function for each leaf"
            )

    def _fill_sets(self) -> None:
        """Set what stands for no sets, if none are given."""
        if self.sets is None:
            object.__setattr__(self, "sets", _NO_SETS)
        if self.set_begin is None:
            begin = np.zeros(np.size(self.left) + 1, np.int32)
            begin.setflags(write=False)
            object.__setattr__(self, "set_begin", begin)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Unpickle, also trees of versions that had no sets."""
        self.__dict__.update(state)
        self._fill_sets()

    @classmethod
    def trusted(cls, **arrays: Any) -> Tree:
        """Return a tree of arrays that are known to be valid, without copying or checking them."""
        tree = object.__new__(cls)
        for name, array in arrays.items():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
            object.__setattr__(tree, name, array)
        tree._fill_sets()
        return tree

    def with_values(self, values: npt.NDArray[np.float32]) -> Tree:
        """Return the same tree with other leaf values: finite float32, (n_nodes, n_outputs)."""
        return Tree.trusted(**(vars(self) | {"value": values}))

    def with_linear(self, linear: LinearTerms | None) -> Tree:
        """Return the same tree with other linear functions of its leaves, or none."""
        return Tree.trusted(**(vars(self) | {"linear": linear}))

    def of_output(self, output: int) -> Tree:
        """Return the same tree whose leaves are numbers: those of one output."""
        own = {name: getattr(self, name)[:, output : output + 1] for name in ("value", "weight")}
        return Tree.trusted(**(vars(self) | own))

    def numbered_in_file(self, numbers: npt.ArrayLike) -> Tree:
        """Keep the number that each node has in a file, if they differ from ours; return self."""
        own = np.array(numbers, np.int32)
        if not np.array_equal(own, np.arange(self.n_nodes)):
            own.setflags(write=False)
            object.__setattr__(self, "file_numbers", own)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    def n_nodes(self) -> int:
        return int(self.left.size)

    @property
    def n_outputs(self) -> int:
        return int(self.value.shape[1])

    def right_set(self, node: int) -> npt.NDArray[np.bool_]:
        """Return whether each code goes right at a split by a set: bool array, 32 a word."""
        words = self.sets[self.set_begin[node] : self.set_begin[node + 1]]
        bits: npt.NDArray[np.bool_] = unpacked(words)
        return bits

    @property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Whether each node is a leaf: bool array, shape (n_nodes,)."""
        return np.equal(self.left, NO_NODE)

    @property
    def depth(self) -> npt.NDArray[np.int32]:
        """Number of splits between the root and each node: int32 array, shape (n_nodes,)."""
        depth = [0]
        for parent in self.parent.tolist()[1:]:  # parents come before their children
            depth.append(depth[parent] + 1)
        return np.array(depth, np.int32)

    def _check_layout(self) -> None:
        n_nodes = np.size(self.left)
        if n_nodes == 0:
            raise ModelFormatError("tree.left has no nodes: expected at least a root; add a leaf")
        n_outputs = np.shape(self.value)[1] if np.ndim(self.value) > 1 else 1
        for name, (dtype, ndim) in _LAYOUT.items():
            array = getattr(self, name)
            shape = (n_nodes,) if ndim == 1 else (n_nodes, max(n_outputs, 1))
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
                found = f"{getattr(array, 'dtype', type(array).__name__)} {np.shape(array)}"
                raise ModelFormatError(
                    f"tree.{name} is {found}: expected {np.dtype(dtype)} {shape}; convert it"
                )

    def _check_numbering(self) -> None:
        inner = np.flatnonzero(self.left != NO_NODE)
        expected_left = np.full(self.n_nodes, NO_NODE)
        expected_left[inner] = 1 + 2 * np.arange(inner.size)
        expected_right = np.full(self.n_nodes, NO_NODE)
        expected_right[inner] = expected_left[inner] + 1
        move = "number the nodes breadth-first, without gaps"
        _same("left", self.left, expected_left, move)
        _same("right", self.right, expected_right, move)
        if self.n_nodes != 2 * inner.size + 1:
            raise ModelFormatError(
                f"tree has {self.n_nodes} nodes and {inner.size} inner nodes: expected "
                f"{2 * inner.size + 1} nodes; drop the nodes that nothing points to"
            )
        if np.any(self.left[inner] <= inner):
            node = int(inner[np.argmax(self.left[inner] <= inner)])
            raise ModelFormatError(
                f"tree.left[{node}]={self.left[node]}: expected more than {node}; {move}"
            )
        expected_parent = np.full(self.n_nodes, NO_NODE)
        expected_parent[1:] = np.repeat(inner, 2)
        _same("parent", self.parent, expected_parent, "give each node its parent's id")

    def _check_values(self) -> None:
        for name, (dtype, _) in _LAYOUT.items():
            array = getattr(self, name)
            if dtype is np.float32 and not np.isfinite(array).all():
                node = int(np.argwhere(~np.isfinite(array))[0, 0])
                raise ModelFormatError(
                    f"tree.{name}[{node}]={array[node]}: expected a finite float32; clamp it"
                )
        leaf = self.is_leaf
        for name, where in (("feature", leaf), ("threshold", leaf), ("gain", leaf)):
            array = getattr(self, name)
            _same(name, array, np.where(where, 0, array), "write 0 in leaves")
        _same("value", self.value, np.where(leaf[:, None], self.value, 0), "write 0 in inner nodes")
        if self.feature.min() < 0 or self.split_kind.max() > CATEGORY_SPLIT:
            raise ModelFormatError(
                f"tree.feature min {self.feature.min()}, tree.split_kind max "
                f"{self.split_kind.max()}: expected features >= 0 and kinds 0..1; correct them"
            )


def trees_of(
    begin: npt.NDArray[np.int64], sets: list[npt.NDArray[np.uint32]], **arrays: npt.NDArray[Any]
) -> list[Tree]:
    """Return the trees whose nodes lie one after the other in arrays that are known to be valid.

    Parameters
    ----------
    begin : int64 array, shape (n_trees + 1,)
        First node of every tree, then the number of nodes.
    sets : list of uint32 array
        Words of the nodes of ``CATEGORY_SPLIT``, in order.
    **arrays : array, shape (n_nodes, ...)
        Those of `Tree` but the sets, by name. Trees hold views of them; they become read-only.
    """
    size = np.zeros(begin[-1] + 1, np.int64)
    size[1:][arrays["split_kind"] == CATEGORY_SPLIT] = [words.size for words in sets]
    first_word = np.cumsum(size)  # of every node, then the number of words
    words = np.concatenate([_NO_SETS, *sets])
    no_words = np.zeros(int(np.diff(begin).max(initial=0)) + 1, np.int32)
    for array in (*arrays.values(), words, no_words):
        array.setflags(write=False)
    bounds = list(pairwise(begin.tolist()))
    columns = [[array[first:end] for first, end in bounds] for array in arrays.values()]
    columns += [[_NO_SETS] * len(bounds), [no_words[: end - first + 1] for first, end in bounds]]
    trees, names = [], (*arrays, "sets", "set_begin")
    for values in zip(*columns, strict=True):
        tree = object.__new__(Tree)
        object.__setattr__(tree, "__dict__", dict(zip(names, values, strict=True)))
        trees.append(tree)
    for index in np.flatnonzero(np.diff(first_word[begin])).tolist():
        own = first_word[begin[index] : begin[index + 1] + 1]
        set_begin = (own - own[0]).astype(np.int32)
        set_begin.setflags(write=False)
        trees[index].__dict__.update(sets=words[own[0] : own[-1]], set_begin=set_begin)
    return trees


def check_sets(tree: Tree) -> None:
    """Raise an error unless the splits by sets, and only they, have words."""
    sets, begin = tree.sets, tree.set_begin
    move = "give each split by a set its words, one after the other"
    for name, array, dtype in (("sets", sets, np.uint32), ("set_begin", begin, np.int32)):
        if array.dtype != dtype or array.ndim != 1:
            raise ModelFormatError(
                f"tree.{name} is {array.dtype} {array.shape}: expected one dimension of "
                f"{np.dtype(dtype)}; convert it"
            )
    ends = begin.size == tree.n_nodes + 1 and begin[0] == 0 and begin[-1] == sets.size
    if not ends or np.any(np.diff(begin) < 0):
        raise ModelFormatError(
            f"tree.set_begin: expected {tree.n_nodes + 1} ascending numbers from 0 to {sets.size}; "
            f"{move}"
        )
    by_set = (tree.split_kind == CATEGORY_SPLIT) & ~tree.is_leaf
    _same("set_begin, words of a node without a set", np.diff(begin) * ~by_set, 0 * by_set, move)
    if np.any(np.diff(begin)[by_set] == 0):
        node = int(np.flatnonzero(by_set & (np.diff(begin) == 0))[0])
        raise ModelFormatError(f"tree.set_begin[{node}]: expected at least a word; {move}")
    last = begin[1:][by_set] - 1
    if np.any((sets[last] == 0) & (np.diff(begin)[by_set] > 1)):
        raise ModelFormatError(f"tree.sets: a node's last word is 0; {move}, up to the last bit")
    threshold = np.where(by_set, 0, tree.threshold)
    _same("threshold", tree.threshold, threshold, "write 0 in splits by a set")
    _same(
        "split_kind",
        tree.split_kind,
        np.where(tree.is_leaf, 0, tree.split_kind),
        "write 0 in leaves",
    )


def _same(name: str, found: npt.NDArray[Any], expected: npt.NDArray[Any], move: str) -> None:
    """Raise an error for the first node where ``found`` differs from ``expected``."""
    wrong = found != expected
    if wrong.any():
        node = int(np.argwhere(wrong)[0, 0])
        raise ModelFormatError(
            f"tree.{name}[{node}]={found[node]}: expected {expected[node]}; {move}"
        )
