"""weights: scaled by a power of two, and only where that is needed."""

import numpy as np
import pytest

from pyopencl_gbdt.numerics.weights import normalise
from tests.compare import assert_same_bits

TINY = np.finfo(np.float32).tiny


def check(weight):
    """Laws of every result; return it."""
    scaled, bits, shift = normalise(weight)
    assert scaled.dtype == np.float32
    assert_same_bits(scaled == 0, weight == 0)
    assert not np.signbit(scaled).any()
    positive = scaled[scaled > 0]
    assert (positive >= TINY).all()
    assert positive.max() < 2.0**bits
    assert positive.max() >= 2.0 ** (bits - 1) or bits == 0
    assert (positive >= 128).sum() <= positive.size // 1024
    there = scaled * 2.0**shift == weight  # exact, but for clipped ones
    clipped = np.isin(scaled, np.float32([2.0**-100, 2.0**30]))
    assert (there | clipped).all()
    return scaled, bits, shift


def test_no_weights():
    assert normalise(None) == (None, 0, 0)


@pytest.mark.parametrize("low", [1, 5, 60])
def test_weights_in_1_to_128_stay(low):
    weight = np.random.default_rng(0).integers(low, 128, 3000).astype(np.float32)
    scaled, _, shift = check(weight)
    assert_same_bits(scaled, weight)
    assert shift == 0


@pytest.mark.parametrize("factor", [2.0**-140, 1e-30, 2.0**-10, 0.3, 1, 200, 1e20, 1e38])
def test_any_scale_ends_where_quanta_are_fine(factor):
    rng = np.random.default_rng(1)
    weight = (rng.uniform(0.5, 1, 3000) * factor).astype(np.float32)
    weight[:1000] = 0
    weight[1000] = 0.75 * factor
    scaled, bits, _ = check(weight)
    assert 0.5 <= scaled.max() < 128
    assert bits <= 7


def test_a_heavy_tail_does_not_press_the_others_down():
    weight = np.ones(4096, np.float32)
    weight[:4] = 1e6, 3e7, 200, 5e8
    scaled, bits, shift = check(weight)
    assert_same_bits(scaled, weight)
    assert (bits, shift) == (29, 0)


def test_extremes_are_clipped():
    weight = np.full(3000, 1e-30, np.float32)
    weight[7] = 3e38
    assert check(weight)[0][7] == 2.0**30
    weight = np.full(3000, 1e30, np.float32)
    weight[7], weight[8] = 1e-38, 1e-44
    assert (check(weight)[0][[7, 8]] == np.float32(2.0**-100)).all()


def test_one_weight_and_negative_zero():
    assert check(np.float32([5]))[2] == 0
    scaled, _, shift = check(np.float32([-0.0, 0.5]))
    assert (scaled[1], shift) == (1, -1)
