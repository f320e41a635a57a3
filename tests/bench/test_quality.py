"""``python -m bench quality``, from end to end at a tiny size."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from bench.quality import main
from bench.quality_calibration import calibration_error, log_loss
from bench.quality_coverage import three_parts
from bench.quality_list import CLASSES, NUMBERS, rows_of
from bench.quality_run import read_records, values_for
from bench.quality_show import compare, scores, sign_test
from bench.quality_systems import score, split
from bench.quality_tables import QualityTable, is_choosing, read, write
from tests.conftest import TEST_DEVICE


def _tables():
    """One table for each kind of target, with a category and missing values."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 3)).astype(np.float32)
    X[:, 1] = rng.integers(0, 4, 120)
    X[::9, :2] = np.nan
    y = np.nan_to_num(X[:, 0]) + X[:, 2]
    return [
        QualityTable("numbers", 0, X, y.astype(np.float32), (1,)),
        QualityTable("classes", 3, X, np.digitize(y, [-0.5, 0.5]).astype(np.float32), (1,)),
    ]


def test_a_file_of_tables_gives_them_back(tmp_path):
    write(tmp_path / "tables.npz", _tables())
    found = read(tmp_path / "tables.npz")
    for table in _tables():
        same = found[table.name]
        assert np.array_equal(same.X, table.X, equal_nan=True)
        assert np.array_equal(same.y, table.y)
        assert (same.n_classes, same.categorical) == (table.n_classes, table.categorical)


def test_names_of_tables_are_distinct_and_halves_are_about_equal():
    names = [name for text in (NUMBERS, CLASSES) for name, *_ in rows_of(text)]
    assert len(set(names)) == len(names) >= 60
    empty = np.zeros((0, 0), np.float32)
    choosing = sum(QualityTable(name, 0, empty, empty, ()).choosing for name in names)
    assert 0.4 < choosing / len(names) < 0.6


def test_a_split_is_seeded_and_takes_every_row_once():
    table = _tables()[1]
    one, same, other = split(table, 0, "early"), split(table, 0, "early"), split(table, 1, "early")
    assert one.stop is not None
    parts = [one.y, one.stop[1], one.truth]
    assert sum(part.size for part in parts) == 120
    for label in range(3):
        whole = np.count_nonzero(table.y == label)
        assert sum(np.count_nonzero(part == label) for part in parts) == whole
        assert np.count_nonzero(one.truth == label) == whole - round(0.7 * whole)
    assert np.array_equal(one.X, same.X, equal_nan=True)
    assert not np.array_equal(one.X, other.X, equal_nan=True)


def test_scores_are_the_log_loss_and_the_root_of_the_mean_squared_error():
    numbers, classes = (split(table, 0, "default") for table in _tables())
    assert score(numbers, numbers.truth + 2) == pytest.approx(2)
    assert score(classes, np.full((classes.truth.size, 3), 1 / 3)) == pytest.approx(np.log(3))


@pytest.mark.thorough
def test_a_run_fits_what_the_file_lacks(tmp_path, capfd):
    data, out, settings = (tmp_path / name for name in ("tables.npz", "o.jsonl", "s.json"))
    write(data, _tables())
    settings.write_text(json.dumps({"small": {"max_depth": 2, "n_estimators": 3}}), "utf-8")
    command = ["run", "--data", str(data), "--out", str(out), "--settings", str(settings)]
    command += ["--half", "both", "--splits", "0", "--workers", "1", "--device", TEST_DEVICE]
    assert main([*command, "--systems", "sklearn", "--kinds", "default"]) == 0
    assert "2 fits, 0 are there" in capfd.readouterr().out
    assert main([*command, "--systems", "sklearn", "small", "fast"]) == 0
    assert "10 fits, 2 are there" in capfd.readouterr().out
    records = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert not [record for record in records if "error" in record]
    keys = {tuple(record[k] for k in ("table", "kind", "system")) for record in records}
    assert len(keys) == len(records) == 12
    assert all(0 < record["score"] < 2 for record in records)
    with pytest.raises(SystemExit, match=r"expected some of .*balanced-1, .*, small"):
        main([*command, "--systems", "large"])


def test_values_depend_on_the_task_and_the_rows():
    numbers, classes = _tables()
    steps = {"numbers": [[80, 1], [84, 2], [None, 3]], "classes": [[83, 4], [None, 5]]}
    settings = {"max_depth": 3, "max_bin": steps, "subsample": {"classes": 0.5}}
    assert values_for(settings, numbers) == {"max_depth": 3, "max_bin": 2}
    assert values_for(settings, classes) == {"max_depth": 3, "max_bin": 5, "subsample": 0.5}


