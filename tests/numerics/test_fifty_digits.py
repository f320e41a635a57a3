"""Portable functions against decimal numbers of 50 digits: the errors that they promise."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from pyopencl_gbdt.numerics.portable_loss import minus_log1p, portable_sqrt
from pyopencl_gbdt.numerics.portable_math import (
    df_div,
    portable_exp,
    portable_log,
    portable_log1p,
    portable_rsqrt,
    portable_sigmoid,
    reciprocal,
)

N = 4000
ONE = Decimal(1)


@pytest.fixture(autouse=True)
def fifty_digits():
    with localcontext() as context:
        context.prec = 50
        yield


def decimals(*arrays):
    """Return a list of tuples: the arrays' numbers, exactly."""
    return [tuple(Decimal(float(x)) for x in row) for row in zip(*arrays, strict=True)]


def worst(got, truth):
    """Return the largest error in units of the truth's last place in float32."""
    ulps = (Decimal(float(np.spacing(np.float32(abs(t))))) for t in truth)
    errors = (abs(Decimal(float(g)) - t) / u for g, t, u in zip(got, truth, ulps, strict=True))
    return float(max(errors))


def powers(rng, low, high):
    return np.exp2(rng.uniform(low, high, N)).astype(np.float32)


def test_exp(rng):
    x = np.r_[rng.uniform(-80, 80, N), rng.uniform(-1, 1, N), [-80, 80, 0]].astype(np.float32)
    assert worst(portable_exp(x), [d.exp() for (d,) in decimals(x)]) < 2
    assert portable_exp(np.float32([0]))[0] == 1
    assert (
        portable_exp(np.float32([200, -200])).tolist()
        == portable_exp(np.float32([80, -80])).tolist()
    )


def test_sigmoid(rng):
    x = np.r_[rng.uniform(-50, 50, N), rng.normal(0, 2, N)].astype(np.float32)
    assert worst(portable_sigmoid(x), [ONE / (ONE + (-d).exp()) for (d,) in decimals(x)]) < 4
    assert portable_sigmoid(np.float32([0]))[0] == 0.5


def test_log(rng):
    x = np.r_[powers(rng, -126, 128), rng.uniform(0.5, 2, N).astype(np.float32)]
    x = x[np.isfinite(x) & (x >= np.float32(2.0**-126)) & (x != 1)]
    assert worst(portable_log(x), [d.ln() for (d,) in decimals(x)]) < 1


def test_log1p(rng):
    near_minus_1 = (-1 + np.exp2(rng.uniform(-20, 0, N))).astype(np.float32)
    x = np.r_[powers(rng, -60, 60), rng.uniform(-0.999, 1, N).astype(np.float32), near_minus_1]
    x = x[(x != 0) & (x > -1)]
    assert worst(portable_log1p(x), [(ONE + d).ln() for (d,) in decimals(x)]) < 1.5


def test_reciprocal_and_roots(rng):
    x = powers(rng, -100, 100)
    assert worst(reciprocal(x), [ONE / d for (d,) in decimals(x)]) < 1.5
    assert worst(portable_rsqrt(x), [ONE / d.sqrt() for (d,) in decimals(x)]) < 1.5
    assert worst(portable_sqrt(x), [d.sqrt() for (d,) in decimals(x)]) < 2.5


@pytest.mark.thorough
def test_what_logarithms_leave(rng):
    sizes = [powers(rng, -40, 40), -powers(rng, -40, -1), powers(rng, -20, -1) - 1]
    t = np.concatenate([rng.uniform(-0.999, 3, N), rng.normal(0, 1e-3, N), *sizes])
    t = t.astype(np.float32)
    t = t[(t != 0) & (t > -1)]
    assert worst(minus_log1p(t), [d - (ONE + d).ln() for (d,) in decimals(t)]) < 5


def test_quotients_in_two_floats(rng):
    pairs = [(powers(rng, -20, 20), powers(rng, -50, -46)) for _ in range(2)]
    (a, b), (c, d) = pairs
    found = decimals(*df_div((a, b), (c, d)))
    truth = [(w + x) / (y + z) for w, x, y, z in decimals(a, b, c, d)]
    errors = [abs((hi + lo) / t - 1) for (hi, lo), t in zip(found, truth, strict=True)]
    assert max(errors) < Decimal(2) ** -44
