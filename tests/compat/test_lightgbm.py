"""`compat.lightgbm`: training, evaluation and models; beside LightGBM where it is installed."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb
from pyopencl_gbdt.errors import ParameterError
from tests.compat.signatures import differences, parameters_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * RNG.normal(size=400)
TWO, THREE = (Y > 0).astype(float), np.digitize(Y, [-0.5, 0.5])
GRADES = np.clip(np.digitize(Y, [-0.5, 0.3, 0.9]), 0, 3)
QUIET = {"verbosity": -1, "num_leaves": 7}
#: Members that are made by other libraries, or that stand for what is not here.
REASONS = {
    **{f"{name}.get_metadata_routing": "scikit-learn's" for name in ("LGBMModel", "LGBMRanker")},
}


def trained(params=None, y=Y, n=5, **how):
    return lgb.train({**QUIET, **(params or {})}, lgb.Dataset(X, y), n, **how)


@pytest.mark.parametrize(
    "name",
    ["Dataset", "Booster", "CVBooster", "LGBMModel", "LGBMRegressor", "LGBMClassifier",
     "LGBMRanker"],
)  # fmt: skip
def test_signatures_are_those_of_lightgbm(name):
    theirs = pytest.importorskip("lightgbm", minversion="4.7", reason="signatures are of 4.7")
    assert differences(getattr(lgb, name), getattr(theirs, name), REASONS) == []


def test_functions_have_the_signatures_of_lightgbm():
    theirs = pytest.importorskip("lightgbm", minversion="4.7", reason="signatures are of 4.7")
    classes = {name for name in theirs.__all__ if isinstance(getattr(theirs, name), type)}
    for name in set(theirs.__all__) - classes:
        assert parameters_of(getattr(lgb, name)) == parameters_of(getattr(theirs, name)), name


@pytest.mark.parametrize(
    ("params", "y", "metric"),
    [
        ({}, Y, "l2"),
        ({"objective": "l1"}, Y, "l1"),
        ({"objective": "huber"}, Y, "huber"),
        ({"objective": "fair"}, Y, "fair"),
        ({"objective": "mape"}, Y + 5, "mape"),
        ({"objective": "quantile", "alpha": 0.3}, Y, "quantile"),
        ({"objective": "poisson"}, np.round(np.exp(Y)), "poisson"),
        ({"objective": "gamma"}, np.exp(Y), "gamma"),
        ({"objective": "tweedie"}, np.round(np.exp(Y)), "tweedie"),
        ({"objective": "binary"}, TWO, "binary_logloss"),
        ({"objective": "binary", "is_unbalance": True}, (Y > 1).astype(float), "binary_logloss"),
        ({"objective": "cross_entropy"}, 1 / (1 + np.exp(-Y)), "cross_entropy"),
        ({"objective": "cross_entropy_lambda"}, 1 / (1 + np.exp(-Y)), "cross_entropy_lambda"),
        ({"objective": "multiclass", "num_class": 3}, THREE, "multi_logloss"),
        ({"objective": "multiclassova", "num_class": 3}, THREE, "multi_logloss"),
        ({"boosting": "dart"}, Y, "l2"),
        ({"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}, Y, "l2"),
        ({"data_sample_strategy": "goss"}, Y, "l2"),
        ({"bagging_freq": 3, "bagging_fraction": 0.5}, Y, "l2"),
        ({"boost_from_average": False}, Y, "l2"),
    ],
    ids=lambda value: None if isinstance(value, np.ndarray) else str(value),
)
def test_each_objective_learns_as_lightgbm_does(params, y, metric):
    results = {}
    libraries = {"ours": lgb}
    try:
        import lightgbm

        libraries["theirs"] = lightgbm
    except ImportError:
        pass
    for name, lib in libraries.items():
        own = {}
        data = lib.Dataset(X, y)
        booster = lib.train({**QUIET, **params}, data, 20, valid_sets=[data],
                            callbacks=[lib.record_evaluation(own)])  # fmt: skip
        results[name] = own["training"][metric]
        assert list(own["training"]) == [metric]
        assert np.isfinite(booster.predict(X)).all()
    ours = results["ours"]
    assert ours[-1] < ours[0]
    if "theirs" in results:
        gained, expected = (one[0] - one[-1] for one in (ours, results["theirs"]))
        assert gained > 0.6 * expected or params.get("boosting") == "rf"


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_ranking(objective):
    data = lgb.Dataset(X, GRADES, group=[20] * 20)
    own = {}
    params = {**QUIET, "objective": objective, "metric": ["ndcg", "map"], "eval_at": [3, 5]}
    lgb.train(params, data, 20, valid_sets=[data], callbacks=[lgb.record_evaluation(own)])
    assert list(own["training"]) == ["ndcg@3", "ndcg@5", "map@3", "map@5"]
    assert own["training"]["ndcg@5"][-1] > own["training"]["ndcg@5"][0]


def test_weights_of_rows_in_a_query():
    """A row's gradients are multiplied by its weight; equal weights give the device's trees."""
    from pyopencl_gbdt.compat.lightgbm.own_losses import HostRows, pairs_of_ranks

    params = {**QUIET, "objective": "lambdarank"}
    several = lgb.Dataset(X, GRADES, group=[20] * 20, weight=np.tile([1.0, 3.0], 200))
    own = {}
    booster = lgb.train(params, several, 10, valid_sets=[several],
                        callbacks=[lgb.record_evaluation(own)])  # fmt: skip
    assert own["training"]["ndcg@5"][-1] > own["training"]["ndcg@5"][0]
    assert booster.predict(X).shape == (400,)
    group = np.array([3], np.int32)
    margins, labels = np.array([[0.5], [0.1], [0.9]]), np.array([2.0, 0.0, 1.0])
    g, h = pairs_of_ranks(HostRows(margins, labels, np.ones(3), group, {}), 0)
    heavy, _ = pairs_of_ranks(HostRows(margins, labels, np.array([1.0, 2, 3]), group, {}), 0)
    assert g.sum() == pytest.approx(0)
    assert g[0] < 0 < g[1]
    assert np.allclose(heavy[:, 0], g[:, 0] * [1, 2, 3])
    assert (h > 0).all()
    higher, lower = (
        pairs_of_ranks(HostRows(margins + d * np.eye(3)[:, :1], labels, np.ones(3), group,
                                {"lambdarank_norm": False}), 0)[0][0, 0] for d in (1e-4, -1e-4)
    )  # fmt: skip
    curve = pairs_of_ranks(
        HostRows(margins, labels, np.ones(3), group, {"lambdarank_norm": False}), 0
    )[1]
    assert (higher - lower) / 2e-4 == pytest.approx(curve[0, 0], rel=1e-3)


def test_hessians_have_the_scale_of_lightgbm():
    """One tree of one split: leaves are LightGBM's, whoever computes the gradients."""
    rows = (X[:, :1] > 0).astype(float)
    for params, y in (({"objective": "multiclass", "num_class": 3}, THREE),
                      ({"objective": "lambdarank"}, GRADES)):  # fmt: skip
        group = [20] * 20 if params["objective"] == "lambdarank" else None
        found = []
        for own in (None, np.tile([1.0, 1.001], 200)):
            weight = own if group else None
            data = lgb.Dataset(rows, y, group=group, weight=weight)
            found.append(lgb.train({**QUIET, **params}, data, 1).predict(rows, raw_score=True))
        assert np.allclose(found[0], found[1], rtol=0.02)
        if params["objective"] == "multiclass":
            node = rows[:, 0] > 0
            p = np.bincount(THREE, minlength=3) / 400
            g = p - np.bincount(THREE[node], minlength=3) / node.sum()
            step = -g / (p * (1 - p) * 1.5) * 0.1
            expected = np.log(p) - np.log(p).mean() + step
            assert np.allclose(found[0][node][0], expected, atol=1e-4)


