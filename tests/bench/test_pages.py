"""``python -m bench pages``: its lines, its turns, and what it says."""

import json
import os
import sys
import time
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from bench.__main__ import main as bench_main
from bench.children import in_child
from bench.page_drawing import PAGE, bound, merged, tables
from bench.page_lines import LINES, quick
from bench.pages import _has, chosen, main, said
from bench.peers import ON_CUDA_ALONE, PEERS, XGBoostCupy, choose_peers
from bench.system import Settings
from bench.turns import Player
from tests.bench.running import run
from tests.conftest import TEST_DEVICE


def test_lines_have_names_of_their_own_and_are_chosen_by_kind():
    names = [line.name for line in LINES]
    assert len(set(names)) == len(names)
    assert {line.where for line in chosen(None, ["cpu"])} == {"cpu"}
    assert [line.name for line in chosen("cpu-tiny,leaves-*", ["cpu"])] == [
        "cpu-tiny", "leaves-31", "leaves-63", "leaves-255",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="--only higs: expected a pattern or some of cpu-1m-d6"):
        chosen("higs", ["cpu"])


def test_classes_are_about_equally_many_and_the_same_for_any_number_of_rows():
    line = quick(next(line for line in LINES if line.n_classes))
    values, label = line.make(0)
    fewer = line.make(0, 500)
    assert np.array_equal(fewer[0], values[:500])
    assert np.array_equal(fewer[1], label[:500])
    counts = np.bincount(label.astype(int), minlength=line.n_classes)
    assert counts.size == line.n_classes
    assert counts.min() > len(label) / line.n_classes / 2


def test_columns_of_few_values_and_what_a_drawn_share_reads():
    every = {line.name: line for line in LINES}
    values, _ = quick(every["cpu-few"]).make(0)
    assert values.dtype == np.float32
    assert np.array_equal(np.unique(values), np.arange(5))
    assert every["cpu-few-drawn"].floor_bytes < every["cpu-few"].floor_bytes / 2


def test_who_takes_part():
    every = {line.name: line for line in LINES}
    offered = ("xgboost", "lightgbm", "falcata", "falcata-stochastic", "catboost", "hessboost")
    assert set(offered) < set(PEERS)

    def present(line, device):
        return [name for name in offered if _has(Player(name, device, 2), every[line])]

    assert present("gpu-1m-d6", "cuda") == ["xgboost", "falcata", "falcata-stochastic", "catboost"]
    assert present("gpu-few-drawn", "cuda") == ["xgboost", "falcata", "falcata-stochastic"]
    assert present("cpu-few", "cpu") == list(offered)  # a peer of cards alone is not chosen there
    assert not ON_CUDA_ALONE & set(choose_peers("auto", cuda=False))
    assert choose_peers("none", cuda=False) == []
    assert choose_peers("catboost,sklearn", cuda=False) == ["catboost", "sklearn"]
    assert not {"sklearn", "xgboost-cupy"} & set(choose_peers("auto", cuda=True))


@pytest.mark.parametrize("name", ["falcata", "falcata-stochastic"])
def test_falcata_takes_lightgbms_parameters_and_its_own(monkeypatch, name):
    fork = SimpleNamespace(__version__="1.1", Dataset=None, Booster=None)
    monkeypatch.setitem(sys.modules, "falcata", fork)
    line = next(line for line in LINES if line.name == "gpu-few-drawn")
    kind, _ = PEERS[name]
    system = kind(line, Settings("cuda", 4))
    mode = {"falcata": "fixedpoint", "falcata-stochastic": "stochastic"}[name]
    expected = {"device_type": "cuda", "quant_mode": mode, "feature_fraction": 0.1, "max_bin": 255,
                "num_leaves": 32, "lambda_l2": 1.0}  # fmt: skip
    assert system.params.items() >= expected.items()
    assert (system.version, system.device) == ("1.1", "cuda")
    with pytest.raises(RuntimeError, match="device 'cpu': Falcata is measured on 'cuda' alone"):
        kind(line, Settings("cpu", 4))


def test_a_peer_without_its_device_says_so():
    pytest.importorskip("xgboost")
    with pytest.raises(RuntimeError, match="needs an NVIDIA card"):
        XGBoostCupy(LINES[0], Settings("cpu", 1))


@pytest.mark.parametrize(
    ("work", "arguments", "reason"),
    [
        (int, ("x",), "ValueError: invalid literal"),
        (os._exit, (7,), "its process died, exit code 7"),
        (time.sleep, (60,), "took longer than 1 s"),
    ],
)
def test_a_process_that_fails(work, arguments, reason):
    with pytest.raises(RuntimeError, match=reason):
        in_child(work, *arguments, limit=1.0)
    assert in_child(int, "5", limit=60.0) == 5


def test_help_and_an_unknown_word_show_the_usage(capsys):
    assert (bench_main(["--help"]), bench_main(["trains"])) == (0, 2)
    shown = capsys.readouterr()
    assert shown.out == shown.err
    assert "switch-depth" in shown.out


@pytest.mark.thorough
def test_hessboost_trains_a_line():
    pytest.importorskip("hessboost")
    line = quick(next(line for line in LINES if line.name == "cpu-few-drawn"))
    values, label = line.make(0)
    system = PEERS["hessboost"][0](line, Settings("cpu", 1))
    system.setup(values, label)
    system.rounds(3)
    assert system.predict(values).shape == label.shape


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "absent.json"], "absent.json"),
        (["--rounds", "0"], "--rounds 0: expected 1 or more"),
        (["--rows-scale", "nan"], "--rows-scale nan: expected 0.001 or more"),
    ],
)
def test_errors_come_before_the_work(capsys, arguments, words):
    with pytest.raises(SystemExit):
        main(arguments)
    assert words in capsys.readouterr().err


