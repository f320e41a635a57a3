"""Noise in the scores of splits: the model is the twin's, and recorded gains are the true ones."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.growth.feature_mask import UNIT_NOISE
from pyopencl_gbdt.numerics.random_numbers import random_bits
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.reference.border_draws import Noise, border_draws, noise_of_tree
from tests.reference.gradients import sum_of_squares
from tests.training.test_extra_trees import DRAWN
from tests.training.test_min_samples_leaf import GROWTH, problem

#: Ways to grow with noise; ``drawn`` has one border of a feature, too.
NOISY = {**DRAWN, "drawn": {"extra_trees": True}, "weak": {"random_strength": 0.05}}


def own(**params):
    return {"n_estimators": 2, "min_child_weight": 0, "random_strength": 1.0, **params}


def both(params, X, y, weight=None, **columns):
    """Return the device's model, after comparing it with the twin's."""
    return trained_as_twin(own(**params), X, y, weight, **columns)


@pytest.mark.few(2)
@pytest.mark.more(2)
@pytest.mark.parametrize("growth", NOISY)
def test_models_are_the_twins(growth):
    X, y = problem()
    params = NOISY[growth]
    if "objective" in params:
        y = np.digitize(y, [0.5, 1.1][: params.get("num_class", 2) - 1]).astype(np.float32)
    model = both(params, X, y)
    plain = {**own(**params), "random_strength": 0, "device": TEST_DEVICE}
    assert train(plain, Dataset(X, y)).ensemble.trees != model.ensemble.trees


@pytest.mark.few(1)
@pytest.mark.parametrize("growth", ["levels", "leaves", "symmetric"])
def test_sets_of_categories(growth):
    X, y = problem(missing=0)
    rng = np.random.default_rng(1)
    X[:, 0], X[:, 1] = rng.integers(0, 40, len(X)), rng.integers(0, 3, len(X))
    y = (y + (X[:, 0] % 3) + X[:, 1]).astype(np.float32)
    params = {"cat_method": "sets", "max_cat_threshold": 5, "cat_l2": 2.0, **GROWTH[growth]}
    model = both(params, X, y, categorical_features=[0, 1])
    assert any(tree.split_kind.any() for tree in model.ensemble.trees)


@pytest.mark.few(2)
@pytest.mark.parametrize("growth", ["levels", "symmetric"])
@pytest.mark.parametrize("scale", [1e-3, 1e12])
def test_labels_of_any_size_and_weights(growth, scale):
    X, y = problem(300)
    weight = np.random.default_rng(2).choice([0, 0.5, 3, 100], y.size).astype(np.float32)
    y[:2] = 1e4  # their gradients take high words
    model = both({**GROWTH[growth], "n_estimators": 2}, X, (y * scale).astype(np.float32), weight)
    assert model.ensemble.trees[0].n_nodes > 1


@pytest.mark.parametrize("growth", ["levels", "symmetric"])
def test_gains_are_the_true_ones(growth):
    """A node's gain follows from its children's sums, whatever noise chose the split."""
    X, y = problem(missing=0)
    y = np.round(y * 8) / 8
    given = own(**GROWTH[growth], random_strength=5.0, n_estimators=1, learning_rate=1.0)
    tree = train({**given, "device": TEST_DEVICE, "base_score": 0}, Dataset(X, y)).ensemble.trees[0]
    score = tree.weight[:, 0] ** 2 * (tree.sum_hessian + 1)  # of -G / (H + 1)
    inner = np.flatnonzero(tree.left >= 0)
    gains = score[tree.left[inner]] + score[tree.right[inner]] - score[inner]
    assert inner.size >= 3
    idle = tree.gain[inner] == 0
    np.testing.assert_allclose(tree.gain[inner][~idle], gains[~idle], rtol=1e-3, atol=1e-4)


def test_noise_is_about_normal_and_falls_with_the_model():
    """CatBoost: random_strength * deviation * n / (n + e^(rounds * learning_rate))."""
    quanta = np.full((1000, 2), 1 << 20, np.int64)
    quanta[::2, 0] *= -1
    squares, sum_h = sum_of_squares(quanta), int(quanta[:, 1].sum())
    params = Parameters.from_dict({"random_strength": 3.0, "learning_rate": 0.5})
    deviation = np.sqrt(2.0**20 / 2.0**24)  # of a score, in units of 2^24 quanta
    for number in (0, 10, 20, 60):
        unit = noise_of_tree(params, 1000, number, squares, sum_h)[0]
        share = 1000 / (1000 + np.exp(number * 0.5))
        assert unit / UNIT_NOISE == pytest.approx(3 * share * deviation, rel=1e-3)
    bits = border_draws(1, (0, 0), 1, 20)
    borders = np.repeat(np.arange(20), 500), np.tile(np.arange(500), 20)
    noise = Noise(bits, np.full(1, UNIT_NOISE, np.float32)).ranks(np.zeros(10000), *borders, 0)
    assert abs(noise.mean()) < 0.03
    assert 0.97 < noise.std() < 1.03
    assert np.mean(np.abs(noise) > 2) == pytest.approx(0.0455, abs=0.008)
    assert np.unique(random_bits(bits[:1], np.arange(1000))).size == 1000


def test_strong_noise_draws_features_alike():
    """With noise far above all scores, every feature is as likely at the root."""
    X, y = problem(missing=0)
    given = own(random_strength=1e6, max_depth=1, n_estimators=300, learning_rate=1e-6)
    model = train({**given, "device": TEST_DEVICE}, Dataset(X[:, :4], y))
    chosen = [tree.feature[0] for tree in model.ensemble.trees if tree.n_nodes > 1]
    assert len(chosen) > 200
    counts = np.bincount(chosen, minlength=4)
    assert counts.min() > 30
