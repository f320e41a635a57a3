"""Continued training and per-row margins: the same bits as a training that never stopped."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
RNG = np.random.default_rng(8)
X = RNG.standard_normal((500, 4)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
SCORE = np.nan_to_num(X[:, 0]) * 2 + np.nan_to_num(X[:, 1]) + RNG.standard_normal(500)
WEIGHT = RNG.integers(0, 4, 500).astype(np.float32) / 3
LABELS = {
    "reg:squarederror": SCORE,
    "binary:logistic": SCORE > 0,
    "count:poisson": np.rint(np.abs(SCORE)),
}


def text_of(model):
    return to_xgboost_json(model.ensemble)


@pytest.mark.few(1)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("objective", LABELS)
def test_ten_rounds_and_ten_are_twenty(objective, weight, tmp_path):
    data = Dataset(X, LABELS[objective], weight)
    params = {"device": TEST_DEVICE, "objective": objective}
    whole = train(params, data, 20, evals=[(data, "train")])
    first = train(params, data, 10)
    before = text_of(first)
    second = train(params, data, 10, model=first, evals=[(data, "train")])
    assert text_of(second) == text_of(whole)
    assert text_of(first) == before
    (values,) = second.history["train"].values()
    assert values == next(iter(whole.history["train"].values()))[10:]
    first.save_model(tmp_path / "first.json")
    assert text_of(train(params, data, 10, model=tmp_path / "first.json")) == text_of(whole)
    assert text_of(train(params, data, 10, model=first.save_raw("gbdt"))) == text_of(whole)
    assert text_of(train(params, data, 0, model=first)) == before


def test_ten_and_ten_where_high_words_are_needed():
    heavy = Dataset(X, np.where(np.arange(500) == 7, 1e9, SCORE))
    params = {"device": TEST_DEVICE}
    whole = train(params, heavy, 8, evals=[(heavy, "train")])
    first = train(params, heavy, 4)
    assert text_of(train(params, heavy, 4, model=first, evals=[(heavy, "a")])) == text_of(whole)


def test_other_data_may_follow():
    params = {"device": TEST_DEVICE}
    first = train(params, Dataset(X[:250], SCORE[:250]), 5)
    model = train(params, Dataset(X[250:], SCORE[250:]), 5, model=first)
    assert model.ensemble.trees[:5] == first.ensemble.trees
    assert model.ensemble.base_margin == first.ensemble.base_margin


def test_what_cannot_be_continued(monkeypatch):
    params = {"device": TEST_DEVICE}
    data = Dataset(X, SCORE)
    first = train(params, data, 2)
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    for more, rows, words in [
        ({}, Dataset(X[:, :3], SCORE), "the one to continue has 4 features, the training data 3"),
    ]:
        with pytest.raises((ParameterError, DataError), match=words):
            train({**params, **more}, rows, 2, model=first)
    with pytest.raises(ParameterError, match="model=int: expected a Model or the path of one"):
        train(params, data, 2, model=5)


# -- base_margin -------------------------------------------------------------------------------
def test_margins_of_another_model_are_a_model_that_goes_on():
    params = {"device": TEST_DEVICE}
    whole = train(params, Dataset(X, SCORE), 6)
    first = train(params, Dataset(X, SCORE), 3)
    margins = first.predict(X, output_margin=True, device=TEST_DEVICE)
    data = Dataset(X, SCORE, base_margin=margins)
    second = train(params, data, 3, evals=[(data, "train"), (data.slice(np.arange(500)), "copy")])
    assert second.ensemble.trees == whole.ensemble.trees[3:]
    assert second.history["train"] == second.history["copy"]
    predicted = second.predict(X, base_margin=margins, device=TEST_DEVICE)
    assert np.array_equal(predicted, whole.predict(X, device=TEST_DEVICE))
    error = np.sqrt(np.mean((predicted.astype(np.float64) - data.label) ** 2))
    assert second.history["train"]["rmse"][-1] == pytest.approx(error, rel=1e-6)


def test_margins_and_a_model_to_continue():
    params = {"device": TEST_DEVICE}
    data = Dataset(X, SCORE, base_margin=SCORE / 2)
    first = train(params, data, 3)
    assert text_of(train(params, data, 3, model=first)) == text_of(train(params, data, 6))


def test_margins_as_the_twin_on_the_host():
    """One tree on given margins is a tree on labels from which they were subtracted."""
    margins = np.rint(4 * SCORE).astype(np.float32) / 4
    label = np.rint(64 * SCORE).astype(np.float32) / 64  # differences are exact
    model = train({"device": TEST_DEVICE}, Dataset(X, label, base_margin=margins), 1)
    p = Parameters.from_dict({"n_estimators": 1, "base_score": 0.0})
    assert get_objective(p.objective, p).metric == "rmse"
    assert model.ensemble.trees == train_reference(p, X, label - margins).trees


def test_bad_margins():
    for margins, words in [
        (np.zeros(3), "base_margin has 3 values, X has 500 rows"),
        (np.full(500, np.nan), "base_margin holds"),
        (np.full(500, np.inf), "base_margin holds"),
        (np.zeros((500, 2, 2)), r"base_margin has shape \(500, 2, 2\)"),
    ]:
        with pytest.raises(DataError, match=words):
            Dataset(X, SCORE, base_margin=margins)
    data = Dataset(X, SCORE)
    model = train({"device": TEST_DEVICE}, data, 1)
    with pytest.raises(DataError, match="base_margin has 3 values"):
        model.predict(X, base_margin=np.zeros(3))
    two, words = np.zeros((500, 2)), "base_margin has 2 columns, the model 1 output: .*for every"
    for fail in (
        lambda: model.predict(X, base_margin=two),
        lambda: train({"device": TEST_DEVICE}, Dataset(X, SCORE, base_margin=two), 1),
        lambda: train({}, data, 1, evals=[(Dataset(X, SCORE, base_margin=two), "a")]),
    ):
        with pytest.raises(DataError, match=words):
            fail()


def test_margins_as_xgboost():
    xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost")
    few = np.rint(np.nan_to_num(X[:, :2]) * 2)  # few values: equal cuts
    data = Dataset(few, SCORE, base_margin=SCORE / 2)
    ours = train({"device": TEST_DEVICE, "max_depth": 3}, data, 5, evals=[(data, "train")])
    matrix, log = xgboost.DMatrix(few, SCORE, base_margin=SCORE / 2), {}
    theirs = xgboost.train(
        {"max_depth": 3, "nthread": 1}, matrix, 5, evals=[(matrix, "train")], evals_result=log,
        verbose_eval=False,
    )  # fmt: skip
    np.testing.assert_allclose(ours.history["train"]["rmse"], log["train"]["rmse"], rtol=1e-5)
    predicted = ours.predict(few, base_margin=SCORE / 2, device=TEST_DEVICE)
    np.testing.assert_allclose(predicted, theirs.predict(matrix), rtol=1e-4, atol=1e-4)


def test_names_of_xgboosts_train():
    params, data, log = {"device": TEST_DEVICE, "max_depth": 2}, Dataset(X, SCORE), {"old": 1}
    first = train(params, data, num_boost_round=2, verbose_eval=False)
    evals = [(data, "train")]
    found = train(params, data, 1, xgb_model=first, evals=evals, evals_result=log, verbose_eval=1)
    wanted = train(params, data, 1, model=first, evals=evals)
    assert found.ensemble.trees == wanted.ensemble.trees
    assert log == wanted.history
    assert len(first.ensemble.trees) == 2
    own = train(params, data, 1, obj=lambda margin, rows: (margin - rows.label, 1 + 0 * margin))
    assert own.ensemble.trees == train({**params, "base_score": 0.5}, data, 1).ensemble.trees
    with pytest.raises(ParameterError, match="evals_result is of type list: expected a dict"):
        train(params, data, 1, evals_result=[])
