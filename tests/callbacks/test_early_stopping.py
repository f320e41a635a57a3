"""Early stopping: the round it stops at, what is kept, what is predicted; as XGBoost stops."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.callbacks import EarlyStopping, Plan
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(5)
X = RNG.standard_normal((400, 5)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.standard_normal(400) > 0).astype(np.float32)
DATA, TEST = Dataset(X[:250], Y[:250]), Dataset(X[250:], Y[250:])
PARAMS = {"device": TEST_DEVICE, "max_depth": 4, "objective": "binary:logistic"}
EVALS = [(DATA, "train"), (TEST, "test")]


def test_it_stops_and_predicts_by_the_best_rounds():
    whole = train(PARAMS, DATA, 60, evals=EVALS)
    scores = whole.history["test"]["logloss"]
    best = int(np.argmin(scores))
    model = train(PARAMS, DATA, 60, evals=EVALS, early_stopping_rounds=7)
    assert model.best_iteration == best
    assert model.best_score == scores[best]
    assert model.history["test"]["logloss"] == scores[: best + 8]
    assert model.ensemble.trees == whole.ensemble.trees[: best + 8]
    assert model.rounds_to_predict == best + 1
    short = train(PARAMS, DATA, best + 1)
    assert np.array_equal(
        model.predict(X, device=TEST_DEVICE), short.predict(X, device=TEST_DEVICE)
    )


def test_the_file_knows_the_best_round(tmp_path):
    model = train(PARAMS, DATA, 60, evals=EVALS, early_stopping_rounds=3)
    model.save_model(tmp_path / "m.json")
    again = Model.load_model(tmp_path / "m.json")
    assert (again.best_iteration, again.best_score) == (model.best_iteration, model.best_score)
    plain = train(PARAMS, DATA, 2)
    with pytest.raises(AttributeError, match="early_stopping_rounds="):
        plain.best_iteration  # noqa: B018


def test_the_best_rounds_alone_may_be_kept(tmp_path):
    callback = EarlyStopping(4, save_best=True)
    model = train(PARAMS, DATA, 60, evals=EVALS, callbacks=[callback])
    every = train(PARAMS, DATA, 60, evals=EVALS, early_stopping_rounds=4)
    assert model.best_iteration == every.best_iteration
    assert model.ensemble.trees == every.ensemble.trees[: model.best_iteration + 1]
    assert model.rounds_to_predict == model.num_boosted_rounds() < every.num_boosted_rounds()
    for one in (model, every):
        one.save_model(tmp_path / "m.json")
        assert np.array_equal(
            Model.load_model(tmp_path / "m.json").predict(X, device=TEST_DEVICE),
            model.predict(X, device=TEST_DEVICE),
        )


def test_all_rounds_are_kept():
    model = train(PARAMS, DATA, 60, evals=EVALS, early_stopping_rounds=4)
    best = model.best_iteration
    assert model.num_boosted_rounds() == best + 5
    short = train(PARAMS, DATA, best + 1).predict(X, device=TEST_DEVICE)
    assert np.array_equal(model.predict(X, device=TEST_DEVICE), short)
    every = model.predict(X, device=TEST_DEVICE, iteration_range=(0, best + 5))
    assert np.array_equal(every, train(PARAMS, DATA, best + 5).predict(X, device=TEST_DEVICE))
    assert not np.array_equal(every, short)


def test_ranges_of_rounds_add_up():
    model = train(PARAMS, DATA, 6)
    zero = np.zeros(len(X), np.float32)

    def margin(first, last, start=zero):
        return model.predict(
            X,
            output_margin=True,
            iteration_range=(first, last),
            base_margin=start,
            device=TEST_DEVICE,
        )

    base = np.full(len(X), model.ensemble.base_margin, np.float32)
    whole = model.predict(X, output_margin=True, device=TEST_DEVICE)
    assert np.array_equal(margin(2, 6, margin(0, 2, base)), whole)
    assert np.array_equal(margin(0, 6, base), margin(0, 0, base))
    for asked in [(2, 2), (0, 7), (-1, 3), (3, 1), "ab", 4, (1, 2, 3), (0.5, 2)]:
        with pytest.raises(
            ParameterError, match=r"iteration_range=.*: expected 0 <= begin < end <= 6"
        ):
            model.predict(X, iteration_range=asked)


def test_the_last_set_and_the_last_metric_are_watched():
    metrics = ["auc", "logloss", "error"]
    model = train(PARAMS, DATA, 40, evals=EVALS, eval_metric=metrics, early_stopping_rounds=5)
    assert model.best_iteration == int(np.argmin(model.history["test"]["error"]))
    named = EarlyStopping(5, metric_name="auc", data_name="train")
    model = train(PARAMS, DATA, 40, evals=EVALS, eval_metric=metrics, callbacks=[named])
    assert model.best_iteration == int(np.argmax(model.history["train"]["auc"]))


def stopped_at(scores, rounds=3, metric="rmse", **options):
    """Return how many rounds are looked at, and the best one."""

    class Attributes(dict):
        attributes: dict = {}  # noqa: RUF012
        is_cv = True

        def num_boosted_rounds(self):
            return 0

    callback, model = EarlyStopping(rounds, **options), Attributes()
    callback.check(Plan(len(scores), {"test": [metric]}, None))
    callback.before_training(model)
    for epoch in range(len(scores)):
        if callback.after_iteration(model, epoch, {"test": {metric: scores[: epoch + 1]}}):
            return epoch + 1, callback.best_iteration
    return len(scores), callback.best_iteration


def test_scores_by_hand():
    falling = [5.0, 4.0, 3.9, 3.8, 3.7, 3.6, 3.5, 3.4]
    assert stopped_at(falling) == (8, 7)
    assert stopped_at(falling, min_delta=1.0) == (6, 2)  # a change of exactly that is none
    assert stopped_at(falling, min_delta=0.5) == (5, 1)
    assert stopped_at(falling, maximize=True) == (4, 0)
    assert stopped_at(falling, metric="auc") == (4, 0)
    assert stopped_at(falling, metric="ndcg@3") == (4, 0)
    assert stopped_at(falling, metric="mape") == (8, 7)
    assert stopped_at(falling[::-1], metric="auc") == (8, 7)
    assert stopped_at([1.0] * 9) == (4, 0)
    nan = float("nan")
    assert stopped_at([1.0, nan, nan, 0.5, nan, nan, nan, 0.1]) == (7, 3)
    assert stopped_at([nan, 2.0, 1.0]) == (3, 2)
    assert stopped_at([(2.0, 0.1), (1.0, 0.1)]) == (2, 1)  # means and deviations over folds


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": 0}, "early_stopping_rounds=0: expected an integer >= 1"),
        ({"rounds": 1.5}, "early_stopping_rounds=1.5"),
        ({"rounds": True}, "early_stopping_rounds=True"),
        ({"rounds": 2, "min_delta": -1.0}, "min_delta=-1.0: expected a finite number >= 0"),
        ({"rounds": 2, "min_delta": float("nan")}, "min_delta=nan"),
        ({"rounds": 2, "metric_name": "auc"}, r"metric_name='auc': expected one of \['logloss'\]"),
        (
            {"rounds": 2, "data_name": "valid"},
            r"data_name='valid': expected one of \['train', 'test",
        ),
    ],
)
def test_bad_settings_are_refused_before_anything_runs(monkeypatch, options, words):
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    with pytest.raises(ParameterError, match=words):
        train(PARAMS, DATA, 5, evals=EVALS, callbacks=[EarlyStopping(**options)])


def test_without_an_evaluation_set(monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    with pytest.raises(ParameterError, match="early_stopping_rounds=5: expected an evaluation set"):
        train(PARAMS, DATA, 5, early_stopping_rounds=5)


def test_xgboosts_estimator_predicts_by_the_best_rounds_too(tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost")
    ours = train(PARAMS, DATA, 50, evals=EVALS, early_stopping_rounds=4)
    ours.save_model(tmp_path / "m.json")
    theirs = xgboost.XGBRegressor()
    theirs.load_model(tmp_path / "m.json")
    assert theirs.best_iteration == ours.best_iteration
    assert theirs.get_booster().num_boosted_rounds() == ours.num_boosted_rounds()
    found = ours.predict(X, device=TEST_DEVICE)
    np.testing.assert_allclose(theirs.predict(X), found, atol=1e-6)
    all_rounds = ours.predict(X, device=TEST_DEVICE, iteration_range=(0, ours.best_iteration + 5))
    assert np.abs(all_rounds - found).max() > 1e-3


def test_a_stopped_training_is_continued():
    first = train(PARAMS, DATA, 60, evals=EVALS, early_stopping_rounds=3)
    n = first.num_boosted_rounds()
    more = train(PARAMS, DATA, 60, evals=EVALS, early_stopping_rounds=3, model=first)
    assert more.best_iteration >= n > first.best_iteration + 1
    assert more.num_boosted_rounds() == more.best_iteration + 4
    plain = train(PARAMS, DATA, 5, model=first)  # the best round of the first part says nothing
    assert plain.rounds_to_predict == plain.num_boosted_rounds() == n + 5
    whole = train(PARAMS, DATA, more.num_boosted_rounds())
    assert to_xgboost_json(whole.ensemble).count("split_indices") == more.num_boosted_rounds()
    assert more.ensemble.trees == whole.ensemble.trees
