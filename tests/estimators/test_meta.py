"""The estimators inside scikit-learn's meta-estimators, transformers and inspections."""

import numpy as np
import pandas as pd
import pytest
from sklearn import model_selection
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    StackingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import (
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from pyopencl_gbdt import (
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRandomForestRegressor,
    GBDTRegressor,
)
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(17)
X = RNG.standard_normal((200, 4)).astype(np.float32)
Y = X[:, 0] - 2 * X[:, 1] + RNG.standard_normal(200) / 4
LABEL = np.where(Y > 0, "yes", "no")
THREE = np.digitize(Y, [-1, 1])
PAIR = (X[:, :2] > 0).astype(int)
FRAME = pd.DataFrame(X.astype(np.float64), columns=list("abcd"))
MIXED = FRAME.assign(e=np.repeat(["u", "v"], 100))
SMALL = {"n_estimators": 4, "device": TEST_DEVICE}


def regressor(**more):
    return GBDTRegressor(**{**SMALL, **more})


def classifier(**more):
    return GBDTClassifier(**{**SMALL, **more})


REGRESSORS = [GBDTRegressor(**SMALL), GBDTRandomForestRegressor(**SMALL)]
CLASSIFIERS = [GBDTClassifier(**SMALL), GBDTRandomForestClassifier(**SMALL)]


def table(kind):
    columns = [("number", StandardScaler(), list("abcd")),
               ("letter", OneHotEncoder(sparse_output=False), ["e"])]  # fmt: skip
    made = ColumnTransformer(columns, verbose_feature_names_out=False)
    return made.set_output(transform=kind)


@pytest.mark.parametrize("kind", ["default", "pandas", "polars"])
@pytest.mark.parametrize("last", [*REGRESSORS, *CLASSIFIERS], ids=lambda e: type(e).__name__)
def test_behind_a_column_transformer(kind, last):
    if kind == "polars":
        pytest.importorskip("polars")
    y = Y if last in REGRESSORS else LABEL
    whole = make_pipeline(table(kind), clone(last)).fit(MIXED, y)
    plain = clone(last).fit(table("default").fit_transform(MIXED), y)
    np.testing.assert_array_equal(
        whole.predict(MIXED), plain.predict(table("default").fit_transform(MIXED))
    )
    assert whole.score(MIXED, y) > 0.5
    if kind == "pandas":
        assert list(whole[-1].feature_names_in_) == ["a", "b", "c", "d", "e_u", "e_v"]


@pytest.mark.parametrize("one", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_calibration(one):
    for y in (LABEL, THREE):
        calibrated = CalibratedClassifierCV(clone(one), cv=2).fit(X, y)
        assert calibrated.score(X, y) > 0.8
        proba = calibrated.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)


def test_a_frozen_estimator():
    since_1_6 = pytest.importorskip("sklearn.frozen")
    fitted = classifier().fit(X, LABEL)
    frozen = since_1_6.FrozenEstimator(fitted).fit(X[:10], LABEL[::-1][:10])
    np.testing.assert_array_equal(frozen.predict_proba(X), fitted.predict_proba(X))
    assert CalibratedClassifierCV(frozen).fit(X, LABEL).score(X, LABEL) > 0.9


@pytest.mark.skipif(
    not hasattr(model_selection, "TunedThresholdClassifierCV"), reason="scikit-learn before 1.5"
)
def test_a_tuned_threshold():
    tuned = model_selection.TunedThresholdClassifierCV(classifier(n_estimators=8), cv=2)
    assert tuned.fit(X, LABEL).score(X, LABEL) > 0.9


def test_missing_values_are_let_through():
    """RFECV asks the estimator's tags; before scikit-learn 1.6 they are those of ``_more_tags``."""
    gaps = np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan)
    found = RFECV(regressor(), cv=2, min_features_to_select=3).fit(gaps, Y)
    assert found.support_[:2].all()


def test_stacking_and_voting():
    both = [("trees", classifier()), ("forest", GBDTRandomForestClassifier(**SMALL))]
    for y in (LABEL, THREE):
        stacked = StackingClassifier(both, LogisticRegression(), cv=2).fit(X, y)
        assert stacked.score(X, y) > 0.8
    on_top = StackingClassifier(both, classifier(), cv=2, passthrough=True)
    assert on_top.fit(FRAME, LABEL).score(FRAME, LABEL) > 0.9
    both = [("trees", regressor()), ("forest", GBDTRandomForestRegressor(**SMALL))]
    voting = VotingRegressor(both).fit(X, Y)
    own = [one.fit(X, Y).predict(X) for _, one in both]
    np.testing.assert_allclose(voting.predict(X), np.mean(own, axis=0), rtol=1e-5)


