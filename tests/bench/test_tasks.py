"""``python -m bench tasks``: data, scores, the noise, and the whole at a tiny size."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from bench import tasks as bench_tasks
from bench.task_data import BUNDLED, FILES, FOLDER, PACKAGED, Table, split, tables
from bench.task_list import SCORES, TASKS, refusal
from bench.task_systems import Budget
from bench.task_trials import FOLDS, LARGE, LARGE_SPLITS, SETTINGS, choose, effort, folds
from bench.tasks import level_with_first, main
from tests.conftest import TEST_DEVICE

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"

ROOT = Path(__file__).resolve().parents[2]
TRIALS_BEGIN, TRIALS_END = "<!-- trials: begin -->", "<!-- trials: end -->"
SQUARED = next(task for task in TASKS if task.objective == "reg:squarederror")


@pytest.fixture
def folder(tmp_path):
    """The files of the folder, with a few rows each."""

    def pack(name, text):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))

    for part in ("train", "test"):
        pack(f"agaricus.{part}.libsvm.gz", "1 1:1 3:1\n0 2:1\n")
        pack(f"rank.{part}.gz", "0 1:0.5\n2 2:1\n1 3:1\n")
        pack(f"rank.{part}.query.gz", "2\n1\n")
    pack("categorical.libsvm.gz", "1 0:7 1:2\n0 0:5 1:15\n")
    shutil.copy(FOLDER / "machine.data", tmp_path)
    rows = "\n".join(["lower,upper,age", "72.0,72.0,69.0", "411.0,inf,64.0"])
    (tmp_path / "veterans_lung_cancer.csv").write_text(rows + "\n")
    return tmp_path


def test_tables(folder):
    found = {table.name: table for table in tables(folder, (*PACKAGED, *FILES, *BUNDLED))}
    assert list(found) == [*PACKAGED, *FILES, *BUNDLED]
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


@pytest.mark.thorough
def test_a_clone_has_the_data():
    """The files of a checkout are whole, described, and found without options from any folder."""
    found = {table.name: table for table in tables(FOLDER, (*PACKAGED, *FILES))}
    assert {name: table.X.shape for name, table in found.items()} == {
        "higgs7k": (7500, 28), "agaricus": (8124, 126), "categorical": (7000, 8),
        "machine": (209, 7), "rank": (3773, 300), "veterans": (137, 11),
    }  # fmt: skip
    assert np.unique(found["rank"].query).size == 251
    described = (FOLDER / "README.md").read_text(encoding="utf-8")
    for file in FOLDER.iterdir():
        assert file.name.split(".")[0] in described


def test_no_page_names_a_folder_beside_the_clone():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    pages += (ROOT / "bench").rglob("*.py")
    for page in filter(Path.is_file, pages):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])\.\./[\w-]+/", re.sub(r"\]\([^)]*\)", "", text)), page


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


@pytest.mark.thorough
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


def test_settings():
    assert SETTINGS[0] == Budget()
    assert len(set(SETTINGS)) == len(SETTINGS)
    for one, twin in zip(SETTINGS[::2], SETTINGS[1::2], strict=True):
        assert (twin.rounds, twin.depth, twin.bins) == (one.rounds, one.depth, one.bins)
        for name in ("learning_rate", "l2", "least_hessian"):
            assert getattr(twin, name) == 2 * getattr(one, name)
    assert [one.least_rows for one in SETTINGS] == [1, 1, 1, 1, 1, 2, 1, 1]


def numbered(n_rows, kind="numbers", y=None, **more):
    """A table whose column is the row's number."""
    number = np.arange(n_rows, dtype=np.float32)
    return Table("t", kind, number[:, None], number if y is None else y, **more)


