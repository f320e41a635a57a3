"""Twin of ``gradients.sketch`` and ``growth.sketched_leaves``: splits by sketched gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.numerics.portable_math import df_add, df_neg, finite, scale_by
from pyopencl_gbdt.numerics.random_numbers import SKETCHES, random_bits, stream
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.gain import score
from tests.reference.grow import Grower, Node, _finite

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
    """Return the nodes of an output's tree that splits as another one, with sums of its own.

    A node without rows that count keeps its parent's weight.
    """
    nodes: list[Node] = []
    for shape in structure:
        sums = grower.quanta[shape.rows].sum(axis=0).reshape(-1, 2)
        node = replace(shape, sums=sums, kept_weights=None, gain=_ZERO)
        above = None if shape.parent == NO_NODE else nodes[shape.parent]
        if above is not None and node.pair[1] == 0:
            node.kept_weights = above.weights
        grower._finish(node)
        nodes.append(node)
    for node in nodes:
        if node.left != NO_NODE:
            node.values = np.zeros_like(node.values)
            node.gain = _gain(grower, node, nodes[node.left], nodes[node.left + 1])
    return nodes


def _gain(grower: Grower, node: Node, left: Node, right: Node) -> np.float32:
    """Return what a split gains in an output; 0 where a side has no rows that count."""
    if left.pair[1] == 0 or right.pair[1] == 0:
        return _ZERO
    own, one, other = (_score(grower, each) for each in (node, left, right))
    loss = df_add(df_add(one, other), df_neg(own))
    return _finite(scale_by(loss[0], grower.rule.gain_power)[0])


def _score(grower: Grower, node: Node) -> Any:
    return score(node.sums[:, 0], node.sums[:, 1], grower.rule)
