"""``reg:expectileerror`` is that of XGBoost 3.4; every loss's tests take one expectile."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.objectives import get_objective
from tests.conftest import TEST_DEVICE
from tests.objectives.samples import few_values

LOSS = "reg:expectileerror"
SMALL = {"objective": LOSS, "max_depth": 3, "device": TEST_DEVICE}


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


def test_wrong_expectiles():
    X, y = few_values(LOSS, 1, 60)
    with pytest.raises(ParameterError, match=r"expectile_alpha=1\.5: expected 0\.\.1"):
        train({**SMALL, "expectile_alpha": 1.5}, Dataset(X, y), 1)
