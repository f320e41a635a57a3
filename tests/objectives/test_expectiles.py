"""``reg:expectileerror`` is that of XGBoost 3.4; every loss's tests take one expectile."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.objectives import get_objective
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.objectives.samples import few_values

LOSS = "reg:expectileerror"
SMALL = {"objective": LOSS, "max_depth": 3, "device": TEST_DEVICE}
SEVERAL = {**SMALL, "expectile_alpha": [0.1, 0.5, 0.8]}


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3.4", reason="needs XGBoost 3.4")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_one_expectile_is_that_of_xgboost(theirs, alpha, weighted):
    X, y = few_values(LOSS, 3, 600)
    weight = np.arange(600) % 3 + 1 if weighted else None
    params = {**SMALL, "expectile_alpha": alpha}
    history = {}
    matrix = theirs.DMatrix(X, y, weight=weight)
    wanted = theirs.train({**params, "device": "cpu"}, matrix, 4, evals=[(matrix, "a")],
                          evals_result=history, verbose_eval=False)  # fmt: skip
    rows = Dataset(X, y, weight)
    found = train(params, rows, 4, evals=[(rows, "a")])
    np.testing.assert_allclose(found.predict(X), wanted.predict(matrix), rtol=2e-4, atol=2e-5)
    own, other = found.history["a"]["expectile"], history["a"]["expectile"]
    np.testing.assert_allclose(own, other, rtol=1e-5)
    again = Model.load_model(bytes(wanted.save_raw()))
    np.testing.assert_allclose(again.predict(X), wanted.predict(matrix), rtol=1e-5, atol=1e-6)
    back = theirs.Booster(model_file=bytearray(found.save_raw()))
    np.testing.assert_allclose(back.predict(matrix), found.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_expectiles_are_those_of_xgboost(theirs, strategy, weighted):
    """Vectors have another rule for light leaves, so there is no least weight."""
    X, y = few_values(LOSS, 3, 600)
    weight = np.arange(600) % 3 + 1 if weighted else None
    params = {**SEVERAL, "multi_strategy": strategy, "min_child_weight": 0}
    history = {}
    matrix = theirs.DMatrix(X, y, weight=weight)
    wanted = theirs.train({**params, "device": "cpu", "tree_method": "hist"}, matrix, 4,
                          evals=[(matrix, "a")], evals_result=history,
                          verbose_eval=False)  # fmt: skip
    rows = Dataset(X, y, weight)
    found = train(params, rows, 4, evals=[(rows, "a")])
    for margins in (False, True):
        own, other = (
            found.predict(X, output_margin=margins),
            wanted.predict(matrix, output_margin=margins),
        )
        np.testing.assert_allclose(own, other, rtol=2e-4, atol=2e-5)
    own, other = found.history["a"]["expectile"], history["a"]["expectile"]
    np.testing.assert_allclose(own, other, rtol=1e-5)
    again = Model.load_model(bytes(wanted.save_raw()))
    np.testing.assert_allclose(again.predict(X), wanted.predict(matrix), rtol=1e-5, atol=1e-6)
    back = theirs.Booster(model_file=bytearray(found.save_raw()))
    np.testing.assert_allclose(back.predict(matrix), found.predict(X), rtol=1e-5, atol=1e-6)


def test_several_expectiles_train_as_the_twin_and_never_cross():
    X, y = few_values(LOSS, 5, 300)
    found = trained_as_twin({**SEVERAL, "n_estimators": 3}, X, y).predict(X)
    assert found.shape == (300, 3)
    assert (np.diff(found, axis=1) > 0).all()


def test_gradients_of_several_are_derivatives():
    """In float64: of the sum of losses by each margin, and of steps that XGBoost computes."""
    rng = np.random.default_rng(4)
    margins = rng.uniform(-4, 4, (3, 50)).astype(np.float32)
    label = rng.normal(size=50).astype(np.float32)
    own = get_objective(LOSS, {"expectile_alpha": "[0.1, 0.5, 0.8]"})
    alpha = np.float32([0.1, 0.5, 0.8])[:, None].astype(np.float64)

    def predicted(m):
        steps = np.log1p(np.exp(m)) + 1e-6
        steps[0] = m[0]
        return np.cumsum(steps, axis=0)

    def loss(m):
        d = predicted(m) - label
        return (np.where(d >= 0, 1 - alpha, alpha) * d * d / 2).sum(axis=0)

    exact = margins.astype(np.float64)
    np.testing.assert_allclose(own.to_prediction(margins), predicted(exact), rtol=1e-6, atol=1e-6)
    g, h = own.gradient(margins, label)
    for k in range(3):
        move = np.zeros((3, 1))
        move[k] = 1e-6
        slope = (loss(exact + move) - loss(exact - move)) / 2e-6
        np.testing.assert_allclose(g[k], slope, rtol=1e-4, atol=1e-4)
    assert (h > 0).all()
    far = np.float32([[3e38, -3e38], [3e38, -3e38], [0, 3e38]])
    assert all(np.isfinite(part).all() for part in own.gradient(far, np.float32([-3e38, 3e38])))
    assert own.to_margin((0.1, 0.5, 0.5)) == pytest.approx((0.1, -0.70963, -13.81551), rel=1e-4)


def test_half_is_squared_error():
    X, y = few_values(LOSS, 1, 300)
    own = train({**SMALL, "reg_lambda": 0.5, "min_child_weight": 0.5}, Dataset(X, y), 3)
    usual = train(
        {**SMALL, "objective": "reg:squarederror", "reg_lambda": 1.0}, Dataset(X, y), 3
    )  # half the gradients, half the penalties
    np.testing.assert_allclose(own.predict(X), usual.predict(X), rtol=1e-5, atol=1e-6)


def test_expectiles_are_in_order():
    X, y = few_values(LOSS, 2, 500)
    means = [
        train({**SMALL, "expectile_alpha": alpha}, Dataset(X, y), 5).predict(X).mean()
        for alpha in (0.1, 0.5, 0.9)
    ]
    assert means == sorted(means)
    one = np.float32([0.0, 1.0, 5.0])
    start = get_objective(LOSS, {"expectile_alpha": 0.9}).starting_score(one, None)
    assert start == pytest.approx(2 + (0.1 * -2 + 0.1 * -1 + 0.9 * 3) / 1.1)
    several = get_objective(LOSS, {"expectile_alpha": (0.5, 0.9, 0.9)})
    assert several.starting_scores(one, None) == pytest.approx((2, start, start))


def test_wrong_expectiles():
    X, y = few_values(LOSS, 1, 60)
    with pytest.raises(ParameterError, match=r"expectile_alpha=1\.5: expected 0\.\.1"):
        train({**SMALL, "expectile_alpha": 1.5}, Dataset(X, y), 1)
