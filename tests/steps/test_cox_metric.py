"""cox_metric: words equal the twin's, bit by bit; values are the host's and XGBoost's."""

import math

import numpy as np
import pytest

from pyopencl_gbdt.evaluation.cox_metric import CoxMetric
from pyopencl_gbdt.metrics import get_metric
from pyopencl_gbdt.numerics.exact_sums import plane_bits
from pyopencl_gbdt.numerics.portable_math import portable_exp
from pyopencl_gbdt.objectives.survival import Cox
from tests.compare import assert_same_bits
from tests.reference.cox_metric import cox_words, losses, planes_of
from tests.steps.evaluated import evaluated, run

WG_SIZES, WG_SIZES_CPU = [1, 32, 64, 256], [1, 64]


def sample(rng, n, *, ties=True, spread=1.0):
    time = rng.exponential(10, n) + 0.01
    time = np.ceil(time) if ties else time
    label = np.where(rng.random(n) < 0.7, time, -time).astype(np.float32)
    return rng.normal(0, spread, n).astype(np.float32), label


def check(device, margin, label, wg=0, near=1e-6):
    rows = evaluated(device, margin, label, link=Cox().link, wg=wg)
    prepared = CoxMetric(rows)
    words, hazard = run(prepared), portable_exp(margin)
    assert_same_bits(words[0, :4], cox_words(hazard, label)[:4])
    (value,) = prepared.values(words)
    wanted = get_metric("cox-nloglik")(label, hazard, None)
    assert value == pytest.approx(wanted, rel=near, abs=near, nan_ok=True)
    return value


@pytest.mark.parametrize("ties", [False, True])
def test_sizes(device, rng, wg, ties):
    for n in sorted({1, 2, wg, wg + 1, 4097}):
        check(device, *sample(rng, n, ties=ties), wg)


@pytest.mark.parametrize("spread", [0.0, 1e-3, 5.0, 10.0, 20.0, 100.0])
def test_hazards_far_apart(device, rng, spread):
    margin, label = sample(rng, 3000, spread=spread)
    near = 1e-6 if spread <= 5 else 1e-2  # hazards below 2^-80 of the largest do not count
    check(device, margin, label, near=near)
    late = np.argsort(np.argsort(margin))  # the smallest hazards are the last to be at risk
    check(device, margin, (late.size - late).astype(np.float32), near=near if spread <= 5 else 10)


def test_many_rows(device, rng):
    check(device, *sample(rng, 200_000, ties=False))


def test_without_events(device):
    assert math.isnan(check(device, np.float32([1, 2]), np.float32([-1, -2])))


def test_by_hand():
    hazard, label = np.float32([1, 2, 4]), np.float32([3, 1, -2])
    np.testing.assert_allclose(losses(hazard, label), [math.log(3.5), 0], atol=1e-7)


def test_law_planes_are_the_number(rng):
    hazard = np.exp(rng.normal(0, 8, 1000)).astype(np.float32)
    width = plane_bits(1000)
    high, low = planes_of(hazard, width)
    units = [(int(h) << width) + int(lo) for h, lo in zip(high, low, strict=True)]
    unit = max(units) / float(hazard.max())
    np.testing.assert_allclose(
        np.array(units, float), hazard.astype(float) * unit, rtol=2e-7, atol=1
    )
    assert max(units) < 2 ** (2 * width)
