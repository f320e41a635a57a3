"""The bench of batches: every case has its figures, in the report too."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import TEST_DEVICE
from tests.processes import QUICK_BUILDS, ROOT


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_cases_are_measured(tmp_path):
    """In a process of its own, as the bench forks, and the tests' drivers do not survive that."""
    words = ["--rows", "2000", "--columns", "3", "--rounds", "1", "--device", TEST_DEVICE]
    words += ["--cases", "whole,batches", "--json", str(tmp_path / "a.json")]
    words = [sys.executable, "-m", "bench", "batches", *words]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, **QUICK_BUILDS},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "set-up" in done.stdout
    cases = json.loads((tmp_path / "a.json").read_text())["cases"]["npy"]
    assert cases["batches"]["passes"] == 3
    assert all(cases[name]["set_up"] > 0 for name in ("whole", "batches"))
