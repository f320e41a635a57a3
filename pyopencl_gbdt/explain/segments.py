"""Where a model errs: parts of the rows, told by a few conditions, whose losses are largest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.explain.rows import ExplainedRows
from pyopencl_gbdt.explain.scores import LabelledRows
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.node_labels import listed, right_levels
from pyopencl_gbdt.model.pictures import shorten
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, NO_NODE, Tree
from pyopencl_gbdt.training.train import Model, train

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
#: Conditions of a segment at most; rows at least, as a number and as a share.
_MOST_CONDITIONS, _LEAST_ROWS, _LEAST_SHARE = 3, 20, 0.02
#: Characters of a column's name, and levels, that a condition shows.
_LONGEST, _MOST_LEVELS = 34, 6


@dataclass(frozen=True)
class Segment:
    """Rows that meet some conditions.

    Attributes
    ----------
    text : str
        The conditions: ``area >= 91.5 and town in {Bern}``.
    n_rows : int
    score : float
        The metric of these rows.
    ratio : float
        Their mean loss over that of all rows.
    """

    text: str
    n_rows: int
    score: float
    ratio: float


def worst_segments(labelled: LabelledRows, most: int) -> list[Segment]:
    """Return the segments whose mean loss is above that of all rows, the worst one first.

    A tree that predicts the losses of the rows finds them: its leaves are the segments.

    Returns
    -------
    list of Segment
        Empty if the metric is not a mean over rows, or no segment is worse than the rest.
    """
    losses = labelled.losses()
    if losses is None or not np.isfinite(losses).all() or losses.max() == losses.min():
        return []
    rows = labelled.rows
    scaled = (losses / losses.max()).astype(np.float32)
    tree, leaves = _tree_of(rows, scaled)
    found = []
    for leaf in np.unique(leaves).tolist():
        chosen = leaves == leaf
        ratio = float(losses[chosen].mean() / losses.mean())
        if ratio > 1.0 and leaf:
            score = labelled.mean(losses, chosen)
            text = " and ".join(_conditions(rows, tree, leaf, chosen))
            found.append(Segment(text, int(chosen.sum()), score, ratio))
    return sorted(found, key=lambda one: -one.ratio)[:most]


def _tree_of(rows: ExplainedRows, losses: npt.NDArray[np.float32]) -> tuple[Model, I32]:
    """Return a model of one tree that predicts losses, and the leaf of each row."""
    least = max(_LEAST_ROWS, int(_LEAST_SHARE * rows.n_rows))
    parameters: dict[str, Any] = {
        "max_depth": _MOST_CONDITIONS, "learning_rate": 1.0, "reg_lambda": 0.0,
        "min_child_weight": least, "cat_method": "sets", "device": rows.device, "verbosity": 0,
    }  # fmt: skip
    data = Dataset(rows.features, losses)
    model = train(parameters, data, 1)
    leaves: I32 = model.predict(data, pred_leaf=True, device=rows.device)[:, 0]
    return model, leaves


def _conditions(
    rows: ExplainedRows, model: Model, leaf: int, chosen: npt.NDArray[np.bool_]
) -> list[str]:
    """Return what rows of a leaf have in common: one condition for each column on its path."""
    ensemble = model.ensemble
    tree = ensemble.trees[0]
    columns: dict[int, list[int]] = {}
    node = leaf
    while tree.parent[node] != NO_NODE:
        columns.setdefault(int(tree.feature[tree.parent[node]]), []).insert(0, node)
        node = int(tree.parent[node])
    texts = []
    for column, path in reversed(columns.items()):
        name = shorten(rows.names[column], _LONGEST)
        by_set = tree.split_kind[tree.parent[path[0]]] == CATEGORY_SPLIT
        text = _levels(rows, model, column, path) if by_set else _bounds(name, tree, path)
        if by_set:
            text = f"{name} in {text}"
        absent = np.isnan(rows.host_values()[chosen, column])
        if absent.any():
            text = f"{name} missing" if absent.all() else f"({text} or missing)"
        texts.append(text)
    return texts


def _bounds(name: str, tree: Tree, path: list[int]) -> str:
    """Return the range of a numeric column in a node, by the splits above it."""
    low, high = -np.inf, np.inf
    for node in path:
        parent = tree.parent[node]
        threshold = float(tree.threshold[parent])
        if tree.left[parent] == node:
            high = min(high, threshold)
        else:
            low = max(low, threshold)
    if np.isinf(low):
        return f"{name} < {high:.5g}"
    return f"{name} >= {low:.5g}" if np.isinf(high) else f"{low:.5g} <= {name} < {high:.5g}"


def _levels(rows: ExplainedRows, model: Model, column: int, path: list[int]) -> str:
    """Return the levels that a node's rows may have, by the splits above it."""
    ensemble = model.ensemble
    tree, levels = ensemble.trees[0], ensemble.categories[column]
    left = [level if isinstance(level, str) else int(level) for level in levels.values]
    for node in path:
        parent = int(tree.parent[node])
        right = set(right_levels(ensemble, tree, parent))
        goes_left = tree.left[parent] == node
        left = [level for level in left if (level in right) != goes_left]
    return listed([shorten(str(level)) for level in left], _MOST_LEVELS)
