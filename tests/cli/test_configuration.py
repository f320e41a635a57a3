"""Configuration files: the example of the documentation, every kind of key, and what is refused."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt.cli import build_parser, main, tables
from pyopencl_gbdt.cli.configuration import Configuration, read
from pyopencl_gbdt.cli.configuration_keys import ALIASES, FOREIGN, KEYS, OWN
from pyopencl_gbdt.cli.data_path import DataPath
from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.parameters.parameters import ROWS, Parameters
from pyopencl_gbdt.parameters.table import TABLE, XGBOOST_ONLY
from pyopencl_gbdt.prediction.model import Model
from tests.cli_samples import make_rows, write_rows
from tests.conftest import TEST_DEVICE

ROOT = Path(__file__).resolve().parents[2]
ON = f"device={TEST_DEVICE}"


def run(*words: str) -> int:
    return main(["train", *words])


def parsed(*words: str) -> Configuration:
    args = build_parser().parse_args(["train", *words])
    return read(args)


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="needs a checkout")
def test_the_example_of_the_documentation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/command-line.md").read_text("utf-8")
    (content,) = re.findall(r"^```ini\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    (commands,) = re.findall(r"^```sh\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```text\n(booster.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("bench").symlink_to(ROOT / "bench")
    Path("mushroom.conf").write_text(content)
    for line in commands.splitlines():
        assert main([*shlex.split(line)[1:], ON]) == 0, line
    assert "test-logloss:" in capsys.readouterr().out
    assert len(Model.load_model("four-rounds.json").ensemble.trees) == 4

    booster = xgboost.Booster(model_file="mushroom.json")
    dump = "".join(f"booster[{i}]:\n{tree}" for i, tree in enumerate(booster.get_dump()))
    assert Path("dump.txt").read_text() == dump
    assert dump.startswith(shown)
    rows = read_table("bench/data/agaricus.test.libsvm.gz", dense=True)
    expected = Model.load_model("mushroom.json").predict(rows.X, device=TEST_DEVICE)
    written = Path("pred.txt").read_text().splitlines()
    assert np.array_equal(np.array(written, np.float32), expected)
    theirs = booster.predict(xgboost.DMatrix(rows.X))
    np.testing.assert_allclose(expected, theirs, rtol=1e-6)


def test_periods_margins_and_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "a.libsvm")
    Path("own.conf").write_text(
        f"data=a.libsvm\ntest:data=a.libsvm\n'{ON.replace('=', chr(39) + '=' + chr(39))}'\n"
        "objective=binary:logistic\nmax_depth=3\nmin_child_weight=0\n"
    )
    words = ["eval_train=1", "--eval", "a.libsvm", "eval_metric=auc,error"]
    assert run("own.conf", "n_trees=3", "save_period=1", *words) == 0
    (last,) = (line for line in capsys.readouterr().out.splitlines() if "round     3" in line)
    assert re.findall(r"[\w-]+(?=:)", last) == ["train-auc", "train-error", "a-auc", "a-error"]
    trees = Model.load_model("0003.model").ensemble.trees
    assert Model.load_model("0002.model").ensemble.trees == trees[:2]

    more = ["model_in=0002.model", "model_out=3.json", "num_round=1", "silent=1"]
    assert run("own.conf", *more) == 0
    assert capsys.readouterr().out == ""
    assert Model.load_model("3.json").ensemble.trees == trees

    rounds = ["pred_margin=1", "iteration_begin=1", "name_pred=stdout"]
    assert run("own.conf", "task=pred", "model_in=3.json", *rounds) == 0
    found = np.array(capsys.readouterr().out.split(), np.float32)
    X, _ = make_rows()
    options: dict[str, Any] = {"output_margin": True, "device": TEST_DEVICE}
    three = Model.load_model("3.json")
    assert np.array_equal(found, three.predict(X, iteration_range=(1, 3), **options))

    Path("map.txt").write_text("0 age q\n1 height q\n2 weight q\n3 shoe int\n")
    words = ["dump_format=json", "with_stats=1", "name_dump=-", "fmap=map.txt"]
    assert run("own.conf", "task=dump", "model_in=3.json", *words) == 0
    dumped = json.loads(capsys.readouterr().out)
    assert len(dumped) == 3
    assert {"split", "gain", "cover", "children"} <= set(dumped[0])
    assert dumped[0]["split"] in ("age", "height", "weight", "shoe")


def test_several_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of XGBoost; each class of a row has a line of its own, as in XGBoost 1.x."""
    monkeypatch.chdir(tmp_path)
    X, y = make_rows()
    rows = xgboost.DMatrix(X, y + (np.nan_to_num(X[:, 0]) > 2))
    params = {"objective": "multi:softprob", "num_class": 3, "max_depth": 2, "nthread": 1}
    booster = xgboost.train(params, rows, 2)
    booster.save_model("three.json")
    write_rows(tmp_path / "a.tsv")
    assert run("test:data=a.tsv", "task=pred", "model_in=three.json", "silent=1", ON) == 0
    found = np.array(Path("pred.txt").read_text().splitlines(), np.float32)
    np.testing.assert_allclose(found, booster.predict(rows).ravel(), rtol=1e-5)


