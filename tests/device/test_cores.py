"""The cores that a process may use: its affinity, or a container's quota."""

import os

import pytest

from pyopencl_gbdt.device import helper_process as cores


@pytest.mark.parametrize(
    ("text", "expected"),
    [("max 100000\n", 8), ("150000 100000\n", 2), ("1600000 100000\n", 8), ("1000 100000", 1)],
)
def test_a_quota_lowers_the_number(monkeypatch, tmp_path, text, expected):
    quota = tmp_path / "cpu.max"
    quota.write_text(text)
    monkeypatch.setattr(cores, "_QUOTA", quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert cores.usable_cores.__wrapped__() == expected


def test_without_a_quota_the_affinity_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(cores, "_QUOTA", tmp_path / "none")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert cores.usable_cores.__wrapped__() == 1
