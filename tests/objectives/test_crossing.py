"""Predicted quantiles of a row are in the order of their levels; margins are as trained."""

import numpy as np
import pytest

from pyopencl_gbdt import GBDTRegressor, Model
from pyopencl_gbdt.objectives.quantiles import QuantileError
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(2)
X = RNG.standard_normal((300, 3)).astype(np.float32)
Y = X[:, 0] * RNG.standard_normal(300)
ALPHAS = [0.9, 0.1, 0.5]


@pytest.fixture(scope="module")
def fitted():
    return GBDTRegressor(
        objective="reg:quantileerror", quantile_alpha=ALPHAS, n_estimators=30, learning_rate=0.5,
        preset="xgboost", device=TEST_DEVICE,
    ).fit(X, Y)  # fmt: skip


def test_quantiles_of_a_row_are_sorted_by_their_levels():
    margins = np.array([[1, 5, 2], [3, 4, 2], [2, 6, 1]], np.float32)
    found = QuantileError((0.9, 0.1, 0.5)).to_prediction(margins)
    assert found.tolist() == [[3, 6, 2], [1, 4, 1], [2, 5, 2]]
    assert QuantileError(0.9).to_prediction(margins[0]).tolist() == [1, 5, 2]


def test_predictions_never_cross_and_margins_are_as_trained(fitted):
    margins, found = fitted.predict(X, output_margin=True), fitted.predict(X)
    high, low, middle = margins.T
    assert ((high < middle) | (middle < low)).any()
    high, low, middle = found.T
    assert (low <= middle).all()
    assert (middle <= high).all()
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(margins, axis=1))
    *_, last = fitted.staged_predict(X)
    np.testing.assert_array_equal(last, found)


def test_files_keep_outputs_as_trained(fitted, tmp_path):
    fitted.save_model(tmp_path / "model.json")
    read = Model.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(
        read.predict(X, output_margin=True), fitted.predict(X, output_margin=True)
    )
    np.testing.assert_array_equal(read.predict(X), fitted.predict(X))
