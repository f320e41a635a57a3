"""The command line on folders, patterns and files that are read batch by batch."""

from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt.cli import main

ARGUMENTS = ("--n-estimators", "3", "--max-depth", "3", "--verbose-every", "0")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One CSV file, and its rows in two files of a folder."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(3)
    X = rng.integers(0, 50, (300, 4)) / 8
    y = (X[:, 0] > X[:, 1]).astype(int)
    lines = [",".join(map(str, [label, *row])) for label, row in zip(y, X, strict=True)]
    (folder / "whole.csv").write_text("\n".join(lines) + "\n")
    (folder / "parts").mkdir()
    for number, part in enumerate((lines[:120], lines[120:])):
        (folder / "parts" / f"{number}.csv").write_text("\n".join(part) + "\n")
    np.save(folder / "x.npy", np.column_stack([y, X]))
    return folder


@pytest.mark.parametrize("data", ["parts", "parts/?.csv", "x.npy"])
def test_the_model_of_parts_is_that_of_the_file(files, data, capsys):
    models = []
    for name, given in (("whole.json", "whole.csv"), ("parts.json", data)):
        model = str(files / name)
        path = str(files / given)
        assert main(["train", path, "--eval", path, "--model", model, *ARGUMENTS]) == 0
        models.append((files / name).read_text())
    assert models[0] == models[1]
    for given in ("whole.csv", data):
        out = str(files / f"{given.replace('/', '_')}.out")
        path, model = str(files / given), str(files / "parts.json")
        assert main(["predict", path, "--model", model, "--out", out]) == 0
        models.append(Path(out).read_text())
    assert models[2] == models[3]
    capsys.readouterr()


def test_a_pattern_without_files(files, capsys):
    path = str(files / "nothing-*.csv")
    assert main(["train", path, "--model", str(files / "m.json")]) != 0
    assert "no file has such a name; check the pattern" in capsys.readouterr().err
