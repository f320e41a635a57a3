"""Categorical columns of files: text, numbers of training's kind, and agreement of the parsers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import Model
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.data.features import level_codes
from pyopencl_gbdt.errors import DataError
from tests.conftest import TEST_DEVICE

NAN = np.nan
TEXT = """y,town,n,shop
1,"a b",2.5,10
0, z ,,-20
1,ä,NA,10
0,NA,1e3,
1,"q,r",3,7
"""
TOWNS = Levels(np.array(["a b", "q,r", "z", "ä"], object))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


def same(found: np.ndarray, expected: list) -> bool:
    return np.array_equal(found, np.array(expected, np.float32), equal_nan=True)


def test_text_becomes_codes(file):
    by_text = read_table(file, categorical_features="from_dtype")
    assert by_text.categories == {0: TOWNS}
    assert same(by_text.X[:, 0], [0, 2, 3, NAN, 1])
    assert same(by_text.X[:, 1], [2.5, NAN, NAN, 1000, 3])
    assert same(by_text.X[:, 2], [10, -20, 10, NAN, 7])
    named = read_table(file, categorical_features=["shop", "town"])
    assert named.categories == {0: TOWNS, 2: Levels(np.array([-20, 7, 10]))}
    assert same(named.X[:, 2], [2, 0, 2, NAN, 1])


def test_text_is_read_as_training_knows_it(file):
    towns, shops = Levels(np.array(["z", "ä"], object)), Levels(np.array(["10", "7"], object))
    table = read_table(file, levels={0: towns, 2: shops})
    assert same(table.X[:, 0], [NAN, 0, 1, NAN, NAN])
    assert same(table.X[:, 2], [0, NAN, 0, NAN, 1])
    assert level_codes(table.features, 0).tolist() == [2, 0, 1, -1, 2]
    numbers = read_table(file, levels={2: Levels(np.array([7, 10])), 0: Levels(np.array([3]))})
    assert same(numbers.X[:, 2], [1, NAN, 1, NAN, 0])
    assert level_codes(numbers.features, 0).tolist() == [1, 1, 1, -1, 1]


def test_what_is_not_named_is_refused(file):
    with pytest.raises(DataError, match=r"line 2, column 1 \('town'\).*categorical_features if"):
        read_table(file)
    with pytest.raises(DataError, match="did you mean 'town'"):
        read_table(file, categorical_features=["towm"])
    with pytest.raises(DataError, match=r"line 2, column 1 \('town'\)"):
        read_table(file, categorical_features="2")


def test_npz_and_libsvm_have_categories_of_numbers(tmp_path):
    np.savez(tmp_path / "a.npz", X=[[7, 1], [5, 2], [7, 3]], y=[0, 1, 0])
    (tmp_path / "a.libsvm").write_text("0 0:7 1:1\n1 0:5 1:2\n0 0:7 1:3\n")
    for name in ("a.npz", "a.libsvm"):
        table = read_table(tmp_path / name, categorical_features=[0])
        assert table.X[:, 0].tolist() == [1, 0, 1]
        with pytest.raises(DataError, match=f"{name}: .*column 0 holds whole numbers, such"):
            read_table(tmp_path / name, levels={0: Levels(np.array(["7"], object))})


@pytest.mark.parametrize("quotes", [False, True])
def test_parsers_agree(tmp_path, monkeypatch, quotes):
    pytest.importorskip("pyarrow", reason="compares pyarrow with the reference parser")
    rng = np.random.default_rng(1)
    words = ["a", " b", "NA", "nan", "", "?", "c d", "é", "inf", "1", "01", "true", "NaN "]
    quoted = [f'"{word}"' for word in ("x,y", "NA", "", "b")] if quotes else []
    rows = [
        [str(i % 2), rng.choice([*words, *quoted]), str(i / 8), rng.choice(words[:4])]
        for i in range(300)
    ]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(map(",".join, rows)), encoding="utf-8")
    found = read_table(path, categorical_features=[0, 2])
    monkeypatch.setattr("pyopencl_gbdt.data.files.delimited.parse_texts", lambda *_, **__: None)
    wanted = read_table(path, categorical_features=[0, 2])
    assert found.categories == wanted.categories
    assert np.array_equal(found.X, wanted.X, equal_nan=True)


def test_the_command_line(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"y": 0.0, "town": rng.choice(list("zqab"), 80), "n": rng.normal(size=80)})
    frame["y"] = (frame["town"] == "z") * 2.0 + 0.1 * frame["n"]
    frame.to_csv(tmp_path / "train.csv", index=False)
    rows = frame.assign(town=np.where(frame["n"] > 1, "new", frame["town"]))[::-1]
    rows.to_csv(tmp_path / "rows.csv", index=False)

    saved, device = str(tmp_path / "m.json"), ("--device", TEST_DEVICE)
    files = [str(tmp_path / name) for name in ("train.csv", "rows.csv", "p.txt")]
    more = ("--categorical-features", "town", "--n-estimators", "3")
    assert main(["train", files[0], "--model", saved, "--eval", files[1], *more, *device]) == 0
    assert main(["predict", files[1], "--model", saved, "--out", files[2], *device]) == 0
    model = Model.load_model(saved)
    expected = model.predict(rows[["town", "n"]].astype({"town": "category"}))
    assert np.array_equal(np.loadtxt(files[2], np.float32), expected)
