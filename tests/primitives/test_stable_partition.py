"""stable_partition: equal to two selections a segment, bit by bit, in every variant."""

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.primitives.stable_partition import StablePartition, stable_partition
from tests.compare import assert_same_bits
from tests.primitives.running import many_groups, run_without_waiting
from tests.primitives.samples import any_bits, cuts, edge_sizes
from tests.reference import stable_partition as twin

KERNEL = "stable_partition"
DTYPES = [np.uint32, np.int32, np.float32, np.int64]


def check(device, variant, values, flags, offsets=None):
    got = stable_partition(device.upload(values), device.upload(flags), offsets, variant=variant)
    host_offsets = offsets.get() if hasattr(offsets, "get") else offsets
    out, counts = twin.stable_partition(values, flags, host_offsets)
    assert_same_bits(got[0].get(), out, f"values of {len(values)}")
    assert_same_bits(got[1].get(), counts, f"counts of {len(values)}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_twin_at_edges(device, variant, rng, dtype):
    for n in edge_sizes(device, 1024, 4096):
        values, flags = any_bits(rng, n, dtype), rng.random(n) < 0.5
        check(device, variant, values, flags)
        for n_segments in (2, 150):
            check(device, variant, values, flags, cuts(rng, n, n_segments))


def test_device_offsets_of_both_types(device, variant, rng):
    values, flags = any_bits(rng, 300, np.uint32), rng.integers(0, 3, 300).astype(np.uint8)
    offsets = cuts(rng, 300, 17)
    for dtype in (np.uint32, np.int64):
        check(device, variant, values, flags, device.upload(offsets, dtype))


def test_none_and_all(device, variant, rng):
    values = any_bits(rng, 300, np.float32)
    for flag in (0, 1):
        check(device, variant, values, np.full(300, flag, np.uint8), cuts(rng, 300, 9))


def test_no_values_but_segments(device, variant):
    nothing = np.zeros(0, np.uint32)
    check(device, variant, nothing, np.zeros(0, np.uint8), np.zeros(4, np.int64))
    check(device, variant, nothing, np.zeros(0, np.uint8), np.zeros(1, np.int64))


def test_many_small_groups(device, variant, rng):
    chosen = many_groups(variant, 4, alone=70)
    n = 700 if device.caps.is_simulator else 30_011
    values, flags = any_bits(rng, n, np.int64), rng.random(n) < 0.5
    check(device, chosen, values, flags, cuts(rng, n, 60))


def test_prepared_runs_again_without_waiting(device, rng):
    n, n_segments = 300, 6
    values, flags = device.zeros(n, np.int32), device.zeros(n, np.uint8)
    offsets = device.zeros(n_segments + 1, np.uint32)
    out, counts = device.zeros(n, np.int32), device.zeros(n_segments, np.uint32)
    prepared = StablePartition(device, n, n_segments, np.int32, offset_dtype=np.uint32)
    launches = prepared.bind(values, flags, offsets, out, counts)
    for _ in range(2):
        host, first, ends = (
            any_bits(rng, n, np.int32),
            rng.random(n) < 0.5,
            cuts(rng, n, n_segments),
        )
        values.set(host)
        flags.set(first)
        offsets.set(ends)
        run_without_waiting(device, launches)
        expected = twin.stable_partition(host, first, ends)
        assert_same_bits(out.get(), expected[0])
        assert_same_bits(counts.get(), expected[1])


def test_errors_come_before_any_launch(device, other_device):
    values, flags = device.zeros(4, np.int32), device.zeros(4, np.uint8)
    launched = device.n_launches
    with pytest.raises(DataError, match="values: dtype uint8; expected one of uint32"):
        stable_partition(flags, flags)
    with pytest.raises(DataError, match="flags: dtype int32; expected one of uint8, bool"):
        stable_partition(values, values)
    with pytest.raises(DataError, match="flags: 3 elements; expected 4"):
        stable_partition(values, device.zeros(3, np.uint8))
    with pytest.raises(DataError, match="flags: lies on another opened device"):
        stable_partition(values, other_device.zeros(4, np.uint8))
    with pytest.raises(DataError, match="offsets: 3 at 1 is followed by 1; expected ascending"):
        stable_partition(values, flags, [0, 3, 1, 4])
    with pytest.raises(DataError, match="offsets: run from 1 to 4; expected from 0 to 4"):
        stable_partition(values, flags, [1, 4])
    with pytest.raises(DataError, match="offsets: run from 0 to 3; expected from 0 to 4"):
        stable_partition(values, flags, [0, 3])
    prepared = StablePartition(device, 4, 1, np.int32)
    offsets, counts = device.zeros(2, np.int64), device.zeros(1, np.uint32)
    launched = device.n_launches
    with pytest.raises(DataError, match="out: the same array as values"):
        prepared.bind(values, flags, offsets, values, counts)
    assert device.n_launches == launched
