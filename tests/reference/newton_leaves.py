"""Twin of ``growth.newton_leaves``: further Newton steps of the leaves of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import as_margin, finite, scale_by, to_quanta
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.gain import Rule, in_units, make_rule, real_weight, weight_in_units
from tests.reference.gradients import Scale, choose_scale, quantize
from tests.reference.grow import leaf_values
from tests.reference.ordered_leaves import moved_bounds

F32 = npt.NDArray[np.float32]
_ZERO, _HALF = np.float32(0), np.float32(0.5)
_LARGEST = np.finfo(np.float32).max


def newton_steps(
    params: Parameters,
    leaves: Sequence[Any],
    gradients_at: Callable[[F32], tuple[F32, F32]],
    weight: F32 | None,
    powers: Sequence[int],
    scale: Scale,
) -> None:
    """Move the weights of a tree's leaves by several steps.

    All rows count. So the splits have taken the first step, but where rows are sampled.

    Parameters
    ----------
    params : Parameters
    leaves : sequence of Node
    gradients_at : callable
        Returns gradients and Hessians of all rows from what is added to their margins, shape
        (n_rows,).
    weight, powers : float32 array or None, (int, int)
        From ``weights.normalise``.
    scale : Scale
        That of the tree's structure, in which leaves have their bounds.
    """
    n_rows = sum(leaf.rows.size for leaf in leaves)
    if params.leaf_estimation_iterations == 1:
        return
    first = [leaf.weights * (not params.samples_rows) for leaf in leaves]
    weights = [np.asarray(own, np.float32) for own in first]
    nearest = [
        (_ZERO if own[0] > 0 else -_LARGEST, _ZERO if own[0] < 0 else _LARGEST) for own in weights
    ]
    for _ in range(params.leaf_estimation_iterations - (not params.samples_rows)):
        added = np.empty(n_rows, np.float32)
        for leaf, own in zip(leaves, weights, strict=True):
            added[leaf.rows] = as_margin(own)[0]
        g, h = gradients_at(added)
        there = choose_scale(g, h, weight, *powers)
        quanta = quantize(g, h, weight, there)
        for number, leaf in enumerate(leaves):
            sums = quanta[leaf.rows].sum(axis=0, dtype=np.int64)
            if sums[1] == 0:
                continue
            rule = make_rule(there, params.reg_lambda, params.reg_alpha, params.max_delta_step)
            lower, upper = moved_bounds(leaf, scale, rule)
            rule = replace(rule, lower=lower, upper=upper)
            nearest[number], step = next_weight(sums, weights[number], nearest[number], rule)
            leaf.weights = weights[number] = step
            rate = np.float32(params.learning_rate) / np.float32(params.num_parallel_tree)
            leaf.values = leaf.shrunk_weights = leaf_values(step, rate)


def next_weight(
    sums: npt.NDArray[np.int64],
    weight: F32,
    nearest: tuple[np.float32, np.float32],
    rule: Rule,
) -> tuple[tuple[np.float32, np.float32], F32]:
    """Return the weights nearest to a leaf's minimum, and the weight that a step leads to.

    Parameters
    ----------
    sums : int64 array, shape (2,)
    weight : float32 array, shape (1,)
    nearest : (float32, float32)
        Below and above the minimum, so far.
    rule : Rule
    """
    (g, h), (lower, upper) = sums[:, None], nearest
    units = in_units(h)[0] * scale_by(weight, -rule.weight_power)
    step = real_weight(weight_in_units(g - to_quanta(units, 24), h, rule), rule)
    if step[0] < weight[0]:
        upper = weight[0]
    if step[0] > weight[0]:
        lower = weight[0]
    if step[0] != weight[0] and not lower < step[0] < upper:
        step = finite(np.array([_HALF * lower + _HALF * upper]))
    return (lower, upper), step
