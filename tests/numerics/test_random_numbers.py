"""random_numbers: the numbers of Python's integers, a bijection, and uniform."""

import numpy as np

from pyopencl_gbdt.numerics.random_numbers import mix, random_bits, stream
from tests.reference.feature_mask import unit_numbers

#: Wellons' lowbias32 of 0, 1, 2, 0xFFFFFFFF, 0xDEADBEEF, by Python's integers.
MIXED = {
    0x0: 0x00000000,
    0x1: 0x688990C0,
    0x2: 0xD1132181,
    0xFFFFFFFF: 0x6768824A,
    0xDEADBEEF: 0xE628C683,
}
#: Keys of (seed, round, tree), and the first numbers of each.
STREAMS = {
    (0, 0, 0): (0x2CCDC4B5, [2758964457, 2004582147, 1682076758]),
    (42, 3, 1): (0xD4282A51, [962515281, 124603367, 930655676]),
    (4294967295, 10, 7): (0x410A7EDE, [61424794, 999534931, 3179016159]),
}


def by_hand(x):
    """Wellons 2018, "Prospecting for Hash Functions": lowbias32."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        x = (x ^ (x >> shift)) * factor % 2**32
    return x


def test_vectors():
    for number, wanted in MIXED.items():
        assert int(mix(number)[0]) == by_hand(number) == wanted
    for (seed, a, b), (key, first) in STREAMS.items():
        assert int(stream(seed, a, b)[0]) == key
        assert random_bits(stream(seed, a, b), np.arange(len(first))).tolist() == first


def test_streams_by_hand(rng):
    for seed, a, b in rng.integers(0, 2**32, (50, 3)).tolist():
        key = by_hand((seed + 0x9E3779B9) % 2**32)
        key = by_hand(by_hand((key + a) % 2**32) ^ (b * 0x85EBCA6B + 0xC2B2AE35) % 2**32)
        assert int(stream(seed, a, b)[0]) == key
        for i in (0, 1, 7, 2**32 - 1):
            wanted = by_hand(by_hand((i + key) % 2**32) ^ key * 0x27D4EB2F % 2**32)
            assert int(random_bits(stream(seed, a, b), i)[0]) == wanted


def test_a_bijection(rng):
    """The inverse that Wellons gives for lowbias32 leads back."""
    some = rng.integers(0, 2**32, 200_000).astype(np.uint32)
    back = mix(some)
    back ^= back >> np.uint32(16)
    back *= np.uint32(0x43021123)
    back ^= (back >> np.uint32(15)) ^ (back >> np.uint32(30))
    back *= np.uint32(0x1D69E2A5)
    back ^= back >> np.uint32(16)
    np.testing.assert_array_equal(back, some)


def test_unit_numbers():
    bits = np.uint32([0, 255, 256, 2**31, 2**32 - 1])
    assert unit_numbers(bits).tolist() == [0, 0, 2**-24, 0.5, 1 - 2**-24]
    drawn = unit_numbers(random_bits(stream(1, 2, 3), np.arange(100_000)))
    counts = np.bincount((drawn * 50).astype(int), minlength=50)
    assert ((counts - 2000) ** 2 / 2000).sum() < 90  # chi square of 49 degrees: 85.4 is 0.1 %
