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
    4      version 2: the weight of every tree, float32; version 1: trees have none
    4      version 3: number of values of a leaf, then how many trees have a weight: none or all
    ...    version 3: the weights of trees, float32
    ...    version 3: of every leaf, its values but the first; of every node, its weights but the
           first, float32
    4 * 2  version 4, which has what version 3 has, and leaves of 1 value: of every leaf, number of
           terms, uint32, and intercept, float32
    4 * 2  version 4: of every term, feature, uint32, and coefficient, float32
    32     SHA-256 of all that stands before

Nodes are in breadth-first order, so children and parents need not be stored. Each kind of array is
whole: the features of all nodes of all trees, then the thresholds, and so on.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.ensemble import Ensemble
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.formats.own_json import read_own, to_own_json
from pyopencl_gbdt.model.formats.xgboost_reader import parse
from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.model.tree_arrays import (
    OF_OUTPUTS,
    Arrays,
    join_linear,
    join_trees,
    split_trees,
)

MAGIC = b"\x89GBDT\r\n\x1a"
VERSION, WITH_WEIGHTS, WITH_VECTORS, WITH_LINEAR = 1, 2, 3, 4
_KNOWN = (VERSION, WITH_WEIGHTS, WITH_VECTORS, WITH_LINEAR)
_HEAD = struct.Struct("<8sIIQQQ")
_DIGEST = hashlib.sha256().digest_size
_DEFAULT_LEFT, _BY_SET = 1, 2
_MOVE = "the file is damaged, write the model again"
_FLOATS = ("weight", "gain", "sum_hessian")
#: Arrays of linear functions: those of leaves, then those of terms.
_OF_LINEAR = {"sizes": "<u4", "intercepts": "<f4", "features": "<u4", "coefficients": "<f4"}


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
        plain = replace(model, trees=[], tree_weights=None)
        document = to_own_json(plain).encode("utf-8")
        arrays = join_trees(model.trees)
        sizes = (arrays["sizes"].size, arrays["feature"].size, arrays["sets"].size)
        weights, width = model.tree_weights, model.tree_outputs
        version = VERSION if weights is None else WITH_WEIGHTS
        behind = [np.array(weights or (), "<f4")]
        if width > 1:
            version = WITH_VECTORS
            of_leaves, arrays = _others(arrays, width)
            behind = [np.array([width, behind[0].size], "<u4"), *behind, *of_leaves]
        linear = join_linear(model.trees)
        if linear:  # such models have no weights of trees
            version = WITH_LINEAR
            of_terms = (linear[name].astype(dtype) for name, dtype in _OF_LINEAR.items())
            behind = [np.array([width, 0], "<u4"), *of_terms]
        head = _HEAD.pack(MAGIC, version, len(document), *sizes)
        data = b"".join([head, document, *_written(arrays), *(own.tobytes() for own in behind)])
        return data + hashlib.sha256(data).digest()

    def read(self, data: bytes, source: str) -> Ensemble:
        document, rest, sizes, version = _opened(data, source)
        plain = read_own(Cursor(parse(document, source), "", source), document)
        try:
            if plain.trees:
                raise ModelFormatError(f"the document has trees: expected none; {_MOVE}")
            arrays = _arrays(rest, *sizes, version=version)
            weights = arrays.pop("weights", None)
            trees = split_trees(arrays, plain.n_tree_features)
            own = None if weights is None else tuple(map(float, weights))
            return replace(plain, trees=trees, tree_weights=own)
        except ModelFormatError as error:
            raise ModelFormatError(f"{source}: {error}") from error


def _others(arrays: Arrays, width: int) -> tuple[list[npt.NDArray[np.float32]], Arrays]:
    """Return what leaves and nodes have but their first values, and arrays of the first values."""
    leaf = arrays["feature"] == NO_NODE
    of_nodes = {name: arrays[name].reshape(leaf.size, width) for name in OF_OUTPUTS}
    others = [of_nodes["value"][leaf, 1:].astype("<f4"), of_nodes["weight"][:, 1:].astype("<f4")]
    return others, arrays | {name: found[:, 0] for name, found in of_nodes.items()}


def _written(arrays: Arrays) -> Iterator[bytes]:
    """Yield the arrays of a file."""
    number = np.where(arrays["feature"] == NO_NODE, arrays["value"], arrays["threshold"])
    flags = _DEFAULT_LEFT * arrays["default_left"] + _BY_SET * arrays["split_kind"]
    yield arrays["sizes"].astype("<u4").tobytes()
    yield arrays["feature"].astype("<i4").tobytes()
    for floats in (number, *(arrays[name] for name in _FLOATS)):
        yield floats.astype("<f4").tobytes()
    yield flags.astype(np.uint8).tobytes()
    yield arrays["set_sizes"].astype("<u4").tobytes()
    yield arrays["sets"].astype("<u4").tobytes()


