"""Large arrays of a CPU are asked for in large pages, and hold what is written to them."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt.device.opencl import huge_pages

cl = pytest.importorskip("pyopencl")
ON_LINUX = sys.platform == "linux" and hasattr(mmap, "MADV_HUGEPAGE")


@pytest.fixture
def asked(monkeypatch):
    """The sizes of ranges that the system was asked for."""
    sizes = []

    def ask(address, n_bytes):
        sizes.append(n_bytes)
        return True

    monkeypatch.setattr(huge_pages, "ask", ask)
    return sizes


@pytest.mark.skipif(not ON_LINUX, reason="the system has no such advice")
def test_large_arrays_of_cpus_alone(device, asked):
    large, small = (device.empty(n, np.uint8) for n in (huge_pages.LEAST_BYTES, 4096))
    is_cpu = device.caps.api == "opencl" and device.works_in_place
    assert asked == ([large.nbytes] if is_cpu else [])
    for array in (large, small):
        values = np.arange(array.nbytes, dtype=np.uint8)
        array.set(values)
        np.testing.assert_array_equal(array.get(), values)


@pytest.mark.skipif(not ON_LINUX, reason="the system has no such advice")
def test_the_system_hears():
    memory = mmap.mmap(-1, 4 * huge_pages.LEAST_BYTES)
    address = np.frombuffer(memory, np.uint8).ctypes.data
    if not huge_pages.ask(address + 100, len(memory) - 100):
        pytest.skip("this kernel has no large pages")
    name = f"{address + mmap.PAGESIZE:x}-"
    flags = Path("/proc/self/smaps").read_text(encoding="utf-8").partition(name)[2]
    assert " hg" in flags.partition("VmFlags:")[2].partition("\n")[0]


def test_less_than_a_page_is_left_alone():
    assert not huge_pages.ask(mmap.PAGESIZE + 8, mmap.PAGESIZE)


def test_a_driver_that_maps_nothing_keeps_small_pages(monkeypatch):
    class Queue:
        @property
        def context(self):
            raise cl.LogicError("no queue")

    monkeypatch.setattr(huge_pages, "_system", lambda: len)
    buffer = object()
    assert huge_pages.ask_for(buffer, Queue(), huge_pages.LEAST_BYTES) is buffer
