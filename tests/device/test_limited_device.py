"""Devices that pretend to be less than they are."""

import pytest

from pyopencl_gbdt.device import limited_device
from pyopencl_gbdt.errors import DeviceError
from tests.device.fakes import make_caps

BIG = make_caps(kind="cpu", max_work_group=4096, local_bytes=1 << 20, int64_atomics=True, fp64=True)


def test_baseline():
    caps = limited_device.baseline(BIG)
    assert (caps.kind, caps.max_work_group, caps.local_bytes) == ("gpu", 256, 32768)
    assert not caps.int64_atomics
    assert not caps.fp64


def test_baseline_adds_nothing():
    caps = limited_device.baseline(make_caps(max_work_group=64, local_bytes=16384))
    assert (caps.max_work_group, caps.local_bytes) == (64, 16384)


def test_the_variable(monkeypatch):
    monkeypatch.delenv(limited_device.ENVIRONMENT, raising=False)
    assert limited_device.applied(BIG) is BIG
    monkeypatch.setenv(limited_device.ENVIRONMENT, " Baseline ")
    assert limited_device.applied(BIG) == limited_device.baseline(BIG)
    monkeypatch.setenv(limited_device.ENVIRONMENT, "gpu")
    assert limited_device.applied(BIG).kind == "gpu"
    assert limited_device.applied(BIG).int64_atomics


def test_an_unknown_word_is_refused(monkeypatch):
    monkeypatch.setenv(limited_device.ENVIRONMENT, "toaster")
    with pytest.raises(DeviceError, match=r"'toaster': expected one of \['baseline', 'gpu'\]"):
        limited_device.applied(BIG)
