"""segmented_scan: equal to a scan of every segment, bit by bit, in every variant."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import runnable
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.checks import TILE
from pyopencl_gbdt.primitives.scan import scan
from pyopencl_gbdt.primitives.segmented_scan import SegmentedScan, segmented_scan
from tests.compare import assert_same_bits
from tests.primitives.running import narrow, run_without_waiting
from tests.primitives.samples import any_bits, cuts, edge_sizes, elements, floats
from tests.reference import segmented_scan as twin

KERNEL = "segmented_scan"
#: Looking back takes one level, whatever the size.
THOROUGH = {
    "test_three_levels_and_in_place": lambda variant: variant.lookback,
    "test_equals_twin_at_edges": lambda variant, dtype, op: (
        variant.params["wg_size"] > 1 and (dtype, op) in ((np.uint32, "sum"), (np.int64, "sum"))
    ),
}
DTYPES = [np.int32, np.uint32, np.int64, np.float32]


@pytest.mark.parametrize(
    ("dtype", "op"), [*((d, "sum") for d in DTYPES), (np.int64, "max"), (np.float32, "min")]
)
def test_equals_twin_at_edges(device, variant, rng, dtype, op):
    for n in edge_sizes(device, TILE):
        values = elements(rng, n, dtype)
        for share in (0.0003, 0.2):
            heads = (rng.random(n) < share).astype(np.uint8)
            arrays = device.upload(values), device.upload(heads)
            for inclusive in (False, True):
                got = segmented_scan(*arrays, inclusive=inclusive, op=op, variant=variant).get()
                expected = twin.segmented_scan(values, heads, inclusive=inclusive, op=op)
                assert_same_bits(got, expected, f"scan of {n}, share of heads {share}")


@pytest.mark.parametrize("op", ["sum", "max"])
def test_special_floats_stay_in_their_segment(device, variant, rng, op):
    values = floats(rng, 300, special=0.1)
    heads = rng.random(300) < 0.1
    for inclusive in (False, True):
        got = segmented_scan(
            *(device.upload(values), device.upload(heads)),
            inclusive=inclusive,
            op=op,
            variant=variant,
        ).get()
        assert_same_bits(got, twin.segmented_scan(values, heads, inclusive=inclusive, op=op))


@pytest.mark.parametrize("dtype", DTYPES)
def test_law_without_heads_it_is_a_scan(device, variant, rng, dtype):
    n = 300 if device.caps.is_simulator else 10_000
    values = device.upload(elements(rng, n, dtype))
    for inclusive in (False, True):
        got = segmented_scan(
            values, device.zeros(n, np.uint8), inclusive=inclusive, variant=variant
        )
        assert_same_bits(got.get(), scan(values, inclusive=inclusive).get())


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_offsets_say_the_same_as_flags(device, variant, rng, dtype):
    for n in edge_sizes(device, TILE):
        values, offsets = elements(rng, n, dtype), cuts(rng, n, 1 + n // 40)
        expected = twin.segmented_scan(values, twin.heads_of(offsets, n), inclusive=True)
        for ends in (offsets, device.upload(offsets, np.uint32)):
            got = segmented_scan(
                device.upload(values), offsets=ends, inclusive=True, variant=variant
            )
            assert_same_bits(got.get(), expected, f"{len(offsets) - 1} segments of {n}")


def test_what_device_offsets_leave_out_are_segments(device, variant):
    offsets = device.upload(np.array([2, 2, 4], np.int64))
    ones = device.upload(np.ones(6, np.int32))
    got = segmented_scan(ones, offsets=offsets, inclusive=True, variant=variant)
    assert_same_bits(got.get(), np.array([1, 2, 1, 2, 1, 2], np.int32))


def test_pairs(device, variant, rng):
    for n in edge_sizes(device, TILE):
        values = any_bits(rng, 2 * n, np.int64).reshape(n, 2)
        heads = (rng.random(n) < 0.002).astype(np.uint8)
        got = segmented_scan(device.upload(values), device.upload(heads), variant=variant).get()
        assert_same_bits(got, twin.segmented_scan(values, heads), f"{n} pairs")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("dtype", "op"), [(np.int32, "sum"), (np.int64, "max"), (np.float32, "min")]
)
def test_totals_that_never_come_are_computed(device, rng, dtype, op):
    """Without a single look at what others publish, the look-back is as right, only later."""
    for chosen in [chosen for chosen in runnable(KERNEL, device.caps) if chosen.lookback]:
        params = {**chosen.params, "spin": 0, "wg_size": 16, "window": 4}
        tile = 16 * params["items"] * 4
        unheard = replace(chosen, params=params)
        for n, share in ((tile - 1, 0.01), (9 * tile, 0.0), (9 * tile, 0.5 / tile)):
            values, heads = elements(rng, n, dtype), (rng.random(n) < share).astype(np.uint8)
            arrays = device.upload(values), device.upload(heads)
            for inclusive in (False, True):
                got = segmented_scan(*arrays, inclusive=inclusive, op=op, variant=unheard).get()
                expected = twin.segmented_scan(values, heads, inclusive=inclusive, op=op)
                assert_same_bits(got, expected, f"scan of {n}")


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    n = 300 if device.caps.is_simulator else 9_000
    chosen = narrow(device, KERNEL)
    values, heads = floats(rng, n), rng.random(n) < 0.01
    got = segmented_scan(device.upload(values), device.upload(heads), variant=chosen).get()
    assert_same_bits(got, twin.segmented_scan(values, heads))


@pytest.mark.thorough
def test_three_levels_and_in_place(device, variant):
    if device.caps.is_simulator:
        pytest.skip("too large for a simulator")
    n = TILE * TILE + 1
    values, heads = device.upload(np.ones(n, np.uint32)), np.zeros(n, np.uint8)
    heads[[10, n - 2]] = 1
    assert segmented_scan(values, device.upload(heads), values, variant=variant) is values
    expected = np.arange(-10, n - 10, dtype=np.int64)
    expected[:10] += 10
    expected[-2:] = [0, 1]
    assert_same_bits(values.get(), expected.astype(np.uint32))


def test_prepared_runs_again_without_waiting(device, rng):
    n = 257 if device.caps.is_simulator else TILE + 1
    values, out = device.zeros(n, np.float32), device.zeros(n, np.float32)
    heads = device.zeros(n, np.bool_)
    launches = SegmentedScan(device, n, np.float32).bind(values, heads, out)
    for _ in range(2):
        host, flags = floats(rng, n), rng.random(n) < 0.01
        values.set(host)
        heads.set(flags)
        run_without_waiting(device, launches)
        assert_same_bits(out.get(), twin.segmented_scan(host, flags))


def test_errors_come_before_any_launch(device, other_device):
    values, heads = device.zeros(4, np.int32), device.zeros(4, np.uint8)
    launched = device.n_launches
    with pytest.raises(DataError, match="values: ndarray; expected a DeviceArray"):
        segmented_scan(np.zeros(4, np.int32), heads)
    with pytest.raises(DataError, match="head_flags: dtype int32; expected one of uint8, bool"):
        segmented_scan(values, values)
    with pytest.raises(DataError, match="head_flags: 3 elements; expected 4"):
        segmented_scan(values, device.zeros(3, np.uint8))
    with pytest.raises(DataError, match="head_flags: lies on another opened device"):
        segmented_scan(values, other_device.zeros(4, np.uint8))
    with pytest.raises(ParameterError, match="head_flags and offsets: neither given"):
        segmented_scan(values)
    with pytest.raises(ParameterError, match="head_flags and offsets: both given"):
        segmented_scan(values, heads, offsets=[0, 4])
    with pytest.raises(DataError, match="offsets: run from 0 to 3; expected from 0 to 4"):
        segmented_scan(values, offsets=[0, 3])
    with pytest.raises(DataError, match="offsets: dtype int32"):
        segmented_scan(values, offsets=values)
    with pytest.raises(ParameterError, match="op=None"):
        segmented_scan(values, heads, op=None)
    assert device.n_launches == launched
