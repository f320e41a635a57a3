"""A device of an untested driver is measured before its first use, in a helper process."""

from dataclasses import replace

import pytest

from pyopencl_gbdt.device import discovery, helper_process
from pyopencl_gbdt.device.drivers import fact_store, first_use, measured_facts
from pyopencl_gbdt.device.drivers.atomic_facts import FAILED
from pyopencl_gbdt.errors import DeviceError
from tests.device.fakes import make_caps

SAYS = "import json; print(json.dumps(['{}', {}, '']), flush=True); "
CRASH = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
HANG = "import time; time.sleep(60)"
WORKS = SAYS.format("subnormals", 0) + SAYS.format("skipped_loads", 1)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path))
    monkeypatch.delenv(first_use.INSIDE, raising=False)
    monkeypatch.setattr(first_use, "LONG_SECONDS", 1.0)
    return tmp_path


def helper(monkeypatch, code):
    """Let the helper process run other code than it does."""
    monkeypatch.setattr(first_use, "_CODE", code)


def test_it_measures_once(monkeypatch):
    caps = make_caps(int64_atomics=True)
    answers = {"subnormals": 1, "skipped_loads": 1, "int64_atomics": 0, "copy_speed": 80_000}
    helper(monkeypatch, "".join(SAYS.format(*answer) for answer in answers.items()))
    assert first_use.examine(caps)
    assert fact_store.load(caps) == answers
    monkeypatch.setattr(helper_process, "start", lambda *a, **k: pytest.fail("measured twice"))
    assert not first_use.examine(caps)


@pytest.mark.parametrize("facts", [{"tested_driver": True}, {"api": "cuda"}])
def test_known_drivers_start_no_process(monkeypatch, facts):
    monkeypatch.setattr(helper_process, "start", lambda *a, **k: pytest.fail("it was measured"))
    assert not first_use.examine(make_caps(**facts))


def test_a_program_that_embeds_python_measures_nothing(monkeypatch):
    monkeypatch.setattr("sys.executable", "/usr/bin/blender")
    assert not first_use.examine(make_caps())


def test_a_compiler_that_crashes_at_the_smallest_kernel_is_a_message(monkeypatch):
    helper(monkeypatch, CRASH)
    with pytest.raises(DeviceError, match=r"its driver crashes \(signal 11\) at the smallest kern"):
        first_use.examine(make_caps())
    assert fact_store.load(make_caps()) == {}  # a repaired driver of the same version may work


def test_a_device_that_computes_wrongly_is_refused(monkeypatch):
    helper(monkeypatch, SAYS.format("subnormals", FAILED))
    with pytest.raises(DeviceError, match="computes wrong results in the smallest kernel"):
        first_use.examine(make_caps())


def test_a_compiler_that_refuses_the_smallest_kernel_says_why(monkeypatch):
    line = "import json; print(json.dumps(['subnormals', -1, 'no such type: long']))"
    helper(monkeypatch, line)
    with pytest.raises(DeviceError, match="no such type: long"):
        first_use.examine(make_caps())


def test_a_driver_that_crashes_at_loads_that_no_work_item_asks_for_is_refused(monkeypatch):
    helper(monkeypatch, SAYS.format("subnormals", 0) + CRASH)
    with pytest.raises(DeviceError, match=r"crashes \(signal 11\) at loads that no work-item asks"):
        first_use.examine(make_caps())
    assert fact_store.load(make_caps()) == {}


def test_wrong_sums_of_such_loads_are_refused(monkeypatch):
    helper(monkeypatch, SAYS.format("subnormals", 0) + SAYS.format("skipped_loads", FAILED))
    with pytest.raises(DeviceError, match="computes wrong results in loads that no work-item"):
        first_use.examine(make_caps())


def test_wrong_sums_by_32_bit_atomics_are_refused(monkeypatch):
    helper(monkeypatch, WORKS + SAYS.format("word_sums", FAILED))
    with pytest.raises(DeviceError, match="computes wrong results in sums by 32-bit atomics"):
        first_use.examine(make_caps())


def test_what_crashes_later_is_not_used(monkeypatch, capsys):
    helper(monkeypatch, WORKS + CRASH)
    caps = make_caps(int64_atomics=True)
    assert first_use.examine(caps)
    assert fact_store.load(caps)["int64_atomics"] == FAILED
    assert "crashes (signal 11) while int64_atomics is measured" in capsys.readouterr().err


def test_a_compiler_that_hangs_is_ended_and_tried_again_another_time(monkeypatch, capsys, folder):
    monkeypatch.setattr(first_use, "LONG_SECONDS", 0.4)
    monkeypatch.setattr(first_use, "SECONDS", 0.2)
    helper(monkeypatch, WORKS + HANG)
    caps = make_caps(int64_atomics=True)
    assert first_use.examine(caps)
    assert not measured_facts.applied(caps).int64_atomics  # in this process
    assert '"subnormals"' in (folder / fact_store.file_name(caps)).read_text()
    assert "int64_atomics" not in (folder / fact_store.file_name(caps)).read_text()
    said = capsys.readouterr().err
    assert "before its first use; the results are kept" in said
    assert "takes more than" in said


@pytest.mark.thorough
def test_a_real_device_is_measured_in_the_helper(device, monkeypatch):
    """As if nobody had run the tests on its driver."""
    usual = discovery.faults.apply

    def untested(caps):
        return replace(usual(caps)[0], tested_driver=False), "", []

    monkeypatch.setattr(discovery.faults, "apply", untested)
    if device.caps.api != "opencl":
        pytest.skip("only OpenCL's devices are measured")
    opened = discovery.open_device(device.caps.device_id)
    known = fact_store.load(opened.caps)
    assert (known["subnormals"], known["skipped_loads"]) == (0, 1)
    assert known.get("int64_atomics", 1) == 1
    assert opened.caps.int64_atomics == device.caps.int64_atomics
