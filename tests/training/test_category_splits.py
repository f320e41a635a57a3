"""Splits by sets of levels: the twin's model on every kind of device, and XGBoost's sets."""

import functools
import json
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
import xgboost
from scipy.sparse import csr_matrix

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.limited_device import PRETENCES
from pyopencl_gbdt.errors import DataError, ModelFormatError
from pyopencl_gbdt.model import from_xgboost_json, to_xgboost_json
from pyopencl_gbdt.model.explain import dump_text
from pyopencl_gbdt.model.sets import packed, unpacked
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT, Tree
from pyopencl_gbdt.model.xgboost_dump import dump_xgboost
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.prediction.margins import predict_margins
from pyopencl_gbdt.training.fit import Fit
from tests.compare import assert_same_bits, assert_same_trees
from tests.conftest import TEST_DEVICE
from tests.reference.predict import predict
from tests.reference.train import train_reference

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
#: All categorical columns are split by sets.
SETS = {"device": TEST_DEVICE, "cat_method": "sets"}
LOGISTIC = {"objective": "binary:logistic"}
LOSSGUIDE = {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0}
CASES = {
    "level by level": {},
    "one level of many": {"max_cat_to_onehot": 50},
    "few on a side": {"max_cat_threshold": 2, "min_child_weight": 0, "max_depth": 6},
    "smoothed": {"cat_smooth": 7.5, "cat_l2": 3.0, "min_data_per_group": 20},
    "levels of few rows": {"min_child_weight": 3, **LOGISTIC},
    "shrunk": {"reg_alpha": 0.7},
    "small steps": {"max_delta_step": 0.2, "reg_lambda": 0},
    "sampled": {"subsample": 0.5, "colsample_bynode": 0.6, **LOGISTIC},
    "leaf by leaf": LOSSGUIDE,
    "a forest of absolute errors": {
        **LOSSGUIDE, "objective": "reg:absoluteerror", "num_parallel_tree": 2, "subsample": 0.7,
    },
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "smoothed weights": {"path_smooth": 6.0, "cat_l2": 3.0, "random_strength": 0.5, **LOGISTIC},
    "smoothed weights, leaf by leaf": {"path_smooth": 6.0, "reg_alpha": 0.2, **LOSSGUIDE},
    "monotone": {"monotone_constraints": [1, -1, 0, 0, 0]},
    "groups": {"interaction_constraints": [[0, 2], [1, 3, 4]], "max_leaves": 7},
}  # fmt: skip
DEVICES = ["as it is", *PRETENCES]
#: Whether rows have weights, and what the device pretends to be.
WAYS = [(False, "as it is"), (True, "as it is"), (True, "baseline"), (False, "gpu")]
_OFTEN = {"level by level", "few on a side", "sampled", "classes", "smoothed weights"}
THOROUGH = {
    "test_the_twins_model": lambda case, weighted, pretence: (
        case not in _OFTEN or (case != "level by level" and (weighted or pretence != "as it is"))
    )
}
#: Two numeric columns, then categorical ones.
NUMERIC, CATEGORICAL = 2, [2, 3, 4]


