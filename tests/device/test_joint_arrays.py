"""Small arrays in one allocation: what is set before the device reads them goes up in one copy."""

import gc

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.arena import Arena, joint_arrays, uploaded
from pyopencl_gbdt.device.limited_device import limit_memory
from pyopencl_gbdt.device.room import Room, lasting, shared
from tests.conftest import TEST_DEVICE

PLANNED = {
    "one": ((3,), np.dtype(np.uint8)),
    "none": ((0, 2), np.dtype(np.float32)),
    "table": ((2, 3), np.dtype(np.float32)),
    "words": ((5,), np.dtype(np.uint32)),
}


def test_first_contents_go_up_in_one_copy():
    opened = open_device(TEST_DEVICE)
    arrays = joint_arrays(opened, PLANNED)
    arrays["one"].set([1, 2, 3])
    arrays["table"].set(np.arange(6).reshape(2, 3))
    arrays["table"].set([7, 8], start=1)  # the last of two counts
    arrays["words"].set(np.full(5, 9))
    opened.clear(arrays["words"])
    arrays["words"].reshaped((2,)).words().set([4], start=1)
    assert opened.n_copies == 0
    assert arrays["table"].get().tolist() == [[0, 7, 8], [3, 4, 5]]
    assert opened.n_copies == 2  # up, and down
    assert arrays["words"].get().tolist() == [0, 4, 0, 0, 0]
    assert arrays["one"].get().tolist() == [1, 2, 3]
    assert arrays["none"].get().shape == (0, 2)


def test_later_contents_are_copied_at_once():
    opened = open_device(TEST_DEVICE)
    arrays = joint_arrays(opened, PLANNED)
    arrays["one"].set([1, 2, 3])
    opened.send()
    arrays["one"].set([9], start=2)
    arrays["words"].set([5, 5, 5, 5, 5])
    opened.clear(arrays["words"])
    assert opened.n_copies == 4
    assert arrays["one"].get().tolist() == [1, 2, 9]
    assert not arrays["words"].get().any()


def test_a_second_group_of_arrays_sends_the_first():
    opened = open_device(TEST_DEVICE)
    first = joint_arrays(opened, PLANNED)["one"]
    first.set([1, 2, 3])
    ones, twos = uploaded(opened, (np.ones(2, np.uint8), np.full((2, 2), 2, np.float32)))
    assert (first.get().tolist(), ones.get().tolist()) == ([1, 2, 3], [1, 1])
    assert twos.get().tolist() == [[2, 2], [2, 2]]


def test_arrays_that_were_never_sent_leave_no_memory():
    opened = open_device(TEST_DEVICE)
    gc.disable()  # nothing may need it
    try:
        arrays = joint_arrays(opened, PLANNED)
        arrays["one"].set([1, 2, 3])
        assert opened.allocated_bytes > 0
        del arrays
        assert opened.allocated_bytes == 0
        opened.send()  # nothing is left to send
        assert opened.n_copies == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("joins", [False, True])
def test_only_small_arrays_of_an_arena_are_joined(joins):
    arena = Arena(open_device(TEST_DEVICE))
    sizes = {"small": 3, "large": 100_000, "other": 5}
    arrays = [arena.array(name, size, np.uint8) for name, size in sizes.items()]
    arena.allocate(joins=joins)
    assert [array.first_contents is not None for array in arrays] == [joins, False, joins]
    assert [array.shape for array in arrays] == [(3,), (100_000,), (5,)]


def test_arrays_of_several_jobs_lie_in_one_allocation():
    """The third finds no room: there was room for two of the first one's size."""
    opened = open_device(TEST_DEVICE)
    room, planned = Room(2), {"few": ((3,), np.dtype(np.uint32)), "zero": ((2,), np.dtype(np.int8))}
    larger = {"many": ((60_000,), np.dtype(np.uint32))}
    jobs = [joint_arrays(opened, planned, larger, room.job()) for _ in range(3)]
    for number, arrays in enumerate(jobs):
        arrays["few"].set([number, 1, 2])
        opened.clear(arrays["zero"])
        arrays["many"].set(np.full(60_000, number, np.uint32))
    wholes = [[array.place[0] for array in arrays.values()] for arrays in jobs]
    assert all(whole is wholes[0][0] for whole in [*wholes[0], *wholes[1]])
    assert all(whole is not wholes[0][0] for whole in wholes[2])
    for number, arrays in enumerate(jobs):
        assert arrays["few"].get().tolist() == [number, 1, 2]
        assert arrays["zero"].get().tolist() == [0, 0]
        assert (arrays["many"].get() == number).all()


def test_arrays_of_jobs_have_the_same_places():
    """Small ones lie in what an allocation has to spare; the first job alone makes another."""
    room, jobs = Room(2), []
    for _ in range(3):
        opened = open_device(TEST_DEVICE)
        opened.room = room.job()
        sizes = 100_000, 8, 100_000
        jobs.append((opened, [lasting(opened, (size,), np.uint8) for size in sizes]))
    own, other, late = (arrays for _, arrays in jobs)
    taken = [opened.room.taken for opened, _ in jobs]
    assert taken[0] == taken[1]
    assert [number for number, *_ in taken[0]] == [0, 0, 1]
    assert taken[2] == []
    for (number, *_), one, two, three in zip(taken[0], own, other, late, strict=True):
        assert two.place == (one.place[0], one.place[1] + room.steps[number])
        assert three.place == (three, 0)


def test_what_jobs_side_by_side_share():
    opened = open_device(TEST_DEVICE)
    shared(opened)["plan"] = 1
    assert shared(opened) == {}  # there is one job
    room = Room(2)
    for _ in range(2):
        opened.room = room.job()
        shared(opened).setdefault("jobs", []).append(opened.room.number)
    assert shared(opened) == {"jobs": [0, 1]}


def test_an_allocation_of_jobs_leaves_memory_to_the_first():
    opened = open_device(TEST_DEVICE)
    limit_memory(opened, opened.allocated_bytes + 4_000_000)
    opened.room = Room(5).job()
    large = lasting(opened, (200_000,), np.uint8)
    assert large.place == (large, 0)
    small = lasting(opened, (100_000,), np.uint8)
    assert small.place[0].nbytes < 1_000_000
    assert [n for n, *_ in opened.room.taken] == [0]
