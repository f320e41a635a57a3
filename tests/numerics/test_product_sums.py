"""product_sums: words stand for the exact sum, but for the bits that they say are cut off."""

from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.numerics.exact_sums import (
    INFINITE,
    N_LIMBS,
    UNDEFINED,
    key_of,
    sum_of,
    sum_words,
)
from tests.compare import assert_same_bits
from tests.reference.mean_loss import sum_words as twin


def exact(loss, weight):
    pairs = zip(loss.tolist(), weight.tolist(), strict=True)
    return sum((Fraction(x) * Fraction(w) for x, w in pairs), Fraction(0))


def value(words):
    return sum_of(words[:N_LIMBS], int(words[N_LIMBS]))


@pytest.mark.parametrize("spread", [1, 8, 18])
def test_sums_are_exact_as_long_as_products_are_near(rng, spread):
    """48 bits of a product, moved down by 48 at most, are all kept."""
    loss = np.ldexp(rng.uniform(1, 2, 500) * rng.choice([-1, 1], 500), rng.integers(0, spread, 500))
    weight = np.ldexp(rng.uniform(1, 2, 500), rng.integers(0, spread, 500))
    loss, weight = loss.astype(np.float32), weight.astype(np.float32)
    assert value(sum_words(loss, weight)) == exact(loss, weight)
    assert value(sum_words(loss, None)) == exact(loss, np.ones_like(loss))


def test_what_is_cut_off_is_small(rng):
    loss = (rng.normal(size=2000) * np.exp(rng.normal(0, 12, 2000))).astype(np.float32)
    weight = np.exp(rng.normal(0, 12, 2000)).astype(np.float32)
    words = sum_words(loss, weight)
    unit = Fraction(2) ** (int(words[N_LIMBS]) - 348)
    assert abs(value(words) - exact(loss, weight)) < unit * loss.size
    assert_same_bits(words, twin(loss, weight))
    above = int(words[N_LIMBS]) + 9
    assert_same_bits(sum_words(loss, weight, above), twin(loss, weight, above))


def test_keys(rng):
    x, w = rng.normal(size=100).astype(np.float32), np.exp2(rng.integers(-9, 9, 100))
    keys = key_of(x, w.astype(np.float32))
    assert (keys == np.frexp(x)[1] + np.frexp(w)[1] + 252).all()
    odd = np.float32([0, 1e-45, np.inf, -np.inf, np.nan, 1])
    assert key_of(odd, np.ones(6, np.float32)).tolist() == [
        0, 0, INFINITE, INFINITE, UNDEFINED, 254,
    ]  # fmt: skip
    assert not key_of(odd, np.zeros(6, np.float32)).any()


@pytest.mark.parametrize("loss", [[], [0.0, -0.0], [1, np.inf], [np.nan, np.inf], [1e-45, 3]])
def test_edges_have_the_twins_words(loss):
    loss = np.float32(loss)
    assert_same_bits(sum_words(loss, None), twin(loss, None))
