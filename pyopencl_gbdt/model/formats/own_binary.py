"""A binary form of our own format: a document of JSON without trees, then the trees as arrays.

    bytes  what, little-endian
    8      89 47 42 44 54 0d 0a 1a: "GBDT" in bytes that a transfer as text would change
    4      version
    4      size of the document
    8 * 3  numbers of trees, of nodes, and of words of sets
    ...    the document, see `own_json`; its model has no trees
    4      of every tree: number of nodes, uint32
    4      of every node: feature, int32; -1 in leaves
    4      threshold, or value of a leaf, float32
    4 * 3  weight, gain and sum of Hessians, float32
    1      1 if missing values go left, plus 2 if a set splits
    4      of every node with a set: number of words, uint32
    4      of every word: 32 codes that go right, uint32
    32     SHA-256 of all that stands before

Nodes are in breadth-first order, so children and parents need not be stored. Each kind of array is
whole: the features of all nodes of all trees, then the thresholds, and so on.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.own_json import read_own, to_own_json
from pyopencl_gbdt.model.formats.xgboost_reader import parse
from pyopencl_gbdt.model.formats.xgboost_trees import breadth_first_links
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree, trees_of

MAGIC = b"\x89GBDT\r\n\x1a"
VERSION = 1
_HEAD = struct.Struct("<8sIIQQQ")
_DIGEST = hashlib.sha256().digest_size
_DEFAULT_LEFT, _BY_SET = 1, 2
_MOVE = "the file is damaged, write the model again"
I64 = npt.NDArray[np.int64]


class OwnBinary:
    """Binary form of this library's format; a large model loads ten times as fast as from JSON."""

    name = "this library's binary format"
    suffixes = (".gbdt",)
    reads = writes = True

    def sniff(self, head: bytes) -> bool:
        return head.startswith(MAGIC)

    def lacks(self, model: Ensemble) -> str:
        return ""

    def write(self, model: Ensemble) -> bytes:
        model.check()
        document = to_own_json(replace(model, trees=[])).encode("utf-8")
        trees = model.trees
        words = [tree.sets for tree in trees if tree.sets.size]
        sizes = (len(trees), sum(tree.n_nodes for tree in trees), sum(map(len, words)))
        head = _HEAD.pack(MAGIC, VERSION, len(document), *sizes)
        data = b"".join([head, document, *_written(trees)])
        return data + hashlib.sha256(data).digest()

    def read(self, data: bytes, source: str) -> Ensemble:
        document, arrays = _opened(data, source)
        text = bytes(document)
        plain = read_own(Cursor(parse(text, source), "", source), text)
        if plain.trees:
            arrays.fail("a document without trees")
        trees = _read_trees(arrays, plain.n_tree_features)
        try:
            return replace(plain, trees=trees)
        except ModelFormatError as error:
            raise ModelFormatError(f"{source}: {error}") from error


def _written(trees: list[Tree]) -> Iterator[bytes]:
    """Yield the arrays of a file."""
    yield np.array([tree.n_nodes for tree in trees], "<u4").tobytes()
    leaf = _joined([tree.is_leaf for tree in trees], np.bool_)
    yield np.where(leaf, NO_NODE, _joined([tree.feature for tree in trees], "<i4")).tobytes()
    value = _joined([tree.value[:, 0] for tree in trees], "<f4")
    yield np.where(leaf, value, _joined([tree.threshold for tree in trees], "<f4")).tobytes()
    yield _joined([tree.weight[:, 0] for tree in trees], "<f4").tobytes()
    yield _joined([tree.gain for tree in trees], "<f4").tobytes()
    yield _joined([tree.sum_hessian for tree in trees], "<f4").tobytes()
    by_set = _joined([tree.split_kind for tree in trees], np.uint8) == CATEGORY_SPLIT
    default_left = _joined([tree.default_left for tree in trees], np.bool_)
    yield (_DEFAULT_LEFT * default_left + _BY_SET * by_set).astype(np.uint8).tobytes()
    n_words = _joined([np.diff(tree.set_begin) for tree in trees], "<u4")
    yield n_words[by_set].tobytes()
    yield _joined([tree.sets for tree in trees], "<u4").tobytes()


