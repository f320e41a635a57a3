"""Metrics of times between bounds: the twins' words, XGBoost's numbers, and each row's loss."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.evaluation.mean_loss import MeanLoss
from pyopencl_gbdt.metrics import get_metric, row_loss_of
from pyopencl_gbdt.metrics.bounds_losses import log_pairs
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.compare import assert_same_bits
from tests.reference.mean_loss import sum_words
from tests.steps.evaluated import evaluated, run, weights_of

WG_SIZES, WG_SIZES_CPU = [1, 32, 64, 256], [1, 64]
THOROUGH = {"test_equals_twin": lambda scale, **_: scale == 2.0}
DISTRIBUTIONS = ["normal", "logistic", "extreme"]
KINDS = ["known", "between", "narrow", "left", "right", "any"]
NAMES = ["aft-nloglik", "interval-regression-accuracy"]


def bounds_of(rng, n, kind):
    """Bounds of times whose logarithms are near 2."""
    time = np.exp(rng.normal(2, 1, n)).astype(np.float32)
    wide = {"known": 1.0, "narrow": 1.001}.get(kind, np.exp(rng.exponential(1, n)))
    lower, upper = time.copy(), (time * wide).astype(np.float32)
    kinds = rng.integers(0, 4, n) if kind == "any" else None
    left = kinds == 0 if kind == "any" else np.full(n, kind == "left")
    right = kinds == 1 if kind == "any" else np.full(n, kind == "right")
    same = kinds == 2 if kind == "any" else np.zeros(n, bool)
    return np.where(left, 0, lower), np.where(right, np.inf, np.where(same, lower, upper))


def sample(rng, n, kind):
    lower, upper = bounds_of(rng, n, kind)
    margin = rng.normal(2, 1.2, n).astype(np.float32)
    return margin, lower.astype(np.float32), upper.astype(np.float32)


def metric_of(name, distribution, scale):
    given = {"aft_loss_distribution": distribution, "aft_loss_distribution_scale": scale}
    return get_metric(name, Parameters.from_dict(given))


def check(device, name, margin, lower, upper, weight=None, *, wg=0, given=("normal", 1.0)):
    metric = metric_of(name, *given)
    loss, pairs = row_loss_of(metric), log_pairs(lower, upper)
    rows = evaluated(device, margin, lower, weight, wg=wg)
    prepared = MeanLoss(replace(rows, labels=device.upload(pairs)), loss)
    words = run(prepared)
    with np.errstate(over="ignore"):
        assert_same_bits(words[0, :5], sum_words(loss.twin(margin, pairs, None), weight), name)
    (value,) = prepared.values(words)
    data = Dataset(np.zeros((margin.size, 1), np.float32), weight=weight, label_lower_bound=lower,
                   label_upper_bound=upper)  # fmt: skip
    with np.errstate(over="ignore"):
        assert value == pytest.approx(metric(margin, data), rel=1e-6, abs=1e-6)
    return value


@pytest.mark.few(5)
@pytest.mark.parametrize("scale", [1.0, 0.3, 2.0])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_equals_twin(device, rng, distribution, kind, scale):
    data = sample(rng, 1500, kind)
    check(device, "aft-nloglik", *data, given=(distribution, scale))


@pytest.mark.parametrize("name", NAMES)
def test_sizes(device, rng, wg, name):
    for n in (1, wg + 1, 4097):
        data = sample(rng, n, "any")
        check(device, name, *data, wg=wg)
        check(device, name, *data, weights_of(rng, n, "uniform"), wg=wg)


@pytest.mark.few(4)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_near_float64s(rng, distribution, kind):
    margin, lower, upper = sample(rng, 400, kind)
    metric = metric_of("aft-nloglik", distribution, 0.7)
    found = row_loss_of(metric).twin(margin, log_pairs(lower, upper), None)
    wanted = [
        metric(margin[[i]], Dataset(np.zeros((1, 1), np.float32), label_lower_bound=lower[[i]],
                                    label_upper_bound=upper[[i]]))
        for i in range(400)
    ]  # fmt: skip
    near = (
        np.array(wanted) < 20
    )  # beyond, differences of distribution functions are lost in float64
    assert near.sum() > 210
    np.testing.assert_allclose(found[near], np.array(wanted)[near], rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_far_out(device, rng, distribution):
    margin, lower, upper = sample(rng, 600, "any")
    margin = (margin * np.exp(rng.normal(0, 6, 600))).astype(np.float32)
    loss = row_loss_of(metric_of("aft-nloglik", distribution, 1e-3))
    assert np.isfinite(loss.twin(margin, log_pairs(lower, upper), None)).all()
    check(device, "aft-nloglik", margin, lower, upper, given=(distribution, 1.0))
    check(device, "interval-regression-accuracy", margin, lower, upper)


def test_bounds_belong_to_the_interval(device):
    margin, lower = np.float32([0, 0, 0, 1]), np.float32([1, 1, 0, 0])
    upper = np.float32([1, np.inf, 1, np.e])
    assert check(device, NAMES[1], margin, lower, upper) == 0.75 + 0.25 * (float(upper[3]) >= np.e)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_xgboosts_numbers(device, rng, name, distribution):
    xgboost = pytest.importorskip("xgboost")
    margin, lower, upper = sample(rng, 2000, "any")
    weight = weights_of(rng, 2000, "uniform")
    ours = check(device, name, margin, lower, upper, weight, given=(distribution, 1.2))
    matrix = xgboost.DMatrix(np.zeros((2000, 1)), weight=weight, base_margin=margin)
    matrix.set_float_info("label_lower_bound", lower)
    matrix.set_float_info("label_upper_bound", upper)
    settings = {"objective": "survival:aft", "eval_metric": name}
    settings["aft_loss_distribution"], settings["aft_loss_distribution_scale"] = distribution, 1.2
    theirs = float(xgboost.Booster(settings, [matrix]).eval(matrix).split(":")[1])
    assert ours == pytest.approx(theirs, rel=1e-6)
