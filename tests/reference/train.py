"""Twin of a whole fit, on the host: the same model, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.numerics.expressions import evaluate
from pyopencl_gbdt.numerics.portable_math import finite
from pyopencl_gbdt.numerics.weights import normalise
from pyopencl_gbdt.objectives import Objective, get_objective
from pyopencl_gbdt.parameters.constraints import limits_of
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference import quantize
from tests.reference.dropout import Dropout
from tests.reference.gradients import choose_scale
from tests.reference.gradients import quantize as quantize_gradients
from tests.reference.grow import Grower, Node, Rank
from tests.reference.host_gradients import host_gradients
from tests.reference.linear_leaves import added_by, fit_leaves
from tests.reference.newton_leaves import newton_steps
from tests.reference.ordered_leaves import OrderedLeaves
from tests.reference.renew_leaves import renew_leaves, residuals
from tests.reference.row_counts import count_bits
from tests.reference.sample import factors
from tests.reference.sketch import sketches, with_structure
from tests.reference.symmetric import SymmetricGrower
from tests.reference.to_tree import to_tree
from tests.reference.update_margins import add_leaves
from tests.reference.vectors import VectorGrower, of_outputs

F32 = npt.NDArray[np.float32]
#: Enough bins for every distinct value.
_EVERY = 2**31


def train_reference(
    params: Parameters,
    values: F32,
    label: F32,
    weight: F32 | None = None,
    feature_names: list[str] | None = None,
    rank: Rank | None = None,
    **extra: Any,
) -> Ensemble:
    """Train on the host.

    Parameters
    ----------
    params : Parameters
        ``device``, ``histogram``, ``page`` and ``work_group_size`` have no effect.
    values : float32 array, shape (n_rows, n_features)
        NaN means missing.
    label : float32 array, shape (n_rows,)
    weight : float32 array, shape (n_rows,), or None
    feature_names : list of str or None
    rank : callable or None
        Which open leaf splits next, see ``Grower``; None is what the parameters ask for.
    **extra
        Further arguments of ``Dataset`` that the loss needs.

    Returns
    -------
    Ensemble
        Equal to what ``training.train`` returns on every device.
    """
    objective = get_objective(params.objective, params)
    data = Dataset(values, label, weight, **extra)
    n_outputs = max(objective.n_outputs, data.n_targets)
    base_score = params.starting_scores(n_outputs)
    if base_score is None:
        base_score = objective.starting_scores(data.label, weight)
    base_margin = objective.to_margin(base_score)
    most = params.max_bin if params.search == "hist" else _EVERY
    values = data.values  # codes in categorical columns
    cuts = quantize.cuts(values, weight, most)
    for column, levels in data.categories.items():
        cuts[column] = quantize.level_cuts(values[:, column], levels.n_levels)
    layout = quantize.make_layout(cuts)
    if data.categories:
        categorical = np.isin(np.arange(layout.n_features), list(data.categories))
        layout = replace(layout, categorical=categorical)
    codes = quantize.encode(values, layout)
    scaled, *powers = normalise(weight)
    margins = np.empty((n_outputs, data.n_rows), np.float32)
    margins[:] = np.array(each(base_margin), np.float32)[:, None]
    trees = []
    params, counting = _counting(params, objective, data)
    limits = limits_of(params, data)
    alike = params.multi_strategy == "multi_output_tree" and n_outputs > 1
    make = SymmetricGrower if params.symmetric_trees or alike else Grower
    gradients_of = host_gradients(objective, data, params.random_state)
    ordered = None
    if params.boosting_type == "ordered":
        ordered = OrderedLeaves(params, objective, data, scaled, powers, margins)
    dropout = Dropout(params, margins, alike=alike) if params.booster == "dart" else None
    for number in range(params.n_estimators):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            margins = margins if dropout is None else dropout.begin_round(number)
            before = margins.copy()
            seen = margins if ordered is None else ordered.begin_round(number)
            gradients = tuple(map(finite, gradients_of(number, seen)))
            sampled = _sampled(params, number, gradients, (scaled, *powers), counting, alike=alike)
            made = [
                make(codes, quanta, scale, layout, params, (number, tree), limits, rank)
                for tree, (_, scale, _, quanta) in enumerate(sampled)
            ]
            grown = (
                _grown_as_sketches(made, params, number, gradients[0], (scaled, *powers), counting)
                if alike and 0 < params.sketch < n_outputs
                else _grown(made, n_outputs if alike else 1)
            )
            for (output, scale, drawn, quanta), nodes in zip(sampled, grown, strict=True):
                leaves = [node for node in nodes if node.left == NO_NODE]
                if objective.renews:
                    _renew(leaves, before[output], output, objective, data, params)
                newton_steps(
                    params, leaves, _gradients_at(objective, data, before, output), scaled, powers,
                    scale,
                )  # fmt: skip
                if ordered is not None:
                    ordered.finish(output, leaves, scale, drawn)
                fit_leaves(number, nodes, values, quanta, scale, layout, params)
                if dropout is not None:
                    dropout.finish(output, leaves)
                margins[output] = add_leaves(
                    margins[output], ((leaf.rows, added_by(leaf, values)) for leaf in leaves)
                )
            of_round = [to_tree(nodes, layout) for nodes in grown]
            trees += of_outputs(of_round, params.num_parallel_tree) if alike else of_round
    return Ensemble(
        trees=trees,
        objective=params.objective,
        n_features=values.shape[1],
        base_margin=base_margin,
        base_score=base_score,
        feature_names=feature_names,
        n_outputs=n_outputs,
        n_parallel=params.num_parallel_tree,
        objective_parameters=objective.parameters,
        tree_weights=None if dropout is None else dropout.weights(params.n_estimators),
    )


def _counting(
    params: Parameters, objective: Objective, data: Dataset
) -> tuple[Parameters, tuple[int, int]]:
    """Return the parameters of growing trees, and ``count_bits`` and ``least_rows``."""
    unit = objective.has_unit_hessians and data.weight is None
    params = params.with_least_hessian(unit_hessians=unit)
    if not params.limits_rows:
        return params, (0, 0)
    return params, (count_bits(data.n_rows), params.min_samples_leaf)


def _sampled(
    params: Parameters, number: int, gradients: Any, weights: Any, counting: Any, *, alike: bool
) -> list[tuple[int, Any, Any, Any]]:
    """Return output, scale, factors and quanta of each tree of a round.

    Trees that split alike draw the same rows.
    """
    found, n_parallel = [], params.num_parallel_tree
    for output, (g, h) in enumerate(zip(*gradients, strict=True)):
        for tree in range(output * n_parallel, (output + 1) * n_parallel):
            own, stream = (gradients, tree % n_parallel) if alike else ((g, h), tree)
            drawn = factors(params, own[0], own[1], weights[0], number, stream)
            scale = choose_scale(g, h, *weights, factors=drawn, counting=counting)
            found.append((output, scale, drawn, quantize_gradients(g, h, weights[0], scale, drawn)))
    return found


def _grown(growers: list[Grower], n_alike: int) -> list[list[Node]]:
    """Return the nodes of a round's trees; those of ``n_alike`` outputs split alike."""
    if n_alike == 1:
        return [grower.grow() for grower in growers]
    n_parallel = len(growers) // n_alike
    together = [VectorGrower(growers[first::n_parallel]).grow() for first in range(n_parallel)]
    return [nodes for of_trees in zip(*together, strict=True) for nodes in of_trees]