def test_metrics_of_all_names():
    own = {}
    names = ["l2", "rmse", "l1", "mape", "huber", "fair", "quantile", "r2"]
    data = lgb.Dataset(X, Y)
    booster = lgb.train({**QUIET, "metric": names}, data, 3, valid_sets=[data],
                        callbacks=[lgb.record_evaluation(own)])  # fmt: skip
    found, error = own["training"], Y.astype(np.float32) - booster.predict(X)
    assert list(found) == names
    assert found["l2"][-1] == pytest.approx(np.mean(error**2), rel=1e-5)
    assert found["rmse"][-1] == pytest.approx(found["l2"][-1] ** 0.5, rel=1e-6)
    assert found["l1"][-1] == pytest.approx(np.mean(np.abs(error)), rel=1e-5)
    assert found["r2"][-1] == pytest.approx(1 - np.mean(error**2) / np.var(Y), rel=1e-4)


def test_metrics_of_classes_beside_scikit_learn():
    from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

    own = {}
    names = "binary_logloss,binary_error,auc,average_precision,kldiv"
    data = lgb.Dataset(X, TWO)
    booster = lgb.train({**QUIET, "objective": "binary", "metric": names}, data, 3,
                        valid_sets=[data], callbacks=[lgb.record_evaluation(own)])  # fmt: skip
    p, found = booster.predict(X), own["training"]
    assert found["binary_logloss"][-1] == pytest.approx(log_loss(TWO, p), rel=1e-5)
    assert found["auc"][-1] == pytest.approx(roc_auc_score(TWO, p), rel=1e-5)
    expected = average_precision_score(TWO, p)
    assert found["average_precision"][-1] == pytest.approx(expected, rel=1e-5)
    assert found["binary_error"][-1] == pytest.approx(np.mean((p > 0.5) != TWO))
    assert found["kullback_leibler"][-1] == pytest.approx(log_loss(TWO, p), rel=1e-5)


