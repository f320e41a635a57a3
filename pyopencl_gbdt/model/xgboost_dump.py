"""Trees as text, JSON or DOT, in the form of XGBoost's ``Booster.get_dump``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TextIO

from pyopencl_gbdt.arguments import check_path
from pyopencl_gbdt.data.files.whole_file import write_whole
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Ensemble, check_is_ensemble
from pyopencl_gbdt.model.graphviz import dot_tree
from pyopencl_gbdt.model.node_labels import (
    FeatureMap,
    NodeLabels,
    children,
    leaf_text,
    listed,
    nine_digits,
)
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree


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
    dump_format : {"text", "json", "dot"}

    Returns
    -------
    list of str
        One text for each tree::

            0:[f2<2.45000005] yes=1,no=2,missing=1
            \t1:leaf=0.42
            \t2:leaf=-0.2

        Rows with ``value < threshold`` go to ``yes``. Numbers have nine digits, which is enough
        to read the same float32 back. A column of kind ``i`` has no threshold, and ``missing`` is
        its ``no``. A split by a set lists the levels that go to ``yes``: ``[town:{Lyon,Oslo}]``.
        XGBoost lists their codes. Thresholds of kind ``int`` are rounded up, which is the same for
        whole numbers. A linear leaf has its function, too:
        ``leaf=0.42,linear=0.5+2*f3-1*f7``, and in JSON ``leaf_const``, ``leaf_features`` and
        ``leaf_coeff``. Rows that miss one of its features get the number ``leaf``.

    Raises
    ------
    ParameterError
        If ``dump_format`` is another.
    """
    check_is_ensemble(ensemble)
    if dump_format not in DUMP_FORMATS:
        *others, last = DUMP_FORMATS
        raise ParameterError(
            f"dump_format={show(dump_format)}: expected {', '.join(others)} or {last}; "
            "choose one of them"
        )
    labels = NodeLabels(ensemble, FeatureMap() if feature_map is None else feature_map)
    return [_WRITERS[dump_format](tree, labels, with_stats) for tree in ensemble.trees]


def joined_dump(trees: list[str], dump_format: str) -> str:
    """Return the dump of all trees as one text, as XGBoost's ``dump_model`` writes it."""
    if dump_format == "json":
        return "[\n" + ",\n".join(trees) + "\n]"
    return "".join(f"booster[{number}]:\n{tree}" for number, tree in enumerate(trees))


def write_dump(target: str | os.PathLike[str] | TextIO, text: str) -> None:
    """Write a dump to a path, whole or not at all, or to an open text file."""
    if hasattr(target, "write"):
        target.write(text)
        return
    check_path("dump_model: fout", target)
    write_whole(os.fspath(target), text.encode())


def _text_tree(tree: Tree, labels: NodeLabels, with_stats: bool) -> str:
    depth, lines, pending = tree.depth.tolist(), [], [0]
    while pending:  # depth first, left before right
        node = pending.pop()
        cover = f",cover={nine_digits(tree.sum_hessian[node])}" if with_stats else ""
        if tree.left[node] == NO_NODE:
            formula = labels.formula(tree, node, nine_digits)
            linear = f",linear={formula}" if formula else ""
            text = f"leaf={leaf_text(tree, node)}{linear}{cover}"
        else:
            text = _text_split(tree, node, labels)
            if with_stats:
                text += f",gain={nine_digits(tree.gain[node])}{cover}"
            pending += [int(tree.right[node]), int(tree.left[node])]
        lines.append("\t" * depth[node] + f"{node}:{text}\n")
    return "".join(lines)


def _text_split(tree: Tree, node: int, labels: NodeLabels) -> str:
    feature = int(tree.feature[node])
    left, right, missing = children(tree, node)
    name = json.dumps(labels.name(feature), ensure_ascii=False)[1:-1]  # quotes get a backslash
    if tree.split_kind[node] == CATEGORY_SPLIT:
        levels = listed(labels.levels(tree, node))
        return f"[{name}:{levels}] yes={right},no={left},missing={missing}"
    if labels.is_indicator(tree, node):
        return f"[{name}] yes={left + right - missing},no={missing}"
    return f"[{name}<{labels.threshold(tree, node)}] yes={left},no={right},missing={missing}"


def _json_tree(tree: Tree, labels: NodeLabels, with_stats: bool) -> str:
    depth, parts = tree.depth.tolist(), []
    pending: list[int | str] = [0]  # nodes, and text between them
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        indent = "  " * (depth[node] + 1)
        cover = f', "cover": {nine_digits(tree.sum_hessian[node])}' if with_stats else ""
        if tree.left[node] == NO_NODE:
            linear = _json_linear(tree, node, labels)
            leaf = f'"leaf": {leaf_text(tree, node)}{linear} {cover}{" " if cover else ""}'
            parts.append(f'{indent}{{ "nodeid": {node}, {leaf}}}')
            continue
        gain = f', "gain": {nine_digits(tree.gain[node])}' if with_stats else ""
        split = _json_split(tree, node, depth[node], labels)
        parts.append(f'{indent}{{ {split} {gain}{cover}, "children": [\n')
        pending += [f"\n{indent}]}}", int(tree.right[node]), ", \n", int(tree.left[node])]
    return "".join(parts)


def _json_linear(tree: Tree, node: int, labels: NodeLabels) -> str:
    intercept, terms = labels.linear(tree, node)
    if not terms:
        return ""
    names = json.dumps([name for name, _ in terms], ensure_ascii=False)
    numbers = ", ".join(nine_digits(number) for _, number in terms)
    return (
        f', "leaf_const": {nine_digits(intercept)}, "leaf_features": {names}, '
        f'"leaf_coeff": [{numbers}]'
    )


def _json_split(tree: Tree, node: int, depth: int, labels: NodeLabels) -> str:
    feature = int(tree.feature[node])
    left, right, missing = children(tree, node)
    name = json.dumps(labels.name(feature), ensure_ascii=False)
    start = f'"nodeid": {node}, "depth": {depth}, "split": {name}'
    if tree.split_kind[node] == CATEGORY_SPLIT:
        levels = json.dumps(labels.levels(tree, node), ensure_ascii=False)
        return (
            f'{start}, "split_condition": {levels}, "yes": {right}, "no": {left}, '
            f'"missing": {missing}'
        )
    if labels.is_indicator(tree, node):
        return f'{start}, "yes": {left + right - missing}, "no": {missing}'
    return (
        f'{start}, "split_condition": {labels.threshold(tree, node)}, "yes": {left}, '
        f'"no": {right}, "missing": {missing}'
    )


_WRITERS: dict[str, Callable[[Tree, NodeLabels, bool], str]] = {
    "text": _text_tree,
    "json": _json_tree,
    "dot": dot_tree,
}
DUMP_FORMATS = tuple(_WRITERS)
