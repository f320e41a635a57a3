"""exact_mean and exact_sum: equal to sums of fractions, in any order, at any size."""

from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.numerics.portable_math import exact_mean, exact_sum

F32_MAX, LEAST = np.finfo(np.float32).max, np.float32(1e-45)
KINDS = ["normal", "every size", "cancelling", "edges"]


def drawn(kind, rng, n):
    values = {
        "normal": lambda: rng.normal(size=n),
        "every size": lambda: np.ldexp(rng.uniform(-2, 2, n), rng.integers(-149, 127, n)),
        "cancelling": lambda: np.r_[x := rng.normal(size=n // 2) * 1e30, -x, 1e-30],
        "edges": lambda: rng.choice([F32_MAX, -F32_MAX, LEAST, -LEAST, 0.0, -0.0, 1.0], n),
    }[kind]
    return values().astype(np.float32)


def fractions(values):
    return [Fraction(float(value)) for value in values]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sum_is_that_of_fractions(rng, kind):
    for n in (2, 3, 1000):
        values = drawn(kind, rng, n)
        weight = np.abs(drawn("every size", rng, values.size))
        products = zip(fractions(values), fractions(weight), strict=True)
        assert exact_sum(values, None) == sum(fractions(values))
        assert exact_sum(values, weight) == sum(v * w for v, w in products)
        order = rng.permutation(values.size)
        assert exact_sum(values[order], weight[order]) == exact_sum(values, weight)


def test_a_mean_is_rounded_once(rng):
    values, weight = drawn("normal", rng, 999), np.abs(drawn("normal", rng, 999))
    of, by = fractions(values), fractions(weight)
    assert exact_mean(values, None) == sum(of) / 999
    weighted = sum(v * w for v, w in zip(of, by, strict=True)) / sum(by)
    assert exact_mean(values, weight) == weighted
    assert float(exact_mean(values, weight)) == float(weighted)


def test_chunks_of_whole_numbers_beside_others(rng):
    """Float64 adds up the first and the last chunk; one of the numbers between has a fraction."""
    values = rng.integers(1 - 2**24, 2**24, 3 << 15).astype(np.float32)
    values[1 << 15] = 0.5
    values[-1] = 2**24
    assert exact_sum(values, None) == sum(map(int, values.tolist())) + Fraction(1, 2)


@pytest.mark.parametrize("exponent", [-148, -110, 0, 127])
def test_chunks_whose_sums_fill_float64(rng, exponent):
    """The largest numbers of a chunk, all of one sign, beside numbers below their last bits."""
    values = np.full(3 << 15, np.ldexp(np.float32(2 - 2**-23), exponent), np.float32)
    below = rng.integers(1, 60, values.size // 2)
    values[::2] = np.ldexp(values[::2], -below.astype(np.int32))
    values[: 1 << 15] *= -1
    assert exact_sum(values, None) == sum(fractions(values))


def test_many_values_of_one_size():
    """As many as fit a bin of the sums in float64 would round, were they not halved."""
    values = np.full(1 << 20, np.float32(1 + 2**-23))
    assert exact_sum(values, values) == Fraction(float(values[0])) ** 2 * values.size
