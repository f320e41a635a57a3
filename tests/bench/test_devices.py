"""bench devices: the same rows in any part, and the whole command at a tiny size."""

import json

import numpy as np
import pytest

from bench import devices, devices_rows, devices_sums
from pyopencl_gbdt.device import selection

from ..conftest import TEST_DEVICE


def test_rows_of_a_part(monkeypatch):
    monkeypatch.setattr(devices_rows, "BLOCK", 64)
    values, label = devices_rows.made_rows(200, 3, 5)
    own, own_label = devices_rows.made_rows(72, 3, 5, first=128)
    np.testing.assert_array_equal(own, values[128:])
    np.testing.assert_array_equal(own_label, label[128:])
    assert set(label) == {0, 1}


def test_shapes():
    shape = devices.Shape.of("11e6x28:8")
    assert (shape.n_rows, shape.n_features, shape.depth, shape.n_outputs) == (11_000_000, 28, 8, 1)
    assert devices.Shape.of("1e6x28:6:10").n_outputs == 10


@pytest.mark.thorough
def test_the_command(monkeypatch, tmp_path, capsys):
    """It ends with 0: two devices train the trees of one, from values and from codes."""
    monkeypatch.setattr(selection, "ALLOWS_TWICE", True)  # the command sets it; restore it later
    file = tmp_path / "devices.json"
    shapes = ["--shapes", "400x4:3", "500x4:2:3", "3000x4:3", "--codes-from", "2000"]
    options = [*shapes, "--rounds", "2", "--groups", "1", "--json", str(file)]
    assert devices.main(["--devices", TEST_DEVICE, TEST_DEVICE, *options]) == 0
    runs = json.loads(file.read_text())["runs"]
    assert [run["n_devices"] for run in runs] == [1, 2] * 3
    for alone, together in zip(runs[::2], runs[1::2], strict=True):
        assert alone["digest"] == together["digest"]
        assert alone["sum_bytes"] == 0
        assert together["sum_bytes"] > 0
    assert "the same trees: yes" in capsys.readouterr().out


def test_no_fit_starts_when_the_time_is_over(capsys):
    options = ["--shapes", "400x4:3", "--seconds", "0", "--devices", TEST_DEVICE, TEST_DEVICE]
    assert devices.main(options) == 0
    assert capsys.readouterr().out.count("no time was left") == 2


@pytest.mark.thorough
def test_the_cost_of_sums(monkeypatch, capsys):
    monkeypatch.setattr(selection, "ALLOWS_TWICE", True)
    monkeypatch.setattr(devices_sums, "SIZES", [1 << 10, 1 << 12, 1 << 17])
    names = ["--devices", *[TEST_DEVICE] * 3, "--counts", "2", "3"]
    assert devices_sums.main([*names, "--sums", "3", "--repeats", "2"]) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert head == "us of a sum"
    assert [line.split()[0] for line in lines] == ["2", "3"]
