"""Trees as LightGBM numbers and shows them, and what the text of a model tells beside.

Leaves are numbered 0, 1, ...; the first trees have a starting score in their leaves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.errors import LightGBMError
from pyopencl_gbdt.compat.lightgbm.names import by_main_names
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.formats.lightgbm_text import LevelNumbers, row_counts
from pyopencl_gbdt.model.formats.loose_nodes import last_below
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, Tree

F64 = npt.NDArray[np.float64]


def base_of(ensemble: Ensemble, index: int) -> float:
    """Return what LightGBM adds to the leaves of a tree: the starting margin, to the first ones."""
    margins = each(ensemble.base_margin)
    return float(margins[index]) if index < len(margins) else 0.0


def shrinkages(
    ensemble: Ensemble, rates: Sequence[float], weights: Sequence[float] | None
) -> list[float]:
    """Return LightGBM's shrinkage of each tree: 1 of one with a starting margin, or of one leaf.

    ``rates``: the learning rate of each tree.
    ``weights``: the weight of each tree, as DART has them.
    """
    return [
        1.0 if base_of(ensemble, i) != 0 or tree.n_nodes == 1
        else rates[i] * (1.0 if weights is None else weights[i])
        for i, tree in enumerate(ensemble.trees)
    ]  # fmt: skip


def with_start(forest: Ensemble) -> Ensemble:
    """Return a forest with the starting margin in each tree, as LightGBM's has it."""
    margins = np.array(each(forest.base_margin))

    def moved(tree: Tree, start: float) -> Tree:
        value, weight = tree.value.copy(), (tree.weight + start).astype(np.float32)
        value[tree.is_leaf] += np.float32(start)
        return Tree.trusted(**(vars(tree) | {"value": value, "weight": weight}))

    trees = [moved(tree, margins[place % margins.size]) for place, tree in enumerate(forest.trees)]
    zero = (0.0,) * margins.size if margins.size > 1 else 0.0
    return replace(forest, trees=trees, base_margin=zero, base_score=zero)


def leaf_places(tree: Tree) -> npt.NDArray[np.intp]:
    """Return the nodes that are leaves, in LightGBM's order of their numbers."""
    return np.flatnonzero(tree.is_leaf)


def leaf_numbers(tree: Tree) -> npt.NDArray[np.int32]:
    """Return the number of each leaf, by node; -1 in splits."""
    return np.where(tree.is_leaf, np.cumsum(tree.is_leaf) - 1, -1).astype(np.int32)


def importances(ensemble: Ensemble, kind: str) -> F64:
    """Return the number of splits (``"split"``) or the sum of gains (``"gain"``) of columns.

    Raises
    ------
    KeyError
        For any other kind, as in LightGBM.
    """
    if kind not in ("split", "gain"):
        raise KeyError(kind)
    found = np.zeros(ensemble.n_features)
    for tree in ensemble.trees:
        inner = ~tree.is_leaf
        worth = tree.gain[inner].astype(np.float64) if kind == "gain" else None
        found += np.bincount(tree.feature[inner], worth, ensemble.n_features)[: found.size]
    return found


def dumped(
    ensemble: Ensemble,
    objective: str,
    kind: str,
    names: list[str],
    infos: Sequence[str],
    rates: Sequence[float],
    *,
    averages: bool,
) -> dict[str, Any]:
    """Return a model as the dictionary of LightGBM's ``dump_model``.

    Parameters
    ----------
    objective : str
        LightGBM's name of the loss.
    kind : {"split", "gain"}
        Which importances are told.
    names : list of str
        The names of the columns.
    infos : sequence of str
        What ``feature_infos`` of the text has for each column.
    rates : sequence of float
        By which each tree is shrunk.
    averages : bool
        Whether predictions are means of the trees.
    """
    numbers = LevelNumbers(ensemble)
    worth = importances(ensemble, kind)
    return {
        "name": "tree",
        "version": "v4",
        "num_class": ensemble.n_outputs,
        "num_tree_per_iteration": ensemble.n_outputs,
        "label_index": 0,
        "max_feature_idx": ensemble.n_features - 1,
        "objective": objective,
        "average_output": averages,
        "feature_names": names,
        "monotone_constraints": [],
        "feature_infos": _infos(names, infos),
        "tree_info": [
            {
                "tree_index": index,
                "num_leaves": int(tree.is_leaf.sum()),
                "num_cat": int(((tree.split_kind == CATEGORY_SPLIT) & ~tree.is_leaf).sum()),
                "shrinkage": rates[index],
                "tree_structure": _structure(tree, base_of(ensemble, index), numbers),
            }
            for index, tree in enumerate(ensemble.trees)
        ],
        "feature_importances": {
            names[i]: float(worth[i]) if kind == "gain" else int(worth[i])
            for i in np.argsort(-worth, kind="stable").tolist()
            if worth[i] > 0
        },
    }