@functools.cache
def rows(n=300, levels=(3, 12, 40), missing=0.1, seed=0):
    """Values, labels and weights; the levels of large columns are rare, and some are negative."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n) for _ in range(NUMERIC)]
    y = columns[0] + rng.normal(size=n) * 0.3
    for count in levels:
        code = rng.integers(0, count, n)
        if count > 20:
            code = np.minimum(rng.zipf(1.3, n), count) - 1
        y += rng.normal(size=count)[code]
        columns.append(np.where(rng.random(n) < missing, np.nan, 3.0 * code - 5))
    weight = (rng.uniform(0, 3, n) * (rng.random(n) < 0.8)).astype(np.float32)
    return np.column_stack(columns).astype(np.float32), y.astype(np.float32), weight


def label_of(params, y):
    if params.get("objective") == "binary:logistic":
        return (y > 0).astype(np.float32)
    return np.clip(np.round(y), 0, 2) if "num_class" in params else y


def dataset(X, y, weight=None, columns=CATEGORICAL):
    return Dataset(X, y, weight, categorical_features=columns)


def device_as(pretence):
    device = open_device(TEST_DEVICE)
    if pretence != "as it is":
        device.caps = PRETENCES[pretence](device.caps)
    return device


@functools.cache
def wanted(case, weighted):
    X, y, weight = rows()
    params = Parameters.from_dict({"n_estimators": 2, "max_depth": 4, **CASES[case]})
    own = weight if weighted else None
    found = train_reference(
        params, X, label_of(CASES[case], y), own, categorical_features=CATEGORICAL
    )
    return params, own, found


@pytest.mark.few(2)
@pytest.mark.more(6)
@pytest.mark.parametrize(("weighted", "pretence"), WAYS)
@pytest.mark.parametrize("case", CASES)
def test_the_twins_model(case, weighted, pretence):
    params, weight, twin = wanted(case, weighted)
    X, y, _ = rows()
    data, objective = (
        dataset(X, label_of(CASES[case], y), weight),
        get_objective(params.objective, params),
    )
    margin = twin.base_margin
    start = np.array(margin, np.float32)[:, None] if isinstance(margin, tuple) else margin
    trees = Fit(device_as(pretence), params, objective, data, start).run(params.n_estimators)
    assert_same_trees(trees, twin.trees)
    assert any((tree.split_kind == CATEGORY_SPLIT).any() for tree in trees)
    margins = predict_margins(twin, data.values, TEST_DEVICE)
    assert_same_bits(margins, predict(twin, data.values), "margins")


@functools.cache
def tree_of_levels(n_levels):
    """Return parameters, one categorical column, labels, and the twin's model."""
    rng = np.random.default_rng(n_levels)
    n = max(400, n_levels + 500)
    code = np.append(np.arange(n_levels), rng.integers(0, n_levels, n - n_levels))
    y = (rng.normal(size=n_levels)[code] + rng.normal(size=n)).astype(np.float32)
    p = Parameters.from_dict({"n_estimators": 1, "max_depth": 3, "max_bin": 16})
    X = code[:, None].astype(np.float32)
    return p, X, y, train_reference(p, X, y, categorical_features=[0])


@pytest.mark.few(1)
@pytest.mark.parametrize("n_levels", [5, 200, 1000, 60_000])
@pytest.mark.parametrize("pretence", DEVICES)
def test_numbers_of_levels(n_levels, pretence):
    """The last one has codes of 16 bits, and every level at least one row."""
    p, X, y, twin = tree_of_levels(n_levels)
    fit = Fit(
        device_as(pretence), p, get_objective(p.objective, p), dataset(X, y, columns=[0]),
        twin.base_margin,
    )  # fmt: skip
    assert fit.run(1) == twin.trees


@pytest.fixture(scope="module")
def model():
    X, y, _ = rows()
    data = dataset(X, y)
    evals = [(data, "train"), (dataset(X, y), "again")]
    params = {"n_estimators": 3, "max_depth": 4, **SETS}
    return train(params, data, evals=evals), data


def test_evaluation_sets_walk_sets(model):
    history = model[0].history
    assert history["train"] == history["again"]


def categories(values, y=None):
    types = ["q"] * NUMERIC + ["c"] * len(CATEGORICAL)
    return xgboost.DMatrix(values, y, feature_types=types, enable_categorical=True)


def test_xgboost_reads_and_writes_the_same_sets(model):
    ensemble, values = model[0].ensemble, model[1].values
    text = to_xgboost_json(ensemble)
    booster = xgboost.Booster()
    booster.load_model(bytearray(text.encode()))
    got = booster.predict(categories(values), output_margin=True)
    assert np.abs(got - predict(ensemble, values)).max() < 1e-6
    back = from_xgboost_json(bytes(booster.save_raw("json")).decode())
    assert back.trees == ensemble.trees
    assert to_xgboost_json(from_xgboost_json(text)) == text
    by_code = replace(ensemble, categories={})  # XGBoost lists codes, this library levels
    assert booster.get_dump() == dump_xgboost(by_code)
    stats = {"dump_format": "json", "with_stats": True}
    assert booster.get_dump(**stats) == dump_xgboost(by_code, **stats)