def test_folds():
    fold = folds(numbered(100), 1)
    np.testing.assert_array_equal(np.bincount(fold), [34, 33, 33])
    np.testing.assert_array_equal(fold, folds(numbered(100), 1))
    assert (fold != folds(numbered(100), 2)).any()
    y = np.repeat([0, 1, 2], [80, 12, 6]).astype(np.float32)
    lives = numbered(98, "survival", upper=np.where(y == 0, np.inf, 1).astype(np.float32))
    for table in (numbered(98, "classes", y), lives):
        fold = folds(table, 1)
        assert np.bincount(fold[:80]).min() >= 26
        assert np.bincount(fold[80:]).tolist() == [6, 6, 6]
    query = np.repeat(np.arange(9) + 5, np.arange(9) + 1)
    fold = folds(numbered(45, "ranking", query=query), 1)
    assert [np.unique(fold[query == q]).size for q in np.unique(query)] == [1] * 9
    assert np.bincount([fold[query == q][0] for q in np.unique(query)]).tolist() == [3, 3, 3]


def test_the_choice():
    rows = numbered(90)
    seen = []

    def system(task, inner, unseen, setting):
        assert not set(inner.y) & set(unseen.y)
        assert inner.y.size + unseen.y.size == rows.y.size
        seen.append((setting, set(unseen.y)))
        return unseen.y + (setting.depth - 4) ** 2

    settings = [Budget(depth=depth) for depth in (6, 3, 4, 2)]
    assert choose(system, SQUARED, rows, settings, 0) == 2
    assert len(seen) == len(settings) * FOLDS
    for setting in settings:  # every row is predicted once
        folds_of_it = [fold for one, fold in seen if one == setting]
        assert sorted(set.union(*folds_of_it)) == list(rows.y)
        assert sum(map(len, folds_of_it)) == rows.y.size
    seen.clear()
    assert choose(system, SQUARED, rows, settings[1::2], 0, 1) == 0
    assert len(seen) == 2
    ranking = next(task for task in TASKS if task.kind == "ranking")
    grades = numbered(90, "ranking", np.tile([0, 1, 2], 30), query=np.repeat(np.arange(30), 3))

    def upside_down(task, inner, unseen, setting):
        return unseen.y if setting.depth == 4 else -unseen.y

    assert choose(upside_down, ranking, grades, settings, 0) == 2, "more is better"
    assert choose(system, SQUARED, rows, settings[:1], 0) == 0


def test_effort():
    assert effort(numbered(LARGE), 8) == (8, FOLDS)
    assert effort(numbered(LARGE + 1), 8) == (LARGE_SPLITS, 1)
    assert effort(numbered(LARGE + 1), 2) == (2, 1)


def test_all_choose_alike_by_the_inner_rows_alone(tmp_path, monkeypatch):
    """Every stub is right about the held-out rows with setting 0, about inner ones with 1."""
    (table,) = tables(tmp_path, ("diabetes",))
    parts = [split(table, seed, 60) for seed in range(2)]
    held_out = [set(unseen.X[:, 0:4].sum(axis=1)) for _, unseen in parts]
    seen: dict[str, list] = {"ours": [], "xgboost": []}

    def stub(name):
        def system(task, rows, unseen, setting):
            place = SETTINGS.index(setting)
            own, other = (set(part.X[:, 0:4].sum(axis=1)) for part in (rows, unseen))
            final = other in held_out
            assert final or any(not (own | other) & part for part in held_out)
            seen[name].append((place, final, sorted(own), sorted(other)))
            return unseen.y + abs(place - (0 if final else 1)) + 1.0

        return system

    monkeypatch.setattr(bench_tasks, "SYSTEMS", {name: stub(name) for name in seen})
    monkeypatch.setattr(bench_tasks, "installed", lambda: list(seen))
    monkeypatch.setattr(bench_tasks, "TASKS", (SQUARED,))
    file = tmp_path / "a.json"
    words = ["--tables", "diabetes", "--splits", "2", "--rows", "60", "--trials", "3"]
    assert main([*words, "--device", "auto", "--json", str(file)]) == 0
    assert seen["ours"] == seen["xgboost"]
    assert len(seen["ours"]) == 2 * (3 * FOLDS + 1)
    assert [place for place, final, *_ in seen["ours"] if final] == [1, 1]
    (result,) = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert result["chosen"] == {"ours": [1, 1], "xgboost": [1, 1]}
    assert result["systems"]["ours"] == pytest.approx([2, 2])