def _infos(names: list[str], infos: Sequence[str]) -> dict[str, Any]:
    """Return the range of each column, or the numbers of its levels."""
    found: dict[str, Any] = {}
    for name, info in zip(names, infos, strict=True):
        if info.startswith("["):
            low, high = map(float, info[1:-1].split(":"))
            found[name] = {"min_value": low, "max_value": high, "values": []}
        elif info != "none":
            listed = [int(one) for one in info.split(":")]
            found[name] = {"min_value": min(listed), "max_value": max(listed), "values": listed}
    return found


def _structure(tree: Tree, base: float, numbers: LevelNumbers) -> dict[str, Any]:
    counts, leaves = row_counts(tree), leaf_numbers(tree)
    splits = np.where(tree.is_leaf, -1, np.cumsum(~tree.is_leaf) - 1)
    below = last_below(tree.threshold)

    def linear(node: int) -> dict[str, Any]:
        if tree.linear is None:
            return {}
        intercept, terms = tree.linear.of(int(leaves[node]))
        return {
            "leaf_const": float(intercept if terms else tree.value[node, 0]) + base,
            "leaf_features": [feature for feature, _ in terms],
            "leaf_coeff": [float(number) for _, number in terms],
        }

    if tree.n_nodes == 1:
        one = {"leaf_value": float(tree.value[0, 0]) + base, "leaf_count": int(counts[0])}
        return one | linear(0)

    def leaf(node: int) -> dict[str, Any]:
        return {
            "leaf_index": int(leaves[node]),
            "leaf_value": float(tree.value[node, 0]) + base,
            "leaf_weight": float(tree.sum_hessian[node]),
            "leaf_count": int(counts[node]),
        } | linear(node)

    def split(node: int, children: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
        by_set = tree.split_kind[node] == CATEGORY_SPLIT
        default_left = bool(tree.default_left[node])
        if by_set:
            words = numbers.words(tree, node)
            bits = np.unpackbits(words.view(np.uint8), bitorder="little")
            threshold: Any = "||".join(map(str, np.flatnonzero(bits).tolist()))
            children = (children[1], children[0]) if default_left else children
        else:
            threshold = float(below[node])
        return {
            "split_index": int(splits[node]),
            "split_feature": int(tree.feature[node]),
            "split_gain": float(tree.gain[node]),
            "threshold": threshold,
            "decision_type": "==" if by_set else "<=",
            "default_left": default_left and not by_set,
            "missing_type": "NaN",
            "internal_value": float(tree.weight[node, 0]) + base,
            "internal_weight": float(tree.sum_hessian[node]),
            "internal_count": int(counts[node]),
            "left_child": children[0],
            "right_child": children[1],
        }

    found: list[dict[str, Any]] = [{}] * tree.n_nodes
    for node in range(tree.n_nodes - 1, -1, -1):  # children come behind their parents
        if tree.is_leaf[node]:
            found[node] = leaf(node)
        else:
            both = found[int(tree.left[node])], found[int(tree.right[node])]
            found[node] = split(node, both)
    return found[0]


def node_table(model: dict[str, Any]) -> Any:
    """Return all nodes of a dumped model as a pandas table, in LightGBM's columns.

    Raises
    ------
    LightGBMError
        If there are no trees.
    """
    import pandas as pd

    if not model["tree_info"]:
        raise LightGBMError("There are no trees in this Booster and thus nothing to parse")
    names, found = model["feature_names"], []

    def name_of(node: dict[str, Any], tree: int) -> str:
        inner = "split_index" in node
        number = node.get("split_index" if inner else "leaf_index", 0)
        return f"{tree}-{'S' if inner else 'L'}{number}"

    def add(node: dict[str, Any], tree: int, depth: int, parent: str | None) -> None:
        inner, name = "split_index" in node, name_of(node, tree)
        side = "left" if node.get("default_left") else "right"
        kind = "internal" if inner else "leaf"
        found.append({
            "tree_index": tree,
            "node_depth": depth,
            "node_index": name,
            "left_child": name_of(node["left_child"], tree) if inner else None,
            "right_child": name_of(node["right_child"], tree) if inner else None,
            "parent_index": parent,
            "split_feature": names[node["split_feature"]] if inner else None,
            "split_gain": node.get("split_gain"),
            "threshold": node.get("threshold"),
            "decision_type": node.get("decision_type"),
            "missing_direction": side if inner else None,
            "missing_type": node.get("missing_type"),
            "value": node[f"{kind}_value"],
            "weight": node.get(f"{kind}_weight"),
            "count": node.get(f"{kind}_count") if inner or "leaf_index" in node else None,
        })  # fmt: skip
        for child in ("left_child", "right_child") if inner else ():
            add(node[child], tree, depth + 1, name)

    for tree in model["tree_info"]:
        add(tree["tree_structure"], tree["tree_index"], 1, None)
    return pd.DataFrame(found)


def split_values(model: dict[str, Any], feature: int | str) -> list[float]:
    """Return the thresholds of a column in a dumped model.

    Raises
    ------
    LightGBMError
        If the column is split by sets of levels.
    """
    names, found = model["feature_names"], []
    waiting = [tree["tree_structure"] for tree in model["tree_info"]]
    for node in waiting:  # grows meanwhile
        if "split_index" not in node:
            continue
        waiting += [node["left_child"], node["right_child"]]
        column = node["split_feature"]
        if feature not in (column, names[column]) or isinstance(feature, bool):
            continue
        if isinstance(node["threshold"], str):
            raise LightGBMError("Cannot compute split value histogram for the categorical feature")
        found.append(node["threshold"])
    return found


_BEGIN, _END = "\nparameters:\n", "\nend of parameters\n"
_LINE = re.compile(r"\[([a-z_0-9]+): (.*)\]")
_RATE, _TREES_END = re.compile(r"\nshrinkage=(.*)\n"), "\nend of trees"
_AVERAGES, _INFOS = "\naverage_output\n", "\nfeature_infos="
#: Written by the format itself.
_OWN = ("categorical_feature",)


def with_parameters(text: str, params: Mapping[str, Any]) -> str:
    """Return a model's text whose list of parameters has those of a training."""
    plain = {name: one for name, one in params.items() if not callable(one)}
    lines = [
        f"[{name}: {_written(value)}]"
        for name, value in by_main_names(plain).items()
        if name not in _OWN and value is not None
    ]
    head, begin, tail = text.partition(_BEGIN)
    return head + begin + "".join(f"{line}\n" for line in lines) + tail if begin else text


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return ",".join(map(_written, value))
    return str(value).replace("\n", " ")


def stored_parameters(text: str) -> dict[str, Any]:
    """Return the parameters that a model's text lists, numbers as numbers."""
    listed = text.partition(_BEGIN)[2].partition(_END)[0]
    found = (_LINE.fullmatch(line) for line in listed.splitlines())
    return {one[1]: _read(one[2]) for one in found if one and one[1] not in _OWN}


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def with_ranges(text: str, ranges: Sequence[str]) -> str:
    """Return a model's text whose columns have the ranges of the training rows.

    ``ranges``: such as ``"[0:1]"`` or ``"none"``; ``""`` leaves what the text has. May be empty.
    """
    if not ranges:
        return text
    head, begin, tail = text.partition(_INFOS)
    line, end, tail = tail.partition("\n")
    both = zip(line.split(" "), ranges, strict=True)
    return head + begin + " ".join(own or written for written, own in both) + end + tail


def stored_rates(text: str, n_trees: int) -> list[float]:
    """Return the rates that a model's text tells of its trees; 1 where it tells none."""
    found = (_RATE.search(tree) for tree in text.partition(_TREES_END)[0].split("\nTree=")[1:])
    rates = [1.0 if one is None else float(one[1]) for one in found]
    return rates if len(rates) == n_trees else [1.0] * n_trees


def stored_infos(text: str) -> list[str]:
    """Return what a model's text tells of each column."""
    return text.partition(_INFOS)[2].partition("\n")[0].split(" ")


def with_average(text: str) -> str:
    """Return the text of a model whose predictions are means of its trees."""
    head, begin, tail = text.partition("\nfeature_names=")
    return head + _AVERAGES.rstrip("\n") + begin + tail


def without_average(text: str) -> tuple[str, bool]:
    """Return the text of a model that sums its trees, and whether it told to take means."""
    found = text.replace(_AVERAGES, "\n", 1)
    return found, found != text
