"""bench devices: the same rows in any part, and the whole command at a tiny size."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bench import devices
from pyopencl_gbdt.device import selection

from ..conftest import TEST_DEVICE


def test_rows_of_a_part(monkeypatch):
    monkeypatch.setattr(devices, "_BLOCK", 64)
    values, label = devices.made_rows(200, 3, 5)
    own, own_label = devices.made_rows(72, 3, 5, first=128)
    np.testing.assert_array_equal(own, values[128:])
    np.testing.assert_array_equal(own_label, label[128:])
    assert set(label) == {0, 1}


@pytest.mark.thorough
def test_the_command(monkeypatch, tmp_path, capsys):
    """It ends with 0: devices together train the model of one."""
    monkeypatch.setattr(selection, "ALLOWS_TWICE", True)  # the command sets it; restore it later
    file = tmp_path / "devices.json"
    options = ["--rows", "400", "--features", "4", "--depth", "3", "--rounds", "2", "--groups", "1"]
    names = ["--devices", TEST_DEVICE, TEST_DEVICE]
    assert devices.main([*names, *options, "--json", str(file)]) == 0
    alone, together = json.loads(file.read_text())["runs"]
    assert alone["sums"] is None
    assert together["sums"]["bytes"] > 0
    assert "together" in capsys.readouterr().out
