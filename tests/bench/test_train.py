"""``python -m bench train``, from end to end at a tiny size."""

import importlib.util
import json
import os
import subprocess
import sys
import time

import pytest

from bench.__main__ import main
from bench.children import in_child
from bench.peers import PEERS, XGBoostCupy, choose_peers
from bench.system import Settings
from bench.train_table import ratios, table
from pyopencl_gbdt.comparison.shapes import SHAPES
from tests.bench.running import ROOT, run
from tests.conftest import TEST_DEVICE
from tests.processes import IMPORT_PATH

SYSTEM = {
    "name", "ours", "device", "problem", "version", "cold_seconds", "setup_seconds",
    "first_round_seconds", "round_seconds", "round_samples", "times_floor", "predict_seconds",
    "n_fits", "quality", "prediction_digest", "peak_bytes", "sampled_bytes", "host_peak_bytes",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def report(folder):
    peers = "xgboost" if importlib.util.find_spec("xgboost") else "none"
    plot = ["--plot", folder] if importlib.util.find_spec("matplotlib") else []
    done = run(
        "train", "--quick", "--shapes", "bins-16", "--rows", 200, "--rounds", 5, "--device",
        TEST_DEVICE, "--peers", peers, "--json", folder / "bench.json", *plot,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "bench.json").read_text()), done.stdout


@pytest.mark.thorough
def test_json(report):
    written, _ = report
    assert set(written) == {
        "format", "command", "date", "seed", "host", "versions", "devices", "shapes",
    }  # fmt: skip
    assert {"cpu", "n_cpus", "load", "memory_bytes", "platform", "python"} == set(written["host"])
    (device,) = written["devices"]
    assert device["copy_bytes_per_second"] > 0
    assert {"label", "driver", "device_id", "compute_units"} < set(device)
    assert [shape["name"] for shape in written["shapes"]] == ["bins-16"]
    for shape in written["shapes"]:
        assert (shape["n_rows"], shape["n_rounds"], shape["problem"]) == (200, 5, "")
        assert shape["floor_seconds"] > 0
        for system in shape["systems"]:
            assert set(system) == SYSTEM, system["problem"]
            assert set(system["quality"]) == {"auc", "logloss"}
            assert 0.5 < system["quality"]["auc"] < 1
            assert len(system["round_samples"]) == 3  # groups of one fit
            assert min(system["round_samples"]) > 0
        ours = shape["systems"][0]
        assert ours["ours"]
        assert ours["peak_bytes"] > 0
        assert len(shape["ratios"]) == len(shape["systems"]) - 1


@pytest.mark.thorough
def test_the_table_has_every_system(report):
    written, text = report
    for shape in written["shapes"]:
        assert table(shape) in text
        assert f"{shape['name']}: {shape['title']}" in text
    assert "of data on the host" in text


@pytest.mark.thorough
def test_the_plot(report, folder):
    pytest.importorskip("matplotlib")
    assert (folder / "train.png").read_bytes().startswith(b"\x89PNG")


#: Wrong words, and what is said of them.
WRONG = [
    (["--shapes", "higs"], "did you mean 'higgs'?"),
    (["--peers", "xgb"], "--peers xgb: expected"),
    (["--rounds", "1"], "--rounds 1: expected 2 or more"),
    (["--device", "opencl:99:0"], "opencl:99:0"),
]
#: All in one process, as a process takes a second to start.
ALL = """
import contextlib, io, json, sys
from bench.__main__ import main
found = []
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            code = main(["train", *words])
        except SystemExit as error:
            code = error.code
    found.append((code, said.getvalue()))
print(json.dumps(found))
"""


@pytest.mark.thorough
def test_errors_come_before_the_work():
    words = json.dumps([arguments for arguments, _ in WRONG])
    done = subprocess.run(
        [sys.executable, "-c", ALL, words], cwd=ROOT, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH}, timeout=120,
    )  # fmt: skip
    for (code, found), (arguments, said) in zip(json.loads(done.stdout), WRONG, strict=True):
        assert code == 2, arguments
        assert said in found


def test_help_and_an_unknown_word_show_the_usage(capsys):
    assert (main(["--help"]), main(["trains"])) == (0, 2)
    shown = capsys.readouterr()
    assert shown.out == shown.err
    assert "switch-depth" in shown.out


# -- parts -------------------------------------------------------------------------------------
def make_system(name, seconds, *, ours=False, problem=""):
    return {
        "name": name, "ours": ours, "device": "cpu", "problem": problem, "version": "1",
        "cold_seconds": 1.0, "setup_seconds": seconds, "first_round_seconds": None,
        "round_seconds": 2 * seconds, "times_floor": 1.0, "predict_seconds": 4 * seconds,
        "quality": {"rmse": 0.5}, "prediction_digest": name, "peak_bytes": None,
        "sampled_bytes": 3 << 20,
    }  # fmt: skip


def test_ratios_say_how_many_times_faster_ours_is():
    systems = [
        make_system("ours a", 1.0, ours=True),
        make_system("ours b", 2.0, ours=True),
        make_system("peer", 4.0),
        make_system("broken", 1.0, problem="no"),
    ]
    assert [(r["ours"], r["peer"], r["round"]) for r in ratios(systems)] == [
        ("ours a", "peer", 4.0),
        ("ours b", "peer", 2.0),
    ]
    text = table(
        {"problem": "", "floor_seconds": 1e-3, "systems": systems, "ratios": ratios(systems)}
    )
    assert "DIFFERENT BYTES" in text
    assert "broken                  failed: no" in text


def test_peers_that_are_installed():
    assert choose_peers("none", cuda=False) == []
    assert choose_peers("catboost,sklearn", cuda=False) == ["catboost", "sklearn"]
    assert set(choose_peers("auto", cuda=True)) <= set(PEERS)
    assert "xgboost-cupy" not in choose_peers("auto", cuda=False)


def test_a_peer_without_its_device_says_so():
    pytest.importorskip("xgboost")
    with pytest.raises(RuntimeError, match="needs an NVIDIA card"):
        XGBoostCupy(SHAPES["tiny"], Settings("cpu", 1))


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
