"""The command line: parameters of growth, several classes, ranking, early stopping."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.training.train import Model
from tests.cli_samples import DEVICE, N_ROWS, SMALL, make_rows, write_rows
from tests.conftest import TEST_DEVICE

PARAMS = {"n_estimators": 3, "max_depth": 3, "min_child_weight": 0, "device": TEST_DEVICE}


def trained(folder: Path, data: Path, *options: str) -> Model:
    saved = folder / "m.json"
    assert main(["train", str(data), "--model", str(saved), *SMALL, *options]) == 0
    return Model.load_model(saved)


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("options", "given"),
    [
        ("--subsample .5 --random-state 3", {"subsample": 0.5, "random_state": 3}),
        ("--subsample .5 --seed 3", {"subsample": 0.5, "random_state": 3}),
        ("--sampling-method goss --top-rate .3", {"sampling_method": "goss", "top_rate": 0.3}),
        ("--grow-policy lossguide --max-leaves 4", {"grow_policy": "lossguide", "max_leaves": 4}),
        ("--num-parallel-tree 2 --param colsample_bynode=0.5",
         {"num_parallel_tree": 2, "colsample_bynode": 0.5}),
        ("--monotone-constraints (0,1,0,-1)", {"monotone_constraints": [0, 1, 0, -1]}),
        ('--monotone-constraints {"shoe":-1}', {"monotone_constraints": {"shoe": -1}}),
        ("--monotone-constraints 1", {"monotone_constraints": [1]}),
        ("--param monotone_constraints=1", {"monotone_constraints": [1]}),
        ('--interaction-constraints [["age","shoe"]]', {"interaction_constraints": [[0, 3]]}),
    ],
)  # fmt: skip
def test_parameters_of_growth(tmp_path: Path, options: str, given: dict[str, object]) -> None:
    data = write_rows(tmp_path / "a.csv", header=True)
    model = trained(tmp_path, data, *options.split())
    X, y = make_rows()
    rows = Dataset(X, y, feature_names=["age", "height", "weight", "shoe"])
    assert model.ensemble.trees == train({**PARAMS, **given}, rows).ensemble.trees


def test_weights_of_features(tmp_path: Path) -> None:
    data, file = write_rows(tmp_path / "a.csv"), tmp_path / "w.txt"
    file.write_text("1\n9\n0.1\n9\n")
    given = ("--colsample-bynode", "0.5", "--feature-weights", str(file))
    model = trained(tmp_path, data, *given)
    rows = Dataset(*make_rows(), feature_weights=[1, 9, 0.1, 9])
    wanted = train({**PARAMS, "colsample_bynode": 0.5}, rows).ensemble
    assert to_xgboost_json(model.ensemble) == to_xgboost_json(wanted)


def test_several_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, _ = make_rows()
    y = np.digitize(np.nan_to_num(X[:, 1]), [-1, 1])
    data = tmp_path / "a.npz"
    np.savez(data, X=X, y=y)
    given = ("--objective", "multi:softprob", "--num-class", "3", "--eval", str(data))
    model = trained(tmp_path, data, *given)
    assert "a-mlogloss:" in capsys.readouterr().out
    wanted = model.predict(X, device=TEST_DEVICE)
    assert wanted.shape == (N_ROWS, 3)
    saved = str(tmp_path / "m.json")
    for options in ([], ["--output-margin"]):
        assert main(["predict", str(data), "--model", saved, *DEVICE, *options]) == 0
        lines = capsys.readouterr().out.splitlines()
        found = np.array([[np.float32(cell) for cell in line.split(",")] for line in lines])
        margins = bool(options)
        expected = model.predict(X, device=TEST_DEVICE, output_margin=margins)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("option", ["--quantile-alpha", "--param"])
def test_several_quantiles(tmp_path: Path, option: str) -> None:
    given = "0.1, .9" if option == "--quantile-alpha" else "quantile_alpha=0.1,0.9"
    model = trained(
        tmp_path, write_rows(tmp_path / "a.csv"), "--objective", "reg:quantileerror", option, given
    )
    X, y = make_rows()
    params = {**PARAMS, "objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]}
    wanted = train(params, Dataset(X, y)).ensemble
    assert to_xgboost_json(model.ensemble) == to_xgboost_json(wanted)
    assert model.ensemble.n_outputs == 2


@pytest.mark.parametrize("kind", ["csv", "named.csv", "npz", "libsvm"])
def test_ranking(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    X, y = make_rows()
    X, qid = np.nan_to_num(X), np.arange(N_ROWS) // 10 * 3
    data, column = tmp_path / f"a.{kind}", ["--qid-column", "1"]
    if kind == "npz":
        np.savez(data, X=X, y=y, qid=qid)
        column = []
    elif kind == "libsvm":
        pairs = (" ".join(f"{i}:{v}" for i, v in enumerate(row)) for row in X)
        lines = (f"{a:g} qid:{q} {b}" for a, q, b in zip(y, qid, pairs, strict=True))
        data.write_text("\n".join(lines))
        column = []
    else:
        lines = (",".join(map(str, [a, q, *x])) for a, q, x in zip(y, qid, X, strict=True))
        named = kind == "named.csv"
        data.write_text(("y,query,a,b,c,d\n" if named else "") + "\n".join(lines))
        column = ["--qid-column", "query"] if named else column
    ranked = ("--objective", "rank:ndcg", "--eval", str(data), "--eval-metric", "ndcg@5")
    model = trained(tmp_path, data, *column, *ranked, "--lambdarank-num-pair-per-sample", "8")
    assert "a-ndcg@5:" in capsys.readouterr().out
    params = {**PARAMS, "objective": "rank:ndcg", "lambdarank_num_pair_per_sample": 8}
    assert model.ensemble.trees == train(params, Dataset(X, y, qid=qid)).ensemble.trees
    saved = str(tmp_path / "m.json")
    assert main(["predict", str(data), "--model", saved, *column, *DEVICE]) == 0
    found = [np.float32(line) for line in capsys.readouterr().out.splitlines()]
    np.testing.assert_array_equal(found, model.predict(X, device=TEST_DEVICE))


def test_early_stopping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_rows(tmp_path / "a.csv")
    X, y = make_rows()
    other = tmp_path / "b.npz"
    np.savez(other, X=X, y=np.where(np.arange(N_ROWS) % 7, y, 1 - y))
    given = ("--eval", str(other), "--early-stopping-rounds", "4", "--n-estimators", "60")
    model = trained(tmp_path, data, *given)
    said = " ".join(capsys.readouterr().out.split())
    best = model.best_iteration + 1
    assert 5 < len(model.ensemble.trees) == best + 4 < 50
    assert f"{best + 4} trees; predictions use those up to round {best}, the best one: " in said
    short = train({**PARAMS, "n_estimators": best + 4}, Dataset(X, y))
    assert model.ensemble.trees == short.ensemble.trees
    words = [f"test:data={data}", f"model_in={tmp_path / 'm.json'}", "name_pred=-"]
    assert main(["train", "task=pred", *words, "iteration_begin=1", f"device={TEST_DEVICE}"]) == 0
    found = np.array(capsys.readouterr().out.split(), np.float32)
    wanted = model.predict(X, iteration_range=(1, best), device=TEST_DEVICE)
    assert np.array_equal(found, wanted)
