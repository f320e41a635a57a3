"""`compat.lightgbm`: losses, metrics and callbacks; beside LightGBM where it is installed."""

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb
from tests.compat.lightgbm_data import GRADES, QUIET, THREE, TWO, X, Y, trained
from tests.compat.signatures import differences, parameters_of

#: Members that are made by other libraries, or that stand for what is not here.
REASONS = {
    **{f"{name}.get_metadata_routing": "scikit-learn's" for name in ("LGBMModel", "LGBMRanker")},
}


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


def test_arguments_that_are_handed_on_are_checked():
    with pytest.raises(TypeError, match=r"fit\(\) got an unexpected keyword argument 'group'"):
        lgb.LGBMRegressor().fit(X, Y, group=[len(Y)])
    with pytest.raises(TypeError, match=r"fit\(\) missing a required argument: 'y'"):
        lgb.LGBMRegressor().fit(X)


@pytest.mark.few(4)
@pytest.mark.more(5)
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
        booster = lib.train({**QUIET, **params}, data, 12, valid_sets=[data],
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
    from pyopencl_gbdt.compat.lightgbm.objectives import HostRows, pairs_of_ranks

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
