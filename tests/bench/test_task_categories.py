"""``python -m bench tasks --categories``: tables with categories, and what each library gets."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from bench import task_categories, task_systems
from bench import tasks as bench_tasks
from bench.task_categories import CATEGORY_NAMES, category_tables, of_one_hot
from bench.task_data import FOLDER, Table, split
from bench.tasks import level_with_first, main
from tests.conftest import TEST_DEVICE


@pytest.fixture(autouse=True)
def _few_rows(monkeypatch):
    monkeypatch.setattr(task_categories, "SEEDED_ROWS", 200)


def test_columns_hold_codes():
    found = {table.name: table for table in category_tables(FOLDER, CATEGORY_NAMES)}
    assert {name: table.X.shape[1] for name, table in found.items()} == {
        "agaricus": 22, "categorical": 8, "machine": 7, "diabetes": 10, "clicks": 39, "access": 9,
    }  # fmt: skip
    for name, table in found.items():
        assert table.categorical
        codes = table.X[:, list(table.categorical)]
        assert (codes == codes.astype(int)).all()
        if table.of_seed is None:  # a seeded shape has levels that no row of few has
            assert (codes.min(axis=0) == 0).all(), name
    assert found["agaricus"].X.max(axis=0).tolist()[:3] == [5, 3, 9]
    (absent,) = category_tables(FOLDER / "nowhere", ("machine",))
    assert absent.startswith("machine: ")


def test_one_hot_columns_become_one():
    X = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 1, 1, 0]], np.float32)
    table = of_one_hot(Table("t", "binary", X, X[:, 0]))
    np.testing.assert_array_equal(table.X, [[0, 1], [1, 1], [1, 0]])
    assert table.categorical == (0, 1)
    with pytest.raises(ValueError, match="expected one 1 of each"):
        of_one_hot(Table("t", "binary", X[:, [0, 2, 1, 3]], X[:, 0]))


def test_a_seeded_table_has_new_rows_in_every_split():
    (table,) = category_tables(FOLDER, ("access",))
    rows, unseen = split(table, 3, 10**6)
    assert (rows.y.size, unseen.y.size) == (140, 60)
    assert rows.categorical == tuple(range(9))
    assert not np.array_equal(rows.X, split(table, 4, 10**6)[0].X)
    np.testing.assert_array_equal(rows.X, split(table, 3, 10**6)[0].X)


def test_splits_that_share_no_rows_need_no_correction():
    scores = {"a": [1.0] * 4, "b": [1.1, 1.2, 1.3, 1.5]}  # 3.2 standard errors behind
    assert level_with_first(scores, False) == ["a", "b"]
    assert level_with_first(scores, False, shared=False) == ["a"]


@pytest.mark.thorough
def test_libraries_get_categories():
    """Which levels have the larger label does not follow from the order of codes."""
    task = next(task for task in bench_tasks.TASKS if task.objective == "reg:squarederror")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (600, 1)).astype(np.float32)
    y = 1 + (rng.permutation(30)[X[:, 0].astype(int)] < 10).astype(np.float32)
    table = Table("t", "numbers", X, y, categorical=(0,))
    rows, unseen = split(table, 0, 600)
    budget = task_systems.Budget(rounds=10, depth=1, learning_rate=0.5, device=TEST_DEVICE)
    for name in ("ours", *(n for n in ("xgboost", "lightgbm") if n in task_systems.installed())):
        predicted = task_systems.SYSTEMS[name](task, rows, unseen, budget)
        as_numbers = task_systems.SYSTEMS[name](
            task, replace(rows, categorical=()), replace(unseen, categorical=()), budget
        )
        errors = [np.abs(one - unseen.y).mean() for one in (predicted, as_numbers)]
        assert errors[0] < errors[1] / 2, name


@pytest.mark.thorough
def test_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_tasks, "installed", lambda: ["ours"])
    page, file = tmp_path / "page.md", tmp_path / "a.json"
    page.write_text("<!-- categories: begin -->\nold\n<!-- categories: end -->\n")
    words = ["--categories", "--tables", "access", "--splits", "2", "--rounds", "3"]
    words += ["--device", TEST_DEVICE, "--json", str(file), "--write", str(page)]
    assert main(words) == 0
    results = json.loads(file.read_text())["results"]
    assert [result["score"] for result in results] == ["logloss", "auc"]
    for result in results:
        assert result["systems"].keys() == {"ours", "ours, symmetric"}
        assert np.isfinite(list(result["systems"].values())).all()
    assert "| access, 200 x 9 | `binary:logistic` |" in page.read_text()


def test_the_page_has_every_table():
    page = Path(__file__).resolve().parents[2] / "docs" / "equal-settings.md"
    if not page.is_file():
        pytest.skip("needs a checkout")
    begin, end = "<!-- categories: begin -->", "<!-- categories: end -->"
    measured = page.read_text(encoding="utf-8").split(begin)[1].split(end)[0]
    assert all(f"\n| {name}, " in measured for name in CATEGORY_NAMES)


def test_tables_of_the_other_kind_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--tables", "clicks"])
    assert "--tables clicks: expected some of higgs7k" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--categories", "--tables", "iris"])
    assert "--tables iris: expected some of agaricus" in capsys.readouterr().err
