"""Sampling, constraints and orders of growth: the twin's model, and what they promise."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.higgs import load_higgs7k
from tests.reference import feature_mask, sample

N = 500
SIGNS = [1, -1, 0, 1, 1, -1, -1, 1, 1, 1]
GROUPS = [[0, 1, 2], [3, 4, 5, 6], [6, 7, 8]]
LOGISTIC = {"objective": "binary:logistic"}
CLASSES = {"objective": "multi:softprob", "num_class": 4}
LOSSGUIDE = {"grow_policy": "lossguide"}
CASES = {
    "rows": {"subsample": 0.5},
    "rows of a forest": {"subsample": 0.6, "num_parallel_tree": 3},
    "hardly any rows": {"subsample": 0.003, "num_parallel_tree": 5, "min_child_weight": 0},
    "by gradient": {"subsample": 0.4, "sampling_method": "gradient_based", **LOGISTIC},
    "by gradient, squared": {"subsample": 0.4, "sampling_method": "gradient_based"},
    "goss": {"sampling_method": "goss", "learning_rate": 0.9, **LOGISTIC},
    "random weights": {"bootstrap_type": "Bayesian", "num_parallel_tree": 2, **LOGISTIC},
    "random weights of a sample": {
        "sampling_method": "bayesian", "bagging_temperature": 0.3, "subsample": 0.5
    },
    "kept rows": {"subsample": 0.4, "bagging_freq": 2, "n_estimators": 3},
    "columns": {"colsample_bytree": 0.5, "colsample_bylevel": 0.6, "colsample_bynode": 0.7},
    "weighted columns": {"colsample_bynode": 0.3},
    "monotone": {"monotone_constraints": SIGNS},
    "interactions": {"interaction_constraints": GROUPS},
    "leaf by leaf": {**LOSSGUIDE, "max_leaves": 9},
    "deep forest": {
        **LOSSGUIDE, "max_leaves": 13, "max_depth": 0, "num_parallel_tree": 3, "subsample": 0.5
    },
    "few leaves": {"max_leaves": 11, "num_parallel_tree": 2},
    "no depth": {"max_leaves": 20, "max_depth": 0},
    "classes": {**CLASSES, "subsample": 0.7, "colsample_bynode": 0.5},
    "all together": {
        **CLASSES, **LOSSGUIDE, "max_leaves": 7, "monotone_constraints": SIGNS,
        "interaction_constraints": GROUPS, "colsample_bylevel": 0.8, "subsample": 0.8,
    },
}  # fmt: skip
#: More that is drawn, whose twins are in ``test_extra_trees.py`` and ``test_random_strength.py``.
DRAWN = {"drawn borders": {"extra_trees": True}, "noise": {"random_strength": 1.0}}


def problem(case):
    """Parameters, values, labels, weights and feature weights."""
    X, y, _, _ = load_higgs7k()
    X, y = X[:N].copy(), y[:N]
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0])
    params = {"n_estimators": 2, "max_depth": 5, "max_bin": 32, "random_state": 7}
    params |= (CASES | DRAWN)[case]
    labels = {"multi:softprob": y + 2 * (signal > 1), "binary:logistic": y}
    label = labels.get(params.get("objective"), signal * 3 + y).astype(np.float32)
    extra = {}
    if case == "weighted columns":
        extra["feature_weights"] = rng.random(X.shape[1]).astype(np.float32) + 0.01
    return params, X, label, rng.integers(0, 3, N).astype(np.float32), extra


def model_of(params, X, y, weight=None, extra=None):
    return train({"device": TEST_DEVICE, **params}, Dataset(X, y, weight, **(extra or {})))


def bytes_of(*problem):
    return to_xgboost_json(model_of(*problem).ensemble)


THOROUGH = {
    "test_the_twins_model": lambda case: (
        case in ("rows", "by gradient, squared", "weighted columns", "few leaves", "no depth")
    )
}


@pytest.mark.few(2)
@pytest.mark.more(6)
@pytest.mark.parametrize("case", CASES)
def test_the_twins_model(case):
    params, X, y, weight, extra = problem(case)
    found = trained_as_twin(params, X, y, weight, **extra).ensemble
    other = model_of({**params, "random_state": 8}, X, y, weight, extra).ensemble
    drawn = Parameters.from_dict(params)
    assert (other != found) == (drawn.samples_rows or drawn.samples_columns)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "case",
    [
        "rows of a forest",
        "columns",
        "by gradient",
        "classes",
        "random weights",
        "kept rows",
        *DRAWN,
    ],
)
def test_random_numbers_go_on_where_training_does(case):
    params, X, y, weight, extra = problem(case)
    data, params = Dataset(X, y, weight, **extra), {"device": TEST_DEVICE, **params}
    half = train(params, data, 2)
    whole = to_xgboost_json(train(params, data, 2, model=half).ensemble)
    assert whole == to_xgboost_json(train(params, data, 4).ensemble)
    assert whole != to_xgboost_json(train({**params, "random_state": 8}, data, 4).ensemble)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("method", ["uniform", "gradient_based"])
def test_share_of_rows_and_no_bias(method, rate):
    """About the asked share is seen, and a row stands for itself on average."""
    rng = np.random.default_rng(1)
    g = rng.standard_t(2, 20_000).astype(np.float32)
    h = rng.random(g.size).astype(np.float32)
    p = Parameters.from_dict({"subsample": rate, "sampling_method": method})
    seen, total, true = [], [], float(np.abs(g).sum())
    for number in range(20):
        factors = sample.factors(p, g, h, None, number, 0)
        seen.append((factors > 0).mean())
        total.append(float((np.abs(g) * factors).sum()) * (1 / rate if method == "uniform" else 1))
    assert np.mean(seen) == pytest.approx(rate, abs=0.03)
    assert np.mean(total) == pytest.approx(true, rel=0.02)


def test_a_sample_is_kept_for_some_rounds():
    p = Parameters.from_dict({"bagging_fraction": 0.5, "bagging_freq": 3})
    rows = np.zeros(200, np.float32)
    drawn = [sample.factors(p, rows, rows, None, number, 0).tolist() for number in range(7)]
    assert drawn[0] == drawn[1] == drawn[2] != drawn[3] == drawn[4] == drawn[5] != drawn[6]


@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.5, "subsample_freq": 0},
        {"bootstrap_type": "No"},
        {"bootstrap_type": "Bayesian", "bagging_temperature": 0},
    ],
)
def test_all_rows_are_used(params):
    """As in LightGBM, ``bagging_freq=0`` samples no rows; so do a temperature of 0, and none."""
    p = Parameters.from_dict(params)
    assert sample.factors(p, np.ones(9, np.float32), np.ones(9, np.float32), None, 0, 0) is None
    _, X, y, *_ = problem("rows")
    grown = {"n_estimators": 2, "max_depth": 3, "max_bin": 16}
    assert bytes_of({**grown, **params}, X, y) == bytes_of(grown, X, y)


def test_goss_sees_large_gradients_and_some_others():
    rng = np.random.default_rng(2)
    g, h = rng.standard_normal((2, 50_000)).astype(np.float32)
    h = np.abs(h)
    p = Parameters.from_dict({"sampling_method": "goss", "learning_rate": 1.0})
    factors = sample.factors(p, g, h, None, 1, 0)
    order = np.argsort(-np.abs(g * h))
    assert (factors[order[:8000]] == 1).all()
    rest = factors[order[12_000:]]
    assert set(np.unique(rest)) == {np.float32(0), np.unique(rest)[-1]}
    assert np.unique(rest)[-1] == pytest.approx(8, rel=1e-5)
    assert (rest > 0).mean() == pytest.approx(0.1 / 0.8, abs=0.01)
    assert (sample.factors(p, g, h, None, 0, 0) == 1).all()  # as LightGBM: not at first


def test_columns_are_drawn_in_three_stages():
    p = Parameters.from_dict(
        {"colsample_bytree": 0.5, "colsample_bylevel": 0.5, "colsample_bynode": 0.5}
    )
    assert p.column_counts(40) == (20, 10, 5)
    nodes = [feature_mask.chosen(p, 40, None, (0, 0), 3, path) for path in range(8, 16)]
    assert all(mask.sum() == 5 for mask in nodes)
    assert np.any(nodes, axis=0).sum() <= 10
    levels = [feature_mask.chosen(p, 40, None, (0, 0), d, 2**d) for d in range(6)]
    assert np.any(levels, axis=0).sum() <= 20
    weights = np.ones(40, np.float32)
    weights[:4] = 1000
    q = Parameters.from_dict({"colsample_bytree": 0.1})
    heavy = [feature_mask.chosen(q, 40, weights, (r, 0), 0, 1)[:4].sum() for r in range(50)]
    assert np.mean(heavy) > 3.5


@pytest.mark.few(1)
@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("n_features", [1, 65, 300])
def test_columns_of_many_features(n_features, weighted):
    """Few are ranked, of many the last key to keep is found digit by digit; keys may be equal."""
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(200, n_features)).astype(np.float32)
    y = (X.sum(axis=1) + rng.normal(size=200)).astype(np.float32)
    extra = {"feature_weights": rng.choice([1e-30, 1e-9, 1], n_features).astype(np.float32)}
    for shares in ((0.5, 1, 1), (1, 0.4, 0.5), (0.7, 0.7, 0.7)):
        names = ("colsample_bytree", "colsample_bylevel", "colsample_bynode")
        params = {"max_depth": 3, "n_estimators": 2, **dict(zip(names, shares, strict=True))}
        trained_as_twin(params, X, y, None, **(extra if weighted else {}))


def test_monotone_constraints_hold():
    params, X, y, weight, _ = problem("monotone")
    model = model_of({**params, "n_estimators": 20}, X, y, weight)
    rows = np.nan_to_num(X)[:40]
    for feature, sign in enumerate(SIGNS):
        if not sign:
            continue
        grid = []
        for value in np.linspace(-3, 3, 25):
            rows_at = rows.copy()
            rows_at[:, feature] = value
            grid.append(model.predict(rows_at, device=TEST_DEVICE))
        assert (np.diff(grid, axis=0) * sign >= 0).all(), feature


def ways(tree):
    """The set of features on the way to every leaf."""
    found = {0: frozenset()}
    for node in range(tree.n_nodes):
        if tree.left[node] >= 0:
            below = found.pop(node) | {int(tree.feature[node])}
            found[int(tree.left[node])] = found[int(tree.right[node])] = below
    return found.values()


def test_interaction_constraints_hold():
    params, X, y, weight, _ = problem("interactions")
    model = model_of({**params, "n_estimators": 10}, X, y, weight)
    for tree in model.ensemble.trees:
        for way in ways(tree):
            assert len(way) < 2 or any(way <= set(group) for group in GROUPS)


@pytest.mark.parametrize("case", ["leaf by leaf", "few leaves", "deep forest", "no depth"])
def test_leaves_are_no_more_than_asked(case):
    params, X, y, weight, _ = problem(case)
    model = model_of(params, X, y, weight)
    leaves = [int(tree.is_leaf.sum()) for tree in model.ensemble.trees]
    assert max(leaves) == params["max_leaves"]
    depth = max(int(tree.depth.max()) for tree in model.ensemble.trees)
    assert depth <= (params["max_depth"] or 99)


def test_without_a_limit_the_order_does_not_matter():
    params, X, y, weight, _ = problem("leaf by leaf")
    del params["max_leaves"]
    usual = {k: v for k, v in params.items() if k != "grow_policy"}
    assert bytes_of(params, X, y, weight) == bytes_of(usual, X, y, weight)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"monotone_constraints": {1, -1}}, "expected lists or dicts of columns"),
        ({"monotone_constraints": "(1,"}, "expected 1, 0 or -1 for every column"),
        ({"interaction_constraints": [[0, 28]]}, "names the column 28: expected one of"),
        ({"interaction_constraints": "[" * 10**6}, "expected lists of columns"),
        ({"interaction_constraints": [0, 1]}, r"expected lists of columns, such as \[\[0, 1\]"),
    ],
)
def test_bad_parameters(params, message):
    _, X, y, _, _ = problem("rows")
    with pytest.raises(ParameterError, match=message):
        model_of(params, X, y)


@pytest.mark.parametrize("growth", [{}, {"max_leaves": 9}, {**LOSSGUIDE, "max_leaves": 9}])
def test_a_node_with_a_score_below_zero_splits(growth):
    """Left of the root weights are at most -14.4, also those of rows with 30."""
    X = [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 0]]
    y, times = np.array([-30, -20, 30, -1, -1]), [100, 5, 3, 250, 250]
    rows = np.repeat(np.array(X, np.float32), times, axis=0)
    params = {"base_score": 0, "n_estimators": 1, "reg_lambda": 0, "learning_rate": 1, **growth}
    params = {"monotone_constraints": [1, 0, 0], "max_depth": 3, **params}
    found = model_of(params, rows, np.repeat(y, times)).predict(np.array(X, np.float32))
    most = ((-30 * 100 - 20 * 5 + 30 * 3) / 108 - 1) / 2
    np.testing.assert_allclose(found, [-30, -20, most, -1, -1], rtol=1e-6)


@pytest.mark.parametrize("method", ["uniform", "gradient_based"])
@pytest.mark.parametrize("growth", [{}, {"max_leaves": 2}, {**LOSSGUIDE, "max_leaves": 2}])
def test_a_tree_that_sees_no_row_adds_nothing(method, growth):
    X, y = np.zeros((2, 1), np.float32), np.array([1, 2], np.float32)
    params = {"subsample": 0.05, "sampling_method": method, "reg_lambda": 0, "base_score": 0}
    params |= {"min_child_weight": 0, "learning_rate": 1, "n_estimators": 4, **growth}
    trees = trained_as_twin(params, X, y).ensemble.trees
    assert any(not tree.sum_hessian.any() and not tree.value.any() for tree in trees)


def test_the_luckiest_column_comes_first():
    bits = np.array([0, 2**32 - 1], np.uint32)
    heavy = feature_mask._keys(bits, np.full(2, 3e38, np.float32))
    assert heavy[1] == 0 < heavy[0]


def test_few_leaves_need_few_nodes():
    device = open_device(TEST_DEVICE)
    few = Parameters.from_dict({"max_leaves": 1000, "max_depth": 0})
    many = Parameters.from_dict({"max_leaves": 1000, "max_depth": 11})
    of_few, of_many = (estimate_memory(device, p, 100_000, 4).training_bytes for p in (few, many))
    assert of_few < 1.01 * of_many