def _opened(data: bytes, source: str) -> tuple[bytes, memoryview, tuple[int, int, int], int]:
    """Check a file's version and digest; return its document, arrays, their sizes, the version."""
    view, least = memoryview(data), _HEAD.size + _DIGEST
    if len(data) < least:
        raise ModelFormatError(
            f"{source}: the file has {len(data)} bytes: expected {least} or more; {_MOVE}"
        )
    _, version, size, n_trees, n_nodes, n_words = _HEAD.unpack(view[: _HEAD.size])
    if version not in _KNOWN:
        *others, last = _KNOWN
        raise ModelFormatError(
            f"{source}: version={version}: expected {', '.join(map(str, others))} or {last}; read "
            "it by the version of the library that wrote it, or a newer one"
        )
    if hashlib.sha256(view[:-_DIGEST]).digest() != view[-_DIGEST:]:
        raise ModelFormatError(
            f"{source}: the digest at the end is not that of the file: expected the bytes that "
            f"were written; {_MOVE}"
        )
    if size > len(data) - least:
        raise ModelFormatError(
            f"{source}: the document claims {size} bytes: expected {len(data) - least} at most; "
            f"{_MOVE}"
        )
    begin = _HEAD.size + size
    sizes = n_trees, n_nodes, n_words
    return bytes(view[_HEAD.size : begin]), view[begin:-_DIGEST], sizes, version


def _arrays(rest: memoryview, n_trees: int, n_nodes: int, n_words: int, *, version: int) -> Arrays:
    """Return the arrays of a file; none is longer than what is left of the file."""

    def following(dtype: str, size: int, what: str) -> npt.NDArray[Any]:
        nonlocal rest
        n_bytes = size * np.dtype(dtype).itemsize
        if n_bytes > len(rest):
            raise ModelFormatError(f"the file ends early: expected {size} {what}; {_MOVE}")
        found = np.frombuffer(rest[:n_bytes], dtype)
        rest = rest[n_bytes:]
        return found.astype(np.dtype(dtype).newbyteorder("="))

    found: Arrays = {"sizes": following("<u4", n_trees, "sizes of trees")}
    found["feature"] = following("<i4", n_nodes, "features")
    found["threshold"] = found["value"] = following("<f4", n_nodes, "thresholds and values")
    found |= {name: following("<f4", n_nodes, name) for name in _FLOATS}
    flags = following("u1", n_nodes, "flags")
    if flags.max(initial=0) > _DEFAULT_LEFT + _BY_SET:
        raise ModelFormatError(f"flags of nodes up to {flags.max()}: expected 0..3; {_MOVE}")
    found["default_left"], found["split_kind"] = flags & _DEFAULT_LEFT != 0, flags // _BY_SET
    n_sets = int(found["split_kind"].sum(dtype=np.int64))
    found["set_sizes"] = following("<u4", n_sets, "sizes of sets")
    found["sets"] = following("<u4", n_words, "sets")
    width, n_weights = 1, n_trees if version == WITH_WEIGHTS else 0
    if version == WITH_VECTORS:
        width, n_weights = map(int, following("<u4", 2, "sizes of vectors"))
        if width < 2 or n_weights not in (0, n_trees):
            raise ModelFormatError(
                f"leaves of {width} values, {n_weights} trees with weights: expected 2 values or "
                f"more, 0 or {n_trees} trees; {_MOVE}"
            )
    if n_weights or version == WITH_WEIGHTS:
        found["weights"] = following("<f4", n_weights, "weights of trees")
    if width > 1:
        leaf = found["feature"] == NO_NODE
        for name, own in (("value", leaf), ("weight", np.ones_like(leaf))):
            n_own = int(own.sum(dtype=np.int64))
            others = following("<f4", n_own * (width - 1), f"{name}s of outputs")
            every = np.zeros((n_nodes, width), np.float32)
            every[:, 0] = found[name]
            every[own, 1:] = others.reshape(n_own, width - 1)
            found[name] = every.reshape(-1)
    if version == WITH_LINEAR:
        if following("<u4", 2, "sizes of leaves").tolist() != [1, 0]:
            raise ModelFormatError(
                f"linear leaves of several values, or trees with weights: expected neither; {_MOVE}"
            )
        size = int((found["feature"] == NO_NODE).sum(dtype=np.int64))
        for name, dtype in _OF_LINEAR.items():
            own = following(dtype, size, f"{name} of linear leaves")
            if name == "intercepts":
                size = int(found["linear_sizes"].sum(dtype=np.int64))
            if dtype == "<u4" and own.max(initial=0) >= 2**31:
                raise ModelFormatError(f"{name} of 2^31 or more: expected less; {_MOVE}")
            found[f"linear_{name}"] = own.astype(np.int32) if dtype == "<u4" else own
    if len(rest):
        raise ModelFormatError(f"the arrays end {len(rest)} bytes early: expected none; {_MOVE}")
    return found
