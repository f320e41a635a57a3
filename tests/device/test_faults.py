"""Known faults: whom a row meets, and what is done about it."""

import pytest

from pyopencl_gbdt.device.drivers import faults
from pyopencl_gbdt.device.drivers.fault import MEASURED
from pyopencl_gbdt.device.opencl import facts as opencl_facts
from tests.device.fakes import make_caps

RUSTICL = {"platform": "rusticl", "name": "AMD Radeon"}
LLVMPIPE = {**RUSTICL, "name": "llvmpipe (LLVM 19.1.7, 256 bits)", "driver": "25.2.6"}
ZINK = {**LLVMPIPE, "name": "zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))"}
NEO = {"platform": "Intel(R) OpenCL Graphics", "name": "Intel(R) Arc(TM) A770 Graphics"}
ROCM = {"platform": "AMD Accelerated Parallel Processing", "name": "gfx906"}


def test_a_device_without_faults_stays_as_it_is():
    caps = make_caps(tested_driver=True)
    assert faults.apply(caps) == (caps, "", ())


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({**RUSTICL, "driver": "22.3.6 (OpenCL 3.0 )"}, "65535 rounds"),
        (LLVMPIPE, "trainings crash"),
        ({"platform": "Clover", "driver": "25.0.7 (OpenCL 1.1 Mesa)"}, "OpenCL 1.1"),
    ],
)
def test_refused(facts, words):
    problem = faults.apply(make_caps(**facts))[1]
    assert words in problem
    assert "install" in problem or "use" in problem


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({**NEO, "driver": "22.53.25242.13 (OpenCL 3.0 )"}, "overtake"),
        ({**NEO, "name": "Intel(R) Graphics [0x5a85]", "driver": "21.06"}, "lose updates"),
        ({**ROCM, "driver": "3137.0 (HSA1.1,LC) (OpenCL 2.0)"}, "multiplications"),
    ],
)
def test_warned(facts, words):
    caps = make_caps(**facts, tested_driver=True)
    same, problem, notes = faults.apply(caps)
    assert same == caps
    assert problem == ""
    assert any(words in note and "https://" in note for note in notes)


@pytest.mark.parametrize(
    "facts",
    [
        ZINK,
        {**RUSTICL, "driver": "25.2.6-1 (OpenCL 3.0 )"},
        {**RUSTICL, "driver": "of an unknown form"},
        {**NEO, "driver": "24.48.31907.7"},
        {**ROCM, "driver": "3241.0 (HSA1.1,LC)"},
        {**ROCM, "driver": "3635.0 (HSA1.1,LC)"},
        {**ROCM, "name": "gfx1030", "kind": "cpu"},
        {"platform": "NVIDIA CUDA", "driver": "580.82 (OpenCL 3.0 CUDA)"},
    ],
)
def test_neither_refused_nor_warned_nor_limited(facts):
    caps = make_caps(**facts, tested_driver=True)
    assert faults.apply(caps) == (caps, "", ())


def test_compute_units_that_are_counted_in_pairs(monkeypatch):
    def units(**facts):
        return faults.apply(make_caps(**{**ROCM, "compute_units": 20, **facts}))[0].compute_units

    monkeypatch.delenv("GPU_ENABLE_WGP_MODE", raising=False)
    assert [units(name=name) for name in ("gfx1010", "gfx1030", "gfx1100", "gfx1201")] == [40] * 4
    assert [units(name=name) for name in ("gfx906", "gfx90a", "gfx942", "gfx10")] == [20] * 4
    assert units(platform="rusticl", name="AMD Radeon RX 6800 (radeonsi, navi21)") == 20
    monkeypatch.setenv("GPU_ENABLE_WGP_MODE", "0")
    assert units(name="gfx1030") == 20


@pytest.mark.parametrize(
    ("facts", "most"),
    [
        ({**ROCM, "name": "gfx1100"}, 256),
        ({**ROCM, "name": "gfx1151"}, 256),
        ({**RUSTICL, "name": "AMD Radeon RX 7900 XTX (radeonsi, navi31, LLVM 19.1.7)"}, 256),
        ({**ROCM, "name": "gfx1030"}, 1024),
        ({**ROCM, "name": "gfx1201"}, 1024),
        (NEO, 1024),
    ],
)
def test_groups_stay_small_where_loads_move_over_a_barrier(facts, most):
    caps = make_caps(**facts, max_work_group=1024)
    assert faults.apply(caps)[0].max_work_group == most


def test_a_bounded_share_of_the_memory_is_used():
    """A driver that was tested states what it has; others may state what a display holds."""
    stated = {"global_bytes": 8 << 30, "max_alloc_bytes": 8 << 30}
    used = faults.apply(make_caps(**stated))[0]
    assert used.global_bytes == used.max_alloc_bytes == 7 << 30
    quarter = faults.apply(make_caps(**{**stated, "max_alloc_bytes": 2 << 30}))[0]
    assert quarter.max_alloc_bytes == 2 << 30
    for other in ({"tested_driver": True}, {"kind": "cpu"}):
        assert faults.apply(make_caps(**stated, **other))[0].global_bytes == 8 << 30


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({**NEO, "global_bytes": 255012864}, "Resizable BAR"),
        ({**ROCM, "vendor": "Advanced Micro Devices", "global_bytes": 256 << 20}, "frame buffer"),
    ],
)
def test_a_memory_that_is_stated_too_small_is_warned_of(facts, words):
    assert any(words in note for note in faults.apply(make_caps(**facts))[2])
    assert faults.apply(make_caps(**{**facts, "global_bytes": 8 << 30}))[2] == ()


def test_a_rusticl_without_devices_says_which_line_is_missing(monkeypatch):
    monkeypatch.delenv("RUSTICL_ENABLE", raising=False)
    (reason,) = opencl_facts.why_no_device("rusticl")
    assert "RUSTICL_ENABLE is not set" in reason
    assert "`export RUSTICL_ENABLE=radeonsi`" in reason
    monkeypatch.setenv("RUSTICL_ENABLE", "panfrost")
    assert "RUSTICL_ENABLE=panfrost names no driver" in opencl_facts.why_no_device("rusticl")[0]
    assert opencl_facts.why_no_device("Clover") == []


def test_pocl_is_limited():
    caps = make_caps(platform="Portable Computing Language", driver="3.0", kind="cpu")
    assert caps.skips_barriers
    assert not faults.apply(caps)[0].skips_barriers


def test_apple_is_limited():
    cpu = make_caps(platform="Apple", kind="cpu", max_work_group=1024)
    assert faults.apply(cpu)[0].max_work_group == 1
    gpu = make_caps(platform="Apple", int64_atomics=True)
    assert not faults.apply(gpu)[0].int64_atomics


@pytest.mark.parametrize("fault", faults.TABLE, ids=[fault.driver for fault in faults.TABLE])
def test_every_row_says_what_it_needs(fault):
    assert fault.driver
    assert fault.fault
    assert fault.remedy
    assert fault.source == MEASURED or fault.source.startswith("https://github.com/")
    assert not (fault.refuse and fault.warn)


@pytest.mark.parametrize(("llvm", "null"), [("19.1.7", False), ("22.1.8", True)])
def test_lavapipe_of_llvm_22_is_tested_and_not_warned_of(llvm, null):
    caps = make_caps(**{**ZINK, "name": ZINK["name"].replace("19.1.7", llvm)})
    found = [fault for fault in faults.TABLE if fault.matches(caps)]
    assert any("executes loads" in fault.text for fault in found) == null
    assert not any(fault.warn for fault in found)
