from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyopencl_gbdt.device
import pyopencl_gbdt.training.train
from pyopencl_gbdt import __version__
from pyopencl_gbdt.cli import COMMANDS, build_parser, main
from pyopencl_gbdt.cli.fitting import chosen_variants
from pyopencl_gbdt.cli.output import WIDTH, Progress, group_variants, kernel_lines
from pyopencl_gbdt.device import find
from pyopencl_gbdt.device.variants import summary
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import TABLE
from pyopencl_gbdt.training.train import Model
from tests.cli_samples import (
    DEVICE,
    LOGISTIC,
    N_ROWS,
    NAMES,
    SMALL,
    make_rows,
    read_numbers,
    train_small,
    write_rows,
)
from tests.conftest import TEST_DEVICE


@pytest.mark.parametrize(
    ("name", "label", "header", "options"),
    [
        ("a.csv", "first", False, []),
        ("a.csv", "last", False, ["--label-column", "-1"]),
        ("a.csv", "last", True, ["--label-column", "y"]),
        ("a.tsv", "first", True, ["--header", "yes"]),
        ("a.tsv.gz", "first", False, ["--header", "no", "--format", "delimited"]),
        ("a.libsvm", "first", False, []),
        ("a.libsvm.gz", "first", False, []),
        ("a.npz", "first", False, []),
        ("a.npz.gz", "first", False, []),
    ],
)
def test_train_then_predict(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    label: str,
    header: bool,
    options: list[str],
) -> None:
    data, saved = str(write_rows(tmp_path / name, label, header)), str(tmp_path / "m.json")
    assert main(["train", data, "--model", saved, *options, *SMALL, *LOGISTIC]) == 0
    said = " ".join(capsys.readouterr().out.split())  # lines are wrapped
    assert all(word in said for word in ("Data", "120 rows, 4 features", "Device", "Saved"))
    assert "Kernels all kernels: " in said
    assert "histogram" not in said
    assert "ms a round" in said
    model = Model.load_model(saved)
    assert len(model.ensemble.trees) == 3
    assert model.ensemble.feature_names == (NAMES if header else None)
    X, y = make_rows()
    expected = model.predict(X, device=TEST_DEVICE)
    assert np.mean((expected > 0.5) == y) > 0.8

    assert main(["predict", data, "--model", saved, *options, *DEVICE]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert np.array_equal(read_numbers(captured.out), expected)

    out = tmp_path / "p.txt"
    arguments = ["predict", data, "--model", saved, *options, *DEVICE, "--out", str(out)]
    assert main([*arguments, "--output-margin"]) == 0
    margins = model.predict(X, device=TEST_DEVICE, output_margin=True)
    assert np.array_equal(read_numbers(out.read_text()), margins)
    assert "120 predictions written" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["u.csv", "u.tsv", "u.libsvm", "u.npz"])
@pytest.mark.parametrize("options", [[], ["--no-label"]])
def test_predict_without_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, options: list[str]
) -> None:
    model = train_small(tmp_path)
    capsys.readouterr()
    data = str(write_rows(tmp_path / name, "none"))
    assert main(["predict", data, "--model", model, *DEVICE, *options]) == 0
    captured = capsys.readouterr()
    expected = Model.load_model(model).predict(make_rows()[0], device=TEST_DEVICE)
    assert np.array_equal(read_numbers(captured.out), expected)
    assert ("no labels" in captured.err) == (not options)


def test_narrower_libsvm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, saved = str(write_rows(tmp_path / "a.libsvm")), str(tmp_path / "m.json")
    narrow = tmp_path / "narrow.libsvm"
    narrow.write_text("1 0:0.5\n0 1:-2 2:1\n")
    assert main(["train", data, "--model", saved, "--eval", str(narrow), *SMALL]) == 0
    assert "narrow-rmse:" in capsys.readouterr().out
    assert main(["predict", str(narrow), "--model", saved, *DEVICE]) == 0
    assert len(read_numbers(capsys.readouterr().out)) == 2
    wide = ["--n-features", "9"]
    assert main(["train", str(narrow), "--model", saved, *wide, *SMALL]) == 0
    assert Model.load_model(saved).ensemble.n_features == 9


def test_sparse_libsvm_and_columns_beyond_those_of_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, saved, wide = tmp_path / "a.libsvm", str(tmp_path / "m.json"), tmp_path / "wide.libsvm"
    data.write_text("".join(f"{i % 2} {i % 5}:{i % 3}\n" for i in range(60)))
    wide.write_text("1 0:1 7:3\n0 900:2 3:0\n")
    train_it = ["train", str(data), "--model", saved, "--eval", str(wide), *SMALL]
    assert main(train_it) == 0
    said = capsys.readouterr()
    assert "60 rows, 5 features" in said.out
    beyond = "wide.libsvm: 2 values in columns from 5 on (from 0; the first in line 1) are left out"
    assert said.err.count(beyond) == 1
    assert main(["predict", str(wide), "--model", saved, *DEVICE]) == 0
    said = capsys.readouterr()
    assert said.err.count(beyond) == 1
    nan = np.nan
    wanted = Model.load_model(saved).predict([[1, *[nan] * 4], [nan, nan, nan, 0, nan]])
    np.testing.assert_array_equal(read_numbers(said.out), wanted)


