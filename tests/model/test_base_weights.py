"""``base_weights`` in the file: XGBoost's, with the learning rate in leaves."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.growth.decoded_trees import shrink_leaf_weights
from pyopencl_gbdt.model import from_xgboost_json, to_xgboost_json
from tests.conftest import TEST_DEVICE
from tests.model.samples import document, loaded, saved
from tests.objectives.quantile_leaves import train_xgboost

RNG = np.random.default_rng(3)
X = RNG.integers(0, 9, (400, 4)).astype(np.float32)
Y = (X[:, 0] - X[:, 1] * X[:, 2] / 4 + RNG.standard_normal(400)).astype(np.float32)
CLASSES = np.digitize(Y, [-3, 0]).astype(np.float32)
CASES = {
    "plain": ({}, Y),
    "rate": ({"eta": 0.07}, Y),
    "clipped": ({"max_delta_step": 0.2}, Y),
    "classes": ({"objective": "multi:softprob", "num_class": 3}, CLASSES),
    "forest": ({"num_parallel_tree": 3}, Y),
    "leaf by leaf": ({"grow_policy": "lossguide", "max_leaves": 5, "max_depth": 0}, Y),
    "renewed": ({"objective": "reg:absoluteerror"}, Y),
    "renewed forest": ({"objective": "reg:absoluteerror", "num_parallel_tree": 2}, Y),
    "no split": ({"gamma": 1e9}, Y),
}


@pytest.mark.parametrize("name", CASES)
def test_weights_are_those_of_xgboost(name: str) -> None:
    """The first trees, which are the same: XGBoost's sums differ in the last bits."""
    params, label = CASES[name]
    params = {"max_depth": 3, "base_score": 0.5, **params}
    theirs = train_xgboost(params, xgboost.DMatrix(X, label), 1)
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, label), 1).ensemble.trees
    for mine, other in zip(ours, from_xgboost_json(saved(theirs)).trees, strict=True):
        np.testing.assert_array_equal(mine.feature, other.feature)
        np.testing.assert_allclose(mine.weight, other.weight, rtol=2e-5, atol=1e-6)
        if "renewed" not in name and mine.n_nodes > 1:
            for tree in (mine, other):
                leaf = tree.is_leaf
                np.testing.assert_array_equal(tree.weight[leaf], tree.value[leaf])


@pytest.mark.parametrize("name", CASES)
def test_xgboost_keeps_our_weights(name: str) -> None:
    params, label = CASES[name]
    text = to_xgboost_json(train({**params, "device": TEST_DEVICE}, Dataset(X, label), 3).ensemble)
    before, after = (
        [t["base_weights"] for t in d["learner"]["gradient_booster"]["model"]["trees"]]
        for d in (document(text), document(saved(loaded(text))))
    )
    assert before == after
    assert from_xgboost_json(saved(loaded(text))).trees == from_xgboost_json(text).trees


def test_products_stay_finite() -> None:
    weight = np.array([3e38, -3e38, 2.0, 2.0], np.float32)
    shrunk = np.array([True, True, True, False])
    most = np.finfo(np.float32).max
    found = shrink_leaf_weights(weight, shrunk, np.float32(10))
    assert found.tolist() == [most, -most, 20.0, 2.0]
