"""Which column of a file is the label: named, said, or refused to be guessed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRanker, GBDTRegressor
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.errors import DataError, ParameterError
from tests.conftest import TEST_DEVICE

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(4)
A, B, Y = RNG.normal(size=(3, 60)).astype(np.float32)
SMALL = {"n_estimators": 2, "max_depth": 2, "device": TEST_DEVICE}


def written(folder: Path, suffix: str, names: list[str]) -> Path:
    """Write A, B and Y, by names, to a file."""
    path = folder / f"rows.{suffix}"
    frame = pd.DataFrame(dict(zip(names, (A, B, Y), strict=True)))
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        getattr(frame, {"arrow": "to_feather"}.get(suffix, f"to_{suffix}"))(path)
    return path


def predicted(model: GBDTRegressor) -> np.ndarray:
    return model.predict(np.column_stack([A, B]))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("name", ["label", "target", "y", "class", "Target"])
def test_a_column_called_label_is_not_taken_for_a_feature(
    tmp_path: Path, suffix: str, name: str
) -> None:
    path = written(tmp_path, suffix, ["a", "b", name])
    words = rf"rows\.{suffix}: the first column is 'a', and column 2 is called '{name}'.*give label"
    with pytest.raises(DataError, match=words):
        Dataset.from_batches(path)
    model = GBDTRegressor(**SMALL)
    with pytest.raises(DataError, match=words):
        model.fit(path)
    assert not hasattr(model, "model_")
    assert Dataset.from_batches(path, label_column=0).n_features == 2
    assert Dataset.from_batches(path, Y).n_features == 3


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_fit_takes_the_column_and_says_so(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, suffix, ["a", "b", "label"])
    expected = predicted(GBDTRegressor(**SMALL).fit(np.column_stack([A, B]), Y))
    capsys.readouterr()
    model = GBDTRegressor(**SMALL).fit(path, label_column="label", eval_set=[(path, None)])
    said = capsys.readouterr().err
    assert f"the label is column 2 ('label') of {path}\n" in said
    np.testing.assert_array_equal(predicted(model), expected)
    assert len(model.evals_result()["validation_0"]["rmse"]) == 2
    GBDTRegressor(**SMALL, verbosity=0).fit(path, label_column=-1)
    assert "label" not in capsys.readouterr().err


def test_the_first_column_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = written(tmp_path, "csv", ["Y", "a", "b"])
    GBDTRegressor(**SMALL).fit(str(first))
    hint = "; give fit label_column= for another"
    assert f"the label is column 0 ('Y') of {first}{hint}\n" in capsys.readouterr().err
    np.save(tmp_path / "rows.npy", np.column_stack([Y > 0, A, B]))
    GBDTClassifier(**SMALL).fit(tmp_path / "rows.npy")
    assert f"the label is column 0 of {tmp_path / 'rows.npy'}{hint}" in capsys.readouterr().err


def test_what_names_no_file(tmp_path: Path) -> None:
    X = np.column_stack([A, B])
    for model in (GBDTRegressor(**SMALL), GBDTRanker(**SMALL)):
        own = {"qid": np.zeros(60, int)} if isinstance(model, GBDTRanker) else {}
        with pytest.raises(ParameterError, match="label_column='a': expected None, as X is of"):
            model.fit(X, np.abs(Y) > 1, label_column="a", **own)
    path = written(tmp_path, "csv", ["a", "b", "label"])
    with pytest.raises(DataError, match="'lable' is not in the header; did you mean 'label'"):
        GBDTRegressor(**SMALL).fit(path, label_column="lable")


def test_the_command_line_does_not_guess(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "csv", ["a", "b", "target"])
    words = ["train", str(path), "--model", str(tmp_path / "m.json"), "--device", TEST_DEVICE]
    assert main([*words, "--param", "n_estimators=1"]) == 2
    assert "column 2 is called 'target'" in capsys.readouterr().err
    assert main([*words, "--param", "n_estimators=1", "--label-column", "target"]) == 0