def test_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_bytes(
        b"\xef\xbb\xbf# a comment\r\n\r\n  eta=0.5# half\r\n'max_depth' = \"4\"   # four\r\n"
        b"data = \"a #1.csv\"\neval[one] = 'one.csv?format=csv'\neval[two]=two.csv\n"
        b"base_score = [0.25, 0.5]\nmonotone_constraints=(1,-1)\neval_metric=auc\n"
        b"eval_metric = error@0.7 , mae\nlabel_column = y\ntree_method = gpu_hist\n"
        b"validate_parameters = True\nnthread=3\nsilent=1\n"
    )
    found = parsed(str(file))
    assert found.options["data"] == "a #1.csv"
    assert found.options["label_column"] == "y"
    assert found.evals == {"one": "one.csv?format=csv", "two": "two.csv"}
    assert found.metrics == ["auc", "error@0.7", "mae"]
    assert found.without_effect == ["nthread"]
    params = Parameters.from_dict(
        {**found.params, "num_class": 2, "objective": "multi:softprob", "tree_method": "hist"}
    )
    assert (params.learning_rate, params.max_depth, params.verbosity) == (0.5, 4, 0)
    assert params.base_score == (0.25, 0.5)
    assert params.monotone_constraints == "(1,-1)"

    words = ["learning_rate=0.1", "eval[one]=new.csv", "eval_metric=rmse", "silent=0"]
    words += ["--max-depth", "2", "--profile", "--label-column", "3"]
    found = parsed(str(file), *words)
    assert found.params["learning_rate"] == 0.1
    assert found.params["verbosity"] == 1
    assert found.params["max_depth"] == 2
    assert found.options["profile"] is True
    assert found.options["label_column"] == "3"
    assert found.evals == {"one": "new.csv", "two": "two.csv"}
    assert found.metrics == ["rmse"]


