"""`compat.lightgbm` takes and refuses values of parameters as LightGBM does."""

import logging

import numpy as np
import pytest

from pyopencl_gbdt.compat import lightgbm as lgb
from pyopencl_gbdt.compat.lightgbm.settings import column_shares
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compat.test_lightgbm_values import libraries

RNG = np.random.default_rng(3)
X = RNG.normal(size=(120, 3))
CLASSES = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
QUIET = {"verbosity": -1, "num_leaves": 3, "min_data_in_leaf": 3}


def error_of(lib):
    return ParameterError if lib is lgb else lib.basic.LightGBMError


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bagging_fraction": 1.5}, r"Check failed: \(bagging_fraction\) <= \(1.0\)"),
        ({"colsample_bytree": 0}, r"Check failed: \(feature_fraction\) > \(0.0\)"),
        ({"learning_rate": 0}, r"Check failed: \(learning_rate\) > \(0.0\)"),
        ({"num_leaves": 1}, r"Check failed: \(num_leaves\) > \(1\)"),
        ({"num_leaves": 200000}, r"Check failed: \(num_leaves\) <= \(131072\)"),
        ({"tweedie_variance_power": 2.0}, r"Check failed: \(tweedie_variance_power\) < \(2.0\)"),
        ({"max_bin": 1}, r"Check failed: \(max_bin\) > \(1\)"),
        ({"drop_rate": 1.1}, r"Check failed: \(drop_rate\) <= \(1.0\)"),
        ({"num_leaves": 7.0}, 'Parameter num_leaves should be of type int, got "7.0"'),
        ({"min_data_in_leaf": 0.5}, 'Parameter min_data_in_leaf should be of type int, got "0.5"'),
        ({"extra_trees": "maybe"}, 'Parameter extra_trees should be "true"/"." or "false"/"-"'),
        ({"auc_mu_weights": [1, 2]}, "auc_mu_weights must have 1 elements, but found 2"),
        ({"objective": "multiclass", "num_class": 2, "auc_mu_weights": [0, 0, 1, 0]},
         "Found zero value in position 1 of auc_mu_weights"),
    ],
    ids=str,
)  # fmt: skip
def test_values_out_of_range(params, message):
    for lib in libraries():
        with pytest.raises(error_of(lib), match=message):
            lib.train({**QUIET, **params}, lib.Dataset(X, CLASSES > 0), 1)


def test_a_number_that_is_none():
    with pytest.raises(ParameterError, match='learning_rate should be of type double, got "abc"'):
        lgb.train({**QUIET, "learning_rate": "abc"}, lgb.Dataset(X, CLASSES), 1)


def test_errors_say_what_to_do():
    with pytest.raises(ParameterError, match="expected >0 and <=1; lower bagging_fraction"):
        lgb.train({**QUIET, "subsample": 1.5}, lgb.Dataset(X, CLASSES), 1)


def test_texts_are_numbers_and_flags():
    data = lgb.Dataset(X, CLASSES)
    plain = lgb.train({**QUIET, "num_leaves": 4, "eta": 0.5, "extra_trees": False}, data, 2)
    texts = {"num_leaves": "4", "eta": "0.5", "extra_trees": "-"}
    assert np.array_equal(lgb.train({**QUIET, **texts}, data, 2).predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("metric", "found"),
    [
        (["l2", "None"], ["l2"]),
        ("None,l1", ["l1"]),
        (["", "l1"], ["l1"]),
        ("", ["l2"]),
        (["custom"], []),
        ("na", []),
    ],
    ids=str,
)
def test_names_of_no_metric(metric, found):
    for lib in libraries():
        data, results = lib.Dataset(X, CLASSES), {}
        lib.train({**QUIET, "metric": metric}, data, 1, valid_sets=[data],
                  callbacks=[lib.record_evaluation(results)])  # fmt: skip
        assert list(results.get("training", {})) == found


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
@pytest.mark.parametrize(
    "weights", [None, [0, 2, 3, 4, 0, 1, 1, 2, 0], "0,1,2,1,0,1,1,1,0"], ids=str
)
def test_areas_under_curves_of_pairs_of_classes(objective, weights):
    """The scores are margins, here the given ones: each tree is a leaf of about 0."""
    start = RNG.normal(size=(120, 3))
    params = {**QUIET, "objective": objective, "num_class": 3, "metric": "auc_mu",
              "min_data_in_leaf": 500, "auc_mu_weights": weights}  # fmt: skip
    given = "0,1,1,1,0,1,1,1,0" if weights is None else weights
    loss = np.array(given.split(",") if isinstance(given, str) else given, float).reshape(3, 3)
    areas = []
    for one, other in ((0, 1), (0, 2), (1, 2)):
        side = loss[one] - loss[other]
        score = start @ side * (side[one] - side[other])
        first, second = (score[k == CLASSES][:, None] for k in (one, other))
        areas.append(np.mean(first > second.T))
    for lib in libraries():
        data, results = lib.Dataset(X, CLASSES, init_score=start), {}
        booster = lib.train(params, data, 1, valid_sets=[data], keep_training_booster=True,
                            callbacks=[lib.record_evaluation(results)])  # fmt: skip
        assert results["training"]["auc_mu"][0] == pytest.approx(np.mean(areas), abs=2e-3)
        assert booster.eval_train()[0][2] == pytest.approx(np.mean(areas), abs=2e-3)


