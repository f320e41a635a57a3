"""More elements than int32 counts, in arrays of more than 8 GiB, in every variant for GPUs.

A test is called after its kernel.
"""

import numpy as np
import pytest

from pyopencl_gbdt.primitives import (
    radix_sort,
    reduce,
    scan,
    segmented_reduce,
    segmented_scan,
    stable_partition,
)
from tests.compare import assert_same_bits

pytestmark = pytest.mark.gpu

MIDDLE = 2**31
N = MIDDLE + 4099
PLACES = (0, MIDDLE - 1, MIDDLE, N - 1)


@pytest.fixture(autouse=True)
def _room(device, variant):
    caps = device.caps
    if caps.kind == "cpu" or caps.unified_memory or caps.max_alloc_bytes < 4 * N:
        pytest.skip("needs a GPU with 8 GiB in one allocation")
    if caps.global_bytes < 5 * 4 * N:
        pytest.skip("needs a GPU of 48 GB")
    if variant.params["wg_size"] == 1:
        pytest.skip("a variant for CPUs")


def marked(device, dtype):
    """Zeros, but ones at PLACES."""
    values = device.zeros(N, dtype)
    for place in PLACES:
        values.set([1], place)
    return values


def numbered(device):
    """0, 1, 2, ... as uint32."""
    ones = device.upload(np.ones(N, np.uint32))
    return scan(ones, ones)


def test_reduce(device, variant):
    values = device.zeros(N, np.int32)
    values.set([-5, -7], MIDDLE - 1)
    values.set([3], N - 1)
    for op, expected in (("sum", -9), ("max", 3), ("min", -7)):
        assert reduce(values, op=op, variant=variant).get()[0] == expected


def test_scan(device, variant):
    values = marked(device, np.uint32)
    scan(values, values, inclusive=True, variant=variant)
    assert reduce(values, op="max").get()[0] == 4
    expected = (MIDDLE - 1) * 1 + 1 * 2 + (N - 1 - MIDDLE) * 3 + 4
    assert reduce(values).get()[0] == expected % 2**32


def test_segmented_reduce(device, variant):
    values = device.zeros(N, np.int32)
    values.set([5, 7], MIDDLE - 1)
    values.set([3], N - 1)
    offsets = [0, MIDDLE, MIDDLE, MIDDLE + 1, N - 1, N]
    got = segmented_reduce(values, offsets, variant=variant).get()
    assert_same_bits(got, np.array([5, 0, 7, 0, 3], np.int32))


def test_segmented_scan(device, variant):
    values = device.zeros(N, np.int32)
    values.set([5, 7, 2], MIDDLE - 1)
    offsets = [0, MIDDLE, MIDDLE, N]
    segmented_scan(values, out=values, offsets=offsets, inclusive=True, variant=variant)
    assert reduce(values, op="max").get()[0] == 9
    assert reduce(values).get()[0] == 5 + 7 + 9 * (N - MIDDLE - 1)


def test_stable_partition(device, variant):
    flags = marked(device, np.uint8)
    out, counts = stable_partition(numbered(device), flags, variant=variant)
    assert counts.get().tolist() == [len(PLACES)]
    got = out.get()
    assert got[: len(PLACES)].tolist() == list(PLACES)
    others = np.delete(np.arange(N, dtype=np.uint32), PLACES)
    assert np.array_equal(got[len(PLACES) :], others)


def test_radix_sort(device, variant):
    keys, values = numbered(device), numbered(device)
    radix_sort(keys, values, descending=True, variant=variant)
    expected = np.arange(N - 1, -1, -1, dtype=np.uint32)
    assert np.array_equal(keys.get(), expected)
    assert np.array_equal(values.get(), expected)
