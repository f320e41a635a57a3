"""Estimators and ``train`` with every loss: links, probabilities, refusals, twins of whole fits."""

import pickle

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, train
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.objectives.samples import LOSSES, ONE_OUTPUT, few_values, name_of

REGRESSION = [case for case in ONE_OUTPUT if not case[0].startswith("binary:")]
BINARY = [case for case in LOSSES if case[0].startswith("binary:")]


@pytest.mark.few(3)
@pytest.mark.more(8)
@pytest.mark.parametrize("case", REGRESSION, ids=name_of)
def test_regressor(case):
    name, params = case
    X, y = few_values(name, 0, 1500)
    model = GBDTRegressor(objective=name, n_estimators=8, device=TEST_DEVICE, **params)
    model.set_params(learning_rate=0.1).fit(X, y, eval_set=[(X, y)])
    objective = get_objective(name, Parameters.from_dict({"objective": name, **params}))
    margins = model.model_.predict(X, output_margin=True, device=TEST_DEVICE)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, objective.to_prediction(margins))
    values = model.evals_result()["validation_0"][objective.metric]
    of_metric = {"huber_slope", "quantile_alpha", "expectile_alpha"}
    p = Parameters.from_dict(params if of_metric & {*params} else {})
    wanted = get_metric(objective.metric, p)(y, predicted, None)
    assert values[-1] == pytest.approx(wanted, rel=1e-6)
    assert values[-1] < values[0]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), predicted)


@pytest.mark.few(3)
@pytest.mark.parametrize("case", BINARY, ids=name_of)
def test_classifier(case):
    name, params = case
    X, y = few_values(name, 0, 1500)
    labels = np.where(y > 0, "yes", "no")
    model = GBDTClassifier(objective=name, n_estimators=20, device=TEST_DEVICE, **params)
    model.fit(X, labels, eval_set=[(X, labels)])
    proba = model.predict_proba(X)
    assert ((proba >= 0) & (proba <= 1)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-6)
    assert (model.predict(X) == labels).mean() > 0.6
    margins = model.model_.predict(X, output_margin=True, device=TEST_DEVICE)
    np.testing.assert_array_equal(model.predict(X) == "yes", proba[:, 1] > 0.5)
    assert np.abs((margins > 0) == (proba[:, 1] > 0.5)).mean() > 0.999
    values = model.evals_result()["validation_0"][model.model_.objective.metric]
    assert values[-1] < values[0]


def test_refusals():
    X, y = few_values("reg:gamma", 0, 100)
    with pytest.raises(ParameterError, match="for GBDTClassifier; use GBDTRegressor"):
        GBDTClassifier(objective="reg:gamma", device=TEST_DEVICE).fit(X, y > 1)
    with pytest.raises(DataError, match="expected label > 0 for objective='reg:gamma'"):
        GBDTRegressor(objective="reg:gamma", device=TEST_DEVICE).fit(X, y - 1)
    data, other = Dataset(X, y), Dataset(X, -y)
    with pytest.raises(DataError, match="expected label >= 0 for objective='count:poisson'"):
        train({"objective": "count:poisson"}, data, 1, evals=[(other, "test")])
    with pytest.raises(ParameterError, match="eval_metric='tweedie-nloglik': expected a number"):
        train({}, data, 1, evals=[(data, "a")], eval_metric="tweedie-nloglik")


@pytest.mark.few(3)
@pytest.mark.more(12)
@pytest.mark.parametrize("case", LOSSES, ids=name_of)
def test_fit_is_the_references(case):
    name, params = case
    X, y = few_values(name, 7, 400)
    weight = np.random.default_rng(2).integers(0, 3, y.size).astype(np.float32)
    given = {"objective": name, "max_depth": 3, "n_estimators": 3, "max_bin": 32, **params}
    trained_as_twin(given, X, y, weight)


@pytest.mark.few(3)
@pytest.mark.more(8)
@pytest.mark.parametrize("case", LOSSES, ids=name_of)
def test_a_weight_counts_as_rows(case):
    name, params = case
    X, y = few_values(name, 8, 300)
    times = np.random.default_rng(2).integers(0, 4, y.size)
    given = {"objective": name, "max_depth": 3, "n_estimators": 2, "device": TEST_DEVICE, **params}
    weighted = train(given, Dataset(X, y, times)).ensemble
    # quantiles interpolate where there are no weights
    ones = np.ones(times.sum()) if get_objective(name).renews else None
    repeated = train(given, Dataset(np.repeat(X, times, 0), np.repeat(y, times), ones)).ensemble
    assert weighted.base_score == repeated.base_score
    for a, b in zip(weighted.trees, repeated.trees, strict=True):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_allclose(a.value, b.value, rtol=1e-5, atol=1e-6)
