"""Explain a model: feature importances, and its trees as text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model.ensemble import Ensemble, check_is_ensemble, each
from pyopencl_gbdt.model.node_labels import FeatureMap, NodeLabels, listed, right_levels
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree

IMPORTANCE_KINDS = ("gain", "weight", "cover", "total_gain", "total_cover")


def check_importance_kind(kind: str | None, name: str = "kind") -> str:
    """Return a kind of importance; None becomes ``"gain"``, LightGBM's ``"split"`` ``"weight"``.

    Raises
    ------
    ParameterError
        If ``kind`` is not a kind of importance.
    """
    found = {None: "gain", "split": "weight"}.get(kind, kind) if _is_name(kind) else None
    if found not in IMPORTANCE_KINDS:
        raise ParameterError(
            f"{name}={kind!r}: expected one of {', '.join((*IMPORTANCE_KINDS, 'split'))}; choose "
            f"one of these"
        )
    return found


def _is_name(kind: object) -> bool:
    return kind is None or isinstance(kind, str)


def feature_importances(
    ensemble: Ensemble, kind: str = "gain", normalize: bool = True
) -> npt.NDArray[np.float64]:
    """Return the importance of each feature, as XGBoost's ``get_score`` defines it.

    Parameters
    ----------
    ensemble : Ensemble
    kind : {"gain", "weight", "split", "cover", "total_gain", "total_cover"}
        ``weight`` or ``split``: the number of splits on the feature.
        ``total_gain``, ``total_cover``: the sum of the gains, or of the Hessian sums, of the
        nodes that split on the feature. ``gain``, ``cover``: the mean of the same.
    normalize : bool
        Divide by the sum over all features, as XGBoost's ``feature_importances_`` does; no effect
        if that sum is 0.

    Returns
    -------
    float64 array, shape (n_features,)
        0 for features without a split. Sums are taken in float64 (XGBoost uses float32).

    Raises
    ------
    ParameterError
        If ``kind`` is not a kind of importance.
    """
    used, importance = used_importances(ensemble, kind)
    whole = importance.sum()
    found = np.zeros(ensemble.n_features)  # unwritten pages take no memory
    found[used] = importance / whole if normalize and whole != 0.0 else importance
    return found


def used_importances(
    ensemble: Ensemble, kind: str
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Return the columns that have a split, and their importances, which are not normalized.

    A file of ten bytes can claim 2^31 columns, so this takes memory for those in use only.
    """
    check_is_ensemble(ensemble)
    kind = check_importance_kind(kind)
    asked = [tree.feature[~tree.is_leaf] for tree in ensemble.trees]
    used = np.unique(np.concatenate([np.zeros(0, np.int32), *asked]))
    n_splits, total = np.zeros(used.size), np.zeros(used.size)
    for tree, features in zip(ensemble.trees, asked, strict=True):
        per_node = tree.sum_hessian if kind.endswith("cover") else tree.gain
        place = np.searchsorted(used, features)
        np.add.at(n_splits, place, 1.0)
        np.add.at(total, place, per_node[~tree.is_leaf].astype(np.float64))
    if ensemble.statistics is not None:
        used, n_splits, total = _of_columns(ensemble, used, n_splits, total)
    if kind == "weight":
        return used, n_splits
    return used, total if kind.startswith("total") else total / np.maximum(n_splits, 1.0)


def _of_columns(
    ensemble: Ensemble, used: npt.NDArray[np.int32], *sums: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return columns and their sums; those of a statistic are shared equally by its columns."""
    sources = [ensemble.sources(int(feature)) for feature in used]
    columns = np.unique(np.array([c for own in sources for c in own], np.int32))
    found = np.zeros((len(sums), columns.size))
    for place, own in enumerate(sources):
        at = np.searchsorted(columns, own)
        for one, values in zip(found, sums, strict=True):
            one[at] += values[place] / len(own)
    return columns, found[0], found[1]


def dump_text(ensemble: Ensemble) -> str:
    """Format every tree as indented text for people to read.

    Parameters
    ----------
    ensemble : Ensemble

    Returns
    -------
    str
        One line per node::

            binary:logistic: 1 tree, 2 features, base margin 0.1
            tree 0: 3 nodes, depth 1
              0: age < 40.5, missing left  (gain 12.5, cover 30)
                1: leaf -0.25  (cover 10)
                2: leaf 0.125  (cover 20)

        "Yes" leads to the first child. Cover is the sum of the Hessians. Numbers are float32,
        in the fewest digits that distinguish them from their neighbours.
    """
    check_is_ensemble(ensemble)
    lines = [
        f"{ensemble.objective}: {_count(len(ensemble.trees), 'tree')}, "
        f"{_count(ensemble.n_features, 'feature')}, "
        f"base margin {', '.join(map(_short, each(ensemble.base_margin)))}"
    ]
    for index, tree in enumerate(ensemble.trees):
        depth, is_leaf = tree.depth.tolist(), tree.is_leaf
        lines.append(f"tree {index}: {_count(tree.n_nodes, 'node')}, depth {max(depth)}")
        pending = [0]
        while pending:  # depth first, left before right
            node = pending.pop()
            lines.append("  " * (depth[node] + 1) + f"{node}: {_describe(ensemble, tree, node)}")
            if not is_leaf[node]:
                pending += [int(tree.right[node]), int(tree.left[node])]
    return "\n".join(lines) + "\n"


def _describe(ensemble: Ensemble, tree: Tree, node: int) -> str:
    cover = _short(tree.sum_hessian[node])
    if tree.left[node] == NO_NODE:
        formula = NodeLabels(ensemble, FeatureMap()).formula(tree, node, _short)
        linear = f", linear {formula}" if formula else ""
        return f"leaf {', '.join(map(_short, tree.value[node]))}{linear}  (cover {cover})"
    side = "left" if tree.default_left[node] else "right"
    if tree.split_kind[node] == CATEGORY_SPLIT:
        return (
            f"{ensemble.feature_name(int(tree.feature[node]))} not in "
            f"{listed(right_levels(ensemble, tree, node), 12)}, missing {side}  "
            f"(gain {_short(tree.gain[node])}, cover {cover})"
        )
    return (
        f"{ensemble.feature_name(int(tree.feature[node]))} < {_short(tree.threshold[node])}, "
        f"missing {side}  (gain {_short(tree.gain[node])}, cover {cover})"
    )


def _short(number: float) -> str:
    return str(np.float32(number)).removesuffix(".0")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