def test_top_k_error_and_auc_mu():
    own = {}
    data = lgb.Dataset(X, THREE)
    params = {**QUIET, "objective": "multiclass", "num_class": 3, "multi_error_top_k": 2,
              "metric": ["multi_error", "auc_mu"]}  # fmt: skip
    lgb.train(params, data, 10, valid_sets=[data], callbacks=[lgb.record_evaluation(own)])
    assert list(own["training"]) == ["multi_error@2", "auc_mu"]
    assert own["training"]["multi_error@2"][-1] < 0.1
    assert own["training"]["auc_mu"][-1] > 0.9


def test_several_sets_metrics_and_functions():
    data = lgb.Dataset(X[:300], TWO[:300])
    other = data.create_valid(X[300:], TWO[300:])
    own = {}

    def half(predictions, rows):
        assert predictions.shape == rows.get_label().shape
        return [("half", float(np.mean(predictions > 0.5)), False), ("one", 1.0, True)]

    lgb.train({**QUIET, "objective": "binary", "metric": "auc"}, data, 4,
              valid_sets=[data, other], valid_names=["mine", "theirs"], feval=half,
              callbacks=[lgb.record_evaluation(own)])  # fmt: skip
    assert {name: list(found) for name, found in own.items()} == {
        "mine": ["auc", "half", "one"], "theirs": ["auc", "half", "one"],
    }  # fmt: skip
    none = {}
    lgb.train({**QUIET, "metric": "None"}, data, 2, valid_sets=[other], feval=half,
              callbacks=[lgb.record_evaluation(none)])  # fmt: skip
    assert list(none["valid_0"]) == ["half", "one"]


@pytest.mark.parametrize("by_parameter", [False, True])
def test_early_stopping(by_parameter):
    data = lgb.Dataset(X[:200], Y[:200])
    other = data.create_valid(X[200:], Y[200:])
    how = {} if by_parameter else {"callbacks": [lgb.early_stopping(3, verbose=False)]}
    params = {"early_stopping_round": 3} if by_parameter else {}
    booster = lgb.train({**QUIET, "learning_rate": 0.5, **params}, data, 200, valid_sets=[other],
                        **how)  # fmt: skip
    assert 0 < booster.best_iteration < booster.current_iteration() < 200
    assert booster.current_iteration() == booster.best_iteration + 3
    best = booster.predict(X, num_iteration=booster.best_iteration)
    assert np.array_equal(booster.predict(X), best)
    assert booster.best_score["valid_0"]["l2"] == pytest.approx(
        np.mean((best[200:] - Y[200:]) ** 2), rel=1e-4
    )


def test_early_stopping_by_the_first_metric_and_least_improvement(capsys):
    data = lgb.Dataset(X[:200], Y[:200])
    other = data.create_valid(X[200:], Y[200:])
    found = {}
    for only in (False, True):
        calls = [lgb.early_stopping(2, first_metric_only=only)]
        booster = lgb.train({**QUIET, "learning_rate": 0.5, "metric": ["l2", "l1"]}, data, 100,
                            valid_sets=[other], callbacks=calls)  # fmt: skip
        found[only] = booster.current_iteration()
    assert found[False] <= found[True]
    assert "Evaluated only: l2" in capsys.readouterr().out
    calls = [lgb.early_stopping(2, min_delta=1e9, verbose=False)]
    booster = lgb.train(QUIET, data, 50, valid_sets=[other], callbacks=calls)
    assert booster.current_iteration() == 3
    for given, message in ((-1.0, "must be non-negative"), ([-1.0], "must be non-negative"),
                           ([0.1, 0.2], "as many as metrics")):  # fmt: skip
        calls = [lgb.early_stopping(2, min_delta=given, verbose=False)]
        with pytest.raises(ValueError, match=message):
            lgb.train(QUIET, data, 5, valid_sets=[other], callbacks=calls)


