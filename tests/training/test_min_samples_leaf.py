"""Least rows of a leaf: no leaf has fewer, and the model is the twin's."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.higgs import load_higgs7k

LEAST = 17
SQUARED: dict[str, object] = {"max_depth": 6}
LOSSGUIDE = {"grow_policy": "lossguide", "max_leaves": 25, "max_depth": 0}
SYMMETRIC = {"grow_policy": "symmetric", "max_depth": 5}
#: Ways to grow; each counts rows by a search of its own.
GROWTH = {
    "levels": SQUARED,
    "leaves": LOSSGUIDE,
    "symmetric": SYMMETRIC,
    "exact": {"tree_method": "exact", "max_depth": 6},
    "approx": {"tree_method": "approx", "max_depth": 6, "max_bin": 32},
    "local approx": {"tree_method": "approx", "max_depth": 5, "max_bin": 32, "proposal": "local"},
    "monotone": {"monotone_constraints": [1, -1, 0, 1, 0, 0, 0, 0, 0, 0], "max_depth": 6},
    "penalties": {"reg_alpha": 0.4, "max_delta_step": 0.5, "max_depth": 6},
    "one split": {"max_depth": 1},
}


def problem(n_rows=600, missing=0.1):
    X, y, _, _ = load_higgs7k()
    X, y = X[:n_rows, :10].copy(), y[:n_rows]
    rng = np.random.default_rng(3)
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 4] = np.round(X[:, 4])
    return X, (y + 0.3 * rng.standard_normal(n_rows)).astype(np.float32)


def rows_of_children(model, rows):
    """Return the rows of all children of splits that gain; others of symmetric trees are idle."""
    found = []
    leaves = model.predict(rows, pred_leaf=True)
    for tree, own in zip(model.ensemble.trees, leaves.reshape(rows.shape[0], -1).T, strict=True):
        counts = np.bincount(own.astype(int), minlength=tree.n_nodes)
        for node in range(tree.n_nodes - 1, 0, -1):
            counts[tree.parent[node]] += counts[node]
        split = np.flatnonzero((tree.left >= 0) & (tree.gain != 0))
        found += [counts[tree.left[split]], counts[tree.right[split]]]
    return np.concatenate(found)


def ours(X, y, *, least=LEAST, **params):
    params = {"n_estimators": 2, "min_child_weight": 0, **params}
    return train({**params, "min_samples_leaf": least, "device": TEST_DEVICE}, Dataset(X, y))


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.parametrize("loss", ["reg:squarederror", "binary:logistic"])
@pytest.mark.parametrize("growth", GROWTH)
def test_no_leaf_has_fewer_rows_and_the_twin_has_the_same(growth, loss):
    X, y = problem()
    y = y if loss == "reg:squarederror" else (y > 0.5).astype(np.float32)
    own = {"n_estimators": 2, "min_child_weight": 0, "objective": loss, **GROWTH[growth]}
    model = trained_as_twin({**own, "min_samples_leaf": LEAST}, X, y)
    free = train({**own, "device": TEST_DEVICE}, Dataset(X, y))
    assert rows_of_children(model, X).min() >= LEAST
    assert rows_of_children(free, X).min() < LEAST or growth == "one split"


POISSON = {"objective": "count:poisson", "min_child_weight": 0}
#: Losses, weights and samples whose Hessians vary.
SAMPLES = {
    "weights": {"reg_lambda": 0},
    "poisson": POISSON,
    "uniform": {"subsample": 0.5, "objective": "reg:pseudohubererror"},
    "goss": {"sampling_method": "goss", "learning_rate": 0.9, "num_parallel_tree": 2},
    "by gradient": {"sampling_method": "gradient_based", "subsample": 0.5},
    "classes": {"objective": "multi:softprob", "num_class": 3},
    "ordered": {"boosting_type": "ordered", **POISSON},
    "dropped": {"booster": "dart", "rate_drop": 0.5, **POISSON},
}


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.parametrize("case", SAMPLES)
def test_rows_are_counted_whatever_they_weigh(case):
    """Rows without weight do not count; gradients far from others take high words."""
    X, y = problem()
    y = np.abs(y)
    weight = None
    if case == "weights":
        weight = np.random.default_rng(2).choice([0, 0.01, 1, 3, 1e4], y.size).astype(np.float32)
    if "poisson" in str(SAMPLES[case].get("objective")):
        y[:3] = 1e5
    if case == "classes":
        y = np.digitize(y, [0.3, 0.9]).astype(np.float32)
    params = {"n_estimators": 2, "max_depth": 5, "min_samples_leaf": LEAST, **SAMPLES[case]}
    model = trained_as_twin(params, X, y, weight)
    counted = np.ones(y.size, bool) if weight is None else weight > 0
    children = rows_of_children(model, X[counted])
    assert children.size
    assert children.min() >= LEAST  # rows of a sample are among them


@pytest.mark.few(2)
@pytest.mark.parametrize("loss", ["reg:squarederror", "reg:pseudohubererror"])
@pytest.mark.parametrize("growth", ["levels", "symmetric"])
def test_sets_of_categories(loss, growth):
    X, y = problem(missing=0)
    X[:, 0] = np.random.default_rng(1).integers(0, 40, len(X))
    y = (y + (X[:, 0] % 3)).astype(np.float32)
    params = {"n_estimators": 2, "cat_method": "sets", "objective": loss, **GROWTH[growth]}
    params |= {"min_samples_leaf": LEAST, "min_child_weight": 0}
    model = trained_as_twin(params, X, y, categorical_features=[0])
    assert any(tree.split_kind.any() for tree in model.ensemble.trees)
    assert rows_of_children(model, X).min() >= LEAST


@pytest.mark.parametrize("least", [0, 1])
def test_none_and_one_are_no_limit(least):
    X, y = problem()
    plain = train({"n_estimators": 3, "device": TEST_DEVICE}, Dataset(X, y))
    model = ours(X, y, least=least, n_estimators=3, min_child_weight=1)
    assert to_xgboost_json(model.ensemble) == to_xgboost_json(plain.ensemble)


def test_half_of_the_rows_is_the_most_that_splits():
    X, y = problem(200, missing=0)
    for least, depth in ((100, 1), (101, 0)):
        model = ours(X, y, least=least, n_estimators=1, max_depth=3)
        assert model.ensemble.trees[0].depth.max() == depth


def test_which_losses_have_unit_hessians():
    found = {
        name: get_objective(name, Parameters.from_dict({"objective": name})).has_unit_hessians
        for name in ("reg:squarederror", "reg:absoluteerror", "reg:quantileerror", "huber",
                     "binary:logistic", "binary:hinge", "reg:gamma", "rank:ndcg")
    }  # fmt: skip
    assert list(found.values()) == [True] * 4 + [False] * 4


def test_a_least_number_that_float32_lacks_is_rounded_up():
    params = Parameters.from_dict({"min_samples_leaf": 2**24 + 1})
    asked = params.with_least_hessian(unit_hessians=True)
    assert (asked.min_child_weight, asked.min_samples_leaf) == (2**24 + 2, 0)
    assert params.with_least_hessian(unit_hessians=False) == params


def test_leaves_beside_lightgbms():
    """Losses on other rows are alike, and no leaf of ours has fewer rows."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y, X_test, y_test = load_higgs7k()
    given = {"objective": "binary", "num_leaves": 31, "min_sum_hessian_in_leaf": 1e-3,
             "lambda_l2": 1.0, "learning_rate": 0.1, "verbose": -1}  # fmt: skip
    own = {"objective": "binary:logistic", **LOSSGUIDE, "max_leaves": 31, "learning_rate": 0.1,
           "min_child_weight": 1e-3, "n_estimators": 40, "device": TEST_DEVICE}  # fmt: skip
    sizes, losses = {}, {}
    for least in (1, 100):
        theirs = lightgbm.train({**given, "min_data_in_leaf": least}, lightgbm.Dataset(X, y), 40)
        model = train({**own, "min_samples_leaf": least}, Dataset(X, y))
        assert rows_of_children(model, X).min() >= least
        leaves = [tree.is_leaf.sum() for tree in model.ensemble.trees]
        found = theirs.dump_model()["tree_info"]
        sizes[least] = np.mean(leaves) / np.mean([tree["num_leaves"] for tree in found])
        p, q = model.predict(X_test), theirs.predict(X_test)
        losses[least] = [-np.log(np.where(y_test > 0, one, 1 - one)).mean() for one in (p, q)]
    assert 0.9 < sizes[1] < 1.1
    assert 0.9 < sizes[100] < 1.1
    for ours_, theirs_ in losses.values():
        assert abs(ours_ - theirs_) < 0.01
