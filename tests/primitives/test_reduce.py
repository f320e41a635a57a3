"""reduce: equal to NumPy's reductions, bit by bit, in every variant."""

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.primitives.reduce import REDUCE_TILE, Reduce, reduce
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
from tests.reference import reduce as twin

KERNEL = "reduce"


@pytest.mark.parametrize(("dtype", "op"), DTYPES_AND_OPS)
def test_equals_twin_at_edges(device, variant, rng, dtype, op):
    for n in [*edge_sizes(device, 1024, REDUCE_TILE), 3 * REDUCE_TILE]:
        values = elements(rng, n, dtype)
        got = reduce(device.upload(values), op=op, variant=variant).get()
        assert_same_bits(got, twin.reduce(values, op=op), f"{op} of {n}")


def test_pairs(device, variant, rng):
    for n in edge_sizes(device, REDUCE_TILE):
        values = any_bits(rng, 2 * n, np.int64).reshape(n, 2)
        got = reduce(device.upload(values), variant=variant).get()
        assert_same_bits(got, twin.reduce(values), f"{n} pairs")


@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_special_floats(device, variant, rng, op):
    for values in special_floats(rng):
        got = reduce(device.upload(values), op=op, variant=variant).get()
        assert_same_bits(got, twin.reduce(values, op=op))
    zeros = device.upload(np.full(300, -0.0, np.float32))
    assert_same_bits(reduce(zeros, variant=variant).get(), np.zeros(1, np.float32))


def test_float_sums_are_accurate(device, variant, rng):
    n = 300 if device.caps.is_simulator else 1_000_000
    values = floats(rng, n)
    got = reduce(device.upload(values), variant=variant).get()[0]
    bound = 25 * 2 * 2.0**-24 * np.abs(values.astype(np.float64)).sum()
    assert abs(float(got) - values.astype(np.float64).sum()) <= bound


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    n = 300 if device.caps.is_simulator else 40_000
    chosen = narrow(device, KERNEL, items=2)
    values = floats(rng, n)
    got = reduce(device.upload(values), variant=chosen).get()
    assert_same_bits(got, twin.reduce(values))


def test_several_levels(device, variant):
    if device.caps.is_simulator:
        pytest.skip("too large for a simulator")
    n = REDUCE_TILE * 2000 + 1
    ones = np.ones(n, np.float32)
    assert reduce(device.upload(ones), variant=variant).get()[0] == np.float32(n)


def test_prepared_runs_again_without_waiting(device, rng):
    n = 257 if device.caps.is_simulator else REDUCE_TILE + 1
    values, out = device.zeros(n, np.float32), device.zeros(1, np.float32)
    launches = Reduce(device, n, np.float32).bind(values, out)
    for _ in range(2):
        host = floats(rng, n)
        values.set(host)
        run_without_waiting(device, launches)
        assert_same_bits(out.get(), twin.reduce(host))


def test_errors_come_before_any_launch(device, other_device):
    check_refusals(reduce, device, other_device, n_out=1)
    one = device.zeros(1, np.int32)
    launched = device.n_launches
    with pytest.raises(DataError, match="out: the same array as values"):
        reduce(one, one)
    assert device.n_launches == launched