def test_what_early_stopping_cannot_do():
    data = lgb.Dataset(X, Y)
    with pytest.raises(TypeError, match=r"early_stopping_round should be an integer. Got 'str'"):
        lgb.early_stopping("3")
    with pytest.raises(ValueError, match="at least one dataset and eval metric is required"):
        lgb.train(QUIET, data, 3, callbacks=[lgb.early_stopping(2)])
    with pytest.warns(UserWarning, match=r"Only training set found"):
        lgb.train(QUIET, data, 3, valid_sets=[data], callbacks=[lgb.early_stopping(2)])
    with pytest.warns(UserWarning, match="not available in dart mode"):
        lgb.train({**QUIET, "boosting": "dart"}, data, 3, valid_sets=[data.create_valid(X, Y)],
                  callbacks=[lgb.early_stopping(2)])  # fmt: skip


def test_log_evaluation_and_reset_parameter(capsys):
    data = lgb.Dataset(X, Y)
    rates = [0.5, 0.25, 0.125]
    calls = [lgb.log_evaluation(2), lgb.reset_parameter(learning_rate=rates)]
    booster = lgb.train(QUIET, data, 3, valid_sets=[data], callbacks=calls)
    assert capsys.readouterr().out.startswith("[2]\ttraining's l2: ")
    by_function = trained(n=3, callbacks=[lgb.reset_parameter(learning_rate=lambda i: rates[i])])
    assert np.array_equal(booster.predict(X), by_function.predict(X))
    assert not np.array_equal(booster.predict(X), trained({"learning_rate": 0.5}, n=3).predict(X))
    with pytest.raises(ValueError, match="has to be equal to 'num_boost_round'"):
        trained(n=2, callbacks=[lgb.reset_parameter(learning_rate=rates)])
    with pytest.raises(ValueError, match="Only list and callable values are supported"):
        trained(n=2, callbacks=[lgb.reset_parameter(learning_rate=0.1)])
    with pytest.raises(TypeError, match="eval_result should be a dictionary"):
        lgb.record_evaluation([])
    leaves = trained(n=3, callbacks=[lgb.reset_parameter(num_leaves=[7, 4, 2])])
    assert [tree["num_leaves"] for tree in leaves.dump_model()["tree_info"]] == [7, 4, 2]


def test_a_loss_of_the_users():
    def squares(margins, data):
        return margins - data.get_label(), np.ones_like(margins)

    own = {}
    data = lgb.Dataset(X, Y)
    booster = lgb.train({**QUIET, "objective": squares, "metric": "l2"}, data, 10,
                        valid_sets=[data], callbacks=[lgb.record_evaluation(own)])  # fmt: skip
    plain = trained({"boost_from_average": False}, n=10)
    assert np.allclose(booster.predict(X), plain.predict(X), atol=1e-5)
    assert own["training"]["l2"][-1] == pytest.approx(np.mean((booster.predict(X) - Y) ** 2), 1e-4)
    same = lgb.Booster(QUIET, lgb.Dataset(X, Y))
    for _ in range(10):
        same.update(fobj=squares)
    assert np.array_equal(same.predict(X), booster.predict(X))


def test_a_loss_of_several_classes():
    def softmax(margins, data):
        powers = np.exp(margins)
        p = powers / powers.sum(axis=1, keepdims=True)
        return p - np.eye(3)[data.get_label().astype(int)], 1.5 * p * (1 - p)

    params = {"objective": softmax, "num_class": 3}
    booster = trained(params, THREE, 10)
    found = booster.predict(X)
    assert found.shape == (400, 3)
    plain = trained({"objective": "multiclass", "num_class": 3, "boost_from_average": False},
                    THREE, 10)  # fmt: skip
    assert np.mean(found.argmax(axis=1) == plain.predict(X).argmax(axis=1)) > 0.98
    short = {"objective": lambda m, _: (m[:-1], m[:-1])}
    with pytest.raises(ValueError, match="don't match training data length"):
        trained(short, n=1)
    with pytest.raises(ValueError, match=r"Lengths of gradient \(400\) and Hessian \(399\)"):
        trained({"objective": lambda m, _: (m, m[:-1])}, n=1)


def test_a_model_is_continued():
    whole, half = trained(n=6), trained(n=3)
    both = trained(n=3, init_model=half)
    assert both.num_trees() == 6
    assert np.array_equal(both.predict(X), whole.predict(X))
    data = lgb.Dataset(X, Y)
    own = {}
    lgb.train(QUIET, data, 2, init_model=half, valid_sets=[data],
              callbacks=[lgb.record_evaluation(own)])  # fmt: skip
    assert len(own["training"]["l2"]) == 2


