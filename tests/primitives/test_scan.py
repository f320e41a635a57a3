"""scan: equal to NumPy's cumulative functions, bit by bit, in every variant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import runnable
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.checks import TILE
from pyopencl_gbdt.primitives.reduce import reduce
from pyopencl_gbdt.primitives.scan import Scan, scan
from pyopencl_gbdt.reference import scan as twin
from tests.compare import assert_same_bits
from tests.primitives.samples import any_bits, edge_sizes, elements, floats

KERNEL = "scan"
PAIRS = "pairs"
DTYPES = [np.int32, np.uint32, np.int64, np.float32]


@pytest.mark.parametrize(
    ("dtype", "op"),
    [*((d, op) for d in DTYPES for op in ("sum", "max")), (np.int32, "min"), (np.float32, "min")],
)
def test_equals_twin_at_edges(device, variant, rng, dtype, op):
    for n in edge_sizes(device, TILE):
        values = elements(rng, n, dtype)
        on_device = device.upload(values)
        for inclusive in (False, True):
            got = scan(on_device, inclusive=inclusive, op=op, variant=variant).get()
            assert_same_bits(got, twin.scan(values, inclusive=inclusive, op=op), f"scan of {n}")


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_special_floats(device, variant, rng, op):
    n = 300
    for share in (0.02, 0.5):
        values = floats(rng, n, special=share)
        if share < 0.1:  # infinities and zeros without NaN in front of them
            values[np.isnan(values)] = -0.0
        for inclusive in (False, True):
            got = scan(device.upload(values), inclusive=inclusive, op=op, variant=variant).get()
            assert_same_bits(got, twin.scan(values, inclusive=inclusive, op=op))


def test_pairs(device, variant, rng):
    for n in edge_sizes(device, TILE):
        values = any_bits(rng, 2 * n, np.int64).reshape(n, 2)
        for inclusive in (False, True):
            got = scan(device.upload(values), inclusive=inclusive, variant=variant).get()
            assert_same_bits(got, twin.scan(values, inclusive=inclusive), f"{n} pairs")


@pytest.mark.parametrize(
    ("dtype", "op"), [(np.int32, "sum"), (np.int64, "max"), (np.float32, "min"), (PAIRS, "sum")]
)
def test_totals_that_never_come_are_computed(device, rng, dtype, op):
    """Without a single look at what others publish, the look-back is as right, only later."""
    rows = [row for row in runnable(KERNEL, device.caps) if row.lookback]
    for row in rows:
        params = {**row.params, "spin": 0, "wg_size": 16, "window": 4}
        tile = 16 * params["items"] * 4
        for n in (tile - 1, 3 * tile + 1, 9 * tile):
            values = any_bits(rng, 2 * n, np.int64).reshape(n, 2) if dtype is PAIRS else None
            values = elements(rng, n, dtype) if values is None else values
            got = scan(device.upload(values), op=op, variant=replace(row, params=params)).get()
            assert_same_bits(got, twin.scan(values, op=op), f"scan of {n}")


def test_sums_of_floats_never_look_back(device):
    row = next((row for row in runnable(KERNEL, device.caps) if row.lookback), "auto")
    names = {
        launch.name
        for op in ("sum", "max")
        for launch in Scan(device, 9, np.float32, op=op, variant=row).bind(
            device.zeros(9, np.float32), device.zeros(9, np.float32)
        )
    }
    assert "scan_tiles" in names
    assert ("scan_clear" in names) == (row != "auto")
    sums = Scan(device, 9, np.float32, variant=row)
    arrays = device.zeros(9, np.float32), device.zeros(9, np.float32)
    assert [launch.name for launch in sums.bind(*arrays)] == ["scan_tiles"]


def test_float_sums_are_accurate(device, variant, rng):
    n = 300 if device.caps.is_simulator else 100_000
    values = floats(rng, n)
    got = scan(device.upload(values), inclusive=True, variant=variant).get()
    exact = np.cumsum(values.astype(np.float64))
    bound = 17 * 5 * 2.0**-24 * np.cumsum(np.abs(values).astype(np.float64))
    assert (np.abs(got - exact) <= bound).all()


def test_law_inclusive_is_exclusive_and_the_element(device, variant, rng):
    values = any_bits(rng, 300, np.int32)
    before = scan(device.upload(values), variant=variant).get()
    after = scan(device.upload(values), inclusive=True, variant=variant).get()
    assert_same_bits(after, before + values)
    assert_same_bits(after[:-1], before[1:])


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    n = 300 if device.caps.is_simulator else 9_000
    narrow = next(row for row in runnable(KERNEL, device.caps) if row.name == "portable")
    narrow = replace(narrow, params={**narrow.params, "wg_size": 8})
    values = floats(rng, n)
    got = scan(device.upload(values), variant=narrow).get()
    assert_same_bits(got, twin.scan(values))


def test_three_levels_and_in_place(device, variant):
    if device.caps.is_simulator:
        pytest.skip("too large for a simulator")
    n = TILE * TILE + 1
    values = device.upload(np.ones(n, np.uint32))
    assert scan(values, values, inclusive=True, variant=variant) is values
    assert_same_bits(values.get(), np.arange(1, n + 1, dtype=np.uint32))


def test_beyond_two_to_the_31(device, variant):
    n, caps = 2**31 + 4099, device.caps
    if caps.kind == "cpu" or caps.unified_memory or caps.max_alloc_bytes < 4 * n:
        pytest.skip("needs a GPU with 8 GiB in one allocation")
    if variant.params["wg_size"] == 1:
        pytest.skip("a row for CPUs")
    values = device.zeros(n, np.uint32)
    for place in (0, 2**31 - 1, 2**31, n - 1):
        values.set([1], place)
    scan(values, values, inclusive=True, variant=variant)
    assert reduce(values, op="max").get()[0] == 4
    expected = (2**31 - 1) * 1 + 1 * 2 + (n - 1 - 2**31) * 3 + 4
    assert reduce(values).get()[0] == expected % 2**32


def test_prepared_runs_again_without_waiting(device, rng):
    n = 257 if device.caps.is_simulator else TILE + 1
    values, out = device.zeros(n, np.int64), device.zeros(n, np.int64)
    launches = Scan(device, n, np.int64).bind(values, out)
    for _ in range(2):
        host = any_bits(rng, n, np.int64)
        values.set(host)
        waits = device.n_waits
        for launch in launches:
            launch()
        assert device.n_waits == waits
        assert_same_bits(out.get(), twin.scan(host))


def test_errors_come_before_any_launch(device, other_device):
    values = device.zeros(4, np.int32)
    launched = device.n_launches
    with pytest.raises(DataError, match="values: list; expected a DeviceArray"):
        scan([1, 2])
    with pytest.raises(DataError, match="dtype: dtype uint8; expected one of int32"):
        scan(device.zeros(4, np.uint8))
    with pytest.raises(DataError, match="out: 3 elements; expected 4"):
        scan(values, device.zeros(3, np.int32))
    with pytest.raises(DataError, match="out: dtype int64"):
        scan(values, device.zeros(4, np.int64))
    with pytest.raises(DataError, match="out: lies on another opened device"):
        scan(values, other_device.zeros(4, np.int32))
    with pytest.raises(ParameterError, match="op='mean'"):
        scan(values, op="mean")
    with pytest.raises(ParameterError, match="op='min' of pairs of int64: expected op='sum'"):
        scan(device.zeros((2, 2), np.int64), op="min")
    assert device.n_launches == launched
