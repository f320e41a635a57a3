"""`compat.lightgbm`: values of leaves, metrics and texts are LightGBM's, where it is installed."""

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb
from pyopencl_gbdt.errors import ParameterError

RNG = np.random.default_rng(0)
X = RNG.integers(0, 7, size=(400, 3)).astype(float)
COUNTS = RNG.poisson(np.exp(X[:, 0] / 2 - 1)).astype(float)
GRADES = np.clip(X[:, 0] // 2 + RNG.integers(0, 2, 400), 0, 3)
QUIET = {"verbosity": -1, "num_leaves": 7, "min_data_in_leaf": 5, "min_data_in_bin": 1}


def libraries():
    """Return this library, and LightGBM where it is installed."""
    try:
        import lightgbm
    except ImportError:
        return [lgb]
    return [lgb, lightgbm]


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"max_delta_step": 0.3},
        {"max_delta_step": 2.0, "lambda_l2": 3.0},
        {"poisson_max_delta_step": 0.2, "lambda_l2": 1.0, "min_gain_to_split": 2.0},
    ],
    ids=str,
)
def test_leaves_of_counts(params):
    """The step of the Hessian limits no leaf; ``max_delta_step`` does."""
    given = {**QUIET, "objective": "poisson", "learning_rate": 1.0, "num_leaves": 2, **params}
    found = [
        lib.train(given, lib.Dataset(X[:, :1], COUNTS), 1).predict(X[:, :1], raw_score=True)
        for lib in libraries()
    ]
    start = np.log(COUNTS.mean())
    step = np.exp(params.get("poisson_max_delta_step", 0.7))
    penalty, most = params.get("lambda_l2", 0.0), params.get("max_delta_step", np.inf)
    for margin in found:
        assert len(np.unique(margin)) == 2
        for side in np.unique(margin):
            rows = margin == side
            h = rows.sum() * COUNTS.mean()
            leaf = (COUNTS[rows].sum() - h) / (h * step + penalty)
            assert side - start == pytest.approx(np.clip(leaf, -most, most), abs=2e-5)
    assert np.allclose(found[0], found[-1], atol=2e-5)


