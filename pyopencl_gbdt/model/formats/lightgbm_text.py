"""LightGBM's text as a format of model files, and its writer; see ``lightgbm_reader``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.names import UNSAFE
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model.ensemble import Ensemble, each
from pyopencl_gbdt.model.formats.base import (
    OneOutputTrees,
    link_of,
    of_used_rounds,
)
from pyopencl_gbdt.model.formats.lightgbm_reader import (
    BY_SET,
    DEFAULT_LEFT,
    NAN_MISSING,
    OBJECTIVES,
    read_lightgbm,
)
from pyopencl_gbdt.model.formats.loose_nodes import last_below
from pyopencl_gbdt.model.leaf_kinds import LINEAR, NUMBERS, VECTORS
from pyopencl_gbdt.model.linear_leaves import LinearTerms
from pyopencl_gbdt.model.sets import packed
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree

#: A loss of LightGBM's with the same link, for losses that it lacks.
_BY_LINK = {
    "identity": "regression",
    "exp": "poisson",
    "sigmoid": "cross_entropy",
    "softmax": "multiclass",
    "class": "multiclass",
}
#: Whole numbers above this are written as positions in a list, as a set takes a bit for each.
_MOST_NUMBER = 2**16


class LightGBMText(OneOutputTrees):
    """The text that ``lightgbm.Booster.save_model`` writes."""

    name = "LightGBM's text"
    suffixes = (".txt", ".lgb")
    reads = writes = True
    holds = NUMBERS, LINEAR

    def sniff(self, head: bytes) -> bool:
        return head.startswith((b"tree\n", b"tree\r\n"))

    def _held(self, model: Ensemble) -> Ensemble:
        """Return trees of numbers; those of a tree of vectors share its gains and Hessians."""
        held = super()._held(model)
        if model.leaves is not VECTORS:
            return held
        share = np.float32(1 / model.n_outputs)
        trees = [
            replace(tree, gain=tree.gain * share, sum_hessian=tree.sum_hessian * share)
            for tree in held.trees
        ]
        return replace(held, trees=trees)

    def _lacks(self, model: Ensemble) -> str:
        link = link_of(model)
        if link not in _BY_LINK:
            return f"a loss that predicts as {model.objective} does"
        if model.n_outputs > 1 and link in ("exp", "sigmoid"):
            return f"several outputs of {model.objective}"
        if any(_asks_numbers(model, tree) for tree in model.trees):
            return "thresholds of categorical columns"
        if any(_has_unbounded_set(model, tree) for tree in model.trees):
            return "sets of levels, with missing values among them, of a column of unknown levels"
        return ""

    def read(self, data: bytes, source: str) -> Ensemble:
        return read_lightgbm(data, source)

    def _write(self, model: Ensemble) -> bytes:
        return to_lightgbm_text(model).encode("utf-8")


def _asks_numbers(model: Ensemble, tree: Tree) -> bool:
    numeric = ~tree.is_leaf & (tree.split_kind != CATEGORY_SPLIT)
    return bool(np.isin(tree.feature[numeric], list(model.categories)).any())


def _has_unbounded_set(model: Ensemble, tree: Tree) -> bool:
    by_set = (tree.split_kind == CATEGORY_SPLIT) & ~tree.default_left
    return not np.isin(tree.feature[by_set], list(model.categories)).all()


def to_lightgbm_text(ensemble: Ensemble, rates: Sequence[float] = ()) -> str:
    """Return a model as LightGBM's text; the base margin goes into the first trees' leaves.

    ``rates``: by which each tree was shrunk, for its line ``shrinkage``; 1 for trees behind the
    last one.

    Raises
    ------
    ModelFormatError
        If the model has two names of columns that differ in white space alone, or is inconsistent.
    """
    model = of_used_rounds(ensemble)
    base, n_outputs = each(model.base_margin), model.n_outputs
    coder = LevelNumbers(model)
    trees = _iterations(model)
    blocks = [
        _tree(coder, tree, index, base[index] if index < n_outputs else 0.0, rate)
        for index, (tree, rate) in enumerate(zip(trees, chain(rates, repeat(1.0)), strict=False))
    ] or [_constant(index, margin, {}) for index, margin in enumerate(base)]
    head = {
        "version": "v4",
        "num_class": n_outputs,
        "num_tree_per_iteration": n_outputs,
        "label_index": 0,
        "max_feature_idx": model.n_features - 1,
        "objective": _objective(model),
        "feature_names": " ".join(_names(model)),
        "feature_infos": " ".join(_infos(model, coder)),
        "tree_sizes": _joined(len(block.encode()) + 1 for block in blocks),
    }
    lines = [f"{key}={value}" for key, value in head.items() if value != ""]
    listed = ",".join(map(str, sorted(coder.columns)))
    return "\n".join([
        "tree", *lines, "", *blocks, "end of trees", "", "feature_importances:", "", "parameters:",
        f"[categorical_feature: {listed}]", "", "end of parameters", "",
        f"pandas_categorical:{coder.listed()}", "",
    ])  # fmt: skip


def _iterations(model: Ensemble) -> list[Tree]:
    """Return the trees so that those of every output take turns."""
    n, step = model.n_parallel, model.round_trees
    return [
        model.trees[first + output * n + k]
        for first in range(0, len(model.trees), step)
        for k in range(n)
        for output in range(model.n_outputs)
    ]


def _objective(model: Ensemble) -> str:
    link = link_of(model)
    known = {ours: theirs for theirs, ours in reversed(OBJECTIVES.items())}
    name = known.get(model.objective, _BY_LINK[link])
    if link in ("softmax", "class"):
        return f"multiclass num_class:{model.n_outputs}"
    if model.n_outputs > 1 or (model.objective == "custom" and link == "identity"):
        return ""  # margins are what LightGBM predicts then
    return "binary sigmoid:1" if name == "binary" else name


def _names(model: Ensemble) -> list[str]:
    if model.feature_names is None:
        return [f"Column_{i}" for i in range(model.n_features)]
    names = [re.sub(r"\s", "_", name) or "_" for name in model.feature_names]
    if len(set(names)) < len(names) or any(UNSAFE.search(name) for name in names):
        raise ModelFormatError(
            "feature_names: expected names without control characters that differ when white space "
            "is written as _, for LightGBM's text; rename the columns"
        )
    return names


def _infos(model: Ensemble, coder: LevelNumbers) -> list[str]:
    """Return the range of the thresholds of each column, or its levels' numbers."""
    low = np.full(model.n_features, np.inf)
    high = -low
    for tree in model.trees:
        inner = ~tree.is_leaf
        np.minimum.at(low, tree.feature[inner], tree.threshold[inner])
        np.maximum.at(high, tree.feature[inner], tree.threshold[inner])
    found = [
        "none" if a > b else f"[{a:g}:{b:g}]"
        for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ]
    for column in coder.columns:
        found[column] = ":".join(map(str, coder.numbers(column).tolist())) or "none"
    return found