def system(name, ms, **more):
    ours = name.startswith("ours")
    seconds = {"round": [ms / 1e3] * 3, "setup": [0.02] * 3, "first": [0.004] * 3}
    return {
        "name": name, "ours": ours, "device": "cpu", "version": "1", "problem": "",
        "quality": {"auc": 0.9}, "seconds": seconds, **more,
    }  # fmt: skip


def report(ms, kernels=(), **line):
    here = {"name": "Card", "label": "Card (x)", "driver": "1", "copy_bytes_per_second": 1e9}
    shape = quick(next(one for one in LINES if not one.trained))
    lines = [{
        **asdict(shape), "problem": "", "floor_seconds": 0.001,
        "systems": [system("ours cpu", ms, kernels=list(kernels)), system("xgboost", 6.0)], **line,
    }]  # fmt: skip
    host = {"cpu": "Some", "n_cpus": 2, "python": "3"}
    return {"devices": [here], "host": host, "versions": {"numpy": "2"}, "date": "2026-01-02T03",
            "turns": 3, "lines": lines}  # fmt: skip


def test_pages_are_drawn_between_their_marks(tmp_path):
    text = "before\n<!-- turns: begin -->\nold\n<!-- turns: end -->\nbehind\n"
    (tmp_path / PAGE).write_text(text)
    files = []
    for number, ms in enumerate((9.0, 3.0)):  # the later measurement of a line counts
        files.append(str(tmp_path / f"{number}.json"))
        (tmp_path / f"{number}.json").write_text(json.dumps(report(ms)))
    assert main(["--from", *files, "--out", str(tmp_path)]) == 0
    text = (tmp_path / "performance.md").read_text()
    assert "old" not in text
    assert text.startswith("before")
    assert text.endswith("behind\n")
    assert "| **ours cpu** | 3.000 (3.000 to 3.000) | 20.0 (20.0 to 20.0) |" in text
    assert "| XGBoost 1 | 6.000 (6.000 to 6.000) |" in text
    assert "| 2.00, 1.00 |" in text
    assert "9.000" not in text


def test_compiled_models_are_drawn_beside_predictions_with_what_compiling_took():
    seconds = {"predict": [0.5, 0.5], "one": [0.001, 0.001]}
    systems = [
        system("ours cpu", 1.0, seconds=seconds, compile_seconds=0.0),
        system("treelite", 1.0, seconds={**seconds, "predict": [2.0, 2.0]}, compile_seconds=41.2),
    ]
    later = report(1.0, name="cpu-predict", trained=500, systems=systems)
    later["versions"] = {"numpy": "2", "treelite": "4"}
    (machine,) = merged([report(3.0), later])
    drawn = "\n".join(tables(machine))
    assert "numpy 2, treelite 4. Medians of 3 or 2 turns" in drawn
    assert "| treelite 1, compiled in 41 s | 2000 (2000 to 2000) | 1.000" in drawn
    assert "| 4.00, 1.00 |" in drawn
    assert drawn.count("### ") == 1
    assert drawn.index("| data | system | ms a round") < drawn.index("| data | system | all rows")
    trained = next(line for line in LINES if line.where == "cpu" and not line.trained)
    predicted = next(line for line in LINES if line.name == "cpu-predict")
    treelite = Player("treelite", "cpu", 2)
    assert [_has(treelite, line) for line in (trained, predicted)] == [False, True]


def test_a_page_without_marks_is_an_error_and_nothing_is_written(tmp_path, capsys):
    (tmp_path / PAGE).write_text("no marks")
    (tmp_path / "a.json").write_text(json.dumps(report(1.0)))
    with pytest.raises(SystemExit):
        main(["--from", str(tmp_path / "a.json"), "--out", str(tmp_path)])
    assert "performance.md: expected one" in capsys.readouterr().err
    assert (tmp_path / PAGE).read_text() == "no marks"


@pytest.mark.parametrize(
    ("ms", "share", "words"),
    [(10.0, 0.8, "launches: the kernels take 2 of 10 ms, 5 of them"), (2.1, 0.8, "memory"),
     (2.1, 0.1, "work within the kernels; `histogram` takes 2 ms at 10% of a copy's rate"),
     (2.1, None, "work within the kernels; `histogram` takes 2 ms")],
)  # fmt: skip
def test_what_bounds_a_round(ms, share, words):
    kernel = {"kernel": "histogram", "ms": 2.0, "launches": 5.0, "share_of_copy": share}
    assert bound(report(ms, [kernel])["lines"][0]).startswith(words)


@pytest.mark.exhaustive
def test_turns_from_end_to_end(tmp_path):
    file = tmp_path / "pages.json"
    done = run(
        "pages", "--quick", "--only", "cpu-tiny,cpu-predict", "--turns", 2, "--device", TEST_DEVICE,
        "--peers", "none", "--json", file, "--plot", tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    tiny, predict = report["lines"]
    (ours,) = tiny["systems"]
    assert {part: len(of) for part, of in ours["seconds"].items()} == dict.fromkeys(
        ("setup", "first", "round", "predict", "one"), 2
    )
    assert ours["kernels"]
    assert set(predict["systems"][0]["seconds"]) == {"predict", "one"}
    assert said(tiny) in done.stdout
    assert (tmp_path / "pages.png").read_bytes().startswith(b"\x89PNG")
