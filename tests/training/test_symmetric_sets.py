"""Symmetric trees that split by sets of levels: the twin's model, and what the sets promise."""

import functools
import json

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import train
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import from_xgboost_json, to_xgboost_json
from pyopencl_gbdt.model.formats.xgboost_reader import SYMMETRIC_KEY
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.training.fit import Fit
from tests.compare import assert_same_bits, assert_same_trees
from tests.conftest import TEST_DEVICE
from tests.reference.category_split import CategoryRule
from tests.reference.gradients import Scale
from tests.reference.predict import predict
from tests.reference.symmetric_sets import set_borders
from tests.reference.train import train_reference
from tests.training.test_category_splits import (
    CATEGORICAL,
    SETS,
    WAYS,
    categories,
    dataset,
    device_as,
    label_of,
    rows,
)

_OFTEN = {"level by level", "few on a side", "sampled", "forest of classes"}
#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
THOROUGH = {"test_the_twins_model": lambda case, weighted, pretence: case not in _OFTEN}
SYMMETRIC = {"grow_policy": "symmetric", "n_estimators": 2, "max_depth": 4, "cat_method": "sets"}
LOGISTIC = {"objective": "binary:logistic"}
CASES = {
    "level by level": {},
    "one level of many": {"max_cat_to_onehot": 50},
    "smoothed": {"cat_smooth": 7.5, "cat_l2": 3.0, "min_data_per_group": 20},
    "few on a side": {"max_cat_threshold": 2, "min_child_weight": 0, "max_depth": 6},
    "all borders of 12 levels": {"max_cat_threshold": 6},
    "levels of few rows": {"min_child_weight": 3, **LOGISTIC},
    "sampled": {"subsample": 0.3, "colsample_bylevel": 0.6, **LOGISTIC},
    "forest of classes": {
        "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "gamma": 9.0,
    },
    "bounded": {"monotone_constraints": [1, -1, 0, 0, 0], "cat_l2": 2.0, "reg_alpha": 0.7},
    "small steps": {"max_delta_step": 0.2, "reg_lambda": 0},
}  # fmt: skip


@functools.cache
def wanted(case, weighted):
    X, y, weight = rows()
    params = Parameters.from_dict({**SYMMETRIC, **CASES[case]})
    label, own = label_of(CASES[case], y), weight if weighted else None
    twin = train_reference(params, X, label, own, categorical_features=CATEGORICAL)
    return params, dataset(X, label, own), twin


@pytest.mark.few(2)
@pytest.mark.more(6)
@pytest.mark.parametrize(("weighted", "pretence"), WAYS)
@pytest.mark.parametrize("case", CASES)
def test_the_twins_model(case, weighted, pretence):
    params, data, twin = wanted(case, weighted)
    margin = twin.base_margin
    start = np.array(margin, np.float32)[:, None] if isinstance(margin, tuple) else margin
    objective = get_objective(params.objective, params)
    trees = Fit(device_as(pretence), params, objective, data, start).run(2)
    assert_same_trees(trees, twin.trees)
    assert any((tree.split_kind == CATEGORY_SPLIT).any() for tree in trees)
    margins = predict_margins(twin, data.values, device_as(pretence))
    assert_same_bits(margins, predict(twin, data.values), "margins")


@pytest.mark.few(1)
@pytest.mark.parametrize("case", CASES)
def test_a_level_has_one_set(case):
    for tree in wanted(case, weighted=False)[2].trees:
        depth = tree.depth
        for node in np.flatnonzero(tree.split_kind):
            first = 2 ** depth[node] - 1
            assert tree.right_set(node).tolist() == tree.right_set(first).tolist()


@pytest.mark.few(1)
@pytest.mark.parametrize("pretence", ["as it is", "gpu"])
def test_many_levels(pretence):
    """Of 1500 levels only the first and the last in order are looked at."""
    rng = np.random.default_rng(5)
    code = np.append(np.arange(1500), rng.integers(0, 1500, 2500))
    y = (rng.normal(size=1500)[code] + rng.normal(size=4000)).astype(np.float32)
    X = code[:, None].astype(np.float32)
    p = Parameters.from_dict({**SYMMETRIC, "n_estimators": 1})
    twin = train_reference(p, X, y, categorical_features=[0])
    objective, data = get_objective(p.objective, p), dataset(X, y, columns=[0])
    fit = Fit(device_as(pretence), p, objective, data, twin.base_margin)
    assert fit.run(1) == twin.trees
    assert_same_bits(predict_margins(twin, X, TEST_DEVICE), predict(twin, X), "margins")


@pytest.fixture(scope="module")
def model():
    X, y, _ = rows()
    data = dataset(X, y)
    evals = [(data, "train"), (dataset(X, y), "again")]
    return train({**SYMMETRIC, "n_estimators": 3, **SETS}, data, evals=evals), data


def test_evaluation_sets_walk_sets(model):
    assert model[0].history["train"] == model[0].history["again"]


def test_xgboost_predicts_alike(model):
    ensemble, values = model[0].ensemble, model[1].values
    text = to_xgboost_json(ensemble)
    booster = xgboost.Booster()
    booster.load_model(bytearray(text.encode()))
    got = booster.predict(categories(values), output_margin=True)
    assert np.abs(got - predict(ensemble, values)).max() < 1e-6
    assert from_xgboost_json(text).trees == ensemble.trees
    assert json.loads(text)["learner"]["attributes"][SYMMETRIC_KEY] == "1"
    assert from_xgboost_json(bytes(booster.save_raw("json")).decode()).trees == ensemble.trees


def test_a_file_whose_sets_differ_in_a_level_is_refused(model):
    document = json.loads(to_xgboost_json(model[0].ensemble))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    number = next(n for n, tree in enumerate(trees) if len(tree["categories_nodes"]) > 1)
    own = trees[number]
    own["categories"][-1] += 1  # of the last node of a level of several
    with pytest.raises(ModelFormatError, match=rf"symmetric_trees='1': expected .* tree {number} "):
        from_xgboost_json(json.dumps(document))


def rule_of(**params):
    p = Parameters.from_dict({"reg_lambda": 0, "max_cat_to_onehot": 2, **params})
    return CategoryRule(p, Scale(0, 0, wide=False), 10, 20)


def test_borders_of_a_tree_by_hand():
    """Levels in order of -G / H: 2, 0, 1; level 3 has no rows, and 4 of the 20 Hessians miss."""
    cells = np.array([[-1, 5], [-3, 5], [6, 6], [0, 0]])
    found = set_borders(rule_of(), cells, 20)
    assert found.order.codes.tolist() == [2, 0, 1]
    assert found.place.tolist() == [0, 1, 2, 0, 1, 2]
    assert found.direction.tolist() == [0, 0, 0, 1, 1, 1]
    node = np.array([[1, 1], [2, 2], [3, 3], [0, 0]])
    lefts = found.lefts(node, 10, 10)
    assert lefts[:, 0].tolist() == [3, 2, 0, 7, 6, 4]
    assert found.right_set(4, 1, 1).tolist() == [True, False, True, False, False]
    assert found.right_set(4, 0, 0).tolist() == [False, False, True, True, True]
    large = set_borders(rule_of(min_data_per_group=4), cells, 20)  # of 2 Hessians a row
    assert list(zip(large.place, large.direction, strict=True)) == [(0, 0), (1, 1)]
