"""``python -m bench quality``, from end to end at a tiny size."""

from __future__ import annotations

import json

import pytest

from bench.quality import main
from tests.conftest import TEST_DEVICE

pytest.importorskip("xgboost")


@pytest.mark.thorough
def test_ours_and_xgboost_over_seeds(tmp_path, capsys):
    file = tmp_path / "quality.json"
    arguments = ["--shapes", "small", "yahoo", "--rows-scale", "0.05", "--rounds", "5"]
    arguments += ["--seeds", "2", "--device", TEST_DEVICE, "--json", str(file)]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    report = json.loads(file.read_text(encoding="utf-8"))
    small, yahoo = report["results"]
    assert (small["metric"], yahoo["metric"]) == ("auc", "rmse")
    assert small["rows"] == 500
    for result in (small, yahoo):
        assert result["difference"] == pytest.approx(result["ours"] - result["xgboost"])
        assert 0 <= result["standard_error"] < 0.1
        assert f"{result['ours']:.5f}" in text
    assert 0.6 < small["ours"] < 1
