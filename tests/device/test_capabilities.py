"""Facts about a device, in numbers and in words."""

import dataclasses

import pytest

from tests.device.fakes import MIB, make_caps


def test_capabilities_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_caps().local_bytes = 1


def test_description_in_plain_words():
    caps = make_caps(
        kind="cpu", local_bytes=48 * 1024, global_bytes=2048 * MIB, max_alloc_bytes=512 * MIB,
        int64_atomics=True, unified_memory=True,
    )  # fmt: skip
    text = "\n".join(caps.describe())
    for words in (
        "CPU, 8 compute units, driver 1.0",
        "work-groups of up to 256, 48 KiB local memory",
        "2048 MiB memory, 512 MiB in one allocation",
        "32-bit yes, 64-bit yes; double precision: no; shares memory with the host: yes",
    ):
        assert words in text
    assert caps.label == "Baseline (Nobody's OpenCL, opencl:0:0)"


def test_a_real_device_meets_the_baseline(device):
    caps = device.caps
    assert caps.max_work_group >= 64
    assert caps.local_bytes >= 32 * 1024
    assert 0 < caps.max_alloc_bytes <= caps.global_bytes
    assert caps.compute_units >= 1
    assert caps.name
    assert caps.driver
