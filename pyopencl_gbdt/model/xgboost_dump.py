"""Trees as text or JSON, in the form of XGBoost's ``Booster.get_dump``."""

from __future__ import annotations

import json
import math

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Ensemble, check_is_ensemble
from pyopencl_gbdt.model.feature_map import INDICATOR, INTEGER, FeatureMap
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree

DUMP_FORMATS = ("text", "json")


def dump_xgboost(
    ensemble: Ensemble,
    feature_map: FeatureMap | None = None,
    *,
    with_stats: bool = False,
    dump_format: str = "text",
) -> list[str]:
    r"""Format every tree as XGBoost's ``get_dump`` does.

    Parameters
    ----------
    ensemble : Ensemble
    feature_map : FeatureMap or None
        Names and kinds of columns; None takes the model's names.
    with_stats : bool
        Add gain and cover (the sum of the Hessians).
    dump_format : {"text", "json"}

    Returns
    -------
    list of str
        One text for each tree::

            0:[f2<2.45000005] yes=1,no=2,missing=1
            \t1:leaf=0.42
            \t2:leaf=-0.2

        Rows with ``value < threshold`` go to ``yes``. Numbers have nine digits, which is enough
        to read the same float32 back. A column of kind ``i`` has no threshold, and ``missing`` is
        its ``no``. A split by a set lists the codes that go to ``yes``: ``[f0:{1,3}]``. Thresholds
        of kind ``int`` are rounded up, which is the same for whole numbers.

    Raises
    ------
    ParameterError
        If ``dump_format`` is another.
    """
    check_is_ensemble(ensemble)
    if dump_format not in DUMP_FORMATS:
        raise ParameterError(
            f"dump_format={show(dump_format)}: expected {' or '.join(DUMP_FORMATS)}; "
            "choose one of them"
        )
    names = FeatureMap.of_model(ensemble) if feature_map is None else feature_map
    one = _json_tree if dump_format == "json" else _text_tree
    return [one(tree, names, with_stats) for tree in ensemble.trees]


def _text_tree(tree: Tree, names: FeatureMap, with_stats: bool) -> str:
    depth, lines, pending = tree.depth.tolist(), [], [0]
    while pending:  # depth first, left before right
        node = pending.pop()
        cover = f",cover={_number(tree.sum_hessian[node])}" if with_stats else ""
        if tree.left[node] == NO_NODE:
            text = f"leaf={_number(tree.value[node, 0])}{cover}"
        else:
            text = _text_split(tree, node, names)
            if with_stats:
                text += f",gain={_number(tree.gain[node])}{cover}"
            pending += [int(tree.right[node]), int(tree.left[node])]
        lines.append("\t" * depth[node] + f"{node}:{text}\n")
    return "".join(lines)


def _text_split(tree: Tree, node: int, names: FeatureMap) -> str:
    feature = int(tree.feature[node])
    left, right, missing = _children(tree, node)
    name = names.name(feature)
    if tree.split_kind[node] == CATEGORY_SPLIT:
        codes = ",".join(map(str, np.flatnonzero(tree.right_set(node))))
        return f"[{name}:{{{codes}}}] yes={right},no={left},missing={missing}"
    if names.kind(feature) == INDICATOR:
        return f"[{name}] yes={left + right - missing},no={missing}"
    return f"[{name}<{_threshold(tree, node, names)}] yes={left},no={right},missing={missing}"


def _json_tree(tree: Tree, names: FeatureMap, with_stats: bool) -> str:
    depth, parts = tree.depth.tolist(), []
    pending: list[int | str] = [0]  # nodes, and text between them
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        indent = "  " * (depth[node] + 1)
        cover = f', "cover": {_number(tree.sum_hessian[node])}' if with_stats else ""
        if tree.left[node] == NO_NODE:
            leaf = f'"leaf": {_number(tree.value[node, 0])} {cover}{" " if cover else ""}'
            parts.append(f'{indent}{{ "nodeid": {node}, {leaf}}}')
            continue
        gain = f', "gain": {_number(tree.gain[node])}' if with_stats else ""
        split = _json_split(tree, node, depth[node], names)
        parts.append(f'{indent}{{ {split} {gain}{cover}, "children": [\n')
        pending += [f"\n{indent}]}}", int(tree.right[node]), ", \n", int(tree.left[node])]
    return "".join(parts)


def _json_split(tree: Tree, node: int, depth: int, names: FeatureMap) -> str:
    feature = int(tree.feature[node])
    left, right, missing = _children(tree, node)
    name = json.dumps(names.name(feature), ensure_ascii=False)
    start = f'"nodeid": {node}, "depth": {depth}, "split": {name}'
    if tree.split_kind[node] == CATEGORY_SPLIT:
        codes = ", ".join(map(str, np.flatnonzero(tree.right_set(node))))
        return (
            f'{start}, "split_condition": [{codes}], "yes": {right}, "no": {left}, '
            f'"missing": {missing}'
        )
    if names.kind(feature) == INDICATOR:
        return f'{start}, "yes": {left + right - missing}, "no": {missing}'
    return (
        f'{start}, "split_condition": {_threshold(tree, node, names)}, "yes": {left}, '
        f'"no": {right}, "missing": {missing}'
    )


def _children(tree: Tree, node: int) -> tuple[int, int, int]:
    """Return the left child, the right child, and where missing values go."""
    left, right = int(tree.left[node]), int(tree.right[node])
    return left, right, left if tree.default_left[node] else right


def _threshold(tree: Tree, node: int, names: FeatureMap) -> str:
    if names.kind(int(tree.feature[node])) == INTEGER:
        return str(math.ceil(tree.threshold[node]))
    return _number(tree.threshold[node])


def _number(number: np.float32) -> str:
    return f"{float(number):.9g}"
