"""The functions behind survival times: how far they are from float64's."""

import math

import numpy as np
import pytest

from pyopencl_gbdt.numerics.portable_loss import (
    bernoulli,
    bernoulli_rest,
    decay,
    mills_ratio,
    mills_rest,
    mills_right,
    minus_log_decay,
)


def mills64(x):
    """Mills' ratio: of erfc, then a continued fraction (Laplace's) where erfc is small."""
    if x < 5:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    fraction = x
    for k in range(200, 0, -1):
        fraction = x + k / fraction
    return 1 / fraction


def relative(found, wanted):
    return np.abs(found / np.array(wanted) - 1).max()


def test_mills_ratio():
    right = np.r_[np.linspace(0, 40, 20001), np.geomspace(40, 3e4, 500)].astype(np.float32)
    wanted = [mills64(float(x)) for x in right]
    assert relative(mills_right(right), wanted) < 4e-7
    np.testing.assert_array_equal(mills_ratio(right), mills_right(right))
    left = -np.linspace(0, 11, 20001).astype(np.float32)
    assert relative(mills_ratio(left), [mills64(float(x)) for x in left]) < 1e-5
    assert mills_ratio(np.float32([-3e4])) == mills_ratio(np.float32([-11]))


def test_mills_rest():
    x = np.r_[np.linspace(0, 12, 5001), np.geomspace(12, 3e4, 500)].astype(np.float32)
    found = mills_rest(x, mills_ratio(x)).astype(np.float64)
    # 1 - x r by the continued fraction's tail: r = 1 / (x + y), so it is y r
    wanted = np.array([1 - float(v) * mills64(float(v)) for v in x])
    assert np.abs(found - wanted)[x < 12].max() < 4e-7
    far = x[x > 12].astype(np.float64)
    tail = [(1 / mills64(v) - v) * mills64(v) for v in far[far < 100]]
    assert relative(found[x > 12][far < 100], tail) < 1e-5
    assert relative(found[x > 12][far >= 100], 1 / far[far >= 100] ** 2) < 1e-3


@pytest.mark.parametrize("function", [bernoulli, bernoulli_rest])
def test_bernoulli(function):
    x = np.r_[np.geomspace(1e-20, 60, 30001), 0.5, np.nextafter(np.float32(0.5), 0)]
    x = x.astype(np.float32)
    wide = x.astype(np.float64)
    q = wide / np.expm1(wide)
    if function is bernoulli:
        assert relative(bernoulli(x), q) < 1e-6
        assert bernoulli(np.float32([0, 61, 1e30])).tolist() == [1, 0, 0]
        return
    series = wide / 2 + wide**2 / 12 - wide**4 / 720 + wide**6 / 30240
    wanted = np.where(wide < 0.1, series, q + wide - 1)
    assert relative(bernoulli_rest(x, bernoulli(x)), wanted) < 1e-6
    edge = np.float32([0, 1e30])
    assert bernoulli_rest(edge, bernoulli(edge)).tolist() == [0, np.float32(1e30)]


def test_decay():
    x = np.r_[np.geomspace(1e-20, 80, 30001), 1, np.nextafter(np.float32(1), 0)].astype(np.float32)
    wide = x.astype(np.float64)
    assert relative(decay(x), -np.expm1(-wide)) < 3e-7
    with np.errstate(divide="ignore"):  # of the other branch
        loss = np.where(wide < 1, -np.log(-np.expm1(-wide)), -np.log1p(-np.exp(-wide)))
    size = np.where(wide < 1, np.maximum(1, loss), loss)
    assert (np.abs(minus_log_decay(x) - loss) < 5e-7 * size).all()
    assert decay(np.float32([0, 1e30])).tolist() == [0, 1]