def test_bagging_and_boosting_of_it():
    bagged = BaggingClassifier(classifier(n_estimators=8), n_estimators=2, random_state=0)
    assert bagged.fit(X, LABEL).score(X, LABEL) > 0.9
    boosted = AdaBoostRegressor(regressor(), n_estimators=2, random_state=0)
    assert boosted.fit(X, Y).score(X, Y) > 0.8


def test_several_outputs():
    chain = ClassifierChain(classifier(), cv=2).fit(X, PAIR)
    assert chain.predict_proba(X).shape == (200, 2)
    assert chain.score(X, PAIR) > 0.9
    chain = RegressorChain(regressor()).fit(X, np.c_[Y, -Y])
    np.testing.assert_array_equal(chain.predict(X)[:, 0], regressor().fit(X, Y).predict(X))
    one_class = np.c_[LABEL, np.full(200, "same")]
    several = MultiOutputClassifier(classifier()).fit(X, one_class)
    assert (several.predict(X)[:, 1] == "same").all()
    assert [proba.shape for proba in several.predict_proba(X)] == [(200, 2), (200, 1)]


@pytest.mark.parametrize("one", [*REGRESSORS, *CLASSIFIERS], ids=lambda e: type(e).__name__)
def test_inspections(one):
    y = Y if one in REGRESSORS else LABEL
    fitted = clone(one).fit(FRAME, y)
    found = permutation_importance(fitted, FRAME, y, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 1
    curve = partial_dependence(fitted, FRAME, ["b"], grid_resolution=5)["average"][0]
    assert curve[0] != curve[-1]
    if one in REGRESSORS:
        assert curve[0] > curve[-1]


def test_selection_of_features():
    chosen = SelectFromModel(regressor(importance_type="total_gain")).fit(X, Y)
    assert chosen.get_support().tolist() == [False, True, False, False]
    assert RFE(regressor(), n_features_to_select=2).fit(X, Y).support_.tolist() == [
        True, True, False, False
    ]  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("one", [*REGRESSORS, *CLASSIFIERS], ids=lambda e: type(e).__name__)
def test_searches_and_curves(one):
    y = Y if one in REGRESSORS else LABEL
    scores = cross_val_score(clone(one), X, y, cv=3)
    assert (scores > 0.5).all()
    space = {"learning_rate": [0.3, 1.0], "n_estimators": [3, 6]}
    search = RandomizedSearchCV(clone(one), space, n_iter=2, cv=2, random_state=0).fit(X, y)
    assert np.isfinite(search.best_score_)
    sizes, _, tests = learning_curve(clone(one), X, y, cv=2, train_sizes=[0.5, 1.0])
    assert sizes.tolist() == [50, 100]
    assert np.isfinite(tests).all()


def test_predictions_of_held_back_rows():
    proba = cross_val_predict(classifier(), X, THREE, cv=2, method="predict_proba")
    assert proba.shape == (200, 3)
    known = np.where(np.arange(200) % 4 == 0, -1, Y > 0)
    assert SelfTrainingClassifier(classifier()).fit(X, known).score(X, Y > 0) > 0.8
    logs = TransformedTargetRegressor(regressor(), func=np.log, inverse_func=np.exp)
    wanted = np.exp(regressor().fit(X, Y).predict(X))
    np.testing.assert_allclose(logs.fit(X, np.exp(Y)).predict(X), wanted, rtol=1e-5)


@pytest.mark.parametrize("one", [*REGRESSORS, *CLASSIFIERS], ids=lambda e: type(e).__name__)
def test_score_takes_weights(one):
    y = Y if one in REGRESSORS else LABEL
    weight = np.where(np.arange(200) < 100, 1, 0)
    fitted = clone(one).fit(X, y)
    assert fitted.score(X, y, sample_weight=weight) == pytest.approx(fitted.score(X[:100], y[:100]))
    if one in REGRESSORS:
        scorer = make_scorer(r2_score)
        assert scorer(fitted, X, y) == pytest.approx(fitted.score(X, y))