def test_a_model_of_counts_is_continued_from_its_file(tmp_path):
    data = lgb.Dataset(X, COUNTS)
    given = {**QUIET, "objective": "poisson"}
    first = lgb.train(given, data, 2)
    first.save_model(tmp_path / "model.txt")
    more = lgb.train(given, data, 2, init_model=tmp_path / "model.txt")
    assert np.allclose(more.predict(X), lgb.train(given, data, 4).predict(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("objective", "y"),
    [("regression", GRADES), ("regression", GRADES + 1), ("cross_entropy", GRADES / 3)],
)
def test_labels_above_0_are_of_class_1_in_metrics(objective, y):
    names = ["auc", "average_precision", "binary_logloss", "binary_error"]
    results = []
    for lib in libraries():
        own, data = {}, lib.Dataset(X[:, :1], y)
        booster = lib.train({**QUIET, "objective": objective, "metric": names}, data, 3,
                            valid_sets=[data], callbacks=[lib.record_evaluation(own)])  # fmt: skip
        results.append([own["training"][name][-1] for name in names])
        p = booster.predict(X[:, :1])
        share = np.where(y > 0, p, 1 - p)
        assert results[-1][2] == pytest.approx(-np.log(np.maximum(share, 1e-15)).mean(), rel=1e-4)
        assert results[-1][3] == pytest.approx(np.mean((p > 0.5) != (y > 0)))
    assert 0 < results[0][0] <= 1
    assert results[0] == pytest.approx(results[-1], rel=1e-4)


def test_levels_of_a_set_of_four():
    """Four levels are split by sets at the default of ``max_cat_to_onehot``, three are not."""
    rows = RNG.integers(0, 4, size=(400, 1)).astype(float)
    y = np.where(rows[:, 0] < 2, 0.0, 5.0)
    one_split = {**QUIET, "num_leaves": 2, "min_data_per_group": 1, "cat_smooth": 1, "cat_l2": 0,
                 "learning_rate": 1.0, "categorical_feature": 0}  # fmt: skip
    for lib in libraries():
        booster = lib.train(one_split, lib.Dataset(rows, y), 1)
        assert np.allclose(booster.predict(rows), y, atol=1e-4)
        alone = lib.train({**one_split, "max_cat_to_onehot": 5}, lib.Dataset(rows, y), 1)
        assert not np.allclose(alone.predict(rows), y, atol=1.0)


def _columns_of_branches(node, above=frozenset()):
    if "split_feature" not in node:
        return {above}
    own = above | {node["split_feature"]}
    return _columns_of_branches(node["left_child"], own) | _columns_of_branches(
        node["right_child"], own
    )


@pytest.mark.parametrize("given", ["[0,1],[2]", " [0, 1], [2] ", "[[0,1],[2]]", [[0, 1], [2]]])
def test_interactions_as_text(given):
    """LightGBM takes the first form and the last."""
    y = X[:, 0] * X[:, 2] + X[:, 1]
    for lib in libraries() if given in ("[0,1],[2]", [[0, 1], [2]]) else [lgb]:
        booster = lib.train({**QUIET, "interaction_constraints": given}, lib.Dataset(X, y), 5)
        for tree in booster.dump_model()["tree_info"]:
            for columns in _columns_of_branches(tree["tree_structure"]):
                assert columns <= {0, 1} or columns <= {2}


def test_interactions_that_are_no_lists():
    with pytest.raises(ParameterError, match=r"interaction_constraints='\[0,1': expected lists"):
        lgb.train({**QUIET, "interaction_constraints": "[0,1"}, lgb.Dataset(X, COUNTS), 1)
    plain = lgb.train({**QUIET, "interaction_constraints": ""}, lgb.Dataset(X, COUNTS), 1)
    assert plain.num_trees() == 1


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"tree_learner": "data"}, None),
        ({"tree_learner": "voting_parallel"}, None),
        ({"max_drop": 3}, None),
        ({"monotone_constraints": [1, 0, 0]}, None),
        ({"monotone_constraints": []}, None),
        ({"is_unbalance": True, "scale_pos_weight": 2.0}, None),
        ({"objective": "binary", "is_unbalance": True, "scale_pos_weight": 1.0}, None),
        ({"tree_learner": "all"}, "Unknown tree learner type all"),
        ({"monotone_constraints": [1]}, "monotone_constraints"),
        ({"monotone_constraints": "1,0,0,0"}, "monotone_constraints"),
        ({"objective": "binary", "is_unbalance": True, "scale_pos_weight": 2.0},
         "Cannot set is_unbalance and scale_pos_weight at the same time"),
    ],
    ids=str,
)  # fmt: skip
def test_what_lightgbm_refuses_and_takes(params, error):
    for lib in libraries():
        data = lib.Dataset(X, (COUNTS > 1).astype(float))
        if error is None:
            assert lib.train({**QUIET, **params}, data, 2).num_trees() == 2
        else:
            kind = ParameterError if lib is lgb else lib.basic.LightGBMError
            with pytest.raises(kind, match=error):
                lib.train({**QUIET, **params}, data, 2)


def test_unknown_names_are_told_by_verbosity(capsys):
    data = lgb.Dataset(X, COUNTS)
    for quiet in ({"verbosity": -1}, {"verbose": -1}, {"verbosity": -1, "verbose": 1}):
        lgb.train({"colour": 1, "num_leaf": 3, "num_leaves": 4, **quiet}, data, 1)
        lgb.Dataset(X, COUNTS, params={"colour": 1, **quiet}).construct()
    assert "[LightGBM]" not in capsys.readouterr().out
    for told in ({}, {"verbosity": 0}, {"verbosity": 0, "verbose": -1}):
        given = {"colour": 1, "num_leaf": 3, "num_leaves": 4, **told}
        lgb.train(given, lgb.Dataset(X, COUNTS), 1)
        found = capsys.readouterr().out
        assert "[LightGBM] [Warning] Unknown parameter: colour\n" in found
        assert (
            "[LightGBM] [Warning] num_leaves is set=4, num_leaf=3 will be ignored. "
            "Current value: num_leaves=4\n"
        ) in found


def test_quantiles_of_leaves_differ_as_documented():
    y = np.array([0.0, 1.0, 3.0, 7.0, 20.0])
    given = {**QUIET, "objective": "quantile", "alpha": 0.6, "min_data_in_leaf": 1}
    found = [
        lib.train(given, lib.Dataset(np.ones((5, 1)), y), 1).predict([[1.0]])[0]
        for lib in libraries()
    ]
    places = [6 * 0.6 - 1, 4 * 0.6][: len(found)]
    assert found == pytest.approx(np.interp(places, range(5), y), rel=1e-5)


