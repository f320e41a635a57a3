"""portable_log: the device gives the twin's bits, and the twin is as accurate as it says."""

import numpy as np
import pytest

from pyopencl_gbdt.numerics import portable_math as pl
from tests.compare import assert_same_bits

N = 100_000
TINY, MOST = np.float32(2.0**-126), np.finfo(np.float32).max


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def samples(rng):
    """Positive numbers of every size, of one octave, around 1, and edges."""
    parts = [np.exp2(rng.uniform(-126, 128, N)), rng.uniform(0.5, 2, N), 1 + rng.normal(0, 1e-3, N)]
    edges = [TINY, 0.5, np.sqrt(0.5), 1 - 2**-24, 1, 1 + 2**-23, np.sqrt(2), 2, 1e9, 1e10, MOST]
    return np.concatenate([*parts, edges]).astype(np.float32)


def test_the_twins_bits(device, rng):
    positive = samples(rng)
    x = np.concatenate([positive, rng.uniform(-1 + 1e-6, 0, N).astype(np.float32)])
    program = device.build("math_probe", wg_size=64, fields="")
    results = device.zeros((x.size, 3), np.float32)
    groups = -(-x.size // program.wg_size)
    program.launch("logs", groups, np.uint32(x.size), device.upload(x), results)
    got = results.get().T
    assert_same_bits(got[0], pl.portable_log(x), "log")
    assert_same_bits(got[1], pl.portable_log1p(x), "log1p")
    ranged = (x > 2.0**-100) & (x < 2.0**100)
    assert_same_bits(got[2][ranged], pl.portable_rsqrt(x[ranged]), "rsqrt")


def test_edge_values():
    least, most = np.log(np.float64(TINY)), np.log(np.float64(MOST))
    x = np.float32([0, -0.0, -1, -np.inf, 1e-45, TINY, np.inf, MOST, 1])
    wanted = np.array([*[least] * 6, most, most, 0]).astype(np.float32)
    assert_same_bits(pl.portable_log(x), wanted)
    assert pl.portable_log1p(np.float32([0, 1e-30]))[1] == np.float32(1e-30)
    assert pl.portable_log1p(np.float32([0]))[0] == 0


@pytest.mark.parametrize("function", [pl.portable_log, pl.portable_log1p])
def test_law_logarithms_rise(function):
    x = np.sort(np.abs(samples(np.random.default_rng(1))))
    steps = np.diff(function(x).astype(np.float64))
    assert (steps >= -2e-7 * np.abs(function(x[1:]))).all()
