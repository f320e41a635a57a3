"""Twin of a whole fit, without any device: the same model, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters import Parameters
from pyopencl_gbdt.reference import quantize
from pyopencl_gbdt.reference.gradients import choose_scale
from pyopencl_gbdt.reference.gradients import quantize as quantize_gradients
from pyopencl_gbdt.reference.grow import Grower, to_tree
from pyopencl_gbdt.reference.leaf import add_leaves
from pyopencl_gbdt.weights import normalise

F32 = npt.NDArray[np.float32]


def train_reference(
    params: Parameters,
    values: F32,
    label: F32,
    weight: F32 | None = None,
    feature_names: list[str] | None = None,
    **extra: Any,
) -> Ensemble:
    """Train on the host.

    Parameters
    ----------
    params : Parameters
        ``device``, ``histogram`` and ``work_group_size`` change nothing.
    values : float32 array, shape (n_rows, n_features)
        NaN is missing.
    label : float32 array, shape (n_rows,)
    weight : float32 array, shape (n_rows,), or None
    feature_names : list of str or None
    **extra
        What else ``Dataset`` takes and the loss looks at.

    Returns
    -------
    Ensemble
        Equal to what ``training.train`` returns on every device.
    """
    objective = get_objective(params.objective, params)
    if params.base_score is None:
        base_score = objective.starting_score(label, weight)
    else:
        base_score = float(np.float32(params.base_score))
    base_margin = objective.to_margin(base_score)
    layout = quantize.make_layout(quantize.cuts(values, weight, params.max_bin))
    codes = quantize.encode(values, layout)
    data = Dataset(values, label, weight, **extra)
    scaled, *powers = normalise(weight)
    host_gradients = objective.host_gradients(data, params.random_state)
    margins = np.full(label.size, base_margin, np.float32)
    trees = []
    for number in range(params.n_estimators):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            g, h = (part[0] for part in host_gradients(number, margins[None]))
            scale = choose_scale(g, h, scaled, *powers)
            quanta = quantize_gradients(g, h, scaled, scale)
            nodes = Grower(codes, quanta, scale, layout, params).grow()
            leaves = ((node.rows, node.value) for node in nodes if node.left == NO_NODE)
            margins = add_leaves(margins, leaves)
        trees.append(to_tree(nodes, layout))
    return Ensemble(
        trees=trees,
        objective=params.objective,
        n_features=values.shape[1],
        base_margin=base_margin,
        base_score=base_score,
        feature_names=feature_names,
        objective_parameters=objective.parameters,
    )
