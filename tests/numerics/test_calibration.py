"""Isotonic regression and Platt's sigmoid, beside scikit-learn's."""

import numpy as np
import pytest
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression

from pyopencl_gbdt.numerics.calibration import fit_sigmoid, fit_steps, log_odds


def drawn(n_rows, seed=0, digits=9):
    rng = np.random.default_rng(seed)
    score = np.round(rng.normal(size=n_rows) * 3, digits).astype(np.float32)
    return score, rng.random(n_rows) < 1 / (1 + np.exp(-(0.6 * score - 0.7)))


@pytest.mark.parametrize("n_rows", [1, 2, 3, 50, 3000])
@pytest.mark.parametrize("digits", [0, 9])
def test_steps_are_those_of_scikit_learn(n_rows, digits):
    score, positive = drawn(n_rows, digits=digits)
    steps = fit_steps(score, positive)
    least = 1 / (n_rows + 2)
    peer = IsotonicRegression(out_of_bounds="clip", y_min=least, y_max=1 - least)
    peer.fit(score.astype(np.float64), positive.astype(np.float64))
    asked = np.concatenate([score, drawn(500, 1)[0] * 2])
    np.testing.assert_allclose(steps.of(asked), peer.predict(asked.astype(np.float64)), atol=1e-6)
    assert (np.diff(steps.scores) > 0).all()
    assert (np.diff(steps.of(np.sort(asked))) >= 0).all()


def test_pools_of_a_case_by_hand():
    score = np.array([1, 2, 3, 4, 5, 6], np.float32)
    steps = fit_steps(score, np.array([False, True, False, True, False, True]))
    assert steps.scores.tolist() == [1, 2, 5, 6]
    np.testing.assert_array_equal(steps.shares, np.float32([1 / 8, 1 / 2, 1 / 2, 7 / 8]))
    asked = np.array([0, 1.5, 2, 3, 5.25, 9], np.float32)
    wanted = [1 / 8, (1 / 8 + 1 / 2) / 2, 1 / 2, 1 / 2, 1 / 2 + 3 / 32, 7 / 8]
    np.testing.assert_allclose(steps.of(asked), wanted, atol=1e-7)


def test_order_of_rows_does_not_matter():
    score, positive = drawn(2000, digits=1)
    order = np.random.default_rng(5).permutation(2000)
    one, same = fit_steps(score, positive), fit_steps(score[order], positive[order])
    np.testing.assert_array_equal(one.scores, same.scores)
    np.testing.assert_array_equal(one.shares, same.shares)
    assert fit_sigmoid(score, positive) == fit_sigmoid(score[order], positive[order])


@pytest.mark.parametrize("n_rows", [20, 500, 5000])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_sigmoid_is_that_of_scikit_learn(n_rows, sign):
    score, positive = drawn(n_rows)
    found = fit_sigmoid(sign * score, positive)
    slope, intercept = _sigmoid_calibration(sign * score, positive.astype(int))
    assert found.slope == pytest.approx(-slope, abs=1e-3)
    assert found.intercept == pytest.approx(-intercept, abs=1e-3)


def test_equal_scores_and_rows_that_a_score_divides():
    positive = np.arange(10) < 3
    same = fit_sigmoid(np.zeros(10, np.float32), positive)
    mean = (3 * 4 / 5 + 7 * 1 / 9) / 10
    assert same.of(np.zeros(1, np.float32))[0] == pytest.approx(mean, abs=1e-6)
    score, _ = drawn(100)
    found = fit_sigmoid(score, score > 0)
    assert 0.9 < found.of(np.array([5], np.float32))[0] < 1


def test_log_odds():
    p = np.array([0, 0.25, 0.5, 1], np.float32)
    np.testing.assert_allclose(log_odds(p)[1:3], [np.log(1 / 3), 0], atol=1e-6)
    assert log_odds(p)[0] == -log_odds(p)[3] < -87
