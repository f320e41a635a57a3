"""mean_loss: the words of the sum equal the twin's; the mean is exact, and is XGBoost's metric."""

import math
from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.evaluation.mean_loss import Mean, MeanLoss, unit_of
from pyopencl_gbdt.metrics import get_metric, row_loss_of
from pyopencl_gbdt.numerics.exact_sums import INFINITE, UNDEFINED
from pyopencl_gbdt.numerics.portable_math import exact_mean
from pyopencl_gbdt.objectives import OBJECTIVES
from tests.compare import assert_same_bits
from tests.device.plausible import MEANS
from tests.metrics.test_metrics import drawn
from tests.reference.mean_loss import sum_words
from tests.steps.evaluated import evaluated, run, weights_of

WG_SIZES, WG_SIZES_CPU = [1, 32, 64, 256], [1, 64]
KINDS = ["none", "uniform", "whole", "heavy"]


def loss_of(name):
    return row_loss_of(get_metric(name))


def twin(loss, prediction, label, weight):
    unit = Mean(loss, label, weight).unit
    with np.errstate(all="ignore"):
        return sum_words(loss.twin(prediction, label, unit).astype(np.float32), weight)


def check(device, loss, prediction, label, weight, wg=0):
    prepared = MeanLoss(evaluated(device, prediction, label, weight, wg=wg), loss)
    words = run(prepared)[0, :5]
    assert_same_bits(words, twin(loss, prediction, label, weight))
    return prepared.values(words[None])[0]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", MEANS)
def test_every_metric_has_the_twins_bits_and_is_right(device, rng, name):
    label, prediction, weight = drawn(name, n=700)
    for given in (None, weight):
        found = check(device, loss_of(name), prediction, label, given)
        wanted = get_metric(name)(label, prediction, given)
        assert found == pytest.approx(wanted, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_at_edges(device, rng, wg, kind):
    loss = loss_of("mae")
    for n in sorted({1, max(1, wg - 1), wg + 1, 5000}):
        label = (rng.normal(size=n) * np.exp(rng.normal(0, 9, n))).astype(np.float32)
        prediction, weight = np.zeros(n, np.float32), weights_of(rng, n, kind)
        found = check(device, loss, prediction, label, weight, wg)
        assert found == float(exact_mean(np.abs(label), weight))


@pytest.mark.parametrize("name", ["quantile", "gamma-nloglik", "logloss"])
def test_work_group_sizes_and_signs(device, rng, wg, name):
    label, prediction, weight = drawn(name, n=700)
    prediction[:50] *= 1e-3  # negative parts
    check(device, loss_of(name), prediction, label, weight, wg)


#: Where functions are clamped, infinite or undefined.
FAR = np.float32([0, 1e-37, 1e-30, 1e-17, 1e-6, 0.5, 1, 2, 1e6, 1e13, 1e30, 1.5e36, 1.5e38])


@pytest.mark.few(4)
@pytest.mark.parametrize("name", MEANS)
def test_far_out(device, rng, name):
    prediction, label = (a.ravel() for a in np.meshgrid(np.r_[-FAR, FAR], np.r_[-FAR, FAR]))
    if name in ("logloss", "error"):
        label = np.clip(label, 0, 1)
    loss = loss_of(name)
    some = np.isfinite(loss_value := each(loss, prediction, label))
    check(device, loss, prediction[some], label[some], None)
    check(device, loss, prediction[some], label[some], weights_of(rng, some.sum(), "heavy"))
    check(device, loss, prediction, label, None)
    for bad in np.flatnonzero(~some)[:20]:
        alone = check(device, loss, prediction[[bad]], label[[bad]], None)
        assert not math.isfinite(alone)
        assert math.isnan(alone) == math.isnan(loss_value[bad])


def each(loss, prediction, label):
    with np.errstate(all="ignore"):
        return loss.twin(prediction, label, unit_of(label) if loss.scaled else np.float32(1))


def test_rows_that_are_not_finite(device):
    loss, zero = loss_of("mape"), np.zeros(3, np.float32)
    label, prediction = np.float32([0, 1, 0]), np.float32([1, 2, 0])
    assert math.isnan(check(device, loss, prediction, label, None))
    assert math.isnan(check(device, loss, zero, label, None))
    assert check(device, loss, prediction[:2], label[:2], None) == math.inf
    assert check(device, loss, prediction, label, np.float32([0, 2, 0])) == 1.0


@pytest.mark.parametrize("power", [-100, -60, 0, 60, 100])
def test_the_unit_of_labels_does_not_matter_to_squares(device, rng, power):
    label, prediction = (rng.normal(3, 2, 500).astype(np.float32) for _ in range(2))
    unit = np.float32(2.0**power)
    found = check(device, loss_of("rmse"), prediction * unit, label * unit, None)
    assert found == check(device, loss_of("rmse"), prediction, label, None) * 2.0**power


@pytest.mark.parametrize("size", [1e-12, 1e10])
def test_logarithms_of_labels_of_any_size(device, rng, size):
    label = (rng.uniform(1, 3, 300) * size).astype(np.float32)
    wanted = get_metric("rmsle")(label, label + label, None)
    found = check(device, loss_of("rmsle"), label + label, label, None)
    assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_law_the_order_of_rows_does_not_matter(rng, kind):
    loss = np.exp(rng.normal(0, 12, 3000)).astype(np.float32)
    weight, order = weights_of(rng, 3000, kind), rng.permutation(3000)
    shuffled = None if weight is None else weight[order]
    assert_same_bits(sum_words(loss[order], shuffled), sum_words(loss, weight))


def test_law_a_weight_counts_as_rows(rng):
    loss, times = rng.normal(size=200).astype(np.float32), rng.integers(0, 5, 200)
    for losses in (loss, np.abs(loss)):
        repeated = sum_words(np.repeat(losses, times), None)
        weighted = sum_words(losses, times.astype(np.float32))
        value = [whole(words) for words in (repeated, weighted)]
        assert value[0] == value[1]


def whole(words):
    limbs = sum(int(words[at]) << 32 * at for at in range(4))
    return limbs * Fraction(2) ** (int(words[4]) - 348)


def test_the_sum_by_hand():
    loss = np.float32([1.5, -0.25, 2.0**-40, 0, 1e-45])
    weight = np.float32([2, 4, 1, 7, 1])
    assert whole(sum_words(loss, weight)) == 3 - 1 + Fraction(2) ** -40
    assert sum_words(loss * 0, None).tolist() == [0] * 5
    assert sum_words(np.float32([1, np.inf]), None)[4] == INFINITE
    assert sum_words(np.float32([np.nan, np.inf]), None)[4] == UNDEFINED
    assert sum_words(np.float32([1, np.nan]), np.float32([1, 0]))[4] == 254


ALONE = [name for name in OBJECTIVES if not name.startswith(("multi:", "dist:"))]


@pytest.mark.parametrize("name", ALONE)
def test_links_are_those_of_the_losses(device, rng, name):
    """The mean of predictions whose label is 0: mae."""
    objective = OBJECTIVES[name]
    margin = np.concatenate([rng.normal(0, 4, 3000), [0, 100, -100]]).astype(np.float32)
    prediction, zero = objective.to_probability(margin), np.zeros(3003, np.float32)
    loss = loss_of("mae")
    prepared = MeanLoss(evaluated(device, margin, zero, link=objective.link), loss)
    assert_same_bits(run(prepared)[0, :5], twin(loss, prediction, zero, None))
