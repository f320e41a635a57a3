"""Known faults: whom a row meets, and what is done about it."""

from __future__ import annotations

import pytest

from pyopencl_gbdt.device import faults
from tests.device.fakes import make_caps

RUSTICL = {"platform": "rusticl", "name": "AMD Radeon"}
LLVMPIPE = {**RUSTICL, "name": "llvmpipe (LLVM 19.1.7, 256 bits)", "driver": "25.2.6"}
ZINK = {**LLVMPIPE, "name": "zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))"}
NEO = {"platform": "Intel(R) OpenCL Graphics", "name": "Intel(R) Arc(TM) A770 Graphics"}
ROCM = {"platform": "AMD Accelerated Parallel Processing", "name": "gfx906"}


def test_a_device_without_faults_stays_as_it_is():
    caps = make_caps()
    assert faults.apply(caps) == (caps, "", [])


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
    caps = make_caps(**facts)
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
        {"platform": "NVIDIA CUDA", "driver": "580.82 (OpenCL 3.0 CUDA)"},
        {"platform": "Portable Computing Language", "driver": "3.0", "kind": "cpu"},
    ],
)
def test_neither_refused_nor_warned_nor_limited(facts):
    caps = make_caps(**facts)
    assert faults.apply(caps) == (caps, "", [])


def test_a_rusticl_without_devices_says_which_line_is_missing(monkeypatch):
    monkeypatch.delenv("RUSTICL_ENABLE", raising=False)
    (reason,) = faults.why_no_device("rusticl")
    assert "RUSTICL_ENABLE is not set" in reason
    assert "`export RUSTICL_ENABLE=radeonsi`" in reason
    monkeypatch.setenv("RUSTICL_ENABLE", "panfrost")
    assert "RUSTICL_ENABLE=panfrost names no driver" in faults.why_no_device("rusticl")[0]
    assert faults.why_no_device("Clover") == []


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
    assert fault.source == faults.MEASURED or fault.source.startswith("https://github.com/")
    assert not (fault.refuse and fault.warn)
