"""Whoever waits for kernels to be built is told so, once."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import base
from pyopencl_gbdt.device import program as builds
from pyopencl_gbdt.device.program import BuildNotice
from tests.conftest import TEST_DEVICE
from tests.device.fakes import FakeDevice


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.setattr(builds, "LONG_SECONDS", 1.0)  # the other tests hear nothing


def test_long_builds_are_reported_once_with_their_names():
    said = []
    notice = BuildNotice("a card", say=said.append)
    for template in ("radix_sort", "quantize", "radix_sort"):
        notice.took(template, 0.3)
    assert said == []
    for template in ("split", "level", "finalize"):
        notice.took(template, 0.3)
    assert said == [
        "building kernels for a card: radix_sort, quantize, split and those that follow; they are "
        "kept, so the next fit starts sooner"
    ]


def test_what_launches_build_later_counts_beforehand():
    said = []
    notice = BuildNotice("a card", share=0.25, say=said.append)
    for template in ("split", "level", "finalize"):
        notice.took(template, 0.1)
    assert len(said) == 1


def test_a_device_tells_how_long_it_built(monkeypatch, capsys):
    clock = itertools.count(0.0, 0.6)
    monkeypatch.setattr(base.time, "perf_counter", lambda: next(clock))
    device = FakeDevice()
    device.build("scan", wg_size=64)  # nobody asked
    device.builds = BuildNotice("a card")
    device.build("scan", wg_size=64)
    assert capsys.readouterr().err == ""
    device.build("split", wg_size=64)
    device.build("level", wg_size=64)
    captured = capsys.readouterr()
    assert captured.err.startswith("building kernels for a card: scan, split, level and")
    assert captured.out == ""


@pytest.mark.parametrize("verbosity", [0, 1])
def test_a_fit_reports_long_builds_unless_it_is_to_be_silent(verbosity, monkeypatch, capsys):
    monkeypatch.setattr(builds, "LONG_SECONDS", 0.0)  # as if every build were slow
    X = np.arange(40, dtype=np.float32).reshape(20, 2)
    train({"device": TEST_DEVICE, "verbosity": verbosity}, Dataset(X, X[:, 0]), 1)
    captured = capsys.readouterr()
    assert captured.err.count("building kernels for") == verbosity
    assert captured.out == ""


def test_a_program_without_standard_error_builds_too(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    notice = BuildNotice("a card")
    for template in ("split", "level", "finalize"):
        notice.took(template, 2.0)


def test_launch_code_is_made_once_a_process(device):
    if device.caps.api != "opencl":
        pytest.skip("CUDA kernels need none")
    from pyopencl import invoker

    known: Any = invoker
    arguments = ("twice", 2, 2, (np.dtype(np.uint32), None), False, False, [])
    first = known.generate_enqueue_and_set_args(*arguments)
    assert known.generate_enqueue_and_set_args(*arguments) is first