def test_a_booster_by_hand():
    data = lgb.Dataset(X, Y)
    booster = lgb.Booster(QUIET, data)
    other = data.create_valid(X[:50], Y[:50])
    booster.add_valid(other, "few")
    assert booster.current_iteration() == 0
    for _ in range(4):
        assert booster.update() is False
    assert np.array_equal(booster.predict(X), trained(n=4).predict(X))
    (result,) = booster.eval_train()
    assert (result.dataset_name, result.metric_name, result.maximize) == ("training", "l2", False)
    assert result.metric_value == pytest.approx(np.mean((booster.predict(X) - Y) ** 2), rel=1e-4)
    assert [one[0] for one in booster.eval_valid()] == ["few"]
    assert booster.eval(lgb.Dataset(X[:9], Y[:9]), "nine")[0][0] == "nine"
    booster.rollback_one_iter()
    assert booster.current_iteration() == 3
    booster.update()
    assert np.array_equal(booster.predict(X), trained(n=4).predict(X))
    booster.reset_parameter({"learning_rate": 1e-30})
    before = booster.predict(X)
    booster.update()
    assert np.array_equal(booster.predict(X), before)
    booster.update(lgb.Dataset(X[:200], Y[:200]))
    assert booster.num_trees() == 6
    with pytest.raises(TypeError, match="Training data should be Dataset instance, met list"):
        booster.update([1])
    with pytest.raises(lgb.LightGBMError, match="no training rows"):
        trained().update()


def test_parts_of_predictions():
    booster = trained(n=5)
    parts = booster.predict(X, num_iteration=2) + booster.predict(X, start_iteration=2)
    assert np.allclose(parts, booster.predict(X), atol=1e-6)
    leaves = booster.predict(X, pred_leaf=True)
    assert (leaves.shape, leaves.dtype) == ((400, 5), np.int32)
    values = [sum(booster.get_leaf_output(t, row[t]) for t in range(5)) for row in leaves[:9]]
    assert np.allclose(values, booster.predict(X[:9]), atol=1e-6)
    shares = booster.predict(X, pred_contrib=True)
    assert shares.shape == (400, 6)
    assert np.allclose(shares.sum(axis=1), booster.predict(X), atol=1e-5)
    several = trained({"objective": "multiclass", "num_class": 3}, THREE, 2)
    assert several.predict(X, pred_contrib=True).shape == (400, 18)
    assert several.predict(X, pred_leaf=True).shape == (400, 6)
    assert np.allclose(several.predict(X).sum(axis=1), 1)
    assert booster.lower_bound() - 1e-6 <= booster.predict(X).min()
    assert booster.predict(X).max() <= booster.upper_bound() + 1e-6


def test_rows_that_do_not_fit():
    frame = pd.DataFrame(X, columns=list("abcde"))
    booster = lgb.train(QUIET, lgb.Dataset(frame, Y), 2)
    with pytest.raises(lgb.LightGBMError, match=r"features in data \(4\) is not the same"):
        booster.predict(X[:, :4])
    assert booster.predict(X[:, :4], predict_disable_shape_check=True).shape == (400,)
    wrong = frame.rename(columns={"b": "z"})
    assert np.array_equal(booster.predict(wrong), booster.predict(frame))
    with pytest.raises(lgb.LightGBMError, match="Expected 'b' at position 1 but found 'z'"):
        booster.predict(wrong, validate_features=True)
    with pytest.raises(lgb.LightGBMError, match="Expected 5 features but got 4"):
        booster.predict(frame.iloc[:, :4], validate_features=True)
    with pytest.raises(TypeError, match="Cannot use Dataset instance for prediction"):
        booster.predict(lgb.Dataset(X))
    with pytest.raises(lgb.LightGBMError, match=r"data is the path 'a\.csv': expected rows"):
        booster.predict("a.csv")


def test_infinite_and_missing_values_of_tables():
    endless = np.where(X > 2, np.inf, np.where(X < -2, np.nan, X))
    frame = pd.DataFrame(endless, columns=list("abcde"))
    for more in ({}, {"use_missing": False}):
        params = {**QUIET, **more}
        by_table = lgb.train(params, lgb.Dataset(frame, Y), 3).predict(frame)
        by_array = lgb.train(params, lgb.Dataset(endless, Y), 3).predict(endless)
        assert np.array_equal(by_table, by_array)