def test_every_parameter_and_alias_is_a_key() -> None:
    given = {
        "depth": 4, "n_trees": 7, "n_parallel_trees": 3, "max_num_bin": 64, "lambda_tgbm": 2,
        "column_sampling_rate": 0.5, "verbose": 0, "learning_rate": 1, "n_device": 1, "bagging": 0,
    }  # fmt: skip
    words = [f"{key}={value}" for key, value in given.items()]
    found = Parameters.from_dict(parsed(*words, "objective=reg:linear").params)
    assert (found.max_depth, found.n_estimators, found.num_parallel_tree) == (4, 7, 3)
    assert (found.max_bin, found.reg_lambda, found.colsample_bytree) == (64, 2, 0.5)
    assert (found.verbosity, found.learning_rate, found.objective) == (0, 1, "reg:squarederror")
    for row in TABLE:
        some = row.allowed[0] if row.allowed else 1
        value = {"": "[]", None: some}.get(row.default, row.default)  # type: ignore[arg-type]
        for name in (row.name, *row.aliases):
            assert row.name in parsed(f"{name}={value}").params
    options = {row.name for row in KEYS}
    assert not options & set(ROWS)
    assert not (set(OWN) | set(ROWS)) & (set(FOREIGN) | set(ALIASES))
    assert not set(FOREIGN) & set(XGBOOST_ONLY)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("max_dept=3", "the command line: unknown key 'max_dept'; did you mean 'max_depth',"),
        ("line=learning_rat = 1", "a.conf, line 6: unknown key 'learning_rat'; did you mean"),
        (
            "line=max_depth = many",
            "a.conf, line 6: max_depth='many': expected 0..32, or -1 for no limit; give a num",
        ),
        ("line=eta = 1", "line 6: eta is given twice, the first time in a.conf, line 4; give one"),
        ("line=learning_rate = 1", "line 6: eta and learning_rate mean the same, the first time"),
        ("line=data", "a.conf, line 6: 'data': expected key = value, and quotes"),
        ("line=gamma =", "line 6: 'gamma =': expected key = value"),
        ("line=gamma = 'a", 'line 6: "gamma = \'a": expected key = value'),
        ('line=gamma = ""', "line 6: gamma has no value; give one, or leave gamma out"),
        ("line=gamma = \\xe9", "a.conf, line 6: byte 0xe9 is not UTF-8 text"),
        ("silent=1 verbosity=1", "silent and verbosity mean the same"),
        ("n_device=2", "n_device=2: expected 1: set it to 1, and name the devices by"),
        ("n_gpus=8", "set it to 1, and name the devices by device=gpu:0,gpu:1"),
        ("bagging=1", "give subsample=0.632"),
        ("gpu_id=0", "choose the device by device=cuda:0"),
        ("booster=gblinear", "booster='gblinear': linear models are not here yet; give 'gbtree'"),
        ("task=predict", "task='predict': expected 'train' or 'pred' or 'dump'; did you mean"),
        ("save_period=-1", "save_period=-1: expected 0..2147483647; raise save_period"),
        ("eval_train=maybe", "eval_train='maybe': expected True or False"),
        ("num_class=3", "a.conf: num_class=3: expected 0, or objective="),
        ("model_dir=absent", "is absent; create it first"),
        ("model_out=a.pmml", "PMML"),
        ("data=absent.csv", "absent.csv: no such file"),
        ("data=a.csv?format=parquet", "format='parquet': expected one of auto, csv, delimited"),
        ("data=a.csv?forma=csv", "unknown suffix 'forma'; did you mean 'format'"),
        ("data=a.csv?format=csv&label_column=-1", "label_column='-1': expected a number from 0"),
        ("model_in=absent.json", "absent.json: no such file"),
        ("weight=a.csv", "weight a.csv: 18 lines of 5 numbers: expected 18 lines of one number"),
        ("early_stopping_rounds=3", "expected an evaluation set to watch"),
        ("task=pred", "a.conf: test:data is missing: expected the rows to predict for task=pred;"),
        ("task=pred test:data=a.csv", "model_in is missing: expected a model for task=pred; add"),
        ("task=dump", "model_in is missing: expected a model for task=dump; add model_in = FILE"),
        ("line=model_out = a\0b.json", "a.conf, line 6: 'model_out = a\\x00b.json': a NUL"),
        ("line=eval[a] = a\0.csv", "a.conf, line 6: 'eval[a] = a\\x00.csv': a NUL character"),
        ("stray", "unexpected 'stray'; see pyopencl-gbdt train --help"),
        ("--param max_depth=3 max_depth=4", "max_depth is given twice"),
    ],
)
def test_errors(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("0,0.5,3,4,5\n1,2,3,4,5\n" * 9)
    content = ["# data", "", "data = a.csv", "eta = 0.5", "num_round=1"]
    given = [] if words.startswith("line=") else words.split()
    content += [] if given else [words.removeprefix("line=")]
    text = "\n".join(content).replace("\\xe9", "\xe9")
    Path("a.conf").write_bytes(text.encode("latin-1"))
    assert run("a.conf", *given, *([ON] if given else [])) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.conf", "a.csv"]


def test_missing_data_and_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("num_round=3") == 2
    assert (
        "the command line: data is missing: expected the training data" in capsys.readouterr().err
    )
    assert run("a.csv") == 2
    assert "--model is missing: expected where to save the model" in capsys.readouterr().err
    table = tmp_path / "a.csv"
    table.write_text("1,2,3\n")
    assert run(str(table), "max_depth=3") == 2
    assert "to train on a data file, give --model" in capsys.readouterr().err


def test_suffixes_of_paths(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = DataPath.parse("a.csv?format=csv&label_column=2")
    assert (path.file, path.options) == ("a.csv", {"file_format": "delimited", "label_column": 2})
    one = DataPath.parse("a.txt?format=libsvm&indexing_mode=1&delimiter=,#cache")
    assert (one.file, one.options) == ("a.txt", {"file_format": "libsvm", "one_based": True})
    assert "#cache has no effect" in str(recwarn.pop().message)
    odd = tmp_path / "a?b#c.csv"
    odd.write_text("")
    assert DataPath.parse(str(odd)).file == str(odd)


def test_files_beside_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights, query sizes and base margins belong to the data file of the same name."""
    data = tmp_path / "a.svm"
    data.write_text("0 0:1\n1 0:2\n0 0:3\n1 0:4\n2 1:1\n")
    (tmp_path / "a.svm.group").write_text("2\n3\n")
    (tmp_path / "a.svm.weight").write_text("0.5\n2\n")
    (tmp_path / "a.svm.base_margin").write_text("1\n2\n3\n4\n5\n")
    names = ("data", "eval", "weight", "feature_weights", "n_features", "label_column")
    names += ("qid_column", "header", "format", "one_based", "max_bytes", "categorical_features")
    args = argparse.Namespace(**dict.fromkeys(names))
    args.data, args.eval = str(data), [str(data)]
    rows, ((others, name),) = tables.read_training(args, "rank:ndcg", beside=True)
    assert name == "a"
    for found in (rows, others):
        assert found.group_offsets is not None
        assert found.group_offsets.tolist() == [0, 2, 5]
        assert found.get_weight().tolist() == [0.5, 0.5, 2, 2, 2]
        assert found.base_margin is not None
        assert found.base_margin.tolist() == [1, 2, 3, 4, 5]
    assert capsys.readouterr().err.count("note: ") == 6
    (tmp_path / "a.svm.query").write_text("2\n3\n")
    args.eval = []
    with pytest.raises(tables.DataError, match=r"a\.svm\.group and .*a\.svm\.query give the same"):
        tables.read_training(args, "rank:ndcg", beside=True)
    (tmp_path / "a.svm.query").unlink()
    (tmp_path / "a.svm.group").write_text("2\n2\n")
    with pytest.raises(tables.DataError, match=r"a\.svm: group .*4"):
        tables.read_training(args, "rank:ndcg", beside=True)