def test_a_comparison_counts_tables_won_and_means_over_splits(tmp_path, capsys):
    found = {
        ("a", 0): {"one": (1.0, 2.0), "two": (2.0, 1.0)},
        ("a", 1): {"one": (3.0, 2.0), "two": (6.0, 1.0)},
        ("b", 0): {"one": (1.5, 2.0), "two": (1.0, 1.0)},
    }
    one, two = compare(found, ["one", "two"], "one")
    assert (one.ratio, two.ratio) == (1.25, 1.5)
    assert (one.first, two.first, two.won, two.lost) == (1, 1, 1, 1)
    assert (one.processor, two.processor) == (6.0, 3.0)
    assert two.gain == pytest.approx((np.log(0.5) + np.log(1.5)) / 2)
    assert sign_test(1, 1) == 1
    assert sign_test(0, 5) == pytest.approx(2 / 32)

    data, results = tmp_path / "tables.npz", tmp_path / "o.jsonl"
    write(data, _tables())
    record = {"table": "numbers", "split": 0, "kind": "default", "processor": 1.0}
    lines = [{**record, "system": "one", "score": 1.0}, {**record, "system": "two", "score": 1.5}]
    lines += [{**lines[0], "table": "classes", "error": "too slow"}]
    results.write_text("\n".join(map(json.dumps, lines)) + '\n{"cut', "utf-8")
    packed = tmp_path / "o.jsonl.gz"
    packed.write_bytes(gzip.compress(results.read_bytes()))
    assert read_records(packed) == read_records(results) == lines
    command = ["show", str(results), "--data", str(data), "--half", "both", "--base", "one"]
    assert main([*command, "--tables"]) == 0
    text = capsys.readouterr().out
    assert "| two | 1.5000 | 0 | 0 | 1 | -40.55 % | 0 : 1 | 1 |" in text
    assert "| numbers | 1.000 | 1.500 |" in text
    with pytest.raises(SystemExit, match="no fits of --kind default"):
        main(["show", str(results), "--half", "both", "--splits", "1"])
    with pytest.raises(SystemExit, match="--target two: expected --data"):
        main(["show", str(results), "--target", "two"])


@pytest.mark.parametrize(("kind", "place"), [("default", 0), ("early", 1)])
def test_the_page_has_what_the_kept_file_says_of_the_peers(kind, place):
    root = Path(__file__).parents[2]
    page = (root / "docs" / "quality.md").read_text("utf-8")
    table = page.split("| checking half, 65 tables |")[1 + place].split("\n\n")[0]
    records = read_records(root / "bench" / "data" / "quality_peers.jsonl.gz")
    some = [r for r in records if r["kind"] == kind and not is_choosing(r["table"])]
    names = ["CatBoost", "LightGBM", "scikit-learn", "XGBoost"]
    systems = ["catboost", "lightgbm", "sklearn", "xgboost"]
    rows = {row.split("|")[1].strip(): row.split("|")[2:-1] for row in table.splitlines() if row}
    for name, line in zip(names, compare(scores(some, systems), systems, "catboost"), strict=True):
        _, gain, _, won, chance, seconds = (cell.strip() for cell in rows[name])
        assert int(seconds) == round(line.processor)
        if name != "CatBoost":
            assert gain == f"{100 * line.gain:+.1f} %"
            assert won == f"{line.won} : {line.lost}"
            assert float(chance) == float(f"{line.chance:.1g}")


def test_parts_of_coverage_are_seeded_and_take_every_row_once():
    table = _tables()[0]
    parts, same, other = (three_parts(table, seed, 20) for seed in (0, 0, 1))
    assert [y.size for _, y in parts] == [60, 30, 30]
    assert np.array_equal(np.sort(np.concatenate([y for _, y in parts])), np.sort(table.y))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(parts, same, strict=True))
    assert not np.array_equal(parts[0][1], other[0][1])


@pytest.mark.thorough
def test_coverage_has_a_line_for_each_table(tmp_path, capsys):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=400).astype(np.float32)
    name = next(n for n in map(str, range(9)) if QualityTable(n, 0, X, y, ()).choosing)
    write(tmp_path / "t.npz", [QualityTable(name, 0, X, y, ()), _tables()[1]])
    command = ["coverage", "--data", str(tmp_path / "t.npz"), "--splits", "4", "--least", "100"]
    command += ["--device", TEST_DEVICE, "--settings", '{"n_estimators": 5}']
    assert main(command) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert "pair of quantiles" in head
    found = line.split()
    assert found[:2] == [name, "400"]
    assert all(0.8 < float(mean) < 1 for mean in found[2::2])
    with pytest.raises(SystemExit, match="none: expected some of"):
        main([*command, "--tables", "none"])


@pytest.mark.thorough
def test_calibration_has_a_line_for_each_table(tmp_path, capsys):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    y = (X[:, 0] > rng.normal(size=400)).astype(np.float32)
    name = next(n for n in map(str, range(9)) if QualityTable(n, 2, X, y, ()).choosing)
    write(tmp_path / "t.npz", [QualityTable(name, 2, X, y, ()), _tables()[0]])
    command = ["calibration", "--data", str(tmp_path / "t.npz"), "--splits", "1", "--least", "100"]
    settings = json.dumps({"n_estimators": 40, "preset": "xgboost"})
    assert main([*command, "--device", TEST_DEVICE, "--settings", settings]) == 0
    _, line = capsys.readouterr().out.splitlines()
    plain, sigmoid, isotonic, *errors = map(float, line.split()[3:])
    assert sigmoid < plain
    assert isotonic < plain
    assert errors[1] < errors[0]


def test_calibration_errors_are_distances_of_means():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.3, 0.7], [0.35, 0.65]])
    labels = np.array([0, 1, 1, 1])
    assert calibration_error(p, labels) == pytest.approx((2 * 0.4 + 0.3 + 0.35) / 4)
    assert log_loss(p, labels) == pytest.approx(-np.log([0.9, 0.1, 0.7, 0.65]).mean())
