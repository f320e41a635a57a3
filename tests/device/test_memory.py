"""Memory is planned before it is taken, and counted."""

import gc

import numpy as np
import pytest

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.device.fakes import FakeDevice


def plan_of(**sizes):
    plan = MemoryPlan()
    for name, size in sizes.items():
        plan.add(name, size, np.uint8)
    return plan


def test_bytes_are_computed_from_shapes():
    plan = MemoryPlan()
    plan.add("flat", 5, np.float64)
    plan.add("deep", (3, np.int64(4)), np.dtype([("a", np.int64), ("b", np.int64)]))
    plan.add("huge", (1 << 20, 1 << 20, 1 << 20), np.uint8)
    assert plan.bytes_of("flat") == 40
    assert plan.bytes_of("deep") == 192
    assert plan.bytes_of("huge") == 1 << 60
    assert plan.total_bytes == (1 << 60) + 232


def test_a_name_is_planned_once():
    plan = plan_of(nodes=1)
    with pytest.raises(ValueError, match="'nodes' is planned twice"):
        plan.add("nodes", 1, np.uint8)


def test_what_does_not_fit_is_refused_with_the_numbers():
    device = FakeDevice(global_bytes=1000, max_alloc_bytes=900)
    with pytest.raises(MemoryPlanError) as caught:
        plan_of(pool=700, nodes=301).check(device, "lower max_depth")
    text = str(caught.value)
    for part in ("1001 bytes", "1000", "'pool'", "700 bytes", device.caps.label, "lower max_depth"):
        assert part in text
    assert device.allocations == []


def test_one_piece_that_is_too_large_is_refused():
    device = FakeDevice(global_bytes=1000, max_alloc_bytes=100)
    with pytest.raises(MemoryPlanError, match=r"101 bytes in one piece for 'pool'.*100 at most"):
        plan_of(pool=101, nodes=1).check(device, "lower max_bin")
    assert device.allocations == []


def test_what_is_already_taken_counts():
    device = FakeDevice(global_bytes=1000, max_alloc_bytes=1000)
    taken = device.empty(600, np.uint8)
    with pytest.raises(MemoryPlanError, match="which has 400 left of 1000"):
        plan_of(pool=401).check(device, "")
    del taken
    plan_of(pool=401).check(device, "")


def test_exactly_full_is_allowed():
    device = FakeDevice(global_bytes=1000, max_alloc_bytes=500)
    plan_of(a=500, b=500).check(device, "")
    arrays = [device.empty(500, np.uint8) for _ in range(2)]
    assert device.allocated_bytes == 1000
    del arrays


def test_allocated_and_peak_bytes():
    device = FakeDevice()
    first = device.empty((10, 10), np.float32)
    second = device.zeros(25, np.int64)
    assert device.allocated_bytes == device.peak_bytes == 600
    del first
    gc.collect()
    assert (device.allocated_bytes, device.peak_bytes) == (200, 600)
    third = device.empty(100, np.uint8)
    assert (device.allocated_bytes, device.peak_bytes) == (300, 600)
    del second, third
    gc.collect()
    assert (device.allocated_bytes, device.peak_bytes) == (0, 600)


def test_an_array_beyond_the_largest_allocation():
    device = FakeDevice(max_alloc_bytes=4000)
    device.empty(1000, np.float32)
    with pytest.raises(MemoryPlanError, match=r"4004 bytes exceeds .* 4000 bytes; use fewer rows"):
        device.empty(1001, np.float32)
    assert [made.nbytes for made in device.allocations] == [4000]


def test_a_memory_plan_error_is_a_memory_error():
    assert issubclass(MemoryPlanError, MemoryError)


@pytest.mark.parametrize(
    ("rows", "params", "room"), [(20_000, {}, 300_000), (3_000, {"max_depth": 24}, 1_000_000)]
)
def test_a_fit_that_cannot_fit_allocates_nothing(rows, params, room):
    small = FakeDevice(global_bytes=room, max_alloc_bytes=room)
    values = np.arange(rows, dtype=np.float32)
    data = Dataset(values[:, None], values)
    objective = get_objective("reg:squarederror")
    with pytest.raises(MemoryPlanError) as caught:
        Fit(small, Parameters.from_dict(params), objective, data, 0.0)
    assert "lower max_depth" in str(caught.value)
    assert " bytes" in str(caught.value)
    assert small.allocations == []
    assert small.built == []