def test_one_based_libsvm_and_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, saved = tmp_path / "a.svm", str(tmp_path / "m.json")
    data.write_text("1 qid:1 1:0.5\n0 qid:1 1:-2 2:1\n")
    assert main(["train", str(data), "--model", saved, "--one-based", *SMALL]) == 0
    assert Model.load_model(saved).ensemble.n_features == 2
    note = capsys.readouterr().err
    assert note.startswith("note: ")
    assert "qid" in note
    ranked = ["--objective", "rank:ndcg", "--eval", str(data)]
    assert main(["train", str(data), "--model", saved, "--one-based", *SMALL, *ranked]) == 0
    output = capsys.readouterr()
    assert "qid" not in output.err
    assert "a-ndcg@32:" in output.out
    data.write_text("1 qid:2 1:0.5\n0 qid:1 1:-2 2:1\n")
    assert main(["train", str(data), "--model", saved, "--one-based", *SMALL, *ranked]) != 0
    assert "qid is not sorted" in capsys.readouterr().err


def test_metrics_and_their_rounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, saved = str(write_rows(tmp_path / "a.csv")), str(tmp_path / "m.json")
    other = write_rows(tmp_path / "a.tsv")
    arguments = ["train", data, "--model", saved, *DEVICE, *LOGISTIC, "--num-boost-round", "5"]
    arguments += ["--eval", data, "--eval", str(other), "--eval-metric", "auc"]
    assert main([*arguments, "--eval-metric", "logloss", "--verbose-every", "2"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "round  " in line]
    assert [int(line.split()[1]) for line in lines] == [1, 2, 4, 5]
    names = [metric.split(":")[0] for metric in lines[0].split()[2:]]
    assert names == ["a-auc", "a-logloss", "a#2-auc", "a#2-logloss"]
    assert main([*arguments, "--verbose-every", "0"]) == 0
    assert "round  " not in capsys.readouterr().out
    assert main([*arguments, "--verbosity", "0"]) == 0
    assert capsys.readouterr().out == ""
    assert len(Model.load_model(saved).ensemble.trees) == 5


@pytest.mark.parametrize("suffix", ["ubj", "gbdt", "gbdt.json", "model"])
def test_the_ending_chooses_the_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    data, saved = str(write_rows(tmp_path / "a.csv")), tmp_path / f"m.{suffix}"
    assert main(["train", data, "--model", str(saved), *SMALL, *LOGISTIC]) == 0
    note = "note: XGBoost reads" in capsys.readouterr().err
    assert note == (suffix == "model")
    model = Model.load_model(saved)
    assert model.save_raw(suffix) == saved.read_bytes()
    assert main(["predict", data, "--model", str(saved), *DEVICE]) == 0
    expected = model.predict(make_rows()[0], device=TEST_DEVICE)
    assert np.array_equal(read_numbers(capsys.readouterr().out), expected)


@pytest.mark.parametrize("suffix", ["txt", "txt.gz"])
def test_weight_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    data, saved = str(write_rows(tmp_path / "a.csv")), tmp_path / "m.json"
    weights = np.arange(N_ROWS) % 3
    file = tmp_path / f"w.{suffix}"
    text = "".join(f"{weight}\n" for weight in weights).encode()
    file.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    arguments = ["train", data, "--model", str(saved), *SMALL, "--weight", str(file)]
    assert main(arguments) == 0
    X, y = make_rows()
    rows = pyopencl_gbdt.Dataset(X, y, weights)
    params = {"n_estimators": 3, "max_depth": 3, "min_child_weight": 0, "device": TEST_DEVICE}
    pyopencl_gbdt.train(params, rows).save_model(tmp_path / "expected.json")
    assert saved.read_bytes() == (tmp_path / "expected.json").read_bytes()

    file.write_bytes(gzip.compress(text[:-2]) if suffix.endswith("gz") else text[:-2])
    assert main(arguments) == 2
    assert "119 lines of 1 numbers: expected 120 lines" in capsys.readouterr().err


def test_flags_and_params_are_the_same(tmp_path: Path) -> None:
    data = str(write_rows(tmp_path / "a.csv"))
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    flags = ["--eta", "0.5", "--lambda", "2", "--n-estimators", "4", "--base-score", "0.25"]
    params = ["learning_rate=.5", "reg_lambda=2.0", "num_boost_round=4", "base_score=0.25"]
    assert main(["train", data, "--model", str(one), *DEVICE, *flags]) == 0
    pairs = [word for param in params for word in ("--param", param)]
    assert main(["train", data, "--model", str(two), *DEVICE, *pairs]) == 0
    assert one.read_bytes() == two.read_bytes()


def test_every_parameter_has_a_flag() -> None:
    for row in TABLE:
        for name in (row.name, *row.aliases):
            flag = f"--{name.replace('_', '-')}=7"
            build_parser().parse_args(["train", "data", "--model", "m", flag])


def test_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    said = capsys.readouterr().out
    chosen = find("auto").device_id
    assert f"'auto' chooses {chosen}." in said
    assert "--device" in said
    assert all(len(line) <= WIDTH for line in said.splitlines())
    assert main(["devices", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert listing["chosen"] == chosen
    assert listing["error"] == ""
    found = {entry["device"]: entry for entry in listing["devices"]}
    info = find(TEST_DEVICE)
    assert info.caps is not None
    assert found[info.device_id]["usable"]
    assert found[info.device_id]["variants"] == info.variants()
    assert found[info.device_id]["capabilities"]["name"] == info.caps.name


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "examples:" in said
    assert said.count("pyopencl-gbdt ") > len(COMMANDS)
    for arguments, code in ((["--version"], 0), (["train"], 2), (["nonsense"], 2)):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == code
    assert f"pyopencl-gbdt {__version__}" in capsys.readouterr().out


def test_progress_counts_rounds() -> None:
    shown: list[Any] = []
    progress = Progress(lambda *line: shown.append(line), n_rounds=7, every=3, waits=True)
    assert progress.summary() == "no round"
    for number in range(7):
        progress.report(f"[{number}]\ta:{number}\tb:0")
        if number == 0:
            progress.finish()
            assert "ms a round" not in progress.summary()
    assert shown == [(n, [f"a:{n - 1}", "b:0"]) for n in (1, 3, 6, 7)]
    progress.set_up, progress.rounds = 1.0, 0.6
    expected = "set-up and the first round 1.00 s, then 100.00 ms a round; 1.60 s in all"
    assert progress.summary() == expected


def test_variants_that_are_shown() -> None:
    info = find(TEST_DEVICE)
    assert info.caps is not None
    gpu = replace(info, caps=replace(info.caps, kind="gpu", local_bytes=32768))
    default = Parameters.from_dict({})
    assert chosen_variants(gpu, default) == gpu.variants()
    named = Parameters.from_dict({"histogram": "local_atomic"})
    assert chosen_variants(gpu, named)["histogram"] == "local_atomic"
    many = chosen_variants(gpu, replace(default, max_bin=60000))["histogram"]
    assert "by ranges of bins if" in many
    assert group_variants({"a": "x", "b": "y", "c": "x"}) == ["x: a, c", "y: b"]
    for name in ("cpu", "gpu", "accelerator"):
        word = name if name == "accelerator" else name.upper()
        caps = replace(info.caps, kind=name)
        own = replace(info, caps=caps).variants()
        assert summary(own, caps) == f"all kernels: {word} variants"
        with_words = {**own, "histogram": f"{own['histogram']} (one by ranges)"}
        assert summary(with_words, caps) == f"all kernels: {word} variants"
    mixed = {**gpu.variants(), "scan": "sequential", "reduce": "sequential"}
    n = len(mixed)
    assert summary(mixed, gpu.caps) == f"{n - 2} of {n} kernels: GPU variants, 2 others"
    assert kernel_lines(mixed, gpu.caps, verbose=True) == group_variants(mixed)
    assert kernel_lines(mixed, gpu.caps, verbose=False) == [
        f"{summary(mixed, gpu.caps)} (--verbose lists them)"
    ]


def test_verbose_names_every_kernels_variant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, saved = str(write_rows(tmp_path / "a.csv")), str(tmp_path / "m.json")
    conf = tmp_path / "a.conf"
    conf.write_text(f"data = {data}\nmodel_out = {saved}\nnum_round = 1\nmax_depth = 2\n")
    for words in (["train", data, "--model", saved, *SMALL], ["train", str(conf), *DEVICE]):
        assert main(words) == 0
        short = capsys.readouterr().out
        assert main([*words, "--verbose"]) == 0
        long = capsys.readouterr().out
        line = next(line for line in short.splitlines() if line.startswith("Kernels"))
        assert re.fullmatch(r"Kernels  all kernels: .PU variants \(--verbose lists them\)", line)
        assert all(kernel in long and kernel not in short for kernel in ("radix_sort", "compact"))
    assert main(["devices"]) == 0
    assert "radix_sort" not in capsys.readouterr().out
    assert main(["devices", "--verbose"]) == 0
    assert "radix_sort" in capsys.readouterr().out
