"""Early stopping of presets: what turns it off, what it watches, what explicit values change."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.callbacks import EvaluationMonitor
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.presets import NEWEST, PRESETS, Preset, RoundsSearch
from pyopencl_gbdt.estimators.stopping import StoppingParameters
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=300) / 4
C = Y > 0
RULE = StoppingParameters(
    early_stopping=True, validation_fraction=0.2, n_iter_no_change=8, tol=0, refit=True
)
SEARCH = RoundsSearch(rate=0.4, n_iter_no_change=5, refit_rate=0.1, refit_rounds=4)
QUICK = {"max_depth": 3, "learning_rate": 0.3, "n_estimators": "auto"}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setitem(PRESETS, "quick-1", Preset("Few rounds.", QUICK, stopping=RULE))
    bag = Preset("Few rounds, a bag.", QUICK, stopping=RULE, n_folds=3)
    monkeypatch.setitem(PRESETS, "bag-1", bag)
    monkeypatch.setitem(NEWEST, "quick", "quick-1")
    free = {**QUICK, "learning_rate": "auto"}
    monkeypatch.setitem(
        PRESETS, "search-1", Preset("A search.", free, stopping=RULE, search=SEARCH)
    )


def made(kind=GBDTRegressor, labels=Y, preset="quick", fit=None, **given):
    return kind(preset=preset, device=TEST_DEVICE, **given).fit(X, labels, **(fit or {}))


@pytest.fixture(scope="module")
def usual():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "quick-1", Preset("Few rounds.", QUICK, stopping=RULE))
        return made(preset="quick-1").model_.ensemble


@pytest.mark.parametrize(
    "given",
    [
        {"n_estimators": "auto"},
        {"callbacks": []},
        {"n_iter_no_change": 8},
        {"early_stopping": True},
        {"early_stopping": np.True_, "refit": np.True_},
        {"eval_metric": r2_score},
        {"eval_metric": ["mae", r2_score]},
        {"refit": True, "callbacks": []},
    ],
)
def test_the_rule_of_the_preset_stays(usual, given):
    assert made(**given).model_.ensemble == usual


@pytest.mark.parametrize("metric", [roc_auc_score, accuracy_score])
def test_a_classifier_watches_its_loss_instead_of_a_function(metric):
    by_loss = made(GBDTClassifier, C).model_.ensemble
    assert made(GBDTClassifier, C, eval_metric=metric).model_.ensemble == by_loss


def test_members_of_a_bag_watch_the_loss_instead_of_a_function():
    by_loss = made(preset="bag-1").model_.ensemble
    assert made(preset="bag-1", eval_metric=r2_score).model_.ensemble == by_loss


def test_functions_are_evaluated_where_their_history_is_kept():
    sets = {"eval_set": [(X[:50], Y[:50])]}
    fitted = made(eval_metric=r2_score, refit=False, fit=sets)
    assert list(fitted.evals_result()["held_out"]) == ["r2_score", "rmse"]
    scores = fitted.evals_result()["held_out"]["rmse"]
    assert fitted.best_iteration == int(np.argmin(scores))
    again = made(eval_metric=r2_score, fit=sets)
    assert list(again.evals_result()["validation_0"]) == ["r2_score"]


@pytest.mark.parametrize("preset", ["quick", "bag-1", "xgboost"])
@pytest.mark.parametrize("given", [{"early_stopping": True}, {"n_iter_no_change": 3}])
def test_who_asks_to_stop_by_a_function_is_asked_for_a_scorer(preset, given):
    few = {"n_estimators": 5, **given}
    with pytest.raises(ParameterError, match=r"eval_metric=r2_score: expected a named .*scoring="):
        made(preset=preset, eval_metric=["mae", r2_score], **few)
    assert made(preset=preset, eval_metric=r2_score, scoring="r2", **few).n_iter_ <= 15


def test_callbacks_and_a_watched_set_see_one_training():
    seen = made(early_stopping=True, callbacks=[EvaluationMonitor(period=100)])
    assert list(seen.evals_result()) == ["held_out"]
    watched = made(early_stopping=True, fit={"eval_set": [(X[:50], Y[:50] + 1)]})
    assert watched.best_iteration < watched.n_iter_
    assert list(watched.evals_result()) == ["validation_0"]


def test_numpys_booleans_are_booleans():
    last = made(has_time=True).model_.ensemble
    assert made(has_time=np.True_).model_.ensemble == last
    assert made(early_stopping=np.False_, n_estimators=3).n_iter_ == 3
    with pytest.raises(ParameterError, match=r"preset='bag-1': expected no .*has_time"):
        made(preset="bag-1", has_time=np.True_)


def test_a_refit_tells_that_the_best_round_is_the_last(tmp_path):
    fitted = made()
    for name in ("best_iteration", "best_score"):
        with pytest.raises(AttributeError, match=rf"{name}: .* n_iter_; give refit=False"):
            getattr(fitted, name)
    first = made(refit=False)
    assert first.best_iteration + 1 == fitted.n_iter_
    first.save_model(tmp_path / "model.json")
    assert fitted.load_model(tmp_path / "model.json").best_iteration == first.best_iteration


def test_no_round_is_refitted_to_no_round():
    fitted = made(n_estimators=0, early_stopping=True, refit=True)
    assert fitted.n_iter_ == 0
    assert fitted.predict(X[:1]) == pytest.approx(Y.mean(), rel=1e-4)


def test_a_scorer_that_is_not_there_is_refused_without_early_stopping():
    with pytest.raises(ParameterError, match="scoring='nonsense': expected 'loss', the name of"):
        made(n_estimators=3, scoring="nonsense")


def test_no_patience_is_refused():
    with pytest.raises(ParameterError, match="early_stopping_rounds=0: expected an integer >= 1"):
        made(early_stopping=True, early_stopping_rounds=0)


def test_rounds_of_a_refit_are_found_at_a_larger_rate():
    found = made(preset="search-1").model_
    given = {"learning_rate": 0.4, "n_estimators": 150, "n_iter_no_change": 5}
    stopped = made(**given, early_stopping=True, refit=False)
    rounds = 4 * (stopped.best_iteration + 1)
    assert found.parameters["learning_rate"] == 0.1
    assert found.num_boosted_rounds() == found.parameters["n_estimators"] == rounds
    exact = made(learning_rate=0.1, n_estimators=rounds).model_
    assert found.ensemble == exact.ensemble
    asked = made(preset="search-1", learning_rate="auto", n_estimators="auto").model_
    assert asked.ensemble == found.ensemble


def test_an_own_patience_is_that_of_the_search():
    found = made(preset="search-1", n_iter_no_change=9)
    given = {"learning_rate": 0.4, "n_estimators": 150, "n_iter_no_change": 9}
    stopped = made(**given, early_stopping=True, refit=False)
    assert found.n_iter_ == 4 * (stopped.best_iteration + 1)
    again = made(preset="search-1", early_stopping=True, early_stopping_rounds=9)
    assert again.n_iter_ == found.n_iter_


@pytest.mark.parametrize(
    "given", [{"learning_rate": 0.3}, {"refit": False}, {"early_stopping": True, "n_estimators": 7}]
)
def test_who_needs_no_search(given):
    found = made(preset="search-1", **given).model_
    without = Preset("No search.", PRESETS["search-1"].shared, stopping=RULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "search-1", without)
        assert made(preset="search-1", **given).model_.ensemble == found.ensemble