def test_nothing_is_told_of_kernels(caplog, capfd):
    """LightGBM's usual verbosity tells nothing of this library's own work."""
    with caplog.at_level(logging.DEBUG):
        lgb.train({"num_leaves": 3}, lgb.Dataset(X[:, :2], CLASSES), 1)
    assert "kernels" not in caplog.text + "".join(capfd.readouterr())


FOREST = {
    **QUIET,
    "boosting": "rf",
    "feature_fraction": 0.99,
    "min_data_in_bin": 1,
}


@pytest.mark.parametrize("objective", ["regression", "binary", "huber"])
def test_forests_are_means_of_trees_that_start_from_the_mean(objective):
    """No column is left out of 3 x 0.99, so all trees are the same."""
    y = X[:, 0] + 2 if objective != "binary" else (CLASSES > 0).astype(float)
    shown = []
    for lib in libraries():
        booster = lib.train({**FOREST, "objective": objective}, lib.Dataset(X, y), 3)
        one = booster.predict(X, num_iteration=1)
        assert np.allclose(booster.predict(X), one, rtol=1e-6)
        raw = booster.predict(X, raw_score=True)
        assert np.allclose(raw, 3 * booster.predict(X, raw_score=True, num_iteration=1))
        assert np.allclose(booster.predict(X, pred_contrib=True).sum(axis=1), raw, atol=1e-5)
        assert booster.dump_model()["average_output"]
        again = lib.Booster(model_str=booster.model_to_string())
        assert np.allclose(again.predict(X), booster.predict(X), rtol=1e-6)
        assert again.model_to_string().count("\naverage_output\n") == 1
        ends = booster.lower_bound(), booster.upper_bound()
        refitted = [one.refit(X, y[::-1].copy()).predict(X[:20]) for one in (booster, again)]
        assert np.allclose(*refitted, rtol=1e-6)
        shown.append([*ends, *raw[:9], *refitted[0]])
    assert np.allclose(shown[0], shown[-1], rtol=1e-4)


def test_positive_rows_of_forests_weigh_as_asked():
    y = (CLASSES > 0).astype(float)
    params = {**FOREST, "objective": "binary"}
    for how in ({"is_unbalance": True}, {"scale_pos_weight": 3.0}):
        found = [lib.train({**params, **how}, lib.Dataset(X, y), 1) for lib in libraries()]
        plain, given = lgb.train(params, lgb.Dataset(X, y), 1), found[0]
        assert not np.array_equal(plain.predict(X), given.predict(X))
        assert np.allclose(given.predict(X), found[-1].predict(X), rtol=1e-4)


def test_what_forests_cannot_start_from(tmp_path):
    data = lgb.Dataset(X, X[:, 0], init_score=X[:, 1])
    with pytest.raises(ParameterError, match="'rf': init_score was given: expected None"):
        lgb.train(FOREST, data, 1)
    data = lgb.Dataset(X, X[:, 0])
    with pytest.raises(ParameterError, match="'rf': init_model was given: expected None"):
        lgb.train(FOREST, data, 1, init_model=lgb.train(FOREST, data, 1))
    loss = lambda margins, rows: (margins - rows.get_label(), np.ones(120))  # noqa: E731
    with pytest.raises(ParameterError, match="RF mode do not support custom objective function"):
        lgb.train({**FOREST, "objective": loss}, data, 1)
    path = tmp_path / "forest.txt"
    first = lgb.train(FOREST, data, 2).save_model(path)
    assert np.allclose(lgb.Booster(model_file=path).predict(X), first.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("share", "n", "drawn"), [(0.99, 3, 3), (0.5, 3, 2), (0.1, 9, 2), (0.5, 9, 5), (0.3, 1, 1)]
)
def test_as_many_columns_are_drawn(share, n, drawn):
    found = column_shares({"feature_fraction": share, "feature_fraction_bynode": 0.5}, n)
    counts = Parameters.from_dict(found).column_counts(n)
    assert counts[0] == drawn
    assert counts[2] == max(int(drawn * 0.5 + 0.5), min(2, drawn))


def test_ranges_of_columns_are_those_of_the_rows():
    rows = np.column_stack([X, np.ones(120), CLASSES + 3])
    rows[4, 1] = np.nan
    infos = []
    for lib in libraries():
        data = lib.Dataset(rows, X[:, 0], categorical_feature=[4])
        booster = lib.train({**QUIET, "min_data_in_bin": 1}, data, 2)
        again = lib.Booster(model_str=booster.model_to_string())
        (line,) = [x for x in again.model_to_string().split("\n") if x.startswith("feature_infos=")]
        infos.append(line.removeprefix("feature_infos=").split(" ")[:4])
        dumped = again.dump_model()["feature_infos"]
        assert dumped["Column_0"] == {
            "min_value": X[:, 0].min(), "max_value": X[:, 0].max(), "values": [],
        }  # fmt: skip
        assert "Column_3" not in dumped
        assert {3, 4, 5}.issubset(dumped["Column_4"]["values"])
        assert booster.dump_model()["feature_infos"] == dumped
    assert infos[0] == infos[-1]
    assert infos[0][3] == "none"
