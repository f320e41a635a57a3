"""quantiles: ranks and thresholds as exact fractions have them."""

from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.numerics.quantiles import fraction_of, quantile

ALPHAS = (0, 1e-9, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 0.999, 1)


def nearest(number):
    """Return an integer rounded to 24 bits, ties to even, as float32 rounds it."""
    return Fraction(float(np.float32(number)))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_without_weights_it_lies_between_two_ranks(rng, alpha):
    for n in (1, 2, 3, 4, 10, 101):
        values = rng.integers(-50, 50, n).astype(np.float32)  # ties
        ranked = sorted(values.tolist())
        place = Fraction(float(np.float32(alpha))) * (n + 1)
        found = float(quantile(values, None, alpha))
        if place < 1:
            assert found == ranked[0]
        elif place >= n:
            assert found == ranked[-1]
        else:
            low, high = ranked[int(place) - 1], ranked[int(place)]
            exact = Fraction(low) + (place - int(place)) * Fraction(high - low)
            assert low <= found <= high
            assert abs(Fraction(found) - exact) <= Fraction(1, 2**22) * max(abs(low), abs(high), 1)


@pytest.mark.parametrize("most", [2, 1000, 2**54])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_with_weights_it_is_the_first_to_reach_the_threshold(rng, most, alpha):
    for n in (1, 2, 50):
        values = rng.normal(size=n).astype(np.float32)
        weights = rng.integers(0, most, n)
        weights[0] += 1
        total = sum(weights.tolist())
        threshold = nearest(nearest(total) * Fraction(float(np.float32(alpha))))
        threshold = min(max(threshold, 1), total)
        reached, wanted = 0, None
        for row in sorted(range(n), key=lambda row: values[row]):
            reached += int(weights[row])
            if reached >= threshold:
                wanted = values[row]
                break
        assert quantile(values, weights, alpha) == wanted


def test_huge_neighbours_do_not_overflow():
    most = np.finfo(np.float32).max
    found = quantile(np.float32([-most, most]), None, 0.5)
    assert np.isfinite(found)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_fractions_are_exact(alpha):
    mantissa, shift = fraction_of(alpha)
    assert Fraction(mantissa, 2**shift) == Fraction(float(np.float32(alpha)))
    assert 0 <= mantissa < 2**24 or alpha == 1
    assert 23 <= shift <= 60
