"""A device on paper lists what it is asked for, and holds none of it."""

import tracemalloc

import numpy as np
import pytest

from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.paper import Allocation, PaperDevice, PaperTeam
from pyopencl_gbdt.device.team.messages import HostName, RowCount, SumPart
from pyopencl_gbdt.errors import MemoryPlanError
from tests.compare import assert_same_bits
from tests.device.fakes import make_caps

GIB = 1024**3


def test_arrays_are_listed_with_their_names_and_take_no_memory():
    device = PaperDevice(make_caps(global_bytes=4 * GIB, max_alloc_bytes=2 * GIB))
    arena = Arena(device)
    tracemalloc.start()
    pool = arena.array("pool", (2, GIB // 16), np.int64, lambda array: pytest.fail("filled"))
    few = arena.array("few", 3, np.uint8)
    arena.allocate(joins=True)
    pool.set(np.arange(5))
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert device.allocations == [
        Allocation("small arrays", (256,), np.dtype(np.uint8)),
        Allocation("pool", (2, GIB // 16), np.dtype(np.int64)),
    ]
    assert device.peak_bytes == GIB + 256 == sum(one.nbytes for one in device.allocations)
    assert taken < 1_000_000
    assert_same_bits(few.get(), np.zeros(3, np.uint8))


def test_kernels_answer_what_the_host_reads():
    device = PaperDevice(make_caps())
    found = device.empty(2, np.uint32)

    def answer(arguments):
        arguments["found"].handle = np.array([arguments["n"], 7], np.uint32)

    device.answers["scan", "count"] = answer
    device.build("reduce", wg_size=64).launch("count", 1, n=5, found=found)
    assert found.get().tolist() == [0, 0]
    device.build("scan", wg_size=64).launch("count", 1, n=5, found=found)
    assert found.get().tolist() == [5, 7]


def test_a_device_on_paper_has_the_free_memory_of_another_one():
    device = PaperDevice(make_caps(global_bytes=1000, max_alloc_bytes=600))
    taken = device.empty(300, np.uint8)
    paper = PaperDevice.like(device)
    assert paper.allocated_bytes == taken.nbytes
    with pytest.raises(MemoryPlanError, match="exceeds the largest allocation"):
        paper.empty(601, np.uint8)
    assert PaperDevice.like(device, has_limits=False).empty(1 << 40, np.uint8).nbytes == 1 << 40
    assert device.allocated_bytes == taken.nbytes


def test_all_members_of_a_team_on_paper_give_the_same():
    team = PaperTeam(rank=1, size=3)
    assert team.exchange(HostName, "a") == ["a"] * 3
    assert team.most(RowCount, 4) == 4
    assert team.add_up(SumPart, np.array([1, 2])).tolist() == [3, 6]
