"""Twin of ``gradients.sketch`` and ``growth.sketched_leaves``: splits by sketched gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.numerics.portable_math import df_add, df_neg, finite, scale_by
from pyopencl_gbdt.numerics.random_numbers import SKETCHES, random_bits, stream
from pyopencl_gbdt.parameters.constraints import RISING
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.gain import Rule, breaks_order, score, weight_in_units
from tests.reference.grow import _LARGEST, Grower, Node, _finite

F32 = npt.NDArray[np.float32]
_ZERO: np.float32 = np.float32(0)


def signs(seed: int, number: int, n_sketches: int, n_outputs: int) -> npt.NDArray[np.bool_]:
    """Return which outputs' gradients a round's sketches subtract: (n_sketches, n_outputs)."""
    every = np.arange(n_outputs)
    return np.stack([
        random_bits(stream(seed, number, SKETCHES + k), every) >> np.uint32(31) == 1
        for k in range(n_sketches)
    ])  # fmt: skip


def sketched(g: F32, subtracted: npt.NDArray[np.bool_]) -> F32:
    """Return the sums of signed gradients, in the order of the outputs.

    Parameters
    ----------
    g : float32 array, shape (n_outputs, n_rows)
    subtracted : bool array, shape (n_sketches, n_outputs)

    Returns
    -------
    float32 array, shape (n_sketches, n_rows)
    """
    sums = np.zeros((len(subtracted), g.shape[1]), np.float32)
    for k, own in enumerate(subtracted):
        for output, minus in enumerate(own):
            sums[k] = finite(sums[k] - g[output] if minus else sums[k] + g[output])
    return sums


def sketches(params: Parameters, number: int, g: F32) -> tuple[F32, F32]:
    """Return the sketches of a round's gradients, and their Hessians."""
    found = sketched(g, signs(params.random_state, number, params.sketch, len(g)))
    return found, np.ones_like(found)


def with_structure(grower: Grower, structure: list[Node]) -> list[Node]:
    """Return the nodes of an output's tree that splits as another one, with sums of its own."""
    nodes = [
        replace(
            shape, sums=grower.quanta[shape.rows].sum(axis=0).reshape(-1, 2), kept_weights=None,
            gain=_ZERO, lower=-_LARGEST, upper=_LARGEST,
        )
        for shape in structure
    ]  # fmt: skip
    grower._finish(nodes[0])
    for node in nodes:  # parents come before their children
        if node.left != NO_NODE:
            _value_split(grower, node, nodes[node.left : node.left + 2])
            node.values = np.zeros_like(node.values)
    return nodes


def _value_split(grower: Grower, node: Node, children: list[Node]) -> None:
    """Set what a split gains, and the weights and bounds of its children.

    Where a side has no rows that count, or weights break the order, the split gains nothing, and
    both children keep the node's weight, which then bounds all nodes below.
    """
    rule, monotone = grower._rule_of(node), grower.limits.monotone
    constraint = np.uint32(0) if monotone is None else monotone[node.feature]
    one, other = (weight_in_units(c.sums[:, 0], c.sums[:, 1], rule)[0] for c in children)
    idle = any(child.pair[1] == 0 for child in children)
    idle = idle or bool(breaks_order(constraint, one, other))
    node.gain = _ZERO if idle else _gain(rule, node, *children)
    for child in children:
        child.lower, child.upper = node.lower, node.upper
        child.kept_weights = node.weights if idle else None
    if constraint:
        half = np.float32(0.5)
        middle = half * one + half * other
        if idle:
            middle = scale_by(node.weights, -rule.weight_power)[0]
        low, high = children if constraint == RISING else children[::-1]
        low.upper = high.lower = middle
    for child in children:
        grower._finish(child)


def _gain(rule: Rule, node: Node, left: Node, right: Node) -> np.float32:
    own, one, other = (score(n.sums[:, 0], n.sums[:, 1], rule) for n in (node, left, right))
    loss = df_add(df_add(one, other), df_neg(own))
    return _finite(scale_by(loss[0], rule.gain_power)[0])
