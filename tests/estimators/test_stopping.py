"""Early stopping of the estimators by themselves, with scikit-learn's parameters."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression

from pyopencl_gbdt import GBDTClassifier, GBDTRandomForestClassifier, GBDTRanker, GBDTRegressor
from pyopencl_gbdt.callbacks.base import Plan
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import DataError, DataWarning, ParameterError
from pyopencl_gbdt.estimators import stopping
from pyopencl_gbdt.estimators.held_out import HoldOut, NothingHeldOutError
from pyopencl_gbdt.estimators.stopping import NoChange
from tests.conftest import TEST_DEVICE

X, Y = make_regression(n_samples=80, n_features=6, random_state=0)
XC, CODES = make_classification(n_samples=90, n_classes=3, n_informative=5, random_state=0)
YC = np.array(["a", "b", "c"])[CODES]
MANY = {"preset": "xgboost", "n_estimators": 60, "max_depth": 3, "device": TEST_DEVICE}
STOP = {**MANY, "early_stopping": True, "n_iter_no_change": 3}


@pytest.mark.few(5)
@pytest.mark.parametrize("fraction", [0.2, 16, None])
@pytest.mark.parametrize("scoring", ["loss", None, "neg_mean_squared_error"])
def test_a_regressor_stops(fraction, scoring):
    tol = 1e-7 if fraction else {None: 0.01, "loss": 5.0}.get(scoring, 500.0)
    options = {"validation_fraction": fraction, "scoring": scoring, "tol": tol}
    fitted = GBDTRegressor(**{**STOP, **options}).fit(X, Y)
    assert 3 <= fitted.n_iter_ < 60
    scores = fitted.train_score_ if fraction is None else fitted.validation_score_
    assert scores.size == fitted.n_iter_
    assert fitted.best_iteration == scores.argmax()
    if scoring is None:
        assert scores.max() <= 1
    assert list(fitted.evals_result()) == ["training" if fraction is None else "held_out"]
    again = clone(fitted).fit(X, Y)
    assert again.model_.ensemble == fitted.model_.ensemble


@pytest.mark.parametrize(
    "scoring", ["loss", None, "accuracy", "neg_log_loss", lambda one, X, y: one.score(X, y)]
)
def test_a_classifier_stops_by_the_labels_of_the_user(scoring):
    fitted = GBDTClassifier(scoring=scoring, **STOP).fit(XC, YC)
    assert 3 <= fitted.n_iter_ < 60
    rest, held = HoldOut(0.1, classes=True).divide(Dataset(XC, CODES))
    assert (rest.size, held.size) == (81, 9)
    assert np.bincount(CODES[held]).tolist() == [3, 3, 3]
    if scoring in (None, "accuracy"):
        found = fitted.score(XC[held], YC[held])
        assert found == pytest.approx(fitted.validation_score_[fitted.best_iteration])


def test_weights_reach_the_scorer():
    seen = []

    def weighted(one, X, y, sample_weight=None):
        seen.append(None if sample_weight is None else sample_weight.size)
        return float(one.predict(X).mean())

    GBDTRegressor(scoring=weighted, **STOP).fit(X, Y, sample_weight=np.ones(80))
    assert set(seen) == {8}


def test_rounds_are_trained_whole_unless_asked_to_stop():
    assert GBDTRegressor(**MANY).fit(X, Y).n_iter_ == 60
    assert GBDTRegressor(**MANY, early_stopping=False, n_iter_no_change=2).fit(X, Y).n_iter_ == 60
    assert GBDTRegressor(**MANY, early_stopping="auto").fit(X, Y).n_iter_ == 60
    assert GBDTRegressor(**MANY, n_iter_no_change=2).fit(X, Y).n_iter_ < 60


def test_auto_stops_above_a_number_of_rows(monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.estimators.training.AUTO_ROWS", 79)
    assert GBDTRegressor(**MANY, early_stopping="auto").fit(X, Y).n_iter_ < 60
    assert GBDTRegressor(**MANY, early_stopping="auto").fit(X[:79], Y[:79]).n_iter_ == 60


def test_a_given_set_is_watched_and_no_row_held_out():
    mine = GBDTRegressor(**STOP).fit(X[:60], Y[:60], eval_set=[(X[60:], Y[60:])])
    assert list(mine.evals_result()) == ["validation_0"]
    assert mine.n_iter_ < 60
    rounds = GBDTRegressor(**{**MANY, "n_estimators": mine.n_iter_}).fit(X[:60], Y[:60])
    assert rounds.model_.ensemble.trees == mine.model_.ensemble.trees


def test_a_refit_takes_all_rows_and_the_rounds_found():
    first = GBDTRegressor(**STOP).fit(X, Y)
    again = GBDTRegressor(**STOP, refit=True).fit(X, Y)
    rounds = first.best_iteration + 1
    assert again.n_iter_ == rounds
    wanted = GBDTRegressor(**{**MANY, "n_estimators": rounds}).fit(X, Y)
    assert again.model_.ensemble.trees == wanted.model_.ensemble.trees


def test_groups_stay_together_and_the_last_rows_are_held_out():
    groups = np.repeat(np.arange(16), 5)[np.random.default_rng(0).permutation(80)]
    data = Dataset(X, Y)
    rest, held = HoldOut(0.2, groups=groups).divide(data)
    assert set(groups[rest]).isdisjoint(groups[held])
    assert held.size >= 16
    assert np.array_equal(np.sort(np.concatenate([rest, held])), np.arange(80))
    rest, held = HoldOut(0.25, in_time=True).divide(data)
    assert held.tolist() == list(range(60, 80))
    fitted = GBDTRegressor(**STOP, has_time=True).fit(X, Y)
    by_hand = GBDTRegressor(**MANY, n_iter_no_change=3)
    by_hand.fit(X[:72], Y[:72], eval_set=[(X[72:], Y[72:])])
    assert fitted.model_.ensemble.trees == by_hand.model_.ensemble.trees
    with pytest.raises(DataError, match=r"groups of shape \(3,\): expected \(80,\)"):
        GBDTRegressor(**STOP).fit(X, Y, groups=[1, 2, 3])


def test_queries_stay_together():
    ranks = (Y > 0).astype(int)
    fitted = GBDTRanker(**STOP).fit(X, ranks, group=[20, 20, 20, 20])
    assert fitted.n_iter_ < 60
    rest, held = HoldOut(0.1).divide(Dataset(X, ranks, group=[20, 20, 20, 20]))
    assert (rest.size, held.size) == (60, 20)
    assert held[-1] - held[0] == 19


def test_classes_keep_their_shares_and_one_row_of_each():
    codes = np.array([0] * 50 + [1] * 30 + [2])
    _, held = HoldOut(10, classes=True).divide(Dataset(np.zeros((81, 1)), codes))
    assert np.bincount(codes[held], minlength=3).tolist() == [6, 4, 0]


@pytest.mark.parametrize(
    ("rows", "division", "why"),
    [
        (slice(9), HoldOut(0.1), "9 rows are too few to hold out 1"),
        (slice(30), HoldOut(30), "30 rows are too few to hold out 30"),
        (slice(30), HoldOut(0.1, groups=[5] * 30), "all rows are of one group"),
    ],
)
def test_what_cannot_be_held_out(rows, division, why):
    with pytest.raises(NothingHeldOutError, match=why):
        division.divide(Dataset(X[rows], Y[rows]))


def test_where_no_rows_can_be_held_out_all_rounds_are_trained(capsys):
    with pytest.warns(DataWarning, match="all rows are of one class: expected more; all rounds"):
        fitted = GBDTClassifier(**STOP).fit(XC, np.full(90, "a"))
    assert fitted.n_iter_ == 60
    data = Dataset(X[:5], Y[:5])
    seen = stopping.watch(data, [], HoldOut(0.1), asked=False, quiet=False)
    assert (seen.data, seen.watched) == (data, "")
    assert "too few to hold out 1: all rounds are trained" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"early_stopping": "never"}, "early_stopping='never': expected True, False, 'auto'"),
        ({"validation_fraction": 1.5}, r"validation_fraction=1\.5: expected a number between 0"),
        ({"validation_fraction": 0}, "validation_fraction=0: expected a number between 0"),
        ({"validation_fraction": True}, "validation_fraction=True: expected a number between 0"),
        ({"n_iter_no_change": 0}, "n_iter_no_change=0: expected an integer >= 1"),
        ({"n_iter_no_change": 2.5}, r"n_iter_no_change=2\.5: expected an integer >= 1"),
        ({"tol": -1}, "tol=-1: expected a finite number >= 0"),
        ({"tol": "x"}, "tol='x': expected a finite number >= 0"),
        ({"refit": 1}, "refit=1: expected True, False or None"),
        ({"scoring": "goodness"}, "scoring='goodness': expected 'loss', the name of a scorer"),
        ({"scoring": 3}, "scoring=3: expected 'loss', the name of a scorer"),
    ],
)
def test_wrong_values(given, message):
    with pytest.raises(ParameterError, match=message):
        GBDTRegressor(**{**STOP, **given}).fit(X, Y)


def test_forests_do_not_stop():
    forest = GBDTRandomForestClassifier(n_estimators=3, early_stopping=False, device=TEST_DEVICE)
    forest.fit(XC, YC)
    with pytest.raises(ParameterError, match="early_stopping: expected None"):
        forest.set_params(early_stopping=True).fit(XC, YC)


class Running:
    """What a callback needs of a training."""

    is_cv = False

    def __init__(self):
        self.attributes = {}

    def num_boosted_rounds(self):
        return 0


def rounds_until_stop(scores, rounds, tol=0.0, maximize=None):
    rule = NoChange(rounds, min_delta=tol, maximize=maximize)
    rule.check(Plan(len(scores), {"held_out": ["rmse"]}, dict))
    rule.before_training(Running())
    for number in range(len(scores)):
        if rule.after_iteration(Running(), number, {"held_out": {"rmse": scores[: number + 1]}}):
            return number + 1, rule.best_iteration
    return None, rule.best_iteration


@pytest.mark.parametrize(
    ("scores", "rounds", "tol", "stops", "best"),
    [
        ([3.0, 2.0, 1.0], 1, 0, None, 2),
        ([3.0, 2.0, 2.0, 1.0], 1, 0, 3, 1),
        ([3.0, 2.0, 2.5, 2.4, 2.6], 2, 0, 4, 1),
        ([1.0, 5.0, 4.0, 3.0, 2.0], 2, 0, 3, 0),
        ([3.0, 2.9, 2.8, 2.7], 2, 0.5, 3, 2),
        ([3.0, float("nan"), float("nan")], 2, 0, 3, 0),
    ],
)
def test_the_rule_is_scikit_learns(scores, rounds, tol, stops, best):
    assert rounds_until_stop(scores, rounds, tol) == (stops, best)
    negated = [-score for score in scores]
    assert rounds_until_stop(negated, rounds, tol, maximize=True) == (stops, best)
