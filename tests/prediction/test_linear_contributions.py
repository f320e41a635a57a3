"""Contributions of linear leaves: the game of the leaves' values, and parts of the functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.model.linear_leaves import LinearTerms
from tests import explained
from tests.conftest import TEST_DEVICE
from tests.reference.contributions import linear_parts
from tests.reference.predict import predict


def model(rng, **changes):
    plain = explained.ensemble(rng)
    trees = []
    for tree in plain.trees:
        n_leaves = int(tree.is_leaf.sum())
        sizes = rng.integers(0, 4, n_leaves)
        n_terms = int(sizes.sum())
        intercepts = np.where(sizes > 0, rng.normal(size=n_leaves), 0)
        features = rng.integers(0, plain.n_features, n_terms)
        terms = LinearTerms(sizes, intercepts, features, rng.normal(size=n_terms))
        trees.append(tree.with_linear(terms))
    return replace(plain, trees=trees, **changes)


def told(own, X, **more):
    return Model(own).predict(X, device=TEST_DEVICE, **more)


@pytest.mark.parametrize("more", [{}, {"approx_contribs": True}], ids=["exact", "approximate"])
def test_they_are_those_of_the_values_and_the_parts(rng, more):
    own = model(rng)
    X = explained.rows_of(rng, 40, own.n_features)
    found = told(own, X, pred_contribs=True, **more)
    values = replace(own, trees=[tree.with_linear(None) for tree in own.trees])
    wanted = told(values, X, pred_contribs=True, **more)
    parts = np.array([linear_parts(own, x) for x in X]).reshape(40, -1)
    assert np.abs(parts).max() > 0.1
    wanted[:, :-1] += parts
    scale = np.abs(wanted).sum()
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6 * scale)
    for rows in (found, found[:, ::-1]):  # exactly, in any order
        sums = np.add.accumulate(rows, axis=1)[:, -1]
        assert np.array_equal(sums.astype(np.float32), predict(own, X))
        assert np.array_equal(sums, predict(own, X).astype(float))


def test_lines_of_interactions_add_up_to_contributions(rng):
    own = model(rng)
    X = explained.rows_of(rng, 20, own.n_features)
    pairs = told(own, X, pred_interactions=True)
    found = told(own, X, pred_contribs=True)
    assert np.array_equal(pairs, pairs.swapaxes(1, 2))
    np.testing.assert_array_equal(pairs.sum(axis=2), found)


def test_rounds_starts_and_a_background(rng):
    own = model(rng)
    X = explained.rows_of(rng, 20, own.n_features)
    start = rng.normal(size=20).astype(np.float32)
    given = {"iteration_range": (1, 3), "base_margin": start}
    found = told(own, X, pred_contribs=True, background=X[:5], **given)
    margins = told(own, X, output_margin=True, **given)
    assert np.array_equal(found.sum(axis=1), margins.astype(float))


def test_a_device_and_the_host_agree(rng, monkeypatch):
    own = model(rng)
    X = explained.rows_of(rng, 30, own.n_features)
    found = told(own, X, pred_contribs=True)
    few = np.concatenate([told(own, X[i : i + 1], pred_contribs=True) for i in range(30)])
    assert np.array_equal(found, few)
