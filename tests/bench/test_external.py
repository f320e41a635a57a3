"""``python -m bench external`` on little data."""

import json

import pytest

from bench.external import main
from tests.conftest import TEST_DEVICE


@pytest.mark.thorough
def test_a_streamed_fit_beside_a_resident_one(tmp_path, capsys):
    """Codes on disk take turns on a CPU, too."""
    file = tmp_path / "found.json"
    sizes = ["--rows", "30000", "--features", "5", "--depth", "3", "--rounds", "1", "--pages", "6"]
    options = [
        "--share",
        "0.25",
        "--device",
        TEST_DEVICE,
        "--no-xgboost",
        "--json",
        str(file),
        "--folder",
        str(tmp_path),
    ]
    assert main([*sizes, *options]) == 0
    found = json.loads(file.read_text())
    assert found["streamed"]["passes"] == 4  # depth + 1
    assert 1 < found["streamed"]["n_slots"] < found["streamed"]["n_pages"] == 6
    assert found["streamed"]["peak_bytes"] < found["resident"]["peak_bytes"]
    assert "passes a round" in capsys.readouterr().out
