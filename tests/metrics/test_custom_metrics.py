"""Metrics of a user's own, for ``train``, ``cv`` and estimators; losses of estimators."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, KernelObjective, cv, train
from pyopencl_gbdt.errors import ParameterError
from tests.conftest import TEST_DEVICE
from tests.objectives.samples import few_values

X, Y = few_values("count:poisson", 0, 700)
DATA = Dataset(X, Y)
PARAMS = {"device": TEST_DEVICE, "max_depth": 3}


def biggest(prediction, dataset):
    """Return the largest difference."""
    return "biggest", np.abs(prediction - dataset.get_label()).max()


def mean_error(y_true, y_pred, sample_weight=None):
    return float(np.average(np.abs(y_true - y_pred), weights=sample_weight))


# -- train and cv --------------------------------------------------------------------------------
@pytest.mark.parametrize("objective", ["reg:squarederror", "count:poisson"])
def test_values_are_of_predictions(objective):
    params = {**PARAMS, "objective": objective}
    evals = [(DATA, "a"), (Dataset(X[:50], Y[:50]), "b")]
    model = train(params, DATA, 5, evals=evals, eval_metric=["mae", biggest])
    assert list(model.history["a"]) == ["mae", "biggest"]
    for name, rows in (("a", X), ("b", X[:50])):
        values = model.history[name]["biggest"]
        label = Y[: len(rows)]
        assert values[-1] == np.abs(model.predict(rows, device=TEST_DEVICE) - label).max()
        assert len(values) == 5
    alone = train(params, DATA, 5, evals=evals, eval_metric=biggest).history
    assert alone["b"] == {"biggest": model.history["b"]["biggest"]}
    both = train(params, DATA, 5, evals=evals, custom_metric=biggest).history["a"]
    assert list(both)[-1] == "biggest"
    assert len(both) == 2


def test_early_stopping():
    evals = [(DATA, "a")]
    calls = []

    def rising(prediction, dataset):
        calls.append(0)
        return "rising", min(len(calls), 5)  # once for its name

    model = train(PARAMS, DATA, 30, evals=evals, custom_metric=rising, early_stopping_rounds=3,
                  maximize=True)  # fmt: skip
    assert (model.best_iteration, model.best_score) == (3, 5.0)
    model = train(PARAMS, DATA, 9, evals=evals, custom_metric=biggest, early_stopping_rounds=3)
    values = model.history["a"]["biggest"]
    assert model.best_score == min(values)


def test_cross_validation():
    found = cv(PARAMS, DATA, 4, metrics=["mae", biggest], as_pandas=False)
    other = cv(PARAMS, DATA, 4, metrics="mae", custom_metric=biggest, as_pandas=False)
    assert found == other
    assert len(found["test-biggest-mean"]) == 4


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (3.0, r"eval_metric: metric returned 3.0: expected a name and a number"),
        (("a", "b"), r"metric returned \('a', 'b'\): expected a name and a number"),
        ((1, 2), "expected a name and a number"),
        (("a", None), "expected a name and a number"),
        (("", 1.0), "expected a name and a number"),
        (("a", np.zeros(2)), "expected a name and a number"),
        (("a", 1j), "expected a name and a number"),
    ],
)
def test_wrong_results(result, message):
    def metric(prediction, dataset):
        return result

    with pytest.raises(ParameterError, match=message):
        train(PARAMS, DATA, 2, evals=[(DATA, "a")], eval_metric=metric)


def test_numbers_that_numpy_has():
    for value in (np.float32(2), np.array(2.0), np.array([2]), 2, np.int8(2)):
        model = train(
            PARAMS, DATA, 1, evals=[(DATA, "a")], eval_metric=lambda *_, v=value: ("v", v)
        )
        assert model.history["a"]["v"] == [2.0]


def test_names():
    names = iter("aabc")

    def moody(prediction, dataset):
        return next(names), 1.0

    with pytest.raises(ParameterError, match="moody returned the name 'b', but 'a' before"):
        train(PARAMS, DATA, 4, evals=[(DATA, "x")], eval_metric=moody)
    with pytest.raises(ParameterError, match="eval_metric=3: expected one of"):
        train(PARAMS, DATA, 4, eval_metric=[3])
    with pytest.raises(ParameterError, match="eval_metric=3: expected a name, a callable or"):
        train(PARAMS, DATA, 4, eval_metric=3)


# -- estimators ----------------------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_estimators(weighted):
    weight = np.random.default_rng(0).uniform(0, 2, Y.size) if weighted else None
    model = GBDTRegressor(n_estimators=3, eval_metric=["mae", mean_error], **PARAMS)
    model.fit(X, Y, weight, eval_set=[(X, Y)], sample_weight_eval_set=[weight])
    found = model.evals_result()["validation_0"]
    np.testing.assert_allclose(found["mean_error"], found["mae"], rtol=1e-6)


def test_scikit_learns_metrics():
    metrics = pytest.importorskip("sklearn.metrics")
    labels = Y > 1
    model = GBDTClassifier(n_estimators=4, eval_metric=["auc", metrics.roc_auc_score], **PARAMS)
    model.fit(X, labels, eval_set=[(X, labels)])
    found = model.evals_result()["validation_0"]
    np.testing.assert_allclose(found["roc_auc_score"], found["auc"], rtol=1e-9)
    alone = GBDTRegressor(n_estimators=2, eval_metric=metrics.mean_absolute_error, **PARAMS)
    history = alone.fit(X, Y, eval_set=[(X, Y)]).evals_result()
    assert list(history["validation_0"]) == ["mean_absolute_error"]


def squared(y_true, y_pred, sample_weight=None):
    g, h = y_pred - y_true, np.ones_like(y_pred)
    return (g, h) if sample_weight is None else (g * sample_weight, h * sample_weight)


def cross_entropy(y_true, y_pred):
    p = 1 / (1 + np.exp(-y_pred))
    return p - y_true, p * (1 - p)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_regressors_loss(weighted):
    xgboost = pytest.importorskip("xgboost")
    weight = np.random.default_rng(0).integers(1, 3, Y.size) if weighted else None
    model = GBDTRegressor(objective=squared, preset="xgboost", n_estimators=6, **PARAMS).fit(
        X, Y, weight
    )
    theirs = xgboost.XGBRegressor(objective=squared, n_estimators=6, max_depth=3, n_jobs=1)
    np.testing.assert_allclose(model.predict(X), theirs.fit(X, Y, sample_weight=weight).predict(X),
                               atol=1e-5)  # fmt: skip
    assert model.model_.ensemble.objective_parameters == {"custom_name": "squared"}


def test_a_loss_without_weights():
    model = GBDTRegressor(objective=lambda y, p: (p - y, np.ones_like(p)), **PARAMS)
    with pytest.raises(ParameterError, match="objective=<lambda>: expected a parameter sample_we"):
        model.fit(X, Y, np.ones_like(Y))
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("form", ["function", "kernel"])
def test_a_classifiers_loss(form, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    sklearn = pytest.importorskip("sklearn")
    code = "const f32 p = portable_sigmoid(margin); g = p - label; h = p * (1.0f - p);"
    loss = cross_entropy if form == "function" else KernelObjective(code)
    labels = np.where(Y > 1, "many", "few")
    model = GBDTClassifier(objective=loss, preset="xgboost", n_estimators=6, **PARAMS)
    model.fit(X, labels, eval_set=[(X, labels)])
    theirs = xgboost.XGBClassifier(objective=cross_entropy, n_estimators=6, max_depth=3, n_jobs=1)
    theirs.fit(X, labels == "many")
    margins = theirs.predict(X, output_margin=True)
    np.testing.assert_allclose(model.predict(X, output_margin=True), margins, atol=1e-5)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-margins)), atol=1e-5)
    assert set(model.predict(X)) == {"many", "few"}
    assert list(model.evals_result()["validation_0"]) == ["logloss"]
    model.save_model(tmp_path / "own.json")
    read = GBDTClassifier(device=TEST_DEVICE).load_model(tmp_path / "own.json")
    np.testing.assert_array_equal(read.predict_proba(X), proba)
    copied = sklearn.base.clone(model).fit(X, labels)
    np.testing.assert_array_equal(copied.predict_proba(X), proba)
