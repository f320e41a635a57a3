"""The losses of LightGBM: starting scores, first trees, and errors as small."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.metrics import get_metric
from tests.conftest import TEST_DEVICE
from tests.objectives.samples import LIGHTGBM, few_values
from tests.reference.predict import leaf_of

lightgbm = pytest.importorskip("lightgbm")
#: Our names of parameters, and LightGBM's.
CASES = [
    ("huber", {}, {"alpha": 0.9}),
    ("huber", {"huber_alpha": 0.4}, {"alpha": 0.4}),
    ("fair", {}, {}),
    ("fair", {"fair_c": 0.5}, {"fair_c": 0.5}),
    ("cross_entropy", {}, {}),
]


def few(name, seed):
    """Data without missing values, on which both find the same cuts."""
    X, y = few_values(name, seed)
    return np.nan_to_num(X, nan=1.0), y


def theirs_of(name, params, X, y, weight, n_rounds, depth=4):
    settings = {
        "objective": name, "learning_rate": 0.3, "max_depth": depth, "num_leaves": 2**depth,
        "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1.0, "lambda_l2": 1.0, "verbose": -1,
        "min_data_in_bin": 1, "num_threads": 1, "boost_from_average": True, "max_bin": 255,
        "enable_bundle": False, **params,
    }  # fmt: skip
    return lightgbm.train(settings, lightgbm.Dataset(X, y, weight=weight), n_rounds)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "params", "other"), CASES)
def test_same_margins(name, params, other, weighted):
    X, y = few(name, 1)
    weight = np.random.default_rng(0).uniform(0.5, 2, y.size).astype(np.float32)
    weight = weight if weighted else None
    for depth, n_rounds in ((2, 1), (4, 1), (4, 10)):
        booster = theirs_of(name, other, X, y, weight, n_rounds, depth)
        theirs = booster.predict(X, raw_score=True)
        settings = {"objective": name, "max_depth": depth, "device": TEST_DEVICE, **params}
        model = train(settings, Dataset(X, y, weight), n_rounds)
        ours = model.predict(X, output_margin=True, device=TEST_DEVICE)
        if depth == 2 or (n_rounds == 1 and name != "cross_entropy"):
            np.testing.assert_allclose(ours, theirs, atol=5e-6)
        elif name != "fair":  # LightGBM guesses rows of nodes from Hessians; steps of fair are wild
            metric = get_metric("mae" if name == "huber" else "logloss")
            wanted = metric(y, booster.predict(X).astype(np.float32), weight)
            mine = metric(y, model.predict(X, device=TEST_DEVICE), weight)
            assert mine == pytest.approx(wanted, rel=0.01)


def test_mape_starts_at_the_weighted_median():
    X, y = few("mape", 2)
    start = theirs_of("mape", {"min_data_in_leaf": y.size}, X, y, None, 1).predict(X[:1])[0]
    model = train({"objective": "mape", "device": TEST_DEVICE}, Dataset(X, y), 50)
    assert model.ensemble.base_score == pytest.approx(start, abs=2e-2)
    share = 1 / np.maximum(1, np.abs(y))
    assert share[y < model.ensemble.base_score].sum() <= share.sum() / 2
    assert share[y <= model.ensemble.base_score].sum() >= share.sum() / 2
    error = np.mean(np.abs(model.predict(X, device=TEST_DEVICE) - y) / np.abs(y))
    assert error < 0.8 * np.mean(np.abs(model.ensemble.base_score - y) / np.abs(y))


@pytest.mark.parametrize("weighted", [False, True])
def test_mape_renews_leaves_by_weighted_medians(weighted):
    """Each leaf of a tree is LightGBM's, but where a median lies between two rows."""
    X, y = few("mape", 4)
    weight = np.random.default_rng(0).uniform(0.5, 2, y.size).astype(np.float32)
    weight = weight if weighted else None
    data = Dataset(X, y, weight)
    params = {"objective": "mape", "device": TEST_DEVICE}
    mine = train({**params, "max_depth": 2, "base_score": 5.0}, data, 1).ensemble
    tree, residual = mine.trees[0], y - np.float32(5)
    share = (1 / np.maximum(1, np.abs(y))).astype(np.float64) * (1 if weight is None else weight)
    leaf = np.array([leaf_of(tree, x) for x in X])
    for node in np.unique(leaf):
        own = leaf == node
        median = tree.value[node, 0] / 0.3
        assert share[own & (residual < median - 1e-5)].sum() <= share[own].sum() / 2
        assert share[own & (residual <= median + 1e-5)].sum() >= share[own].sum() / 2 - 1e-6

    def error(predicted):
        return get_metric("mape")(y, predicted.astype(np.float32), weight)

    theirs = error(theirs_of("mape", {}, X, y, weight, 50).predict(X))
    ours = train({**params, "max_depth": 4}, data, 50)
    assert error(ours.predict(X, device=TEST_DEVICE)) < 1.03 * theirs


@pytest.mark.parametrize("name", LIGHTGBM)
def test_files(name, tmp_path):
    X, y = few(name, 3)
    own = {"huber": {"huber_alpha": 0.3}, "fair": {"fair_c": 2.5}}.get(name, {})
    model = train({"objective": name, "device": TEST_DEVICE, **own}, Dataset(X, y), 3)
    model.save_model(tmp_path / "a.json")
    read = Model.load_model(tmp_path / "a.json")
    assert read.ensemble == model.ensemble
    assert read.objective == model.objective or own
    assert read.objective.kernel == model.objective.kernel
    import xgboost

    booster = xgboost.Booster(model_file=tmp_path / "a.json")
    predicted = booster.predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(model.predict(X, device=TEST_DEVICE), predicted, atol=3e-6)
