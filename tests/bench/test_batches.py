"""The bench of batches: every case has its figures, in the report too."""

from __future__ import annotations

import json
import sys

import pytest

from bench.batches import main
from tests.conftest import TEST_DEVICE


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_cases_are_measured(tmp_path, capsys):
    words = ["--rows", "2000", "--columns", "3", "--rounds", "1", "--device", TEST_DEVICE]
    words += ["--cases", "whole,batches", "--json", str(tmp_path / "a.json")]
    assert main(words) == 0
    assert "set-up" in capsys.readouterr().out
    cases = json.loads((tmp_path / "a.json").read_text())["cases"]["npy"]
    assert cases["batches"]["passes"] == 3
    assert all(cases[name]["set_up"] > 0 for name in ("whole", "batches"))