def _grown_as_sketches(
    growers: list[Grower], params: Parameters, number: int, g: F32, weights: Any, counting: Any
) -> list[list[Node]]:
    """Return the nodes of all outputs' trees, which split as those of the sketches.

    A sketch gains as much as all outputs, so the least gain is that of so many.
    """
    n_parallel, both = params.num_parallel_tree, sketches(params, number, g)
    sampled = _sampled(params, number, both, weights, counting, alike=True)
    less = replace(params, gamma=params.gamma * params.sketch)
    limits = replace(growers[0].limits, monotone=None)  # sketches tell nothing of the order
    searched = [
        replace(growers[tree], quanta=quanta, scale=scale, params=less, limits=limits)
        for tree, (_, scale, _, quanta) in enumerate(sampled)
    ]
    shapes = [VectorGrower(searched[p::n_parallel]).grow()[0] for p in range(n_parallel)]
    return [with_structure(own, shapes[tree % n_parallel]) for tree, own in enumerate(growers)]


def _gradients_at(
    objective: Objective, data: Dataset, margins: F32, output: int
) -> Callable[[F32], tuple[F32, F32]]:
    """Return a function of what is added to an output's margins, which returns its gradients."""

    def gradients(added: F32) -> tuple[F32, F32]:
        if objective.given:
            given = objective.gradients(margins, data)
            g, h = evaluate(objective.moved, given[0][output], given[1][output], added)
            return finite(g), finite(h)
        moved = margins.copy()
        moved[output] = margins[output] + added
        g, h = objective.gradients(moved, data)
        return finite(g[output]), finite(h[output])

    return gradients


def _renew(
    leaves: list[Node], margins: F32, output: int, objective: Objective, data: Dataset,
    params: Parameters,
) -> None:  # fmt: skip
    """Set leaf values to quantiles of their rows' residuals before the round."""
    target = data.targets()[output if data.n_targets > 1 else 0]
    own = objective.leaf_weights(target, data.weight)
    rate = np.float32(params.learning_rate) / np.float32(params.num_parallel_tree)
    alpha = objective.leaf_alpha(output)
    renew_leaves(leaves, residuals(target, margins), own, alpha, float(rate))
