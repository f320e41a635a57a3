"""``python -m bench losses``: every line can be trained; the whole at a tiny size."""

import importlib.util
import json

import numpy as np
import pytest

from bench.lines import BASE, N_CLASSES, QUERY_ROWS, Line, data_of, lines, make_values
from bench.losses import main
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.objectives import OBJECTIVES
from pyopencl_gbdt.training.preparing import prepare
from tests.conftest import TEST_DEVICE

N_ROWS, N_FEATURES = 430, 6
EVERY = lines(N_FEATURES)


def test_every_loss_has_a_line():
    assert EVERY[0] == Line(BASE, "loss")
    assert [line.name for line in EVERY if line.kind == "loss"] == list(OBJECTIVES)
    assert len({line.name for line in EVERY}) == len(EVERY)


@pytest.mark.parametrize("line", EVERY, ids=lambda line: line.name)
def test_labels_are_what_the_loss_takes(line):
    values, score = make_values(N_ROWS, N_FEATURES, 0)
    data = data_of(line, score, N_FEATURES, 0)
    params = {"objective": line.objective, **line.params, "device": TEST_DEVICE}
    task = prepare(params, Dataset(values, **data), (), None, None)  # refuses others
    assert len(np.unique(task.data.label)) > 1
    if line.objective.startswith("multi:"):
        assert len(np.unique(task.data.label)) == N_CLASSES
    if line.objective.startswith("rank:"):
        assert list(data["group"]) == [QUERY_ROWS] * 21 + [N_ROWS % QUERY_ROWS]
    if line.objective == "survival:aft":
        assert 0.2 < np.isinf(data["label_upper_bound"]).mean() < 0.5


@pytest.mark.thorough
def test_some_lines(tmp_path, capsys):
    names = ["rank:ndcg", "huber", "goss, 0.2 and 0.1"]
    peers = ["--peers"] if importlib.util.find_spec("xgboost") else []
    file = tmp_path / "losses.json"
    arguments = ["--rows", N_ROWS, "--features", N_FEATURES, "--rounds", 4, "--json", file]
    arguments += ["--device", TEST_DEVICE, *peers, "--only", *names]
    assert main(list(map(str, arguments))) == 0
    text, report = capsys.readouterr().out, json.loads(file.read_text(encoding="utf-8"))
    assert (report["rows"], report["features"], report["rounds"]) == (N_ROWS, N_FEATURES, 4)
    assert {line["name"] for line in report["lines"]} == set(names)
    for line in report["lines"]:
        assert line["problem"] == ""
        assert len(line["round_samples"]) == len(line["base_samples"]) == 4
        medians = [np.median(line[of]) for of in ("round_samples", "base_samples")]
        assert line["ratio"] == pytest.approx(medians[0] / medians[1])
        assert line["processor_ratio"] > 0
        known = bool(peers) and line["name"] not in ("huber", "goss, 0.2 and 0.1")
        assert (line["peer_seconds"] is not None) == known
        assert f"{1e3 * line['round_seconds']:.3f}" in text


@pytest.mark.thorough
def test_a_line_that_fails_leaves_the_others(monkeypatch, capsys):
    broken = Line("broken", "way", {"max_depth": -2})
    monkeypatch.setattr("bench.losses.lines", lambda n: [broken, Line(BASE, "loss")])
    arguments = ["--rows", "200", "--features", "2", "--rounds", "1", "--device", TEST_DEVICE]
    assert main(arguments) == 1
    text = capsys.readouterr().out
    assert "failed: max_depth=-2" in text
    assert text.splitlines()[-1].startswith(BASE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rounds", "0"], "--rounds 0: expected 1 or more"),
        (["--only", "hubert"], "--only 'hubert': expected some of"),
        (["--device", "opencl:99:0"], "opencl:99:0"),
    ],
)
def test_errors_come_before_the_work(arguments, said, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err