def test_text_pickles_and_copies(tmp_path):
    booster = trained(n=3)
    text = booster.model_to_string()
    booster.save_model(tmp_path / "model.txt")
    for other in (
        lgb.Booster(model_str=text),
        lgb.Booster(model_file=tmp_path / "model.txt"),
        pickle.loads(pickle.dumps(booster)),
        copy.deepcopy(booster),
        copy.copy(booster),
    ):
        assert np.allclose(other.predict(X), booster.predict(X), atol=1e-6)
        assert other.feature_name() == booster.feature_name() == [f"Column_{i}" for i in range(5)]
    theirs = pytest.importorskip("lightgbm", reason="reads what was written")
    assert np.allclose(theirs.Booster(model_str=text).predict(X), booster.predict(X), atol=1e-6)
    read = theirs.Booster(model_str=text).dump_model()
    own = booster.dump_model()
    assert read["tree_info"][0]["tree_structure"].keys() == (
        own["tree_info"][0]["tree_structure"].keys()
    )


def test_dumped_trees():
    booster = trained(n=2)
    found = booster.dump_model()
    root = found["tree_info"][0]["tree_structure"]
    assert root["internal_count"] == sum(_leaf_counts(root)) == 400
    assert found["num_tree_per_iteration"] == 1
    table = booster.trees_to_dataframe()
    assert len(table) == sum(2 * tree["num_leaves"] - 1 for tree in found["tree_info"])
    assert table["node_index"][0] == "0-S0"
    splits = booster.feature_importance()
    assert (splits.dtype, splits.sum()) == (np.int32, sum(table["split_feature"].notna()))
    gains = booster.feature_importance("gain")
    assert gains.sum() == pytest.approx(table["split_gain"].sum(), rel=1e-5)
    used = int(splits.argmax())
    counts, edges = booster.get_split_value_histogram(used)
    assert (counts.sum(), len(edges)) == (splits[used], len(counts) + 1)
    assert list(booster.get_split_value_histogram(used, xgboost_style=True)) == [
        "SplitValue", "Count",
    ]  # fmt: skip
    hooked = booster.dump_model(object_hook=lambda one: {**one, "seen": True})
    assert hooked["tree_info"][0]["seen"]
    with pytest.raises(KeyError, match="cover"):
        booster.feature_importance("cover")
    with pytest.raises(lgb.LightGBMError, match="no trees"):
        lgb.Booster(QUIET, lgb.Dataset(X, Y)).trees_to_dataframe()


def _leaf_counts(node):
    if "leaf_count" in node:
        return [node["leaf_count"]]
    return _leaf_counts(node["left_child"]) + _leaf_counts(node["right_child"])


def test_leaves_are_changed_and_rounds_shuffled():
    booster = trained(n=4)
    before = booster.predict(X)
    booster.set_leaf_output(0, 0, booster.get_leaf_output(0, 0) + 1)
    changed = booster.predict(X, pred_leaf=True)[:, 0] == 0
    assert np.allclose(booster.predict(X) - before, changed, atol=1e-6)
    shuffled = trained(n=4).shuffle_models()
    assert np.allclose(shuffled.predict(X), before, atol=1e-5)


@pytest.mark.parametrize("objective", ["regression", "binary"])
def test_refit(objective):
    y = Y if objective == "regression" else TWO
    booster = trained({"objective": objective}, y, 5)
    rows, labels = X[:200] + 0.1, y[:200]
    found = booster.refit(rows, labels, decay_rate=0.2)
    error = [np.mean((one.predict(rows) - labels) ** 2) for one in (booster, found)]
    assert error[1] < error[0]
    kept = booster.refit(rows, labels, decay_rate=1.0)
    assert np.allclose(kept.predict(X), booster.predict(X), atol=1e-5)
    assert np.array_equal(found.predict(X, pred_leaf=True), booster.predict(X, pred_leaf=True))
    with pytest.raises(lgb.LightGBMError, match="null objective function"):
        trained({"objective": lambda m, _: (m, m * 0 + 1)}, n=1).refit(rows, labels)


