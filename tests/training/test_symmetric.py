"""Symmetric trees: the twin's model, and what the policy promises."""

import functools
import json

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import from_xgboost_json, to_xgboost_json
from pyopencl_gbdt.model.formats.xgboost_reader import SYMMETRIC_KEY
from pyopencl_gbdt.model.tables import tables_of
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference

N = 300
SYMMETRIC = {"grow_policy": "symmetric", "n_estimators": 2, "max_depth": 4, "max_bin": 16}
SIGNS = [1, -1, 0, 1]
CLASSES = {"objective": "multi:softprob", "num_class": 3}
#: These are ``thorough``.
THOROUGH = {
    "test_the_twins_model": lambda case: (
        case in ("no penalty", "heavy children", "clipped", "quantile", "goss", "many bins")
    )
}
CASES = {
    "squared": {},
    "deep": {"max_depth": 7},
    "no penalty": {"reg_lambda": 0, "min_child_weight": 0},
    "heavy children": {"min_child_weight": 25, "max_depth": 5},
    "alpha": {"reg_alpha": 2.0, "max_delta_step": 0.4},
    "clipped": {"max_delta_step": 0.2},
    "large gains": {"gamma": 25.0, "max_depth": 8},
    "monotone": {"monotone_constraints": SIGNS, "max_depth": 6, "min_child_weight": 3},
    "groups": {"interaction_constraints": [[0, 1], [2, 3]]},
    "logistic": {"objective": "binary:logistic", "scale_pos_weight": 3.0},
    "quantile": {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.7]},
    "forest of classes": {**CLASSES, "num_parallel_tree": 2, "subsample": 0.5},
    "columns": {"colsample_bytree": 0.8, "colsample_bylevel": 0.7, "colsample_bynode": 0.7},
    "goss": {"sampling_method": "goss", "learning_rate": 0.9, "objective": "binary:logistic"},
    "hardly any rows": {"subsample": 0.01, "num_parallel_tree": 4, "min_child_weight": 0},
    "tiled": {"page": "tiled"},
    "many bins": {"max_bin": 300, "min_child_weight": 4},
}  # fmt: skip


@functools.cache
def problem(case):
    """Parameters, values, labels and weights."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 4)).astype(np.float32)
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    X[:, 3] = rng.integers(0, 3, N)
    X[rng.random(X.shape) < 0.1] = np.nan
    params = {**SYMMETRIC, **CASES[case]}
    labels = {"multi:softprob": np.digitize(signal, [-0.5, 0.5]), "binary:logistic": signal > 0.3}
    label = labels.get(params.get("objective"), signal).astype(np.float32)
    weight = rng.integers(0, 3, N).astype(np.float32) if case in ("deep", "monotone") else None
    return params, X, label, weight


def model_of(params, X, y, weight=None):
    return train({"device": TEST_DEVICE, **params}, Dataset(X, y, weight))


@functools.cache
def twin(case):
    params, *data = problem(case)
    return train_reference(Parameters.from_dict(params), *data)


@pytest.mark.few(2)
@pytest.mark.more(6)
@pytest.mark.parametrize("case", CASES)
def test_the_twins_model(case):
    params, *data = problem(case)
    found = model_of(params, *data).ensemble
    assert to_xgboost_json(found) == to_xgboost_json(twin(case))


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CASES)
def test_trees_are_tables(case):
    """Every level has one split; each table has as many leaves as its depth allows."""
    for tree in twin(case).trees:
        depth = int(tree.depth.max())
        assert tree.n_nodes == 2 ** (depth + 1) - 1
        level = tree.depth[~tree.is_leaf]
        for name in ("feature", "threshold", "default_left"):
            own = getattr(tree, name)[~tree.is_leaf]
            assert (own == own[2**level - 1]).all(), name
    if case == "large gains":
        assert 0 < max(tree.depth.max() for tree in twin(case).trees) < 8


def test_children_that_are_too_light_keep_the_nodes_weight():
    """A leaf's weight is that of the nearest node above whose split left enough on both sides."""
    tree = twin("heavy children").trees[0]
    rate = np.float32(0.3)
    hessian, light = tree.sum_hessian, 0
    for node in np.flatnonzero(~tree.is_leaf):
        children = np.array([tree.left[node], tree.right[node]])
        if hessian[children].min() < 25:
            light += 1
            assert tree.gain[node] == 0
            for child in children:
                same = tree.weight[node] * rate if tree.is_leaf[child] else tree.weight[node]
                assert tree.weight[child] == same
    assert light > 3
    assert tree.gain[0] > 0
    assert (hessian == 0).any()


@pytest.mark.parametrize(
    ("X", "y"),
    [([[np.nan]] * 5, range(5)), ([[1.0]], [2.0]), ([[1, 1], [2, 2], [3, 3]] * 4, [0, 2, 1] * 4)],
    ids=["all missing", "a row", "equal columns"],
)
def test_odd_data(X, y):
    X, y = np.array(X, np.float32), np.array(list(y), np.float32)
    twin = train_reference(Parameters.from_dict({**SYMMETRIC, "reg_lambda": 0}), X, y)
    assert model_of({**SYMMETRIC, "reg_lambda": 0}, X, y).ensemble.trees == twin.trees
    assert not any(tree.feature.any() for tree in twin.trees)  # of equal columns the first


def test_monotone_constraints_hold():
    params, X, y, weight = problem("monotone")
    model = model_of({**params, "n_estimators": 15}, X, y, weight)
    rows = np.nan_to_num(X)[:60]
    for feature, sign in enumerate(SIGNS):
        found = []
        for value in np.linspace(-3, 3, 25):
            rows_at = rows.copy()
            rows_at[:, feature] = value
            found.append(model.predict(rows_at, device=TEST_DEVICE))
        assert (np.diff(found, axis=0) * sign >= 0).all(), feature
    used = {int(f) for tree in model.ensemble.trees for f in tree.feature[~tree.is_leaf]}
    assert used == {0, 1, 2, 3}


def test_a_file_that_lies_is_refused():
    params, X, y, _ = problem("squared")
    document = json.loads(to_xgboost_json(model_of(params, X, y).ensemble))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    trees[1]["split_conditions"][2] += 0.25
    with pytest.raises(ModelFormatError, match=r"symmetric_trees='1': expected .* tree 1 "):
        from_xgboost_json(json.dumps(document))
    del document["learner"]["attributes"][SYMMETRIC_KEY]
    assert tables_of(from_xgboost_json(json.dumps(document)).trees) is None
