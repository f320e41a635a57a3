"""Times of kernels and copies: what is added up; a copy as a yardstick."""

import numpy as np
import pytest

from pyopencl_gbdt.device import bandwidth, open_device
from pyopencl_gbdt.device.timing import COPY, DOWNLOAD, FILL, UPLOAD, Profiler
from pyopencl_gbdt.errors import DeviceError
from tests.conftest import TEST_DEVICE


def test_stamps_are_added_up_by_phase_and_kernel():
    profiler = Profiler(lambda first, last: last)
    for phase, kernel, seconds, n_bytes in (
        ("a", "sum", 1.0, 10),
        ("a", "sum", 2.0, 20),
        ("a", "move", 4.0, 0),
        ("b", "sum", 8.0, 0),
    ):
        profiler.phase = phase
        profiler.add(kernel, seconds, n_bytes)
    assert profiler.totals == {}
    profiler.collect()
    got = {key: (t.launches, t.seconds, t.n_bytes) for key, t in profiler.totals.items()}
    assert got == {
        ("a", "sum"): (2, 3.0, 30),
        ("a", "move"): (1, 4.0, 0),
        ("b", "sum"): (1, 8.0, 0),
    }
    profiler.collect()  # each stamp counts once
    assert profiler.totals["a", "sum"].launches == 2


def test_a_stamp_that_is_not_there_yet_stays():
    times = {"first": 1.0, "second": None, "third": 4.0}
    profiler = Profiler(lambda first, last: times.get(last))
    for stamp in times:
        profiler.add("kernel", stamp)
    profiler.collect()
    assert profiler.totals["", "kernel"].seconds == 1.0
    times["second"] = 2.0
    profiler.collect()
    assert profiler.totals["", "kernel"].seconds == 7.0


def test_a_device_takes_no_times_unless_it_is_asked_to():
    opened = open_device(TEST_DEVICE)
    assert opened.profiler is None
    with pytest.raises(DeviceError, match=r"profile=True: .* was opened without it; open it by"):
        open_device(opened, profile=True)
    profiled = open_device(TEST_DEVICE, profile=True)
    assert open_device(profiled, profile=True) is profiled


def test_kernels_and_copies_are_listed_with_their_bytes():
    opened = open_device(TEST_DEVICE, profile=True)
    n = 100_000
    values = opened.upload(np.arange(n, dtype=np.uint32))
    out = opened.zeros(n, np.uint32)
    program = opened.build("copy", wg_size=4)
    program.label = lambda name: f"copy.{name}_u32"  # or a copy and the kernel had one name
    blocks = n // 4  # of 16 bytes
    launch = program.bind("copy", 10, values, np.uint32(blocks), np.uint32(blocks // 10), out)
    for _ in range(3):
        launch()
    opened.copy(values, out, 0)
    waits = opened.n_waits
    opened.profiler.collect()
    assert opened.n_waits == waits
    assert np.array_equal(out.get(), values.get())
    opened.profiler.collect()
    got = {kernel: t for (_, kernel), t in opened.profiler.totals.items()}
    size = 4 * n
    expected = {
        UPLOAD: (1, size),
        FILL: (1, size),
        "copy.copy_u32": (3, 6 * size),
        COPY: (1, 2 * size),
        DOWNLOAD: (2, 2 * size),
    }
    assert {kernel: (t.launches, t.n_bytes) for kernel, t in got.items()} == expected
    assert all(0 < t.seconds < 60 for t in got.values())


def test_labels_name_the_template_where_the_kernel_does_not():
    program = open_device(TEST_DEVICE).build("copy", wg_size=1)
    assert program.label("copy") == "copy"
    assert program.label("other") == "copy.other"


def test_a_span_is_from_the_first_start_to_the_last_end():
    profiler = Profiler(lambda first, last: last[1] - first[0])
    with pytest.raises(ValueError, match="no launch"):
        profiler.span()
    profiler.add("a", (1.0, 2.0))
    profiler.add("b", (5.0, 7.0))
    assert profiler.span() == 6.0
    assert profiler.totals["", "b"].seconds == 2.0
    opened = open_device(TEST_DEVICE, profile=True)
    values, out = opened.zeros(1000, np.uint32), opened.empty(1000, np.uint32)
    opened.copy(values, out, 0)
    opened.finish()
    assert 0 <= opened.profiler.span() < 10


def test_a_mark_waits_for_what_came_before_and_is_no_wait_for_all():
    opened = open_device(TEST_DEVICE)
    values = opened.upload(np.arange(1000, dtype=np.uint32))
    out = opened.zeros(1000, np.uint32)
    waits = opened.n_waits
    opened.copy(values, out, 0)
    wait = opened.mark()
    wait()
    wait()  # again costs nothing
    assert (opened.n_waits - waits, opened.n_pauses) == (0, 2)
    assert np.array_equal(out.get(), values.get())


def test_the_yardstick_is_measured_once_and_frees_its_memory(monkeypatch):
    monkeypatch.setattr(bandwidth, "_known", {})
    monkeypatch.setattr(
        bandwidth, "_MOST_BYTES", dict.fromkeys(("cpu", "gpu", "accelerator"), 8_000_000)
    )
    opened = open_device(TEST_DEVICE)
    first = bandwidth.device_bandwidth(opened)
    assert 1e7 < first < 1e14
    assert opened.allocated_bytes == 0
    launches = opened.n_launches
    assert bandwidth.device_bandwidth(opened) == first
    assert opened.n_launches == launches
