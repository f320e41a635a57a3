"""The levels of categorical columns in XGBoost's JSON: ``cats``, which XGBoost 3.1 and later have.

``enc`` has an entry for each column: the bytes of all strings (int8) with their offsets, or whole
numbers with the code of their type in UBJSON; both are empty for a column of numbers. The code of a
level is its index. ``feature_segments`` has the offset of each column in ``sorted_idx``, which
lists the levels of a column in the order in which XGBoost searches them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.categories.columns import as_objects
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.model.formats.json_cursor import Cursor
from pyopencl_gbdt.model.sets import U32, joined, packed, unpacked
from pyopencl_gbdt.model.tree import Tree

#: XGBoost's codes of int8, uint8, int16, int32 and int64; the last is written.
_INTEGERS = (9, 10, 11, 13, 15)
_MOST = 2**31 - 1
#: XGBoost compares the bytes of strings as signed numbers.
_SIGNED = bytes(byte ^ 0x80 for byte in range(256))


def write_categories(categories: Mapping[int, Levels], n_features: int) -> dict[str, Any]:
    """Return the member ``cats`` of a model."""
    if not categories:
        none = np.zeros(0, np.int32)
        return {"enc": [], "feature_segments": none, "sorted_idx": none}
    encoded, orders, segments = [], [], [0]
    for feature in range(n_features):
        levels = categories.get(feature)
        entry, order = _write_levels(levels)
        encoded.append(entry)
        orders.append(order)
        segments.append(segments[-1] + len(order))
    return {
        "enc": encoded,
        "feature_segments": np.array(segments, np.int32),
        "sorted_idx": np.concatenate(orders).astype(np.int32),
    }


def _write_levels(levels: Levels | None) -> tuple[dict[str, Any], npt.NDArray[np.int64]]:
    if levels is None:
        none = {"offsets": np.zeros(0, np.int32), "values": np.zeros(0, np.int8)}
        return none, np.zeros(0, np.int64)
    if not levels.are_strings:
        return {"type": _INTEGERS[-1], "values": levels.values}, np.arange(levels.n_levels)
    texts = [text.encode("utf-8") for text in levels.values.tolist()]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)])
    keys = [text.translate(_SIGNED) for text in texts]
    order = np.array(sorted(range(len(texts)), key=keys.__getitem__), np.int64)
    values = np.frombuffer(b"".join(texts), np.int8)
    return {"offsets": offsets.astype(np.int32), "values": values}, order


def read_categories(
    model: Cursor, n_features: int, trees: list[Tree]
) -> tuple[dict[int, Levels], list[Tree]]:
    """Return the levels of each categorical column, and trees whose sets have their codes.

    XGBoost keeps the order of a pandas category, which need not ascend as `Levels` do.

    Raises
    ------
    ModelFormatError
        If levels are not distinct, or a tree has a code that is not a level.
    """
    if not model.has("cats"):
        return {}, trees
    cats = model.member("cats")
    place, segments, order = map(cats.member, ("enc", "feature_segments", "sorted_idx"))
    if not place.array():
        segments.array(0, "as enc has none")
        order.array(0, "as enc has none")
        return {}, trees
    place.array(n_features, "learner_model_param.num_feature")
    entries = [place.entry(feature) for feature in range(n_features)]
    read = {feature: _read_levels(entry) for feature, entry in enumerate(entries)}
    sizes = [0 if values is None else values.size for values in read.values()]
    wanted = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    if segments.integers(0, _MOST, n_features + 1, "a segment for each column") != wanted:
        segments.fail(f"{wanted[:4]}..., the numbers of levels added up")
    order.array(wanted[-1], "one for each level")
    found, new_codes = {}, {}
    for feature, values in read.items():
        if values is not None:
            places = np.argsort(values, kind="stable")
            found[feature] = Levels(values[places])
            if found[feature].wrong():
                entries[feature].member("values").fail("distinct levels")
            new_codes[feature] = np.argsort(places)
    same = {feature for feature, codes in new_codes.items() if (np.diff(codes) == 1).all()}
    return found, [_renumbered(tree, new_codes, same, place) for tree in trees]


def _renumbered(
    tree: Tree, new_codes: Mapping[int, npt.NDArray[np.int64]], same: set[int], place: Cursor
) -> Tree:
    """Return a tree whose sets hold the places of levels in `Levels`.

    ``same`` are the features whose codes stay.
    """
    if not tree.sets.size:
        return tree
    begin, features = tree.set_begin.tolist(), tree.feature.tolist()
    changed: dict[int, U32] = {}
    for node in np.flatnonzero(tree.split_kind).tolist():
        codes = new_codes.get(features[node])
        if codes is None:
            continue
        words = tree.sets[begin[node] : begin[node + 1]]
        highest = 32 * (words.size - 1) + int(words[-1]).bit_length() - 1
        if highest >= codes.size:
            place.entry(features[node]).fail(
                f"{highest + 1} levels at least, as a tree has the code {highest}"
            )
        if features[node] not in same:
            bits = np.zeros(codes.size, np.bool_)
            bits[codes[np.flatnonzero(unpacked(words))]] = True
            changed[node] = packed(bits)
    if not changed:
        return tree
    sets = [changed.get(node, tree.sets[a:b]) for node, (a, b) in enumerate(pairwise(begin))]
    words, first = joined(sets)
    found = replace(tree, sets=words, set_begin=first)
    return found if tree.file_numbers is None else found.numbered_in_file(tree.file_numbers)


def _read_levels(entry: Cursor) -> npt.NDArray[Any] | None:
    """Return the levels of a column in the order of their codes; None for a column of numbers."""
    values = entry.member("values")
    if not entry.has("type"):
        offsets = entry.member("offsets").integers(0, _MOST)
        if not offsets:
            values.array(0, "as it has no offsets")
            return None
        return _read_strings(entry, offsets)
    kind = entry.member("type")
    if type(kind.value) is not int or kind.value not in _INTEGERS:
        kind.fail(f"one of {_INTEGERS}, a type of whole numbers", "train on strings instead")
    return np.array(values.integers(-(2**63), 2**63 - 1), np.int64)


def _read_strings(entry: Cursor, offsets: list[int]) -> npt.NDArray[Any]:
    values = entry.member("values")
    codes = np.array(values.integers(-128, 127, offsets[-1], "the last offset"), np.int8)
    if offsets[0] != 0 or any(one > other for one, other in pairwise(offsets)):
        entry.member("offsets").fail("offsets from 0 that ascend")
    data = codes.tobytes()
    try:
        return as_objects([data[a:b].decode() for a, b in pairwise(offsets)])
    except UnicodeDecodeError:
        values.fail("UTF-8", "XGBoost cuts strings that are not ASCII; train it on ASCII")
