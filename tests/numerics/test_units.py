"""Units of integer sums: every sum stays below its bound, every unit is the finest allowed."""

from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.numerics.exact_sums import plane_bits, signed_weights, weight_power
from pyopencl_gbdt.numerics.weights import normalise, whole


def fractions(values):
    return [Fraction(value) for value in np.asarray(values, np.float64).tolist()]


@pytest.mark.parametrize("factor", [1e-30, 1.0, 3.7, 1e30])
def test_scaled_weights_are_the_weights_times_a_power_of_two(rng, factor):
    weight = (rng.uniform(0, 9, 500) * factor).astype(np.float32)
    scaled, bits, shift = normalise(weight)
    power = Fraction(2) ** shift
    assert all(s * power == w for s, w in zip(fractions(scaled), fractions(weight), strict=True))
    assert max(fractions(scaled)) < 2**bits


@pytest.mark.parametrize("factor", [1e-290, 1.0, 1e30])
def test_whole_weights_are_rounded_once(rng, factor):
    weight = rng.uniform(0, 9, 500) * factor
    weight[:50] = 0
    weight[50:60] *= 1e-25
    found = whole(weight)
    unit = Fraction(2) ** round(np.log2(weight.max() / found.max()))
    for kept, exact in zip(found.tolist(), fractions(weight), strict=True):
        assert abs(kept - exact / unit) <= Fraction(1, 2) or (kept == 1 and 0 < exact < unit)
    assert found.sum(dtype=object) < 2**61
    assert found.max() >= 2 ** (60 - weight.size.bit_length())


def test_signed_weights(rng):
    label = rng.integers(0, 2, 300).astype(np.float32)
    assert signed_weights(label, None).tolist() == np.where(label > 0, 1, -1).tolist()
    kinds = rng.uniform(0, 3, 300), np.exp(rng.normal(0, 9, 300)), rng.integers(0, 5, 300)
    for weight in (kind.astype(np.float32) for kind in kinds):
        unit = Fraction(2) ** -weight_power(weight)
        found = signed_weights(label, weight)
        for kept, exact in zip(np.abs(found).tolist(), fractions(weight), strict=True):
            assert abs(kept - exact / unit) <= Fraction(1, 2)
        assert ((found < 0) == ((label == 0) & (found != 0))).all()
        assert np.abs(found).sum(dtype=object) < 2**61
    assert weight_power(None) == 0


def test_planes_of_all_rows_fit():
    for n_rows in (1, 2, 1000, 2**20 - 1, 2**20, 2**31):
        assert n_rows << plane_bits(n_rows) <= 2**61
        assert plane_bits(n_rows) == 40 or n_rows << plane_bits(n_rows) + 1 > 2**60