def test_cross_validation(tmp_path):
    data = lgb.Dataset(X, TWO)
    params = {**QUIET, "objective": "binary"}
    found = lgb.cv(params, data, 6, nfold=3, metrics=["auc"], return_cvbooster=True)
    models = found.pop("cvbooster")
    assert {name: len(one) for name, one in found.items()} == {
        "valid auc-mean": 6, "valid auc-stdv": 6,
    }  # fmt: skip
    assert [one.shape for one in models.predict(X)] == [(400,)] * 3
    models.save_model(tmp_path / "models.json")
    again = lgb.CVBooster(model_file=tmp_path / "models.json")
    assert np.allclose(again.predict(X), models.predict(X), atol=1e-6)
    assert len(pickle.loads(pickle.dumps(models)).boosters) == 3
    both = lgb.cv(params, data, 2, nfold=2, eval_train_metric=True, stratified=False)
    assert set(both) == {f"{one} binary_logloss-{end}" for one in ("train", "valid")
                         for end in ("mean", "stdv")}  # fmt: skip
    stopped = lgb.cv({**params, "learning_rate": 1.0}, data, 100, nfold=2, return_cvbooster=True,
                     callbacks=[lgb.early_stopping(2, verbose=False)])  # fmt: skip
    best = stopped["cvbooster"].best_iteration
    assert len(stopped["valid binary_logloss-mean"]) == best < 100
    folds = [(np.arange(200), np.arange(200, 400))]
    assert len(lgb.cv(params, data, 2, folds=folds)["valid binary_logloss-stdv"]) == 2
    ranked = lgb.Dataset(X, GRADES, group=[20] * 20)
    found = lgb.cv({**QUIET, "objective": "lambdarank", "eval_at": [3]}, ranked, 2, nfold=2)
    assert "valid ndcg@3-mean" in found
    with pytest.raises(TypeError, match=r"cv\(\) only accepts Dataset object"):
        lgb.cv(params, X)
    with pytest.raises(AttributeError, match="folds should be a generator"):
        lgb.cv(params, data, 2, folds=3)


