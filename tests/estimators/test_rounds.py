"""The estimators around their rounds: evaluation sets, early stopping, margins, going on."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, train
from pyopencl_gbdt.callbacks import EarlyStopping, TrainingCheckPoint
from pyopencl_gbdt.errors import DataError, NotFittedError, ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(21)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = X[:, 0] * X[:, 1] + RNG.standard_normal(300) / 2
LABEL = np.where(Y > 0, "yes", "no")
OWN, OTHER = slice(0, 200), slice(200, 300)
EVAL = [(X[OTHER], Y[OTHER])]


PLAIN = {"preset": "xgboost", "n_estimators": 8, "max_depth": 3, "device": TEST_DEVICE}


def regressor(**more):
    return GBDTRegressor(
        **{"preset": "xgboost", "n_estimators": 8, "max_depth": 3, "device": TEST_DEVICE, **more}
    )


def classifier(**more):
    return GBDTClassifier(
        **{"preset": "xgboost", "n_estimators": 8, "max_depth": 3, "device": TEST_DEVICE, **more}
    )


def text_of(estimator):
    return to_xgboost_json(estimator.model_.ensemble)


def test_early_stopping():
    fitted = regressor(n_estimators=80, early_stopping_rounds=5)
    fitted.fit(X[OWN], Y[OWN], eval_set=EVAL)
    scores = fitted.evals_result()["validation_0"]["rmse"]
    assert fitted.best_iteration == int(np.argmin(scores))
    assert fitted.best_score == min(scores)
    best = fitted.best_iteration + 1
    assert len(scores) == best + 5
    short = regressor(n_estimators=best).fit(X[OWN], Y[OWN])
    np.testing.assert_array_equal(fitted.predict(X), short.predict(X))
    error = np.sqrt(np.mean((fitted.predict(X[OTHER]) - Y[OTHER]) ** 2))
    assert fitted.best_score == pytest.approx(error, rel=1e-6)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.best_iteration == fitted.best_iteration
    with pytest.raises(AttributeError, match="early_stopping_rounds="):
        short.best_iteration  # noqa: B018
    with pytest.raises(NotFittedError):
        regressor().best_score  # noqa: B018


def test_callbacks_of_an_estimator():
    stop = EarlyStopping(5, metric_name="mae")
    fitted = regressor(n_estimators=80, eval_metric=["mae", "rmse"], callbacks=[stop])
    fitted.fit(X[OWN], Y[OWN], eval_set=EVAL)
    best = fitted.best_iteration + 1
    assert fitted.model_.num_boosted_rounds() == best + 5
    short = regressor(n_estimators=best).fit(X[OWN], Y[OWN])
    np.testing.assert_array_equal(fitted.predict(X), short.predict(X))
    every = fitted.predict(X, iteration_range=(0, best + 5))
    assert not np.array_equal(every, short.predict(X))
    copy = clone(fitted)
    assert copy.callbacks[0].rounds == 5
    copy.fit(X[OWN], Y[OWN], eval_set=EVAL)
    assert text_of(copy) == text_of(fitted)


def test_weights_and_margins_of_evaluation_sets():
    weight, margin = RNG.integers(1, 4, 100), np.linspace(-1, 1, 100)
    fitted = regressor().fit(
        X[OWN], Y[OWN], base_margin=Y[OWN] / 2, eval_set=[*EVAL, *EVAL, (X, Y)],
        sample_weight_eval_set=[weight, None, None], base_margin_eval_set=[margin, None, Y / 2],
    )  # fmt: skip
    data = Dataset(X[OWN], Y[OWN], base_margin=Y[OWN] / 2)
    evals = [
        (Dataset(X[OTHER], Y[OTHER], weight, base_margin=margin), "validation_0"),
        (Dataset(X[OTHER], Y[OTHER]), "validation_1"),
        (Dataset(X, Y, base_margin=Y / 2), "validation_2"),
    ]
    params = {"device": TEST_DEVICE, "max_depth": 3}
    model = train(params, data, 8, evals=evals)
    assert to_xgboost_json(model.ensemble) == text_of(fitted)
    assert fitted.evals_result() == model.history
    predicted = fitted.predict(X, base_margin=Y / 2)
    error = np.sqrt(np.mean((predicted - Y) ** 2))
    assert model.history["validation_2"]["rmse"][-1] == pytest.approx(error, rel=1e-6)


def test_the_training_rows_as_evaluation_set():
    own, labels = X[OWN], Y[OWN]
    same = regressor().fit(own, labels, eval_set=[(own, labels)])
    copy = regressor().fit(own, labels, eval_set=[(own.copy(), labels)])
    assert same.evals_result() == copy.evals_result()


@pytest.mark.parametrize("name", ["xgb_model", "init_model"])
@pytest.mark.parametrize(("kind", "y"), [(regressor, Y), (classifier, LABEL)])
def test_going_on(kind, y, name, tmp_path):
    whole = kind(n_estimators=12).fit(X, y)
    first = kind(n_estimators=5).fit(X, y)
    first.save_model(tmp_path / "m.json")
    for before in (first, first.model_, first.model_.ensemble, tmp_path / "m.json"):
        more = kind(n_estimators=7).fit(X, y, **{name: before})
        assert text_of(more) == text_of(whole)
        np.testing.assert_array_equal(more.predict(X), whole.predict(X))
    assert first.model_.num_boosted_rounds() == 5


def test_going_on_with_other_classes():
    first = classifier().fit(X, LABEL)
    with pytest.raises(DataError, match=r"classes \['no', 'yes'\]"):
        classifier().fit(X, Y > 0, xgb_model=first)
    with pytest.raises(ParameterError, match="two names of one parameter"):
        classifier().fit(X, LABEL, xgb_model=first, init_model=first)
    with pytest.raises(NotFittedError):
        classifier().fit(X, LABEL, xgb_model=classifier())


def test_predictions_of_a_classifier():
    fitted = classifier().fit(X, LABEL)
    margin = fitted.predict(X, output_margin=True)
    labels = np.array(["no", "yes"])[(margin > 0).astype(int)]
    np.testing.assert_array_equal(fitted.predict(X), labels)
    early = fitted.predict_proba(X, iteration_range=(0, 3))
    np.testing.assert_array_equal(early, classifier(n_estimators=3).fit(X, LABEL).predict_proba(X))
    assert set(fitted.predict(X, base_margin=np.full(300, 50.0))) == {"yes"}
    proba = fitted.predict_proba(X, base_margin=np.full(300, -50.0))
    assert (proba[:, 1] < 1e-6).all()


def test_a_checkpoint_of_an_estimator(tmp_path):
    callbacks = [TrainingCheckPoint(tmp_path, interval=3)]
    fitted = classifier(callbacks=callbacks).fit(X, LABEL)
    again = classifier(callbacks=callbacks).fit(X, LABEL)
    assert text_of(fitted) == text_of(again) == text_of(classifier().fit(X, LABEL))
    with pytest.raises(ParameterError, match=r"data\.label differs"):
        classifier(callbacks=callbacks).fit(X, LABEL[::-1])


BAD = [
    ({"early_stopping_rounds": 5}, {}, ParameterError, "expected an evaluation set to watch"),
    ({"early_stopping_rounds": 0}, {"eval_set": EVAL}, ParameterError, "rounds=0"),
    ({"callbacks": [3]}, {}, ParameterError, r"callbacks\[0\]=3: expected a TrainingCallback"),
    ({}, {"eval_set": [X]}, ParameterError, r"eval_set\[0\]=ndarray: expected \(X, y\)"),
    ({}, {"eval_set": EVAL, "sample_weight_eval_set": []}, ParameterError, "0 entries: expected"),
    ({}, {"eval_set": EVAL, "base_margin_eval_set": [[1]]}, DataError, "base_margin has 1 value"),
    ({}, {"base_margin": np.zeros(3)}, DataError, "base_margin has 3 values"),
]


@pytest.mark.parametrize(("params", "fit", "error", "words"), BAD)
def test_bad_input(params, fit, error, words):
    estimator = regressor(**params)
    with pytest.raises(error, match=words):
        estimator.fit(X, Y, **fit)
    assert not hasattr(estimator, "model_")