def _joined(arrays: list[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype, copy=False)


class _Arrays:
    """The arrays of a file, one after the other; none is longer than what is left of the file."""

    def __init__(self, data: memoryview, source: str, sizes: tuple[int, ...]) -> None:
        self.data, self.source, self.sizes = data, source, sizes

    def fail(self, expected: str) -> NoReturn:
        raise ModelFormatError(f"{self.source}: expected {expected}; {_MOVE}")

    def next(self, dtype: str, size: int, what: str) -> npt.NDArray[Any]:
        """Return the next array in the machine's order of bytes."""
        n_bytes = size * np.dtype(dtype).itemsize
        if n_bytes > len(self.data):
            self.fail(f"{size} numbers of {np.dtype(dtype).itemsize} bytes, {what}")
        found = np.frombuffer(self.data[:n_bytes], dtype)
        self.data = self.data[n_bytes:]
        return found.astype(np.dtype(dtype).newbyteorder("="))

    def floats(self, size: int, what: str) -> npt.NDArray[np.float32]:
        found: npt.NDArray[np.float32] = self.next("<f4", size, what)
        if not np.isfinite(found).all():
            node = int(np.argmin(np.isfinite(found)))
            self.fail(f"finite numbers, {what}, but that of node {node} is {found[node]}")
        return found


def _opened(data: bytes, source: str) -> tuple[memoryview, _Arrays]:
    """Check a file's version and digest; return its document and its arrays."""
    view = memoryview(data)
    if len(data) < _HEAD.size + _DIGEST:
        raise ModelFormatError(
            f"{source}: the file has {len(data)} bytes: expected {_HEAD.size + _DIGEST} or more; "
            f"{_MOVE}"
        )
    _, version, size, *sizes = _HEAD.unpack(view[: _HEAD.size])
    if version != VERSION:
        raise ModelFormatError(
            f"{source}: version={version}: expected {VERSION}; read it by the version of the "
            "library that wrote it, or a newer one"
        )
    if hashlib.sha256(view[:-_DIGEST]).digest() != view[-_DIGEST:]:
        raise ModelFormatError(
            f"{source}: the digest at the end is not that of the file: expected the bytes that "
            f"were written; {_MOVE}"
        )
    begin = _HEAD.size + size
    if begin > len(data) - _DIGEST:
        raise ModelFormatError(
            f"{source}: the document claims {size} bytes: expected no more than the file has; "
            f"{_MOVE}"
        )
    return view[_HEAD.size : begin], _Arrays(view[begin:-_DIGEST], source, tuple(sizes))


def _read_trees(arrays: _Arrays, n_features: int) -> list[Tree]:
    """Return the trees of a file; raise if they are none, or have features beyond ``n_features``.

    Peak memory is about twice that of the trees.
    """
    n_trees, n_nodes, n_words = arrays.sizes
    sizes = arrays.next("<u4", n_trees, "the sizes of trees").astype(np.int64)
    feature = arrays.next("<i4", n_nodes, "features")
    number = arrays.floats(n_nodes, "thresholds and values")
    weight, gain, hessian = (
        arrays.floats(n_nodes, name) for name in ("weights", "gains", "Hessians")
    )
    flags = arrays.next("u1", n_nodes, "flags")
    if sizes.sum() != n_nodes or (sizes < 1).any():
        arrays.fail(f"trees of a node or more, {n_nodes} in all")
    leaf = feature == NO_NODE
    by_set = flags & _BY_SET != 0
    if feature.min(initial=0) < NO_NODE or feature.max(initial=0) >= n_features:
        arrays.fail(f"features of nodes 0..{n_features - 1}, or -1 in leaves")
    if flags.max(initial=0) > _DEFAULT_LEFT + _BY_SET or (by_set & leaf).any():
        arrays.fail("flags of nodes 0..3, below 2 in leaves")
    begin: I64 = np.concatenate([[0], np.cumsum(sizes)])
    left, parent = _links(arrays, leaf, begin)
    sets = _read_sets(arrays, int(by_set.sum()), n_words)
    zero = np.float32(0)
    return trees_of(
        begin,
        sets,
        left=left,
        right=np.where(leaf, left, left + np.int32(1)),
        parent=parent,
        feature=np.where(leaf, np.int32(0), feature),
        threshold=np.where(leaf | by_set, zero, number),
        default_left=flags & _DEFAULT_LEFT != 0,
        split_kind=by_set.astype(np.uint8),
        value=np.where(leaf, number, zero)[:, None],
        weight=weight[:, None],
        gain=np.where(leaf, zero, gain),
        sum_hessian=hessian,
    )


def _links(
    arrays: _Arrays, leaf: npt.NDArray[np.bool_], begin: I64
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return left children and parents; raise unless the leaves are those of whole trees."""
    sizes = np.diff(begin)
    inner = np.add.reduceat(~leaf, begin[:-1]) if sizes.size else sizes
    own = np.arange(leaf.size) - np.repeat(begin[:-1], sizes)
    if (sizes == 2 * inner + 1).all():
        left, parent = breadth_first_links(leaf, begin)
        if (leaf | (left > own)).all():
            return left, parent
    arrays.fail("splits whose two children come after them, breadth-first")


def _read_sets(arrays: _Arrays, n_sets: int, n_words: int) -> list[npt.NDArray[np.uint32]]:
    sizes = arrays.next("<u4", n_sets, "the sizes of sets").astype(np.int64)
    words = arrays.next("<u4", n_words, "the words of sets")
    if len(arrays.data):
        arrays.fail(f"{len(arrays.data)} bytes less")
    ends = np.cumsum(sizes)
    if sizes.sum() != n_words or (sizes < 1).any():
        arrays.fail(f"sets of a word or more, {n_words} in all")
    if ((words[ends - 1] == 0) & (sizes > 1)).any():
        arrays.fail("sets whose last word is not 0")
    return np.split(words, ends[:-1]) if n_sets else []