class LevelNumbers:
    """What LightGBM's numbers for levels are.

    They are the levels themselves, if all are small whole numbers; else they are codes, and the
    levels are listed as those of a table's columns.
    """

    def __init__(self, model: Ensemble) -> None:
        self._levels = model.categories
        by_set = [tree.feature[tree.split_kind == CATEGORY_SPLIT] for tree in model.trees]
        sets = set(np.concatenate([np.zeros(0, np.int32), *by_set]).tolist())
        self.columns = sets | set(model.categories)
        self._plain = not any(
            levels.are_strings
            or (levels.n_levels and not 0 <= levels.values[0] <= levels.values[-1] <= _MOST_NUMBER)
            for levels in model.categories.values()
        )

    def numbers(self, column: int) -> npt.NDArray[np.int64]:
        """Return the number of each code of a column whose levels are known."""
        if column not in self._levels:
            return np.zeros(0, np.int64)
        levels = self._levels[column]
        found: npt.NDArray[np.int64] = levels.values if self._plain else np.arange(levels.n_levels)
        return found

    def listed(self) -> str:
        """Return the line of levels."""
        if self._plain:
            return "null"
        found = [
            self._levels[column].values.tolist() if column in self._levels else []
            for column in sorted(self.columns)
        ]
        return json.dumps(found)

    def words(self, tree: Tree, node: int) -> npt.NDArray[np.uint32]:
        """Return the words of LightGBM's set, whose levels go to its left child."""
        column, right = int(tree.feature[node]), tree.right_set(node)
        codes = np.flatnonzero(right)
        if not tree.default_left[node]:  # LightGBM's left child is ours, without missing values
            codes = np.setdiff1d(np.arange(self._levels[column].n_levels), codes)
        if column in self._levels:
            own = self.numbers(column)
            codes = own[codes[codes < own.size]]
        bits = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
        bits[codes] = True
        return packed(bits)


