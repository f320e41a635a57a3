"""The comparer itself: it must catch a single differing bit and name its place."""

import numpy as np
import pytest

from tests.compare import assert_same_bits


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint32, np.int64, np.float32])
def test_names_the_only_place_that_differs(dtype):
    expected = np.arange(60).reshape(3, 20).astype(dtype)
    actual = expected.copy()
    assert_same_bits(actual, expected)
    actual[1, 7] += 1
    with pytest.raises(AssertionError, match=r"1 of 60 places differ; first at \(1, 7\)"):
        assert_same_bits(actual, expected)


def test_counts_every_place_and_names_the_first():
    actual, expected = np.zeros(10, np.int32), np.zeros(10, np.int32)
    actual[[4, 9]] = 1
    with pytest.raises(AssertionError, match=r"counts: 2 of 10 places differ; first at \(4,\)"):
        assert_same_bits(actual, expected, "counts")


def test_floats_are_compared_by_bits():
    nan = np.array([0x7FC00000, 0x7FC00001], np.uint32).view(np.float32)
    assert_same_bits(nan, nan.copy())
    with pytest.raises(AssertionError, match=r"0x7fc00000\), expected .*0x7fc00001"):
        assert_same_bits(nan[:1], nan[1:])
    with pytest.raises(AssertionError, match="0x80000000"):
        assert_same_bits(np.float32([-0.0]), np.float32([0.0]))


def test_dtype_and_shape_count():
    with pytest.raises(AssertionError, match="dtype int32, expected int64"):
        assert_same_bits(np.zeros(3, np.int32), np.zeros(3, np.int64))
    with pytest.raises(AssertionError, match=r"shape \(3,\), expected \(1, 3\)"):
        assert_same_bits(np.zeros(3), np.zeros((1, 3)))
    assert_same_bits(np.zeros(0, np.int32), np.zeros(0, np.int32))
