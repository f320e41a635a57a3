"""Estimators of ``compat.xgboost``, beside XGBoost's where it is installed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from tests.compat.xgboost_data import rows, small_integers

sklearn = pytest.importorskip("sklearn")
FEW = {"n_estimators": 4, "max_depth": 3}


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3", reason="needs XGBoost")


def classes(n=3):
    X, y = small_integers()
    return X, (y % n).astype(int)


@pytest.mark.parametrize("kind", ["XGBRegressor", "XGBClassifier", "XGBModel"])
def test_an_estimator_trains_what_xgboosts_does(theirs, kind):
    X, y = small_integers() if kind != "XGBClassifier" else classes()
    found, wanted = (getattr(library, kind)(**FEW).fit(X, y) for library in (xgb, theirs))
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-4)
    assert found.apply(X).shape == wanted.apply(X).shape
    np.testing.assert_allclose(
        found.feature_importances_, wanted.feature_importances_, rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(found.intercept_, wanted.intercept_, rtol=1e-5)
    assert found.n_features_in_ == wanted.n_features_in_
    if kind == "XGBClassifier":
        np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), atol=1e-5)
        assert found.objective == wanted.objective == "multi:softprob"
        assert found.classes_.tolist() == wanted.classes_.tolist()
    own = getattr(xgb, kind)(**FEW)
    assert own.get_num_boosting_rounds() == 4
    assert own.set_params(max_depth=2, colour=3).get_params()["colour"] == 3
    assert sklearn.base.clone(own).get_params() == own.get_params()


def test_rankers_are_xgboosts(theirs):
    X, y = small_integers()
    qid = np.repeat(np.arange(10), 20)
    for how in ({"qid": qid}, {"group": [20] * 10, "sample_weight": np.arange(10) + 1}):
        found, wanted = (
            library.XGBRanker(**FEW).fit(X, y % 3, eval_set=[(X, y % 3)], eval_qid=[qid], **how)
            for library in (xgb, theirs)
        )
        own, other = (one.evals_result()["validation_0"] for one in (found, wanted))
        assert list(own) == list(other)
        for name in own:
            np.testing.assert_allclose(own[name], other[name], rtol=0.02)
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abc")).assign(qid=qid)
    by_column = xgb.XGBRanker(**FEW).fit(table, y % 3)
    assert by_column.feature_names_in_.tolist() == list("abc")
    assert by_column.score(table, y % 3) > 0.5
    assert by_column.apply(table).shape == (200, 4)
    for how, words in (({}, "Either `group` or `qid`"), ({"qid": qid}, "special column `qid`")):
        with pytest.raises(ValueError, match=words):
            xgb.XGBRanker().fit(X if not how else table, y, **how)
    for objective in ("reg:squarederror", len):
        with pytest.raises(ValueError, match=r"XGBRanker"):
            xgb.XGBRanker(objective=objective)


@pytest.mark.parametrize("kind", ["XGBRFClassifier", "XGBRFRegressor"])
def test_forests_are_one_round(kind):
    X, y = classes(2)
    own = getattr(xgb, kind)(n_estimators=5).fit(X, y)
    assert own.get_booster().num_boosted_rounds() == 1
    assert len(own.get_booster().get_dump()) == 5
    assert own.score(X, y) > 0.5
    for how in ({"early_stopping_rounds": 3}, {"callbacks": []}):
        with pytest.raises(NotImplementedError, match="random forest"):
            getattr(xgb, kind)(**how)


def test_estimators_predict_by_the_rounds_up_to_the_best(capsys):
    X, y = rows(300)
    own = xgb.XGBRegressor(learning_rate=1, early_stopping_rounds=2)
    own.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=3)
    best = own.best_iteration
    assert best + 1 < own.get_booster().num_boosted_rounds()
    assert np.array_equal(own.predict(X), own.predict(X, iteration_range=(0, best + 1)))
    assert own.apply(X).shape == (300, best + 1) if best else (300,)
    assert own.best_score == own.evals_result()["validation_0"]["rmse"][best]
    assert capsys.readouterr().out.startswith("[0]\tvalidation_0-rmse:")
    everything = own.predict(X, iteration_range=(0, own.get_booster().num_boosted_rounds()))
    assert not np.array_equal(everything, own.predict(X))


def test_losses_and_metrics_are_scikit_learns():
    X, y = rows()

    def squared(label, prediction, sample_weight=None):
        weight = 1 if sample_weight is None else sample_weight
        return (prediction - label) * weight, np.ones_like(label) * weight

    def worst(label, prediction):
        return np.abs(label - prediction).max()

    own = xgb.XGBRegressor(objective=squared, eval_metric=["mae", worst], **FEW)
    own.fit(X, y, eval_set=[(X, y)], sample_weight=None, verbose=False)
    assert list(own.evals_result()["validation_0"]) == ["mae", "worst"]
    usual = xgb.XGBRegressor(base_score=0.5, **FEW).fit(X, y)
    assert np.array_equal(own.predict(X), usual.predict(X))
    weight = np.arange(len(y)) % 3
    weighted = xgb.XGBRegressor(objective=squared, **FEW).fit(X, y, sample_weight=weight)
    assert not np.array_equal(weighted.predict(X), own.predict(X))

    def unweighted(label, prediction):
        return prediction - label, np.ones_like(label)

    lacking = xgb.XGBRegressor(objective=unweighted, **FEW)
    with pytest.raises(ValueError, match="doesn't have the `sample_weight` parameter"):
        lacking.fit(X, y, sample_weight=weight)
    with pytest.raises(NotImplementedError, match="multiple custom metrics"):
        xgb.XGBRegressor(eval_metric=[worst, worst]).fit(X, y)
    for metric in (3, [3]):
        with pytest.raises(TypeError, match="Invalid type for the `eval_metric`"):
            xgb.XGBRegressor(eval_metric=metric).fit(X, y)


def test_what_fit_refuses():
    X, y = rows()
    with pytest.raises(ValueError, match="Invalid classes inferred from unique values"):
        xgb.XGBClassifier().fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(ValueError, match="length does not equal `eval_set`'s length"):
        xgb.XGBRegressor().fit(X, y, eval_set=[(X, y)], sample_weight_eval_set=[])
    with pytest.raises(TypeError, match="expected a pair"):
        xgb.XGBRegressor().fit(X, y, eval_set=[X])
    with pytest.raises(ValueError, match="at least 1 validation dataset"):
        xgb.XGBRegressor(early_stopping_rounds=2).fit(X, y)
    with pytest.raises(ValueError, match="tree_method='exact'"):
        xgb.XGBRegressor(enable_categorical=True, tree_method="exact").fit(X, y)
    given = xgb.XGBRegressor(feature_weights=[1] * 4)
    with pytest.warns(UserWarning, match="deprecated"), pytest.raises(ValueError, match="2 diff"):
        given.fit(X, y, feature_weights=[1] * 4)
    with pytest.raises(sklearn.exceptions.NotFittedError, match="need to call fit"):
        xgb.XGBRegressor().predict(X)
    own = xgb.XGBRegressor(n_estimators=1).fit(X, y)
    with pytest.raises(ValueError, match="No evaluation result"):
        own.evals_result()
    for name, words in (("coef_", "not defined"), ("feature_names_in_", "only when"),
                        ("best_iteration", "early stopping")):  # fmt: skip
        with pytest.raises(AttributeError, match=words):
            getattr(own, name)


def test_files_keep_an_estimator(theirs, tmp_path):
    X, y = classes()
    own = xgb.XGBClassifier(**FEW).fit(X, y)
    own.save_model(tmp_path / "model.json")
    for library in (xgb, theirs):
        other = library.XGBClassifier()
        other.load_model(tmp_path / "model.json")
        assert other.n_classes_ == 3
        assert np.array_equal(other.predict(X), own.predict(X))
    with pytest.raises(TypeError, match="Loading an estimator with different type"):
        xgb.XGBRegressor().load_model(tmp_path / "model.json")
    assert own.get_booster().attr("scikit_learn") is None
    again = pickle.loads(pickle.dumps(own))
    assert np.array_equal(again.predict_proba(X), own.predict_proba(X))
    own.get_booster().save_model(tmp_path / "plain.ubj")
    plain = xgb.XGBModel()
    plain.load_model(tmp_path / "plain.ubj")
    assert plain.objective == "multi:softprob"


def test_searches_and_continued_models():
    X, y = rows()
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(xgb.XGBRegressor(n_estimators=2), {"max_depth": [1, 3]}, cv=2)
    assert search.fit(X, y).best_params_["max_depth"] in (1, 3)
    first = xgb.XGBRegressor(**FEW).fit(X, y)
    more = xgb.XGBRegressor(**FEW).fit(X, y, xgb_model=first)
    assert more.get_booster().num_boosted_rounds() == 8
    both = xgb.XGBRegressor(n_estimators=8, max_depth=3).fit(X, y)
    assert np.array_equal(more.predict(X), both.predict(X))


def test_several_labels_and_softmax(theirs):
    X, y = small_integers()
    labels = np.stack([y % 2, y > 3], axis=1).astype(int)
    for estimator, target in (
        ({}, labels), ({"objective": "multi:softmax"}, (y % 3).astype(int))
    ):  # fmt: skip
        found, wanted = (
            library.XGBClassifier(**estimator, **FEW).fit(X, target) for library in (xgb, theirs)
        )
        for call in ("predict", "predict_proba"):
            own, other = (getattr(one, call)(X) for one in (found, wanted))
            assert own.shape == other.shape
            np.testing.assert_allclose(own, other, atol=1e-4)
