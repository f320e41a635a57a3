"""segmented_reduce: equal to a loop over segments, bit by bit, in every variant."""

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.segmented_reduce import (
    SEGMENT_CHUNK,
    SegmentedReduce,
    segmented_reduce,
)
from tests.compare import assert_same_bits
from tests.primitives.running import narrow, run_without_waiting
from tests.primitives.samples import any_bits, cuts, edge_sizes, elements, floats
from tests.reference import segmented_reduce as twin

KERNEL = "segmented_reduce"
DTYPES = [np.int32, np.uint32, np.int64, np.float32]


@pytest.mark.parametrize(
    ("dtype", "op"), [*((d, "sum") for d in DTYPES), (np.uint32, "min"), (np.float32, "max")]
)
def test_equals_twin_at_edges(device, variant, rng, dtype, op):
    for n in edge_sizes(device, SEGMENT_CHUNK):
        values = elements(rng, n, dtype)
        for n_segments in (1, 5, 20 if device.caps.is_simulator else 130):
            offsets = cuts(rng, n, n_segments)
            got = segmented_reduce(device.upload(values), offsets, op=op, variant=variant).get()
            expected = twin.segmented_reduce(values, offsets, op=op)
            assert_same_bits(got, expected, f"{n_segments} segments of {n}")


def test_device_offsets_of_both_types(device, variant, rng):
    values = any_bits(rng, 300, np.int64)
    offsets = cuts(rng, 300, 20)
    expected = twin.segmented_reduce(values, offsets)
    for dtype in (np.uint32, np.int64):
        on_device = device.upload(offsets, dtype)
        got = segmented_reduce(device.upload(values), on_device, variant=variant).get()
        assert_same_bits(got, expected)


def test_segments_need_not_cover_the_values(device, variant):
    n = 300 if device.caps.is_simulator else 3 * SEGMENT_CHUNK
    values = device.upload(np.ones(n, np.int32))
    for offsets in ([n - 7, n - 7, n - 2], [3, 5], [n, n]):
        got = segmented_reduce(values, offsets, variant=variant).get()
        assert_same_bits(got, np.diff(offsets).astype(np.int32))


def test_special_floats(device, variant, rng):
    values = floats(rng, 300, special=0.1)
    offsets = cuts(rng, 300, 40)
    for op in ("sum", "max"):
        got = segmented_reduce(device.upload(values), offsets, op=op, variant=variant).get()
        assert_same_bits(got, twin.segmented_reduce(values, offsets, op=op))


def test_law_a_float_sum_does_not_depend_on_its_place(device, variant, rng):
    length = 100 if device.caps.is_simulator else 5_000
    segment = floats(rng, length)
    values = np.concatenate([segment, floats(rng, 13), segment, segment])
    offsets = [0, length, length + 13, 2 * length + 13, 3 * length + 13]
    sums = segmented_reduce(device.upload(values), offsets, variant=variant).get()
    assert_same_bits(sums[[2, 3]], sums[[0, 0]])


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    n = 300 if device.caps.is_simulator else 9_000
    chosen = narrow(device, KERNEL)
    values, offsets = floats(rng, n), cuts(rng, n, 5)
    got = segmented_reduce(device.upload(values), offsets, variant=chosen).get()
    assert_same_bits(got, twin.segmented_reduce(values, offsets))


def test_a_segment_of_more_than_1024_chunks(device, variant):
    if device.caps.is_simulator:
        pytest.skip("too large for a simulator")
    n = SEGMENT_CHUNK**2 + SEGMENT_CHUNK + 5
    ones, offsets = np.ones(n, np.float32), [0, 0, n - 1025, n - 1, n, n]
    sums = segmented_reduce(device.upload(ones), offsets, variant=variant).get()
    assert_same_bits(sums, twin.segmented_reduce(ones, np.array(offsets)))
    sums = segmented_reduce(device.upload(ones.astype(np.uint32)), offsets, variant=variant)
    assert_same_bits(sums.get(), np.diff(offsets).astype(np.uint32))


def test_many_short_segments(device, variant, rng):
    n = 300 if device.caps.is_simulator else 20_000
    values, lengths = any_bits(rng, n, np.int32), rng.integers(0, 4, n)
    offsets = np.minimum(np.concatenate([[0], np.cumsum(lengths)]), n)
    got = segmented_reduce(device.upload(values), offsets, variant=variant).get()
    assert_same_bits(got, twin.segmented_reduce(values, offsets))


def test_pairs(device, variant, rng):
    n = 300 if device.caps.is_simulator else 9_000
    values, offsets = any_bits(rng, 2 * n, np.int64).reshape(n, 2), cuts(rng, n, 30)
    got = segmented_reduce(device.upload(values), offsets, variant=variant).get()
    assert_same_bits(got, twin.segmented_reduce(values, offsets))


def test_float_sums_are_accurate(device, variant, rng):
    n = 300 if device.caps.is_simulator else 100_000
    values, offsets = floats(rng, n), cuts(rng, n, 7)
    got = segmented_reduce(device.upload(values), offsets, variant=variant).get()
    for start, end, total in zip(offsets[:-1], offsets[1:], got, strict=True):
        part = values[start:end].astype(np.float64)
        assert abs(float(total) - part.sum()) <= 36 * 2 * 2.0**-24 * np.abs(part).sum()


def test_prepared_runs_again_without_waiting(device, rng):
    n, n_segments = 300, 12
    values, out = device.zeros(n, np.float32), device.zeros(n_segments, np.float32)
    offsets = device.zeros(n_segments + 1, np.int64)
    launches = SegmentedReduce(device, n, n_segments, np.float32).bind(values, offsets, out)
    for _ in range(2):
        host, ends = floats(rng, n), cuts(rng, n, n_segments)
        values.set(host)
        offsets.set(ends)
        run_without_waiting(device, launches)
        assert_same_bits(out.get(), twin.segmented_reduce(host, ends))


def test_errors_come_before_any_launch(device, other_device):
    values = device.zeros(4, np.int32)
    launched = device.n_launches
    with pytest.raises(DataError, match="dtype: dtype uint8"):
        segmented_reduce(device.zeros(4, np.uint8), [0, 4])
    with pytest.raises(DataError, match=r"offsets: 3 at 1 is followed by 2; expected ascending"):
        segmented_reduce(values, [0, 3, 2])
    with pytest.raises(DataError, match=r"offsets: run from 0 to 5; expected within 0\.\.4"):
        segmented_reduce(values, [0, 5])
    with pytest.raises(DataError, match="offsets: float64 of shape"):
        segmented_reduce(values, [0.0, 4.0])
    with pytest.raises(DataError, match=r"offsets: .* of shape \(0,\)"):
        segmented_reduce(values, np.zeros(0, np.int64))
    with pytest.raises(DataError, match="offsets: dtype int32; expected one of uint32, int64"):
        segmented_reduce(values, device.zeros(2, np.int32))
    with pytest.raises(DataError, match="offsets: lies on another opened device"):
        segmented_reduce(values, other_device.zeros(2, np.int64))
    with pytest.raises(DataError, match="out: 2 elements; expected 1"):
        segmented_reduce(values, [0, 4], device.zeros(2, np.int32))
    with pytest.raises(ParameterError, match="op='mean'"):
        segmented_reduce(values, [0, 4], op="mean")
    assert device.n_launches == launched