def test_wrong_arguments_of_train():
    data = lgb.Dataset(X, Y)
    with pytest.raises(TypeError, match="only accepts Dataset object, train_set has type 'list'"):
        lgb.train({}, [])
    with pytest.raises(TypeError, match="Item 0 has type 'int'"):
        lgb.train({}, data, valid_sets=[1])
    with pytest.raises(ValueError, match=r"must be greater than 0. Got -1"):
        lgb.train({}, data, num_boost_round=-1)
    with pytest.raises(TypeError, match="Need at least one training dataset"):
        lgb.Booster()
    with pytest.raises(TypeError, match="met int"):
        lgb.Booster({}, 3)
    with pytest.warns(UserWarning, match="conflicting values for num_iterations"):
        lgb.train({**QUIET, "n_iter": 2, "num_trees": 3}, data)
    with pytest.warns(UserWarning, match="Unknown parameter: colour"):
        lgb.train({"colour": 1}, data, 1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "l3"}, "Unknown objective type name: l3"),
        ({"metric": "l3"}, "Unknown metric type name: l3"),
        ({"boosting": "boast"}, "Unknown boosting type boast"),
        ({"objective": "multiclass"}, "greater than 1 for multiclass training: num_class=1"),
        ({"num_class": 3}, "must be 1 for non-multiclass training: num_class=3"),
        ({"boosting": "rf"}, "expected bagging_freq > 0"),
        ({"boosting": "rf", "objective": "l1", "feature_fraction": 0.5}, "not renewed in forests"),
        ({"data_sample_strategy": "half"}, "expected 'bagging' or 'goss'"),
        ({"forcedsplits_filename": "a.json"}, "splits cannot be forced; leave it out"),
        ({"reg_sqrt": True}, "train on the square roots of the labels"),
        ({"pos_bagging_fraction": 0.5}, "give bagging_fraction"),
        ({"sigmoid": 2.0}, "scale learning_rate instead"),
        ({"boosting": "dart", "max_drop": 3}, "max_drop=3: .*lower drop_rate"),
        ({"label_gain": [0, 1, 5]}, "gains of labels are"),
        ({"monotone_penalty": 1.0}, "leave it out"),
        ({"feature_contri": [0.5] * 5}, "gains of columns are not weighed"),
        ({"cegb_penalty_split": 0.5}, "raise min_gain_to_split"),
        ({"tree_learner": "all"}, "Unknown tree learner type all: expected one of serial"),
        ({"num_machines": 2}, "large-data.md"),
        ({"monotone_constraints": [1]}, "monotone_constraints has 1 entries: expected 5"),
        ({"monotone_constraints": "1,0,0,0,0,0"}, "has 6 entries: expected 5"),
        (
            {"objective": "binary", "is_unbalance": True, "scale_pos_weight": 2.0},
            "Cannot set is_unbalance and scale_pos_weight at the same time: scale_pos_weight=2",
        ),
        ({"machines": "a:1"}, "large-data.md"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_what_is_refused_by_name(params, message):
    with pytest.raises(ParameterError, match=message):
        trained(params, n=1)


def test_functions_cannot_be_missing():
    with pytest.raises(lgb.LightGBMError, match="expected a function of gradients"):
        trained({"objective": "none"}, n=1)
    with pytest.raises(lgb.LightGBMError, match="communicator"):
        trained(n=1).set_network("a:1")


def test_messages_go_to_a_logger():
    lines = []

    class Log:
        def tell(self, text):
            lines.append(text)

        warn = tell

    with pytest.raises(TypeError, match=r"Logger must provide 'info' and 'warning' method"):
        lgb.register_logger(Log())
    try:
        lgb.register_logger(Log(), "tell", "warn")
        data = lgb.Dataset(X, Y)
        lgb.train({"verbosity": 0, "colour": 1}, data, 1, valid_sets=[data],
                  callbacks=[lgb.log_evaluation()])  # fmt: skip
    finally:
        from pyopencl_gbdt.compat.lightgbm.errors import MESSAGES

        MESSAGES.logger = None
    assert lines[0] == "Unknown parameter: colour"
    assert lines[-1].startswith("[1]\ttraining's l2: ")


def test_parameters_are_kept_in_the_text():
    booster = trained({"objective": "binary", "metric": ["auc", "l2"]}, TWO, 3)
    text = booster.model_to_string()
    for line in ("[objective: binary]", "[num_iterations: 3]", "[metric: auc,l2]"):
        assert line in text
    again = lgb.Booster(model_str=text)
    assert (again.params["objective"], again.params["num_leaves"]) == ("binary", 7)


def test_metrics_that_do_not_fit_the_loss():
    data = lgb.Dataset(X, GRADES, group=[20] * 20)
    params = {**QUIET, "objective": "lambdarank", "metric": "l2"}
    assert set(lgb.cv(params, data, 2, nfold=2)) == {"valid l2-mean", "valid l2-stdv"}
    own = {}
    plain = lgb.Dataset(X, TWO)
    lgb.train({**QUIET, "metric": ["auc", "binary_error"]}, plain, 3, valid_sets=[plain],
              callbacks=[lgb.record_evaluation(own)])  # fmt: skip
    assert own["training"]["auc"][-1] > 0.8


@pytest.mark.parametrize("name", ["metric", "num_class", "boosting"])
def test_what_cannot_change_during_training(name):
    booster = lgb.Booster(QUIET, lgb.Dataset(X, Y))
    with pytest.raises(lgb.LightGBMError, match=f"Cannot change {name} during training"):
        booster.reset_parameter({name: "other"})


def test_folds_are_prepared_by_the_user():
    def add_class(mine, other, params):
        rows = [one.construct().get_data() for one in (mine, other)]
        mine.label[-5:] = other.label[-5:] = 3
        first = lgb.Dataset(rows[0], mine.label)
        params["num_class"] = 4
        return first, lgb.Dataset(rows[1], other.label, reference=first), params

    data = lgb.Dataset(X, THREE, free_raw_data=False)
    params = {**QUIET, "objective": "multiclass", "num_class": 3}
    found = lgb.cv(params, data, 2, nfold=2, fpreproc=add_class, return_cvbooster=True)
    assert found["cvbooster"].num_model_per_iteration() == [4, 4]


def test_a_kept_booster_goes_on():
    data = lgb.Dataset(X, Y)
    booster = trained(n=3, keep_training_booster=True)
    booster.update()
    assert np.array_equal(booster.predict(X), trained(n=4).predict(X))
    part = data.subset(range(300))
    few = data.subset(range(300, 400)).subset(range(50))
    own = {}
    lgb.train(QUIET, part, 3, valid_sets=[part, few], callbacks=[lgb.record_evaluation(own)])
    assert {name: len(one["l2"]) for name, one in own.items()} == {"training": 3, "valid_1": 3}


def test_linear_leaves(tmp_path):
    y = 2 * X[:, 0] + X[:, 1]
    booster = trained({"linear_tree": True}, y, 5)
    plain = trained(y=y, n=5)
    errors = [np.mean((one.predict(X) - y) ** 2) for one in (booster, plain)]
    assert errors[0] < errors[1]
    booster.save_model(tmp_path / "model.txt")
    again = lgb.Booster(model_file=tmp_path / "model.txt")
    assert np.allclose(again.predict(X), booster.predict(X), atol=1e-4)
    assert booster.predict(X, pred_leaf=True).shape == (400, 5)
    leaves, pending = [], [booster.dump_model()["tree_info"][1]["tree_structure"]]
    while pending:
        node = pending.pop()
        pending += [node[side] for side in ("left_child", "right_child") if side in node]
        leaves += [node] if "leaf_value" in node else []
    assert all(len(leaf["leaf_features"]) == len(leaf["leaf_coeff"]) for leaf in leaves)
    assert max(len(leaf["leaf_features"]) for leaf in leaves) > 0
    assert all(
        leaf["leaf_const"] == leaf["leaf_value"] for leaf in leaves if not leaf["leaf_coeff"]
    )
    more = trained({"linear_tree": True}, y, 2, init_model=booster)
    assert more.num_trees() == 7
