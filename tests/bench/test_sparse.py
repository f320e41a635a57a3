"""bench sparse: its rows, a system's record at a tiny size, and the whole command."""

import importlib.util
import json
from argparse import Namespace
from dataclasses import replace

import numpy as np
import pytest

from bench import sparse_shapes
from bench.fitting import Task, measure
from bench.sparse import SYSTEMS, main, sized
from bench.sparse_shapes import SHAPES
from bench.system import Settings
from bench.train import make
from tests.bench.running import run
from tests.conftest import TEST_DEVICE

TINY = replace(SHAPES["classes"], n_rows=200, n_features=300, per_row=12, n_classes=3, n_rounds=3)


def test_rows_depend_on_the_seed_alone(monkeypatch):
    monkeypatch.setattr(sparse_shapes, "_PIECE_ENTRIES", 1000)  # several pieces
    (values, label), (others, _) = make(TINY, 3, 50)
    (again, same), _ = make(TINY, 3, 50)
    assert values.shape == (200, 300)
    assert others.shape == (50, 300)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(values, name), getattr(again, name))
    np.testing.assert_array_equal(label, same)
    assert set(label) == {0, 1, 2}
    assert values.has_canonical_format
    assert 8 < values.nnz / 200 < 12.5
    per_column = np.bincount(values.indices, minlength=300)
    assert per_column[0] > 20 * per_column[150:].mean()
    assert not np.array_equal(values[:50].toarray(), others.toarray())
    assert not np.array_equal(TINY.make(4)[1], label)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["ours", "xgboost", "lightgbm"])
def test_a_system_trains_classes(name):
    if name != "ours":
        pytest.importorskip(name)
    where = TEST_DEVICE if name == "ours" else "cpu"
    task = Task(TINY, name, Settings(where, 1), 1, 0.0, SYSTEMS[name])
    record = measure(task, *make(TINY, 0, 50))
    assert record["quality"]["mlogloss"] < np.log(3)
    assert min(record["setup_seconds"], record["first_round_seconds"], record["round_seconds"]) > 0
    if name == "ours":
        assert record["peak_bytes"] > 8 * 200 * 12


def test_sizes():
    def size(name, *, cpu, quick=False, scale=1.0):
        asked = Namespace(quick=quick, rows_scale=scale, rounds=None)
        return sized(SHAPES[name], asked, cpu=cpu).n_rows

    assert size("wide", cpu=True) == size("wide", cpu=False) == 16_000
    assert [size("exact-d8", cpu=cpu) for cpu in (False, True)] == [1_000_000, 100_000]
    assert size("exact-d6", cpu=True, quick=True, scale=0.5) == 10_000
    assert {shape.tree_method for shape in SHAPES.values()} == {"auto", "exact", "hist"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rounds", "1"], "--rounds 1: expected 2 or more"),
        (["--rows-scale", "nan"], "--rows-scale nan: expected 0.001 or more"),
        (["--only", "wider"], "invalid choice: 'wider'"),
    ],
)
def test_errors_come_before_the_work(arguments, said, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


@pytest.mark.thorough
def test_command(tmp_path):
    names = ["ours", "xgboost"] if importlib.util.find_spec("xgboost") else ["ours"]
    file = tmp_path / "sparse.json"
    done = run(
        "sparse", "--quick", "--rows-scale", 0.05, "--rounds", 3, "--only", "exact-d6",
        "--device", TEST_DEVICE, "--peers", "xgboost", "--json", file,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (exact,) = json.loads(file.read_text())["runs"]
    assert exact["shape"]["n_rows"] == 1000
    assert exact["n_values"] == 1000 * exact["shape"]["n_features"]
    assert [system["name"] for system in exact["systems"]] == names
    for system in exact["systems"]:
        assert system["problem"] == ""
        assert f"{1e3 * system['round_seconds']:.3f}" in done.stdout
        assert system["host_peak_bytes"] > 2**26
    losses = [system["quality"]["logloss"] for system in exact["systems"]]
    assert losses == pytest.approx([losses[0]] * len(losses), rel=0.02)
