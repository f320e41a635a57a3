"""Margins of trees that have weights, by the walks of plain trees.

A leaf's term in fixed point is divided into digits of up to 16 bits. A model whose leaves are one
of these digits has no weights, and float32 adds the digits of some rounds without rounding. So any
walk gives the exact sum of a digit. ``numerics.tree_weights`` has the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.numerics.tree_weights import digit_bits, digits, in_units, margins_of
from pyopencl_gbdt.prediction.packing import Kept

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Returns the margins of a plain model after some rounds, float32 (n_outputs, n_rows): of the model
#: and the rounds; margins start at 0.
WalkOf = Callable[[Ensemble, tuple[int, int]], F32]
#: Yields the margins of a plain model after each of some rounds; margins start at 0.
StagesOf = Callable[[Ensemble, tuple[int, int]], Iterator[F32]]


def weighted_sums(ensemble: Ensemble, n_rows: int, rounds: tuple[int, int], walk_of: WalkOf) -> I64:
    """Return each row's sum of the trees of some rounds, int64 (n_outputs, n_rows).

    Parameters
    ----------
    ensemble : Ensemble
        With ``tree_weights``.
    rounds : (int, int)
        First round, and last round plus 1.
    walk_of : callable
    """
    found = np.zeros((ensemble.n_outputs, n_rows), np.int64)
    bits = digit_bits(_added(ensemble))
    for place, model in enumerate(digit_models(ensemble)):
        for some in _pieces(ensemble, rounds):
            found += walk_of(model, some).astype(np.int64) << (place * bits)
    return found


def weighted_margins(
    ensemble: Ensemble, start: F32, rounds: tuple[int, int], walk_of: WalkOf
) -> F32:
    """Return each row's margin after some rounds, float32 (n_outputs, n_rows)."""
    return margins_of(start, weighted_sums(ensemble, start.shape[1], rounds, walk_of))


def weighted_stages(
    ensemble: Ensemble, start: F32, rounds: tuple[int, int], stages_of: StagesOf
) -> Iterator[F32]:
    """Yield the margins after each of some rounds; rows walk a tree once for each digit."""
    bits, models = digit_bits(_added(ensemble)), digit_models(ensemble)
    before = np.zeros(start.shape, np.int64)
    for some in _pieces(ensemble, rounds):
        own = before
        every = [stages_of(model, some) for model in models]
        for _ in range(*some):
            own = before.copy()
            for place, stages in enumerate(every):
                own += next(stages).astype(np.int64) << (place * bits)
            yield margins_of(start, own)
        before = own


def digit_models(ensemble: Ensemble) -> list[Ensemble]:
    """Return plain models, one for each digit of the leaves, the lowest digit first."""
    return _DIGITS.of(ensemble)


def plain_model(ensemble: Ensemble) -> Ensemble:
    """Return the model with its weights multiplied into the leaves; see ``Ensemble.folded``."""
    return ensemble if ensemble.tree_weights is None else _FOLDED.of(ensemble)


def _digit_models(ensemble: Ensemble) -> list[Ensemble]:
    assert ensemble.tree_weights is not None
    bits = digit_bits(_added(ensemble))
    of_trees = [
        digits(in_units(tree.value, weight), bits)
        for tree, weight in zip(ensemble.trees, ensemble.tree_weights, strict=True)
    ]
    margin = (0.0,) * ensemble.n_outputs
    plain = replace(
        ensemble, trees=[], tree_weights=None, objective="reg:squarederror",
        objective_parameters={}, base_margin=margin if ensemble.n_outputs > 1 else 0.0,
        base_score=margin if ensemble.n_outputs > 1 else 0.0,
    )  # fmt: skip
    found = []
    for place in range(max(map(len, of_trees), default=0)):
        values = [
            own[place].astype(np.float32) if place < len(own) else np.zeros_like(tree.value)
            for tree, own in zip(ensemble.trees, of_trees, strict=True)
        ]
        trees = [tree.with_values(own) for tree, own in zip(ensemble.trees, values, strict=True)]
        found.append(replace(plain, trees=trees))
    return found


def _added(ensemble: Ensemble) -> int:
    """Return the fewest trees that float32 has to add up: those of a round and an output."""
    return max(512, ensemble.n_parallel)


def _pieces(ensemble: Ensemble, rounds: tuple[int, int]) -> Iterator[tuple[int, int]]:
    step = _added(ensemble) // ensemble.n_parallel
    for first in range(*rounds, step):
        yield first, min(first + step, rounds[1])


_DIGITS, _FOLDED = Kept(_digit_models), Kept(Ensemble.folded)
