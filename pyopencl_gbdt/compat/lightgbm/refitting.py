"""Leaves of a model, computed anew for other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.dataset import Dataset
from pyopencl_gbdt.compat.lightgbm.task import Task
from pyopencl_gbdt.compat.lightgbm.trees import base_of, leaf_places
from pyopencl_gbdt.model import Ensemble


def refitted(
    model: Ensemble,
    leaves: npt.NDArray[np.int32],
    data: Dataset,
    task: Task,
    decay_rate: float,
    rates: Sequence[float],
    settings: Mapping[str, Any],
    *,
    is_forest: bool,
) -> Ensemble:
    """Return the model whose leaves are mixed with a Newton step for other rows.

    LightGBM 4.7, ``GBDT::RefitTree``: gradients are those of the mixed trees before.

    Parameters
    ----------
    model : Ensemble
    leaves : int32 array, shape (n_rows, n_trees)
        The number of each row's leaf in each tree.
    data : Dataset
        The other rows, with labels.
    task : Task
        The loss.
    decay_rate : float
        The share of the old values.
    rates : sequence of float
        By which each tree is shrunk, LightGBM's ``shrinkage``.
    settings : mapping
        ``lambda_l1``, ``lambda_l2`` and ``max_delta_step``, if they are not 0.
    is_forest : bool
        Whether all trees take their gradients at the same margins.
    """
    n_rows, n = leaves.shape[0], model.n_outputs
    start = data.get_field("init_score")
    margins = np.zeros((n_rows, n)) if start is None else np.reshape(start, (n_rows, -1)) + 0.0
    absolute, penalty, most = (
        float(settings.get(name) or 0.0) for name in ("lambda_l1", "lambda_l2", "max_delta_step")
    )
    trees: list[Any] = []
    gradients = (margins, margins)
    for place, tree in enumerate(model.trees):
        output = place % n
        if output == 0:
            gradients = task.gradients(margins, data, place // n)
        own = leaves[:, place]
        size = int(tree.is_leaf.sum())
        g, h = (np.bincount(own, part[:, output], size) for part in gradients)
        base = base_of(model, place)
        old = tree.value[leaf_places(tree), 0].astype(np.float64) + base
        g = np.sign(g) * np.maximum(np.abs(g) - absolute, 0.0)
        step = np.where(h + penalty > 0, -g / np.maximum(h + penalty, 1e-300), 0.0)
        step = np.clip(step, -most, most) if most > 0 else step
        mixed = decay_rate * old + (1 - decay_rate) * (rates[place] * step)
        if not is_forest:
            margins[:, output] += mixed[own]
        values = tree.value.copy()
        values[leaf_places(tree), 0] = mixed - base
        trees.append(tree.with_values(values.astype(np.float32)))
    return replace(model, trees=trees)
