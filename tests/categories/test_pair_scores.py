"""Scores of pairs of categorical columns: kernels and twin, pairs that matter and noise."""

import numpy as np
import pytest

from pyopencl_gbdt.categories.pair_scores import PairScores
from tests.reference.pair_scores import pair_scores

N_LEVELS = (6, 30, 2, 900)


def problem(n_rows, effect=0.0, seed=1):
    """Rows whose gradients depend on each column, and on the first two together."""
    rng = np.random.default_rng(seed)
    levels = [rng.integers(0, n + 1, n_rows).astype(np.uint32) for n in N_LEVELS]
    gradient = rng.normal(size=n_rows)
    for own, n in zip(levels, N_LEVELS, strict=True):
        gradient += rng.normal(size=n + 1)[own]
    gradient += effect * rng.normal(size=(7, 31))[levels[0], levels[1]]
    hessian = rng.random(n_rows)
    quanta = np.column_stack([gradient, hessian]) * 2**22
    return levels, quanta.astype(np.int32)


def scores_of(device, levels, quanta, order):
    made = PairScores(device, quanta.shape[0], N_LEVELS)
    there = [device.upload(own) for own in levels]
    return made.of(
        device.upload(order),
        device.upload(np.concatenate([0 * quanta, quanta])),
        len(quanta),
        there,
    )


@pytest.mark.parametrize("n_rows", [1, 200, 5000])
def test_kernels_are_their_twin(device, n_rows):
    levels, quanta = problem(n_rows, 0.5)
    quanta[0] = [-(2**31), 2**31 - 1]
    order = np.random.default_rng(2).permutation(n_rows).astype(np.uint32)
    found = scores_of(device, levels, quanta, order)
    wanted = pair_scores(quanta[order], [own[order] for own in levels], N_LEVELS)
    assert found == {pair: wanted[pair] for pair in found}
    assert len(found) == 6


def test_a_pair_that_matters_has_the_best_score(device):
    levels, quanta = problem(5000, 1.0)
    order = np.arange(5000, dtype=np.uint32)
    found = scores_of(device, levels, quanta, order)
    best = max(found, key=found.__getitem__)
    assert best == (0, 1)
    others = [abs(score) for pair, score in found.items() if pair != best]
    assert found[best] > 10 * max(others)


def test_only_the_sample_counts(device, monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.categories.pair_scores.MOST_ROWS", 1024)
    levels, quanta = problem(3000)
    order = np.random.default_rng(2).permutation(3000).astype(np.uint32)
    found = scores_of(device, levels, quanta, order)
    first = order[:1024]
    wanted = pair_scores(quanta[first], [own[first] for own in levels], N_LEVELS)
    assert found == {pair: wanted[pair] for pair in found}