def _tree(coder: LevelNumbers, tree: Tree, index: int, base: float, rate: float) -> str:
    """Return the block of a tree; ``base`` is added to its leaves."""
    leaf = tree.is_leaf
    value = tree.value[leaf, 0].astype(np.float64) + base
    linear = {} if tree.linear is None else _linear(tree.linear, value, base)
    if tree.n_nodes == 1:
        return _constant(index, float(value[0]), linear)
    inner = np.flatnonzero(~leaf)
    place = np.where(leaf, -1 * np.cumsum(leaf), np.cumsum(~leaf) - 1)  # numbers of children
    by_set = tree.split_kind[inner] == CATEGORY_SPLIT
    default_left = tree.default_left[inner]
    swapped = by_set & default_left
    children = place[tree.left[inner]], place[tree.right[inner]]
    threshold = last_below(tree.threshold[inner])
    threshold[by_set] = np.arange(np.count_nonzero(by_set))
    sets = [coder.words(tree, int(node)) for node in inner[by_set]]
    counts = row_counts(tree)
    lines = {
        "num_leaves": value.size,
        "num_cat": len(sets),
        "split_feature": _joined(tree.feature[inner].tolist()),
        "split_gain": _joined(tree.gain[inner].tolist()),
        "threshold": _joined(threshold.tolist()),
        "decision_type": _joined(
            np.where(by_set, BY_SET, NAN_MISSING + DEFAULT_LEFT * default_left).tolist()
        ),
        "left_child": _joined(np.where(swapped, children[1], children[0]).tolist()),
        "right_child": _joined(np.where(swapped, children[0], children[1]).tolist()),
        "leaf_value": _joined(value.tolist()),
        "leaf_weight": _joined(tree.sum_hessian[leaf].tolist()),
        "leaf_count": _joined(counts[leaf].tolist()),
        "internal_value": _joined((tree.weight[inner, 0].astype(np.float64) + base).tolist()),
        "internal_weight": _joined(tree.sum_hessian[inner].tolist()),
        "internal_count": _joined(counts[inner].tolist()),
    }
    if sets:
        sizes = np.cumsum([0, *(words.size for words in sets)])
        lines["cat_boundaries"] = _joined(sizes.tolist())
        lines["cat_threshold"] = _joined(np.concatenate(sets).tolist())
    return _block(index, lines, linear, rate)


def _linear(terms: LinearTerms, value: npt.NDArray[np.float64], base: float) -> dict[str, object]:
    """Return the lines of linear functions; ``value`` has what leaves without features add."""
    constants = np.where(terms.sizes > 0, terms.intercepts + np.float64(base), value)
    return {
        "leaf_const": _joined(constants.tolist()),
        "num_features": _joined(terms.sizes.tolist()),
        "leaf_features": _joined(terms.features.tolist()),
        "leaf_coeff": _joined(terms.coefficients.astype(np.float64).tolist()),
    }


def row_counts(tree: Tree) -> npt.NDArray[np.int64]:
    """Return numbers of rows to write: rounded sums of Hessians, at least 1 in a leaf."""
    counts = np.maximum(np.rint(np.minimum(tree.sum_hessian, 1e6)), 1).astype(np.int64)
    for node in range(tree.n_nodes - 1, -1, -1):  # children come before their parents
        if tree.left[node] != NO_NODE:
            counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
    return counts


def _constant(index: int, value: float, linear: dict[str, object]) -> str:
    return _block(index, {"num_leaves": 1, "num_cat": 0, "leaf_value": repr(value)}, linear)


def _block(
    index: int, lines: dict[str, object], linear: dict[str, object], rate: float = 1.0
) -> str:
    """Return the lines of a tree, and those of its linear functions, if it has any."""
    marked = {**lines, "is_linear": int(bool(linear)), **linear, "shrinkage": f"{rate:.15g}"}
    shown = [f"{key}={value}" for key, value in marked.items()]
    return "\n".join([f"Tree={index}", *shown, "", ""])


def _joined(numbers: Iterable[object]) -> str:
    return " ".join(map(str, numbers))
