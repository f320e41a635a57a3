from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt.cli import main
from pyopencl_gbdt.cli.demonstration import FEATURES
from pyopencl_gbdt.data import load_higgs7k
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.metrics import auc
from pyopencl_gbdt.training.train import Model
from tests.conftest import TEST_DEVICE

ARGUMENTS = ["demo", "--device", TEST_DEVICE, "--rounds", "12"]


@pytest.mark.thorough
def test_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(ARGUMENTS) == 0
    said = capsys.readouterr().out
    assert said.isascii()
    longest = max(said.splitlines(), key=len)
    assert len(longest) <= 80
    for word in ("HIGGS", "CC BY 4.0", "Device", "all kernels: ", "ms a round", "m_bb", "Next"):
        assert word in said
    assert [int(n) for n in re.findall(r"round +(\d+) +test AUC", said)] == [1, 10, 12]

    out = tmp_path / "pyopencl_gbdt_demo"
    pictures = [out / "first_tree.png", out / "importances.png"]
    assert set(out.iterdir()) == {out / "model.json", *pictures}
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
    model = Model.load_model(out / "model.json")
    assert model.ensemble.feature_names == FEATURES
    _, _, X, y = load_higgs7k()
    assert X.shape[1] == len(FEATURES) == 28
    value = auc(y, model.predict(X, device=TEST_DEVICE))
    assert value > 0.78
    assert re.search(rf"this model, test rows +0\.\d+ +{value:.4f}", said)
    assert re.search(rf"always the mean \(0\.5\d+\), test rows +{np.mean(y):.3f} +0\.5000", said)


def test_demo_without_matplotlib(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    out = tmp_path / "deep" / "folder"
    assert main([*ARGUMENTS[:-1], "1", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "no pictures: plots need matplotlib" in said
    assert pip_install("plot").split("  ")[0] in " ".join(said.split())
    assert [path.name for path in out.iterdir()] == ["model.json"]


def test_errors_of_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    for options, words in (
        (["--rounds", "0"], "--rounds 0: expected 1 or more"),
        (["--device", "no such device"], "no usable device fits"),
        (["--out", str(file)], "this is a file"),
    ):
        assert main([*ARGUMENTS, *options]) == 2
        assert words in capsys.readouterr().err
