"""Arrays of an arena are promises until they get their memory together."""

import gc

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.arena import Arena, zeros
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE

LARGE = 100_000  # bytes that are not joined with others


@pytest.fixture
def arena():
    return Arena(open_device(TEST_DEVICE))


@pytest.mark.parametrize("joins", [False, True])
def test_memory_and_contents_come_together(arena, joins):
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    table = arena.array("table", (2, 3), np.float32, numbers)
    large = arena.array("large", LARGE, np.uint8, zeros)
    few = arena.array("few", 2, np.uint32, [7, 8])
    assert arena.device.allocated_bytes == 0
    assert arena.plan.total_bytes == 24 + LARGE + 8
    arena.allocate(joins=joins)
    assert arena.arrays == {"table": table, "large": large, "few": few}
    assert_same_bits(table.get(), numbers)
    assert_same_bits(few.get(), np.array([7, 8], np.uint32))
    assert not large.get().any()


def test_functions_fill_arrays_after_values_are_there(arena):
    def double(array):
        array.set(2 * arena.arrays["ones"].get())

    twos = arena.array("twos", 3, np.int32, double)
    arena.array("ones", 3, np.int32, [1, 1, 1])
    arena.allocate(joins=True)
    assert twos.get().tolist() == [2, 2, 2]


def test_who_asks_for_a_name_gets_the_same_array(arena):
    first = arena.array("quanta", (5, 2), np.int32)
    assert arena.array("quanta", (np.int64(5), 2), "int32") is first
    for shape, dtype in (((2, 5), np.int32), ((5, 2), np.uint32)):
        with pytest.raises(ValueError, match="array 'quanta' is"):
            arena.array("quanta", shape, dtype)
    assert arena.plan.total_bytes == 40


def test_a_later_array_has_memory_at_once_and_contents_come_again(arena):
    counts = arena.array("counts", 3, np.uint32, [1, 2, 3])
    arena.allocate(joins=True)
    counts.set([9, 9, 9])
    assert arena.array("counts", 3, np.uint32) is counts
    assert counts.get().tolist() == [9, 9, 9]
    arena.array("counts", 3, np.uint32, [1, 2, 3])
    assert counts.get().tolist() == [1, 2, 3]
    assert arena.array("more", 2, np.uint8, zeros).get().tolist() == [0, 0]


def test_a_forgotten_name_stands_for_another_array(arena):
    arena.array("high", LARGE, np.uint8)
    arena.allocate(joins=True)
    arena.forget("high")
    gc.collect()
    assert arena.device.allocated_bytes == 0
    assert arena.array("high", (LARGE, 2), np.uint8).nbytes == 2 * LARGE
    assert arena.device.allocated_bytes == arena.plan.total_bytes


def test_nothing_keeps_the_memory_but_the_arrays(arena):
    device = arena.device
    arena.array("table", 3, np.float32, [1, 2, 3])
    arena.array("large", LARGE, np.uint8, zeros)
    arena.allocate(joins=True)
    assert device.allocated_bytes > LARGE
    gc.disable()  # nothing may need it
    try:
        arena.arrays.clear()
        device.finish()
        assert device.allocated_bytes == 0
    finally:
        gc.enable()
