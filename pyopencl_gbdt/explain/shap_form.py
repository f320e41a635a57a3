"""A model as the dictionary of trees that the package shap reads; shap itself is not needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.explain.rows import model_of
from pyopencl_gbdt.model import CATEGORY_SPLIT, Ensemble, Tree
from pyopencl_gbdt.model.ensemble import each

#: Losses by shap's names: the loss of `model_output="log_loss"`, and the unit of margins.
_LOSSES = {
    "reg:squarederror": ("squared_error", "raw_value"),
    "binary:logistic": ("binary_crossentropy", "log_odds"),
    "reg:logistic": ("binary_crossentropy", "log_odds"),
}


def to_shap(model: Any) -> dict[str, Any]:
    """Return a model as the dictionary that ``shap.TreeExplainer`` takes.

    It has the trees that ``predict`` uses. shap then computes with its own code, for one.

    Parameters
    ----------
    model : Model or fitted estimator
        Its trees split on numbers alone.

    Returns
    -------
    dict
        ``trees``, each with ``children_left``, ``children_right``, ``children_default``,
        ``features``, ``thresholds``, ``values`` and ``node_sample_weight``; ``base_offset``;
        ``input_dtype`` and ``internal_dtype``; ``objective`` and ``tree_output``.

    Raises
    ------
    ParameterError
        If a tree splits by a set of levels or on a statistic, or the model has no sums of Hessians.
    """
    own = model_of(model)
    ensemble = own.ensemble.folded()
    trees = ensemble.trees[: own.rounds_to_predict * ensemble.round_trees]
    for number, tree in enumerate(trees):
        _check(ensemble, number, tree)
    loss, unit = _LOSSES.get(ensemble.objective, (None, "raw_value"))
    return {
        "trees": [
            _tree(tree, _outputs(ensemble, number), ensemble.n_outputs)
            for number, tree in enumerate(trees)
        ],
        "base_offset": np.array(each(ensemble.base_margin), np.float64),
        "input_dtype": np.float32,
        "internal_dtype": np.float64,
        "objective": loss,
        "tree_output": unit,
    }


def _check(ensemble: Ensemble, number: int, tree: Tree) -> None:
    inner = ~tree.is_leaf
    move = "explain(model, X) explains it, and so does shap after import pyopencl_gbdt.explain.shap"
    if tree.linear is not None:
        raise ParameterError(
            f"to_shap: leaves of tree {number} are linear functions: expected numbers, which are "
            f"all that shap's dictionary holds; {move}"
        )
    other = inner & ((tree.split_kind == CATEGORY_SPLIT) | (tree.feature >= ensemble.n_features))
    if other.any():
        name = ensemble.feature_name(int(tree.feature[other][0]))
        kind = "a set of levels" if tree.split_kind[other][0] == CATEGORY_SPLIT else "a statistic"
        raise ParameterError(
            f"to_shap: tree {number} splits by {kind} of {name!r}: expected splits of numbers, "
            f"which are all that shap's dictionary holds; {move}"
        )
    if tree.sum_hessian[0] <= 0:
        raise ParameterError(
            f"to_shap: the sum of Hessians of tree {number} is {tree.sum_hessian[0]}: expected "
            "those of training; give a model that was trained here, or read from a file that has "
            "them"
        )


def _outputs(ensemble: Ensemble, number: int) -> slice:
    """Return the outputs that a tree adds to."""
    width = ensemble.tree_outputs
    first = number // ensemble.n_parallel % (ensemble.n_outputs // width) * width
    return slice(first, first + width)


def _tree(tree: Tree, outputs: slice, n_outputs: int) -> dict[str, Any]:
    """Return a tree; shap sends ``x <= threshold`` to the left."""
    leaf, cover = tree.is_leaf, tree.sum_hessian.astype(np.float64)
    values = np.zeros((tree.n_nodes, n_outputs))
    values[:, outputs] = tree.value
    below = np.nextafter(tree.threshold, np.float32(-np.inf))
    return {
        "children_left": tree.left.copy(),
        "children_right": tree.right.copy(),
        "children_default": np.where(tree.default_left, tree.left, tree.right),
        "features": np.where(leaf, -2, tree.feature).astype(np.int32),
        "thresholds": np.where(leaf, 0, below).astype(np.float64),
        "values": values,
        # symmetric trees may have empty leaves, which shap refuses
        "node_sample_weight": np.maximum(cover, cover[0] * 2.0**-100),
    }
