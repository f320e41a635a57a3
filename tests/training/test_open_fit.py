"""Rounds that run one at a time from outside give the model of ``train``."""

import numpy as np
import pytest

import pyopencl_gbdt as gbdt
from pyopencl_gbdt.errors import ParameterError
from tests.conftest import TEST_DEVICE

rng = np.random.default_rng(5)
X = rng.normal(size=(300, 5)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(np.float32)
PARAMS = {"objective": "binary:logistic", "max_depth": 3, "device": TEST_DEVICE, "subsample": 0.7}


def data() -> gbdt.Dataset:
    return gbdt.Dataset(X, Y)


def saved(model) -> bytes:
    return bytes(model.save_raw("json"))


def test_ten_rounds_one_at_a_time_give_the_bytes_of_train():
    whole = gbdt.train(PARAMS, data(), 10)
    with gbdt.open_fit(PARAMS, data(), 10) as fit:
        for number in range(10):
            assert fit.n_rounds == number
            assert fit.update()
        assert not fit.update()
        assert saved(fit.model()) == saved(whole)


def test_models_in_between_are_those_of_fewer_rounds():
    with gbdt.open_fit(PARAMS, data(), 6) as fit:
        for number in range(1, 7):
            fit.update()
            assert saved(fit.model()) == saved(gbdt.train(PARAMS, data(), number))


def test_metrics_and_learning_rates_are_those_of_train():
    test = gbdt.Dataset(X[:100], Y[:100])
    rates = [0.5, 0.1, 0.3, 0.2]
    schedule = gbdt.callbacks.LearningRateScheduler(rates)
    whole = gbdt.train(PARAMS, data(), 4, evals=[(test, "test")], callbacks=[schedule])
    with gbdt.open_fit(PARAMS, data(), 4, evals=[(test, "test")]) as fit:
        for rate in rates:
            fit.update()
            fit.learning_rate = rate  # the scheduler, too, sets it after a round
            assert fit.learning_rate == rate
        assert fit.history == whole.history
        assert saved(fit.model()) == saved(whole)


def test_a_model_is_continued():
    first = gbdt.train(PARAMS, data(), 3)
    with gbdt.open_fit(PARAMS, data(), 4, model=first) as fit:
        while fit.update():
            pass
        assert fit.n_rounds == 7
        assert saved(fit.model()) == saved(gbdt.train(PARAMS, data(), 7))


@pytest.mark.parametrize("method", ["update", "model"])
def test_a_closed_fit_says_so(method):
    with gbdt.open_fit(PARAMS, data(), 2) as fit:
        fit.update()
    with pytest.raises(ParameterError, match=r"the fit is closed.*open another one"):
        getattr(fit, method)()


def test_a_closed_fit_has_no_learning_rate():
    with gbdt.open_fit(PARAMS, data(), 2) as fit:
        fit.update()
    with pytest.raises(ParameterError, match=r"the fit is closed.*open another one"):
        _ = fit.learning_rate
    with pytest.raises(ParameterError, match=r"the fit is closed.*open another one"):
        fit.learning_rate = 0.1
