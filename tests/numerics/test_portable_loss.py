"""portable_loss: as accurate as it says; its bits are compared with kernels in steps/."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

from pyopencl_gbdt.metrics.formulas import log64
from pyopencl_gbdt.numerics import portable_loss as pl

N = 20_000


@pytest.fixture
def rng():
    return np.random.default_rng(17)


def test_error_of_divergence(rng):
    getcontext().prec = 60
    b = np.exp(rng.normal(0, 5, 3000)).astype(np.float32)
    ratio = np.clip(rng.normal(0, np.exp(rng.normal(-4, 4, b.size)), b.size), -50, 50)
    a = (b * np.exp(ratio)).astype(np.float32)
    pairs = [(Decimal(float(x)), Decimal(float(y))) for x, y in zip(a, b, strict=True)]
    truth = np.array([float(x - y - y * (x / y).ln()) for x, y in pairs])
    got = pl.divergence(a - b, a, b)
    assert (got >= 0).all()
    assert (np.abs(got - truth) <= 1e-6 * truth + 1e-37).all()


def test_log64(rng):
    x = np.concatenate([np.exp(rng.uniform(-80, 80, N)), rng.uniform(0.5, 2, N), [1.0, 2.0, 0.5]])
    wanted = np.array([math.log(v) for v in x])
    assert (np.abs(log64(x) - wanted) <= 4e-16 * np.maximum(1, np.abs(wanted))).all()
    assert log64(np.ones(1))[0] == 0