@pytest.mark.thorough
def test_trials(tmp_path, folder, capsys):
    page, file = tmp_path / "page.md", tmp_path / "a.json"
    marks = f"{BEGIN}\nfirst\n{END}\n\nbetween\n\n{TRIALS_BEGIN}\nstale\n{TRIALS_END}\n"
    page.write_text(marks, encoding="utf-8")
    words = ["--data", str(folder), "--splits", "2", "--rows", "60", "--device", TEST_DEVICE]
    words += ["--json", str(file), "--write", str(page)]
    with pytest.MonkeyPatch.context() as patch:
        small = tuple(replace(one, rounds=2) for one in SETTINGS)
        patch.setattr(bench_tasks, "SETTINGS", small)
        patch.setattr(bench_tasks, "installed", lambda: ["ours", "sklearn"])
        assert main([*words, "--tables", "wine", "--trials", "2"]) == 0
        before = json.loads(file.read_text(encoding="utf-8"))["results"]
        assert main([*words, "--tables", "iris", "--trials", "2", "--resume"]) == 0
        results = json.loads(file.read_text(encoding="utf-8"))["results"]
        capsys.readouterr()
        assert main([*words, "--tables", "iris", "--trials", "3", "--resume"]) == 2
        assert "trials is 2, here it is 3" in capsys.readouterr().err
    assert results[: len(before)] == before
    assert {result["table"] for result in results} == {"wine", "iris"}
    for result in results:
        assert set(result["chosen"]) == set(result["seconds"]) == set(result["systems"])
        assert all(len(places) == 2 for places in result["chosen"].values())
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"{BEGIN}\nfirst\n{END}\n\nbetween\n\n{TRIALS_BEGIN}\n")
    assert text.endswith(f"{TRIALS_END}\n")
    assert "stale" not in text
    assert "| 2 | 6 | 0.2 | 2 | 0.002 |" in text
    assert "iris, 60 x 4" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--splits", "1"], "--splits 1: expected 2 or more"),
        (["--trials", "-1"], "--trials -1: expected 0.."),
        (["--trials", str(len(SETTINGS) + 1)], f"expected 0..{len(SETTINGS)}"),
        (["--trials", "2", "--rounds", "5"], "leave --rounds, --depth out"),
        (["--trials", "2", "--depth", "5"], "leave --rounds, --depth out"),
        (["--resume"], "--resume: expected a file of results"),
        (["--resume", "--json", "nowhere.json"], "nowhere.json"),
    ],
)
def test_bad_options(words, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--tables", "iris", *words])
    assert message in capsys.readouterr().err


def test_each_reading_needs_its_marks(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    assert main(["--tables", "iris", "--trials", "2", "--write", str(page)]) == 2
    assert TRIALS_BEGIN in capsys.readouterr().err


def test_the_page_has_every_task():
    page = ROOT / "docs" / "equal-settings.md"
    if not page.is_file():
        pytest.skip("needs a checkout")
    text = page.read_text(encoding="utf-8")
    for begin, end in ((BEGIN, END), (TRIALS_BEGIN, TRIALS_END)):
        measured = text.split(begin)[1].split(end)[0]
        assert all(f"`{task.objective}`" in measured for task in TASKS)
        assert all(f"\n| {name}, " in measured for name in (*PACKAGED, *FILES, *BUNDLED))
    assert all(
        f"| {one.rounds} | {one.depth} | {one.learning_rate:g} | {one.l2:g} | " in measured
        for one in SETTINGS
    )
