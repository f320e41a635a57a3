"""`compat.lightgbm`: boosters, their text, trees, refits and folds."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.compat import lightgbm as lgb
from tests.compat.lightgbm_data import GRADES, QUIET, THREE, TWO, X, Y, trained


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
    assert np.array_equal(found.train_set.get_label(), labels.astype(np.float32))
    kept = booster.refit(rows, labels, decay_rate=1.0)
    assert np.allclose(kept.predict(X), booster.predict(X), atol=1e-5)
    assert np.array_equal(found.predict(X, pred_leaf=True), booster.predict(X, pred_leaf=True))
    with pytest.raises(lgb.LightGBMError, match="null objective function"):
        trained({"objective": lambda m, _: (m, m * 0 + 1)}, n=1).refit(rows, labels)


def shrinkage_of(booster):
    """Return what the text and the dump tell of the trees' rates, which has to be the same."""
    text = re.findall(r"^shrinkage=(.*)$", booster.model_to_string(), re.MULTILINE)
    assert np.allclose([one["shrinkage"] for one in booster.dump_model()["tree_info"]],
                       [float(one) for one in text], rtol=1e-5)  # fmt: skip
    return [f"{float(one):g}" for one in text]


def models_of_rates(package):
    """Return models of a package whose trees have different rates."""
    params = {**QUIET, "boost_from_average": False, "min_sum_hessian_in_leaf": 30}
    data = package.Dataset(X, Y)
    half = package.train(params | {"learning_rate": 0.5}, data, 2)
    faster = package.reset_parameter(learning_rate=[0.4, 0.3])
    both = package.train(params, package.Dataset(X, Y), 2, init_model=half, callbacks=[faster])
    average = params | {"boost_from_average": True}
    return half, both, package.train(average, package.Dataset(X, Y + 3), 2)


def test_a_refit_shrinks_each_tree_by_its_own_rate():
    half, both, average = models_of_rates(lgb)
    assert shrinkage_of(half) == ["0.5", "0.5"]
    assert shrinkage_of(both) == ["0.5", "0.5", "0.4", "0.3"]
    assert shrinkage_of(average) == ["1", "0.1"]
    assert shrinkage_of(lgb.Booster(model_str=both.model_to_string(start_iteration=1))) == [
        "0.5", "0.4", "0.3",
    ]  # fmt: skip
    for booster in (both, lgb.Booster(model_str=both.model_to_string()), copy.deepcopy(both)):
        found = booster.refit(X, -Y, decay_rate=0.0)
        leaves, margins = found.predict(X, pred_leaf=True).T, 0.0
        for tree, rate in enumerate([0.5, 0.5, 0.4, 0.3]):
            size = np.bincount(leaves[tree])
            step = rate * np.bincount(leaves[tree], -Y - margins) / size
            mine = [found.get_leaf_output(tree, one) for one in range(size.size)]
            assert np.allclose(mine, step, atol=1e-5)
            margins = margins + step[leaves[tree]]
        assert shrinkage_of(found) == ["0.5", "0.5", "0.4", "0.3"]
    fewer = lgb.Booster(model_str=both.model_to_string()).rollback_one_iter()
    assert shrinkage_of(fewer) == ["0.5", "0.5", "0.4"]
    assert sorted(shrinkage_of(both.shuffle_models())) == ["0.3", "0.4", "0.5", "0.5"]


def test_a_refit_minds_penalties_of_models_that_were_read():
    limits = {"lambda_l1": 3.0, "lambda_l2": 5.0, "max_delta_step": 0.2}
    booster = trained(limits | {"boost_from_average": False}, n=1)
    for one in (booster, lgb.Booster(model_str=booster.model_to_string())):
        found = one.refit(X, -Y, decay_rate=0.0)
        own = found.predict(X, pred_leaf=True)[:, 0]
        sums, size = np.bincount(own, -Y), np.bincount(own)
        step = np.sign(sums) * np.maximum(np.abs(sums) - 3, 0) / (size + 5)
        assert np.allclose(found.predict(X), 0.1 * np.clip(step, -0.2, 0.2)[own], atol=1e-6)


def test_trees_of_other_files_have_rate_1(tmp_path):
    Model(trained(n=2)._model()).save_model(tmp_path / "m.json")
    assert shrinkage_of(lgb.Booster(model_file=tmp_path / "m.json")) == ["1", "1"]


def test_trees_of_dart_tell_their_weights_in_their_rates():
    booster = trained({"boosting": "dart", "drop_rate": 1.0, "skip_drop": 0.0,
                       "boost_from_average": False, "learning_rate": 0.5}, n=2)  # fmt: skip
    weights = booster._kept.tree_weights
    assert weights[0] < 1
    expected = [f"{0.5 * one:g}" for one in weights]
    assert shrinkage_of(booster) == expected
    assert shrinkage_of(booster.refit(X, Y)) == expected


def test_rates_and_refits_beside_lightgbm():
    theirs = pytest.importorskip("lightgbm", minversion="4.7")
    for mine, other in zip(models_of_rates(lgb), models_of_rates(theirs), strict=True):
        assert shrinkage_of(mine) == shrinkage_of(other)
        read = lgb.Booster(model_str=other.model_to_string())
        found, expected = (one.refit(X, -Y, decay_rate=0.3) for one in (read, other))
        assert np.allclose(found.predict(X), expected.predict(X), atol=1e-5)
        own = theirs.Booster(model_str=mine.model_to_string()).refit(X, -Y, decay_rate=0.3)
        assert np.allclose(mine.refit(X, -Y, decay_rate=0.3).predict(X), own.predict(X), atol=1e-5)


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
