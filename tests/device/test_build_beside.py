"""Helper processes compile long programs beside this process's threads."""

import errno
import os
import threading

import numpy as np
import pytest

from pyopencl_gbdt.device import cache, open_device
from pyopencl_gbdt.device.drivers import first_use
from pyopencl_gbdt.device.opencl import build_ahead, build_beside, compile_apart
from pyopencl_gbdt.device.opencl import device as opencl
from pyopencl_gbdt.primitives.scan import scan
from tests.conftest import TEST_DEVICE
from tests.device.fakes import make_caps

#: A helper that does not know OpenCL; it stores nothing.
ANSWERS = "import os\nfor line in sys.stdin:\n    print('done', flush=True)"
#: One whose second program ends it.
DIES = (
    "print('done', flush=True)\nfor line in (sys.stdin.readline(), sys.stdin.readline()):\n    pass"
)


@pytest.fixture(autouse=True)
def many_cores(monkeypatch, tmp_path):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    monkeypatch.delenv(first_use.INSIDE, raising=False)
    monkeypatch.delenv(build_ahead.ENVIRONMENT, raising=False)
    monkeypatch.setattr(build_beside, "_helpers", {})
    monkeypatch.setattr(build_beside, "usable_cores", lambda: 4)
    monkeypatch.setattr(build_beside, "_FEWEST_BYTES", 0)


@pytest.fixture
def started(monkeypatch):
    """The helper processes that were started."""
    found = []

    class Seen(compile_apart.CompileHelper):
        def __init__(self, caps):
            super().__init__(caps)
            found.append(self)

    monkeypatch.setattr(build_beside, "CompileHelper", Seen)
    yield found
    for helper in found:
        helper.close()


def test_where_helpers_are_used(monkeypatch):
    caps = make_caps()
    assert build_beside.wanted(caps)
    monkeypatch.setattr(build_beside, "usable_cores", lambda: 3)
    assert not build_beside.wanted(caps)
    monkeypatch.setattr(build_beside, "usable_cores", lambda: 4)
    monkeypatch.setattr(build_beside, "_FEWEST_BYTES", caps.global_bytes + 1)
    assert not build_beside.wanted(caps)
    monkeypatch.setattr(build_beside, "_FEWEST_BYTES", 0)
    monkeypatch.setenv(build_ahead.ENVIRONMENT, "off")
    assert not build_beside.wanted(caps)


def test_a_helper_builds_what_this_process_loads(monkeypatch, started):
    device = open_device(TEST_DEVICE)
    if device.caps.api != "opencl":
        pytest.skip("CUDA's compiler works in threads")
    for name, value in (("_LONG", 0), ("_START_SECONDS", 60.0), ("_N_HELPERS", 1)):
        monkeypatch.setattr(build_beside, name, value)
    monkeypatch.setattr(opencl, "_BUILD_IN_THREADS", (device.caps.platform,))
    monkeypatch.setattr(opencl, "_KEEP_THEIR_OWN", ())
    monkeypatch.setattr(opencl, "_programs", {})
    monkeypatch.setattr(opencl, "build_source", lambda *a, **k: pytest.fail("compiled here"))
    device.builds_later = True
    values = np.arange(1000, dtype=np.int32)
    got = scan(device.upload(values), inclusive=True, variant="portable").get()
    np.testing.assert_array_equal(got, np.cumsum(values, dtype=np.int32))
    assert len(started) == 1


def test_short_programs_and_devices_without_helpers(started):
    caps = make_caps()
    long = " " * build_beside._LONG
    assert not build_beside.compiled_beside(caps, "0" * 64, long, [], "scan")
    build_beside.start_helpers(caps)
    assert not build_beside.compiled_beside(caps, "0" * 64, "", [], "scan")


def test_helpers_end_without_work_and_start_once(monkeypatch, started):
    monkeypatch.setattr(compile_apart, "_CODE", ANSWERS)
    monkeypatch.setattr(build_beside, "_IDLE_SECONDS", 0.3)
    monkeypatch.setattr(build_beside, "_START_SECONDS", 60.0)
    caps, long = make_caps(), " " * build_beside._LONG
    build_beside.start_helpers(caps)
    build_beside.start_helpers(caps)
    assert build_beside.compiled_beside(caps, "0" * 64, long, [], "scan")
    for thread in threading.enumerate():
        if getattr(thread, "_target", None) and "Helpers" in repr(thread._target):
            thread.join(20)
    assert len(started) == build_beside._N_HELPERS
    assert not any(helper.alive for helper in started)
    monkeypatch.setattr(build_beside, "_START_SECONDS", 0.0)
    assert cache.load("0" * 64) is None


def test_a_compiler_that_dies_leaves_the_program_to_this_process(monkeypatch, started):
    monkeypatch.setattr(compile_apart, "_CODE", DIES)
    monkeypatch.setattr(build_beside, "_N_HELPERS", 1)
    monkeypatch.setattr(build_beside, "_START_SECONDS", 60.0)
    caps, long = make_caps(), " " * build_beside._LONG
    build_beside.start_helpers(caps)
    assert not build_beside.compiled_beside(caps, "1" * 64, long, [], "scan")
    build_beside._helpers[os.getpid(), caps.device_id]._started = 0.0
    assert not build_beside.compiled_beside(caps, "1" * 64, long, [], "scan")


@pytest.mark.few(2)
@pytest.mark.parametrize("fails", ["no process starts", "the limit of time is no number"])
def test_threads_without_a_helper_end_silently(monkeypatch, fails):
    """The fit compiles everything; a traceback would look like an error of its own."""
    raised = []
    monkeypatch.setattr(threading, "excepthook", lambda found: raised.append(found.exc_value))
    monkeypatch.setattr(compile_apart, "_CODE", ANSWERS)
    if fails == "no process starts":
        monkeypatch.setattr(compile_apart.helper_process, "start", no_process)
    else:
        monkeypatch.setenv(compile_apart.ENVIRONMENT, "soon")
    before = set(threading.enumerate())
    helpers = build_beside.Helpers(make_caps(), 2)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    helpers._started = 0.0
    assert not helpers.compiled("2" * 64, " " * build_beside._LONG, [], "scan")
    assert raised == []


def no_process(*arguments, **options):
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
