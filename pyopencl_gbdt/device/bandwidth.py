"""Time launches, and how fast a device copies memory, with which kernels are compared."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.program import Launch
from pyopencl_gbdt.device.timing import Times, Work, nothing, repeated
from pyopencl_gbdt.dtypes import BLOCK_BYTES

MIB = 1024 * 1024
#: Bytes that the copy reads and writes: several times the size of a device's caches.
_MOST_BYTES = {"cpu": 128 * MIB, "gpu": 1024 * MIB, "accelerator": 1024 * MIB}
#: Bytes for a simulator, which takes seconds for a megabyte.
_SIMULATED_BYTES = 64 * 1024
#: Copies between two waits; with one copy, the time of the launch and the wait would count too.
_COPIES = 4
_known: dict[tuple[int, str, str], float] = {}


def launched(launches: Sequence[Launch]) -> Work:
    """Return the work of launching all of these."""

    def work() -> None:
        for launch in launches:
            launch()

    return work


def host_times(
    device: Device, launches: Sequence[Launch], repeats: int, prepare: Work = nothing
) -> Times:
    """Return times of launches from an idle device to an idle device, see ``repeated``."""
    return repeated(launched(launches), repeats, prepare=prepare, take=device.elapsed)


def device_times(
    device: Device, launches: Sequence[Launch], repeats: int, prepare: Work = nothing
) -> Times:
    """Return times of launches by the device's own clock, see ``repeated``.

    A time is from the start of the run's first launch to the end of its last one. The device must
    have been opened with ``profile=True``.
    """
    profiler = device.profiler
    assert profiler is not None

    def span(work: Work) -> float:
        device.finish()
        profiler.collect()
        work()
        device.finish()
        return profiler.span()

    return repeated(launched(launches), repeats, prepare=prepare, take=span)


def copy_bandwidth(
    device: Device,
    n_bytes: int,
    repeats: int,
    copies: int = 1,
    *,
    own_clock: bool = False,
    groups: int = 0,
) -> float:
    """Return the bytes per second, read and written, of a copy that moves ``n_bytes`` in all.

    Parameters
    ----------
    n_bytes : int
        Half of them are read, half are written. The function allocates both arrays.
    repeats : int
        Number of runs; the result uses their median.
    copies : int, default 1
        Copies in a run, one after the other. With 1, the time includes the launch and the wait, as
        it does for a kernel that is timed alone.
    own_clock : bool, default False
        Whether to take times by the device's clock, as ``device_times`` does.
    groups : int, default 0
        Work-groups that share a copy; 0 is a number that suits the device's compute units.
    """
    n = max(1, n_bytes // 2 // BLOCK_BYTES)
    cpu = device.caps.kind == "cpu"
    program = device.build("copy", wg_size=1 if cpu else 256)
    groups = groups or device.caps.compute_units * (4 if cpu else 16)
    chunk = -(-n // groups)
    shape = (n, BLOCK_BYTES // 4)
    values, out = device.zeros(shape, np.uint32), device.empty(shape, np.uint32)
    arguments = (values, np.uint32(n), np.uint32(chunk), out)
    launch = program.bind("copy", -(-n // chunk), *arguments)
    times = (device_times if own_clock else host_times)(device, [launch] * copies, repeats)
    return copies * 2 * BLOCK_BYTES * n / times.median


def device_bandwidth(device: Device) -> float:
    """Return the bytes per second, read and written, of a large copy.

    The copy runs once per process and device. It allocates up to 1 GiB on a GPU and up to 128 MiB
    on a CPU, never more than an eighth of the free memory, and frees it again.
    """
    caps = device.caps
    key = (os.getpid(), caps.device_id, caps.driver)
    if key not in _known:
        free = caps.global_bytes - device.allocated_bytes
        most = _SIMULATED_BYTES if caps.is_simulator else _MOST_BYTES[caps.kind]
        n_bytes = min(most, free // 8, 2 * caps.max_alloc_bytes)
        _known[key] = copy_bandwidth(device, n_bytes, repeats=5, copies=_COPIES)
    return _known[key]
