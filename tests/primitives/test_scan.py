"""scan: equal to NumPy's cumulative functions, bit by bit, in every variant."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import runnable
from pyopencl_gbdt.primitives.checks import TILE
from pyopencl_gbdt.primitives.scan import Scan, scan
from tests.compare import assert_same_bits
from tests.primitives.running import check_refusals, narrow, run_without_waiting
from tests.primitives.samples import (
    DTYPES_AND_OPS,
    any_bits,
    edge_sizes,
    elements,
    floats,
    special_floats,
)
from tests.reference import scan as twin

KERNEL = "scan"
#: Looking back takes one level, whatever the size.
THOROUGH = {
    "test_three_levels_and_in_place": lambda variant: variant.lookback,
    "test_equals_twin_at_edges": lambda variant, dtype, op: (
        variant.params["wg_size"] > 1 and op != "sum" and dtype != np.float32
    ),
    "test_special_floats": lambda variant, op: op == "min",
    "test_totals_that_never_come_are_computed": lambda dtype, op: dtype == np.int64,
}
PAIRS = "pairs"


@pytest.mark.parametrize(("dtype", "op"), DTYPES_AND_OPS)
def test_equals_twin_at_edges(device, variant, rng, dtype, op):
    for n in edge_sizes(device, TILE):
        values = elements(rng, n, dtype)
        on_device = device.upload(values)
        for inclusive in (False, True):
            got = scan(on_device, inclusive=inclusive, op=op, variant=variant).get()
            assert_same_bits(got, twin.scan(values, inclusive=inclusive, op=op), f"scan of {n}")


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_special_floats(device, variant, rng, op):
    for values in special_floats(rng):
        for inclusive in (False, True):
            got = scan(device.upload(values), inclusive=inclusive, op=op, variant=variant).get()
            assert_same_bits(got, twin.scan(values, inclusive=inclusive, op=op))


def test_pairs(device, variant, rng):
    for n in edge_sizes(device, TILE):
        values = any_bits(rng, 2 * n, np.int64).reshape(n, 2)
        for inclusive in (False, True):
            got = scan(device.upload(values), inclusive=inclusive, variant=variant).get()
            assert_same_bits(got, twin.scan(values, inclusive=inclusive), f"{n} pairs")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("dtype", "op"), [(np.int32, "sum"), (np.int64, "max"), (np.float32, "min"), (PAIRS, "sum")]
)
def test_totals_that_never_come_are_computed(device, rng, dtype, op):
    """Without a single look at what others publish, the look-back is as right, only later."""
    variants = [chosen for chosen in runnable(KERNEL, device.caps) if chosen.lookback]
    for chosen in variants:
        params = {**chosen.params, "spin": 0, "wg_size": 16, "window": 4}
        tile = 16 * params["items"] * 4
        for n in (tile - 1, 3 * tile + 1, 9 * tile):
            values = any_bits(rng, 2 * n, np.int64).reshape(n, 2) if dtype is PAIRS else None
            values = elements(rng, n, dtype) if values is None else values
            got = scan(device.upload(values), op=op, variant=replace(chosen, params=params)).get()
            assert_same_bits(got, twin.scan(values, op=op), f"scan of {n}")


def test_sums_of_floats_never_look_back(device):
    chosen = next((chosen for chosen in runnable(KERNEL, device.caps) if chosen.lookback), "auto")
    names = {
        launch.name
        for op in ("sum", "max")
        for launch in Scan(device, 9, np.float32, op=op, variant=chosen).bind(
            device.zeros(9, np.float32), device.zeros(9, np.float32)
        )
    }
    assert "scan_tiles" in names
    assert ("scan_clear" in names) == (chosen != "auto")
    sums = Scan(device, 9, np.float32, variant=chosen)
    arrays = device.zeros(9, np.float32), device.zeros(9, np.float32)
    assert [launch.name for launch in sums.bind(*arrays)] == ["scan_tiles"]


def test_float_sums_are_accurate(device, variant, rng):
    n = 300 if device.caps.is_simulator else 100_000
    values = floats(rng, n)
    got = scan(device.upload(values), inclusive=True, variant=variant).get()
    exact = np.cumsum(values.astype(np.float64))
    bound = 17 * 5 * 2.0**-24 * np.cumsum(np.abs(values).astype(np.float64))
    assert (np.abs(got - exact) <= bound).all()


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    n = 300 if device.caps.is_simulator else 9_000
    chosen = narrow(device, KERNEL)
    values = floats(rng, n)
    got = scan(device.upload(values), variant=chosen).get()
    assert_same_bits(got, twin.scan(values))


def test_three_levels_and_in_place(device, variant):
    if device.caps.is_simulator:
        pytest.skip("too large for a simulator")
    n = TILE * TILE + 1
    values = device.upload(np.ones(n, np.uint32))
    assert scan(values, values, inclusive=True, variant=variant) is values
    assert_same_bits(values.get(), np.arange(1, n + 1, dtype=np.uint32))


def test_prepared_runs_again_without_waiting(device, rng):
    n = 257 if device.caps.is_simulator else TILE + 1
    values, out = device.zeros(n, np.int64), device.zeros(n, np.int64)
    launches = Scan(device, n, np.int64).bind(values, out)
    for _ in range(2):
        host = any_bits(rng, n, np.int64)
        values.set(host)
        run_without_waiting(device, launches)
        assert_same_bits(out.get(), twin.scan(host))


def test_errors_come_before_any_launch(device, other_device):
    check_refusals(scan, device, other_device, n_out=4)
