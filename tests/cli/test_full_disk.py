"""The command line on a full disk: the file is named, and nothing partial stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pyopencl_gbdt.cli import main
from pyopencl_gbdt.errors import FileWriteError
from pyopencl_gbdt.model import plot_importances
from tests.cli_samples import DEVICE, train_small, write_rows
from tests.comparison.samples import make_document, make_result, save
from tests.full_disk import fill, small_disk
from tests.model.samples import make_ensemble

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@pytest.fixture
def full_disk(tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        fill(disk)
        yield disk


def test_predictions(tmp_path: Path, full_disk: Path, capsys) -> None:
    model, data = train_small(tmp_path), str(write_rows(tmp_path / "a.csv"))
    out = full_disk / "out.txt"
    assert main(["predict", data, "--model", model, *DEVICE, "--out", str(out)]) == 2
    assert f"error: {out}: cannot be written (No space left" in capsys.readouterr().err
    assert [path.name for path in full_disk.iterdir()] == ["filler"]


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_merged_reports(tmp_path: Path, full_disk: Path, option: str, capsys) -> None:
    given = save(tmp_path / "a.json", make_document(make_result("a:0")))
    out = full_disk / "report"
    assert main(["bench", "--merge", given, option, str(out)]) == 2
    assert f"error: {out}: cannot be written (No space left" in capsys.readouterr().err
    assert [path.name for path in full_disk.iterdir()] == ["filler"]


def test_pictures(full_disk: Path) -> None:
    pytest.importorskip("matplotlib")
    path = full_disk / "importances.png"
    with pytest.raises(FileWriteError, match=r"importances.png: cannot be written \(No space"):
        plot_importances(make_ensemble([3]), path)
    assert [path.name for path in full_disk.iterdir()] == ["filler"]


def test_a_picture_without_an_ending_is_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot_importances(make_ensemble([3]), tmp_path / "picture")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@needs_full
def test_a_device_that_is_full(tmp_path: Path, capsys) -> None:
    given = save(tmp_path / "a.json", make_document(make_result("a:0")))
    assert main(["bench", "--merge", given, "--html", str(FULL)]) == 2
    assert f"error: {FULL}: cannot be written (No space left" in capsys.readouterr().err


@pytest.mark.thorough
@needs_full
def test_standard_output_on_a_full_disk(tmp_path: Path) -> None:
    given = save(tmp_path / "a.json", make_document(make_result("a:0")))
    with FULL.open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "pyopencl_gbdt", "bench", "--merge", given],
            stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard output: cannot be written (No space left")
    assert done.stderr.count("\n") == 1


def test_a_merged_file_that_holds_too_large_a_number(tmp_path: Path, capsys) -> None:
    written = make_document(make_result("a:0"))
    for value, words in ((10**400, "finite number"), (0, "number >= 1e-30")):
        written["machines"][0]["results"][0]["round_ms"] = value
        path = tmp_path / "a.json"
        path.write_text(json.dumps(written))
        assert main(["bench", "--merge", str(path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: {path}: machines[0].results[0].round_ms: expected a")
        assert words in error
