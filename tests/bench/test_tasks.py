"""``python -m bench tasks``: data, scores, the noise, and the whole at a tiny size."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from bench.page import BEGIN, END
from bench.task_data import BUNDLED, FILES, Table, split, tables
from bench.task_list import SCORES, TASKS, refusal
from bench.tasks import level_with_first, main
from tests.conftest import TEST_DEVICE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path):
    """The files of the folder, with a few rows each."""

    def pack(name, text):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))

    for part in ("train", "test"):
        pack(f"higgs7k.{part}.tsv.gz", "1\t0.5\t2\n0\t1.5\t3\n")
        pack(f"agaricus.{part}.libsvm.gz", "1 1:1 3:1\n0 2:1\n")
        pack(f"rank.{part}.gz", "0 1:0.5\n2 2:1\n1 3:1\n")
        pack(f"rank.{part}.query.gz", "2\n1\n")
    pack("categorical.libsvm.gz", "1 0:7 1:2\n0 0:5 1:15\n")
    shutil.copy(ROOT / "tests/data/machine.data", tmp_path)
    rows = "\n".join(["lower,upper,age", "72.0,72.0,69.0", "411.0,inf,64.0"])
    (tmp_path / "veterans_lung_cancer.csv").write_text(rows + "\n")
    return tmp_path


def test_tables(folder):
    found = {table.name: table for table in tables(folder, (*FILES, *BUNDLED))}
    assert list(found) == [*FILES, *BUNDLED]
    for table in found.values():
        assert table.X.dtype == table.y.dtype == np.float32
        assert table.X.shape[0] == table.y.size
        assert any(task.kind == table.kind for task in TASKS)
        assert not np.isnan(table.X).any()
    np.testing.assert_array_equal(found["rank"].query, [0, 0, 1, 2, 2, 3])
    np.testing.assert_array_equal(found["agaricus"].X[:2], [[1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(found["categorical"].X, [[7, 2], [5, 15]])
    np.testing.assert_array_equal(found["machine"].X[1], [1, 29, 8000, 32000, 32, 8, 32])
    assert found["machine"].y[1] == 269
    np.testing.assert_array_equal(found["veterans"].upper, [72, np.inf])
    assert found["digits"].n_classes == 10
    (absent,) = tables(folder / "nowhere", ("machine",))
    assert absent.startswith("machine: ")


def test_splits():
    X = np.arange(200, dtype=np.float32)[:, None]
    table = Table("t", "numbers", X, X[:, 0])
    rows, unseen = split(table, 1, 100)
    assert (rows.y.size, unseen.y.size) == (70, 30)
    assert not set(rows.y) & set(unseen.y)
    assert set(split(table, 2, 100)[0].y) != set(rows.y)
    queries = replace(table, query=np.repeat(np.arange(20), 10))
    rows, unseen = split(queries, 1, 100)
    assert (np.unique(rows.query).size, np.unique(unseen.query).size) == (14, 6)
    assert not set(rows.query) & set(unseen.query)
    assert rows.y.size == 140


def test_scores():
    y = np.array([0, 1, 2], np.float32)
    held_out = Table("t", "ranking", y[:, None], y, query=np.zeros(3, np.int64))
    assert SCORES["ndcg@10"][0](held_out, y) == 1
    worst = (1 / np.log2(3) + 3 / 2) / (3 + 1 / np.log2(3))
    assert SCORES["ndcg@10"][0](held_out, -y) == pytest.approx(worst)
    times = np.array([1, 2, 3, 4], np.float32)
    upper = np.array([1, np.inf, 3, np.inf], np.float32)
    lives = Table("t", "survival", times[:, None], times, upper=upper)
    # known: 1 before each other, 3 before 4
    assert SCORES["concordance"][0](lives, np.array([1, 2, 3, 4])) == 1
    assert SCORES["concordance"][0](lives, np.array([1, 0, 3, 3])) == (2 + 0.5) / 4
    classes = np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
    assert SCORES["merror"][0](held_out, classes) == pytest.approx(1 / 3)
    assert SCORES["mlogloss"][0](held_out, classes) == pytest.approx(np.log(16) / 3)
    assert SCORES["rmse"][0](held_out, y + 2) == pytest.approx(2)


def test_who_is_level_with_the_first():
    rng = np.random.default_rng(0)
    split_noise = rng.normal(0, 1, 10)  # shared, so it does not hide a difference
    scores = {
        "a": split_noise,
        "b": split_noise + rng.normal(0.01, 0.1, 10),
        "c": split_noise + rng.normal(0.5, 0.1, 10),
    }
    scores = {name: list(values) for name, values in scores.items()}
    assert level_with_first(scores, False) == ["a", "b"]
    assert level_with_first(scores, True) == ["c"]
    assert level_with_first({"a": [1.0, 2.0], "b": [1.0, 2.0]}, False) == ["a", "b"]


def test_every_task_is_asked_for():
    for task in TASKS:
        assert set(task.scores) <= set(SCORES)
        reason = refusal(task, 3)
        assert not reason or "expected" in reason or "Dataset" in reason
    assert refusal(TASKS[0], 0) == ""


def test_the_whole(tmp_path, folder, capsys):
    page, file = tmp_path / "page.md", tmp_path / "a.json"
    page.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nrest\n", encoding="utf-8")
    words = ["--tables", "iris", "diabetes", "machine", "california_housing", "--data", str(folder)]
    words += ["--splits", "2", "--rounds", "3", "--rows", "120", "--device", TEST_DEVICE]
    assert main([*words, "--json", str(file), "--write", str(page)]) == 0
    report = json.loads(file.read_text(encoding="utf-8"))
    kinds = {"iris": "classes", "diabetes": "numbers", "machine": "numbers"}
    expected = [
        (name, score)
        for name, kind in kinds.items()
        for task in TASKS
        if task.kind == kind
        for score in task.scores
    ]
    measured = [r for r in report["results"] if r["table"] in kinds]
    assert sorted((r["table"], r["score"]) for r in measured) == sorted(expected)
    for result in measured:
        assert ("ours" in result["systems"]) == (not result["refused"])
        assert np.isfinite(list(result["systems"].values())).all()
        assert set(result["level"]) <= set(result["systems"])
        assert result["level"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Title\n")
    assert text.endswith("\n\nrest\n")
    assert "old" not in text
    assert "iris, 120 x 4" in text
    assert capsys.readouterr().out.strip() in text


def test_a_page_without_marks_is_left_alone(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("# Title\n", encoding="utf-8")
    assert main(["--tables", "iris", "--write", str(page)]) == 2
    assert page.read_text(encoding="utf-8") == "# Title\n"
    assert "add them" in capsys.readouterr().err


def test_the_page_has_every_task():
    page = ROOT / "docs" / "quality.md"
    if not page.is_file():
        pytest.skip("needs a checkout")
    text = page.read_text(encoding="utf-8")
    measured = text.split(BEGIN)[1].split(END)[0]
    assert all(f"`{task.objective}`" in measured for task in TASKS)
    assert all(f"\n| {name}, " in measured for name in (*FILES, *BUNDLED))