def test_trees_keep_their_sets(model):
    trees = model[0].ensemble.trees
    assert pickle.loads(pickle.dumps(trees)) == trees
    assert "not in {" in dump_text(model[0].ensemble)
    tree = next(tree for tree in trees if tree.sets.size)
    arrays = {field.name: getattr(tree, field.name) for field in fields(tree)}
    flipped = Tree(**{**arrays, "sets": tree.sets ^ 1})
    assert flipped != tree
    for name, wrong in (
        ("sets", tree.sets[:-1]),
        ("set_begin", tree.set_begin[::-1].copy()),
        ("threshold", tree.threshold + (tree.split_kind == CATEGORY_SPLIT).astype(np.float32)),
        ("split_kind", np.zeros_like(tree.split_kind)),
    ):
        with pytest.raises(ModelFormatError, match=name if name == "threshold" else "set_begin"):
            Tree(**{**arrays, name: wrong})


def test_the_sets_of_xgboost():
    """Without ties and smoothing, and with every level in every node."""
    rng = np.random.default_rng(2)
    n, counts = 4000, (3, 8, 20)
    codes = np.column_stack([rng.integers(0, count, n) for count in counts])
    y = sum(rng.normal(size=k)[codes[:, i]] for i, k in enumerate(counts))
    y = (y + rng.normal(size=n)).astype(np.float32)
    params = {"max_depth": 2, "base_score": 0.5, "tree_method": "hist", "max_cat_to_onehot": 4}
    values = codes.astype(np.float32)
    matrix = xgboost.DMatrix(values, y, feature_types=["c"] * 3, enable_categorical=True)
    theirs = from_xgboost_json(bytes(xgboost.train(params, matrix, 4).save_raw("json")).decode())
    data = dataset(values, y, columns=[0, 1, 2])
    ours = train({**params, "n_estimators": 4, **SETS}, data).ensemble
    for tree, other in zip(ours.trees, theirs.trees, strict=True):
        for name in ("left", "feature", "split_kind", "sets", "set_begin"):
            assert_same_bits(getattr(tree, name), getattr(other, name), name)
        np.testing.assert_allclose(tree.value, other.value, rtol=1e-4, atol=1e-6)


def test_unseen_levels_go_where_missing_values_go():
    """A level that a node has not seen has the bit of the node's missing values."""
    X, y, _ = rows()
    params = Parameters.from_dict({"n_estimators": 1, "max_depth": 1})
    first = rows()[0][:, 4] == -5
    weight = np.where(first, 0, 1).astype(np.float32)  # the fit does not see this level
    only = np.where(np.arange(5) == 4, X, np.nan).astype(np.float32)
    twin = train_reference(params, only, y, weight, categorical_features=[4])
    tree = twin.trees[0]
    assert tree.split_kind[0] == CATEGORY_SPLIT
    assert bool(tree.right_set(0)[0]) != bool(tree.default_left[0])


def test_bits_and_words():
    bits = np.zeros(70, np.bool_)
    bits[[0, 31, 33]] = True
    words = packed(bits)
    assert words.tolist() == [1 + 2**31, 2]
    assert unpacked(words).tolist() == bits[:64].tolist()
    assert packed(np.zeros(70, np.bool_)).tolist() == [0]


def test_sparse_rows_are_refused(model):
    X, y, _ = rows()
    sparse = csr_matrix(np.nan_to_num(X))
    with pytest.raises(DataError, match="X is sparse: expected"):
        model[0].predict(sparse)
    with pytest.raises(DataError, match="'other' is sparse"):
        train({**SETS}, dataset(X, y), evals=[(Dataset(sparse, y), "other")])


LIES = [
    ("categories_segments", "end", "0 at most, the categories that are left"),
    ("categories_nodes", [0, 0], "each node once"),
    ("split_type", 1, "0, or categories"),
]


@pytest.mark.parametrize(("name", "value", "message"), LIES)
def test_a_file_whose_sets_lie(model, name, value, message):
    document = json.loads(to_xgboost_json(model[0].ensemble))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    tree = next(tree for tree in trees if len(tree["categories_nodes"]) > 1)
    value = len(tree["categories"]) if value == "end" else value
    given = value if isinstance(value, list) else [value] * len(tree[name])
    tree[name][: len(given)] = given
    with pytest.raises(ModelFormatError, match=message):
        from_xgboost_json(json.dumps(document))