def test_raw_scores_of_classes_differ_as_documented():
    """They are lower by the mean of the start here; probabilities are the same."""
    given = {**QUIET, "objective": "multiclass", "num_class": 4, "num_leaves": 2}
    shares = np.log(np.bincount(GRADES.astype(int)) / 400)
    rows = np.ones((400, 1))
    for lib in libraries():
        booster = lib.train(given, lib.Dataset(rows, GRADES), 1)
        start = shares - shares.mean() if lib is lgb else shares
        assert np.allclose(booster.predict(rows[:1], raw_score=True)[0], start, atol=1e-5)
        assert np.allclose(booster.predict(rows[:1])[0], np.exp(shares), atol=1e-5)


@pytest.mark.thorough
def test_penalties_of_linear_leaves_have_the_scale_of_hessians():
    given = {**QUIET, "objective": "poisson", "num_leaves": 2, "linear_tree": True,
             "linear_lambda": 300.0, "learning_rate": 0.5}  # fmt: skip
    rows = X[:, :1]
    found = [lib.train(given, lib.Dataset(rows, COUNTS), 4).predict(rows, raw_score=True)
             for lib in libraries()]  # fmt: skip
    plain = lgb.train({**given, "linear_lambda": 0.0}, lgb.Dataset(rows, COUNTS), 4)
    assert np.abs(plain.predict(rows, raw_score=True) - found[0]).max() > 0.03
    assert np.allclose(found[0], found[-1], atol=2e-3)


def tree_of(lib, params, rows, y):
    """Return what a tree's splits gain, and the values and rows of its leaves, in order."""
    booster = lib.train({**QUIET, **params}, lib.Dataset(rows, y), 1)
    (found,) = booster.dump_model()["tree_info"]
    gains, leaves, open_nodes = [], [], [found["tree_structure"]]
    while open_nodes:
        node = open_nodes.pop()
        if "leaf_value" in node:
            leaves.append((node["leaf_value"], node["leaf_count"]))
        else:
            gains.append(node["split_gain"])
            open_nodes += [node["right_child"], node["left_child"]]
    return gains, leaves


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "params",
    [
        {"num_leaves": 20},
        {"num_leaves": 7, "lambda_l1": 3.0},
        {"num_leaves": 3, "max_delta_step": 0.4},
    ],
    ids=str,
)
def test_leaves_are_smoothed_alike(params):
    """Values, gains and rows are LightGBM's; Hessians of 1 tell it the numbers of rows."""
    given = {"objective": "regression", "path_smooth": 15.0, **params}
    y = COUNTS + np.sin(X[:, 1])
    found = [tree_of(lib, given, X, y) for lib in libraries()]
    gains, leaves = found[0]
    assert len(leaves) == params["num_leaves"]
    for their_gains, their_leaves in found[1:]:
        assert np.allclose(gains, their_gains, rtol=1e-3)
        assert np.allclose(leaves, their_leaves, rtol=1e-3, atol=1e-4)


@pytest.mark.thorough
def test_leaves_of_sets_are_smoothed_alike():
    """LightGBM takes a node's gain at its weight at such splits; here it is smoothed once more."""
    rows = X.copy()
    levels = np.random.default_rng(2)
    rows[:, 2] = levels.integers(0, 9, len(X))
    y = COUNTS + levels.normal(size=9)[rows[:, 2].astype(int)]
    given = {"objective": "regression", "path_smooth": 15.0, "num_leaves": 4, "cat_l2": 0.0,
             "cat_smooth": 1.0, "min_data_per_group": 1, "categorical_feature": 2}  # fmt: skip
    found = [tree_of(lib, given, rows, y) for lib in libraries()]
    gains, leaves = found[0]
    for their_gains, their_leaves in found[1:]:
        assert np.allclose(gains, their_gains, rtol=0.01)
        assert np.allclose(sorted(leaves), sorted(their_leaves), rtol=1e-3, atol=1e-4)
    plain, _ = tree_of(lgb, {**given, "path_smooth": 0.0}, rows, y)
    assert not np.allclose(gains, plain, rtol=0.01)


def test_smoothing_raises_the_least_rows_to_2():
    given = {**QUIET, "path_smooth": 1.0, "min_data_in_leaf": 1}
    with pytest.warns(UserWarning, match="min_data_in_leaf is raised to 2"):
        booster = lgb.train(given, lgb.Dataset(X, COUNTS), 1)
    (tree,) = booster.dump_model()["tree_info"]
    assert tree["num_leaves"] == 7
