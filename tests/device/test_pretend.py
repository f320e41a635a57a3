"""Devices that pretend to be less than they are."""

from __future__ import annotations

import pytest

from pyopencl_gbdt.device import pretend
from pyopencl_gbdt.errors import DeviceError
from tests.device.fakes import make_caps

BIG = make_caps(kind="cpu", max_work_group=4096, local_bytes=1 << 20, int64_atomics=True, fp64=True)


def test_baseline():
    caps = pretend.baseline(BIG)
    assert (caps.kind, caps.max_work_group, caps.local_bytes) == ("gpu", 256, 32768)
    assert not caps.int64_atomics
    assert not caps.fp64


def test_baseline_adds_nothing():
    caps = pretend.baseline(make_caps(max_work_group=64, local_bytes=16384))
    assert (caps.max_work_group, caps.local_bytes) == (64, 16384)


def test_the_variable(monkeypatch):
    monkeypatch.delenv(pretend.ENVIRONMENT, raising=False)
    assert pretend.applied(BIG) is BIG
    monkeypatch.setenv(pretend.ENVIRONMENT, " Baseline ")
    assert pretend.applied(BIG) == pretend.baseline(BIG)
    monkeypatch.setenv(pretend.ENVIRONMENT, "gpu")
    assert pretend.applied(BIG).kind == "gpu"
    assert pretend.applied(BIG).int64_atomics


def test_an_unknown_word_is_refused(monkeypatch):
    monkeypatch.setenv(pretend.ENVIRONMENT, "toaster")
    with pytest.raises(DeviceError, match=r"'toaster': expected one of \['baseline', 'gpu'\]"):
        pretend.applied(BIG)
